"""What real H200 printed on 2026-11-29 and 30, as it was printed: h200/one, h200/two, and later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assets.node.health.checks import gate, gpus, nvlink, xid
from assets.node.health.checks.expectation import Expectation
from assets.node.health.checks.gpu_report import QUERY, Report
from tests.fixtures.health.node import HERE, p5en
from trainshed import facts
from trainshed.health import expected_hardware

H200 = HERE / "h200"
ALL = ["one", "two", "one-1130-0914", "two-1130-0912"]
JUDGES = [
    gpus.judge_count,
    gpus.judge_ecc,
    gpus.judge_recovery,
    gpus.judge_clocks,
    gpus.judge_pcie,
    gpus.judge_fabric,
]


def machine(count: int) -> Expectation:
    """Return what the machine had."""
    return Expectation(
        gpus=count,
        gpu_name="h200",
        gpu_memory_mib=144384,
        nvlinks=18 if count > 1 else 0,
        nvswitch=count > 1,
    )


def reports(name: str) -> dict[str, Report]:
    """Return what nvidia-smi said, in every way it was asked."""
    folder = H200 / name
    found = {"query": Report.of_query((folder / "query.csv").read_text())}
    for path in sorted(folder.glob("*.xml")):
        found[path.stem] = Report.of_xml(path.read_text())
    return found


@pytest.mark.parametrize(("name", "count"), [("one", 1), ("two", 2)])
def test_healthy_h200_pass_idle_and_under_load(name: str, count: int) -> None:
    found = reports(name)
    assert len(found) == (2 if name == "one" else 3)
    for report in found.values():
        results = [judge(report, machine(count)) for judge in JUDGES]
        assert [result for result in results if result.verdict != "ok"] == []
        assert report.driver == "580.159.04"


def test_query_and_full_report_say_the_same_of_a_gpu() -> None:
    found = reports("two")
    for asked, told in zip(found["query"].gpus, found["nvidia-smi-q"].gpus, strict=True):
        for name in ("name", "recovery_action", "ecc_mode", "remap_failed", "fabric_state"):
            assert asked.text(name) == told.text(name)
        for name in ("memory", "clock", "usual_clock", "lanes", "most_lanes", "uncorrected"):
            assert asked.number(name) == told.number(name)


def test_the_load_was_seen() -> None:
    busy = reports("two")["nvidia-smi-q-load"].gpus
    assert [gpu.number("utilization") for gpu in busy] == [100, 100]
    assert not any(gpu.is_throttled for gpu in busy)


def test_all_links_of_two_h200_are_up_and_without_errors() -> None:
    folder = H200 / "two"
    status = nvlink.judge((folder / "nvlink-status.txt").read_text(), machine(2))
    assert (status.verdict, status.evidence) == ("ok", "18 links of each of 2 GPUs are up")
    assert nvlink.judge_errors((folder / "nvlink-errors.txt").read_text()).verdict == "ok"


def test_a_machine_with_one_h200_has_no_nvlink_and_fails_where_they_are_expected() -> None:
    said = (H200 / "one" / "nvlink-status.txt").read_text()
    result = nvlink.judge(said, p5en())
    assert (result.verdict, result.severity) == ("fail", "reboot")
    assert result.evidence == "no NVLink is up: nvidia-smi says nothing"
    missing = gpus.judge_count(reports("one")["query"], p5en())
    assert missing.evidence == "1 of 8 GPUs, at 00000000:00:06.0"


@pytest.mark.parametrize("name", ["one", "two"])
def test_the_xid_of_a_program_that_writes_where_it_may_not_leaves_the_gpu_in_use(name: str) -> None:
    found = xid.events((H200 / name / "dmesg.txt").read_text())
    assert [(event.code, event.gpu, event.xid.kind) for event in found] == [
        (31, "0000:00:06", "application")
    ]
    assert xid.judge(found).verdict == "warn"
    assert xid.events((H200 / name / "dmesg.txt").read_text(), since=found[0].seconds) == []


def test_the_pair_check_of_the_deep_level_passed_on_two_h200() -> None:
    said = json.loads((H200 / "two" / "deep-pairs.txt").read_text().splitlines()[0])
    assert (said["check"], said["verdict"]) == ("nccl_pairs", "ok")
    assert "344.57 GB/s at 16 GiB" in said["evidence"]


@pytest.mark.parametrize("name", ALL)
def test_recordings_have_no_serial_number(name: str) -> None:
    for path in (H200 / name).iterdir():
        text = path.read_text()
        assert "<serial>0000000000000</serial>" in text or "<serial>" not in text
        assert not any(part.strip("0-") for part in _uuids(text))


def _uuids(text: str) -> list[str]:
    return [part[:36] for part in text.split("GPU-")[1:]]


def test_the_query_names_every_field_once() -> None:
    fields = QUERY[1].removeprefix("--query-gpu=").split(",")
    assert len(fields) == len(set(fields)) == 21


@pytest.mark.parametrize("name", ALL)
def test_the_fast_check_of_a_real_h200_was_within_its_limits(name: str) -> None:
    measured = json.loads((H200 / name / "benchmark.json").read_text())
    assert measured["slowest_s"] < 10
    assert measured["interval_s"] == 60 and measured["share_of_a_core"] < 0.01


@pytest.mark.parametrize("name", ALL)
def test_the_fast_check_of_a_real_h200_found_nothing_but_a_clock_without_keeper(name: str) -> None:
    lines = (H200 / name / "fast.json").read_text().splitlines()
    said = {line["check"]: line["verdict"] for line in map(json.loads, lines)}
    assert said.pop("clock") == "warn"
    assert set(said.values()) == {"ok"}


@pytest.mark.parametrize("name", ALL)
def test_the_basic_check_of_a_real_h200_missed_only_the_tools_that_were_not_there(
    name: str,
) -> None:
    lines = (H200 / name / "basic.json").read_text().splitlines()
    said = {line["check"]: line["evidence"] for line in map(json.loads, lines) if _warns(line)}
    assert said == {
        "dcgm_level_2": "DCGM did not run: [Errno 2] No such file or directory: 'dcgmi'",
        "stress": "stress is not installed",
    }


def test_a_real_h200_machine_bore_the_load_of_a_node_without_the_package_for_it() -> None:
    lines = (H200 / "one-1130-0935" / "basic.json").read_text().splitlines()
    said = {line["check"]: line for line in map(json.loads, lines)}
    assert [name for name, line in said.items() if _warns(line)] == ["dcgm_level_2"]
    assert said["stress"]["evidence"] == "16 cores under load for 60 s"


def _warns(line: dict[str, str]) -> bool:
    assert line["verdict"] in ("ok", "warn")
    return line["verdict"] == "warn"


def judged(
    name: str, gpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, dict[str, str]]:
    """Judge a recorded run of the gate once more."""
    expect = tmp_path / "expect.json"
    document = expected_hardware(facts.instance_type("p5en.48xlarge"), cluster_name="kait")
    expect.write_text(json.dumps(document))
    output = str(H200 / name / "gate.txt")
    size = ("--nodes", "1", "--gpus-per-node", gpus)
    code = gate.main([output, "--expect", str(expect), *size, *more])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("name", "speed"), [("two", "349.17"), ("two-1130-0912", "350.77")])
def test_the_strict_gate_passed_on_two_real_h200_and_does_with_this_table(
    name: str, speed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = judged(name, "2", tmp_path, capsys, "--strict")
    assert code == 0
    assert said == json.loads((H200 / name / "gate.json").read_text())
    assert said["evidence"].startswith(f"{speed} GB/s at 16 GiB, least 293.4 (measured 345.19: ")


@pytest.mark.parametrize("name", ["one", "one-1130-0914"])
def test_the_strict_gate_refused_one_real_h200_that_nobody_has_measured(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = judged(name, "1", tmp_path, capsys, "--strict")
    assert (code, said["verdict"]) == (1, "warn")
    assert said == json.loads((H200 / name / "gate.json").read_text())
    assert judged(name, "1", tmp_path, capsys)[0] == 0
