"""Recorded faults, and what the checks say of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from assets.node.health.checks import cli, fast
from assets.node.health.checks.node import Node
from assets.node.health.checks.probe import Probe, Said
from assets.node.health.checks.results import SEVERITIES, VERDICTS, Result
from tests.fixtures.health.node import Fault, SaidNode, faults, p5en

FAULTS = faults()
OF_GPUS = [fault for fault in FAULTS if fault.gpus or (fault.missing_gpus and not fault.commands)]


def checked(fault: Fault, *, xml: bool = False) -> list[Result]:
    """Return what all checks of the fault's level say."""
    probe = SaidNode(fault, xml=xml)
    node = Node(probe, fault.expected, sleep=lambda seconds: None)
    if fault.level == "fast":
        return fast.run(node, list(fast.CHECKS))
    checks = cli.LEVELS[fault.level]
    return [check(node) for check in checks.values()]


def assert_expected(fault: Fault, results: list[Result]) -> None:
    """Compare what is not well with what the fault says; all else must be well."""
    bad = {result.check: result for result in results if result.verdict != "ok"}
    wanted = {result["check"]: result for result in fault.results}
    assert {name: (result.verdict, result.severity) for name, result in bad.items()} == {
        name: (result["verdict"], result["severity"]) for name, result in wanted.items()
    }
    for name, result in bad.items():
        assert wanted[name]["evidence"] in result.evidence


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_gets_its_verdict_and_severity(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assets.node.health.checks.deep.all_reduce_program", lambda: "")
    assert_expected(fault, checked(fault))


@pytest.mark.parametrize("fault", OF_GPUS, ids=lambda fault: fault.name)
def test_the_full_report_of_an_older_driver_gets_the_same_verdict(fault: Fault) -> None:
    assert_expected(fault, checked(fault, xml=True))


@pytest.mark.parametrize("level", ["fast", "basic"])
@pytest.mark.parametrize("instance_type", ["p5en.48xlarge", "trn1.32xlarge"])
def test_a_healthy_node_passes(level: str, instance_type: str) -> None:
    results = checked(Fault(level=level, instance_type=instance_type))
    assert [result for result in results if result.verdict != "ok"] == []
    assert [result.check for result in results] == list(cli.LEVELS[level])


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (
            Fault(
                instance_type="g4dn.xlarge",
                gpus={"0": {"name": "Tesla T4", "memory": "15360"}},
                missing_gpus=list(range(1, 8)),
            ),
            "gpu_count",
        ),
        (
            Fault(
                instance_type="m7a.medium",
                files={"/proc/meminfo": "MemTotal:        3880000 kB\n"},
            ),
            "memory",
        ),
        (
            Fault(files={"/proc/self/limits": "Max locked memory         soft hard bytes\n"}),
            "locked_memory",
        ),
    ],
    ids=["T4", "small instance", "limits of another kernel"],
)
def test_what_is_well_on_other_nodes_passes(fault: Fault, check: str) -> None:
    """A T4 has 15,360 of EC2's 16,384 MiB; of 4 GiB the kernel takes more than a twentieth."""
    [result] = [each for each in checked(fault) if each.check == check]
    assert (result.verdict, result.severity) == ("ok", "monitor")


@pytest.mark.parametrize(
    "said",
    [
        '{"DCGM Diagnostic": null}',
        '{"DCGM Diagnostic": {"test_categories": null}}',
        '{"DCGM Diagnostic": {"test_categories": [{"category": "x", "tests": null}]}}',
        "[1]",
    ],
)
def test_a_diagnostic_in_another_shape_did_not_run(said: str) -> None:
    odd = Fault(level="basic", commands={"dcgmi diag": {"code": 0, "out": said}})
    bad = [result for result in checked(odd) if result.verdict != "ok"]
    assert [(each.check, each.verdict) for each in bad] == [("dcgm_level_2", "warn")]
    assert bad[0].evidence.startswith("DCGM did not run: ")


def test_there_are_many_faults_and_each_says_where_it_is_from() -> None:
    assert len(FAULTS) >= 60
    assert all(fault.source and fault.what for fault in FAULTS)


def test_a_result_is_one_line_of_json() -> None:
    for result in checked(Fault(missing_gpus=[3])):
        line = result.line()
        assert "\n" not in line
        said = json.loads(line)
        assert set(said) == {"check", "verdict", "severity", "evidence"}
        assert said["verdict"] in VERDICTS and said["severity"] in SEVERITIES
        assert said["evidence"]


def test_a_journal_that_cannot_search_is_not_taken_for_one_without_errors() -> None:
    """It ends with 1, as where nothing was found; the kernel's own buffer has the error."""
    said = "Compiled without pattern matching support\n"
    lost = "[  701.250000] NVRM: Xid (PCI:0000:53:00): 79, GPU has fallen off the bus.\n"
    old = Fault(commands={"journalctl": {"code": 1, "err": said}})
    probe = SaidNode(old)
    probe._commands["dmesg"] = Said(0, lost)
    result = fast.CHECKS["xid"](Node(probe, old.expected))
    assert (result.verdict, result.severity) == ("fail", "reboot")


class Hanging(Probe):
    """A node of which no command ends."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"))
        self.seconds = 0.0

    def run(self, *command: str, seconds: float, env: Mapping[str, str] | None = None) -> Said:
        """Count the seconds."""
        self.seconds += seconds
        return Said(None)


@pytest.mark.parametrize("mounts", [["/fsx"], ["/fsx", "/home", "/data"]], ids=["one", "three"])
def test_checks_of_which_no_command_ends_are_over_before_slurm_ends_them(mounts: list[str]) -> None:
    """Slurm ends HealthCheckProgram after 60 s, the scripts after 55; those beside run at once."""
    groups = [[name for name in fast.CHECKS if name in fast._BY_NVIDIA_SMI]]
    groups += [[name] for name in fast.CHECKS if name not in fast._BY_NVIDIA_SMI]
    for names in groups:
        probe = Hanging()
        waited: list[float] = []
        node = Node(probe, p5en(mounts=mounts), sleep=waited.append)
        results = fast.run(node, names)
        assert probe.seconds + sum(waited) <= 45
        assert not any("could not be made" in result.evidence for result in results)


def test_late_efa_devices_are_waited_for_fifteen_seconds_and_no_longer() -> None:
    waited: list[float] = []
    fault = Fault(late_efa=99)
    node = Node(SaidNode(fault), fault.expected, sleep=waited.append)
    assert fast.CHECKS["efa"](node).verdict == "fail"
    assert sum(waited) == 15
