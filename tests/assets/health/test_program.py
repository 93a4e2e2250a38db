"""The health check as nodes run it: the program itself, with stand-ins for the node's commands."""

from __future__ import annotations

import ast
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from assets.node.health.checks import basic, cli, fast
from assets.node.health.checks.basic import NotHereError
from assets.node.health.checks.expectation import ExpectationError, load, parse
from assets.node.health.checks.node import Node
from assets.node.health.checks.probe import Probe
from assets.node.health.checks.results import REBOOT, Result, conclude, failure
from tests.fixtures.health.node import Fault, SaidNode, fault, p5en, stand_in

HEALTH = Path(__file__).parents[3] / "assets" / "node" / "health"
PROGRAM = HEALTH / "health_check.py"
BAD = failure(REBOOT, "no driver")


def run(
    directory: Path,
    *arguments: str,
    wrong: Fault | None = None,
    settings: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the program on a stand-in node."""
    expect, environment = stand_in(directory / "node", wrong)
    state = ["--state", str(directory / "state")]
    return subprocess.run(
        [sys.executable, "-S", "-E", str(PROGRAM), *arguments, "--expect", str(expect), *state],
        env={**environment, **(settings or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_healthy_node_gets_a_line_of_json_for_each_check(tmp_path: Path) -> None:
    done = run(tmp_path, "fast", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["check"] for line in said] == list(fast.CHECKS)
    assert {line["verdict"] for line in said} == {"ok"}


def test_a_faulty_node_ends_with_1(tmp_path: Path) -> None:
    done = run(tmp_path, "fast", "--only", "nvlink", "--only", "xid", wrong=fault("nvlink-down"))
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "fail nvlink: GPU 4: link 7 of 18 down [reboot]",
        "ok   xid: no Xid error since boot",
    ]


def test_a_warning_ends_with_0(tmp_path: Path) -> None:
    done = run(tmp_path, "fast", "--only", "clocks", wrong=fault("hot"))
    assert (done.returncode, done.stdout[:4]) == (0, "warn")


def broken(node: Node) -> Result:
    """Read what nobody foresaw."""
    raise ValueError("soft")


def test_a_check_that_breaks_takes_no_other_with_it_and_no_node_out_of_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its traceback ended with 1, as a fault does: each prolog would have failed, on all nodes."""
    expect, environment = stand_in(tmp_path / "node")
    monkeypatch.setenv("ROOT_DIR", environment["ROOT_DIR"])
    monkeypatch.setitem(fast.CHECKS, "clock", broken)
    names = ("--only", "clock", "--only", "memory", "--only", "driver")
    assert cli.main(["fast", "--expect", str(expect), *names[:4]]) == 2
    assert capsys.readouterr().out.splitlines() == [
        "warn clock: the check could not be made: ValueError('soft') [monitor]",
        "ok   memory: 2063597 MiB",
    ]
    monkeypatch.setitem(fast.CHECKS, "driver", lambda node: conclude("driver", [BAD], ""))
    assert cli.main(["fast", "--expect", str(expect), *names]) == 1


def test_a_bad_node_is_drained_though_its_figures_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder")
    calls = tmp_path / "calls"
    scontrol = f'[[ $1 == update ]] && echo "$*" >>{calls}; exit 0'
    expect, environment = stand_in(tmp_path / "node", fault("gpu-missing"))
    program = tmp_path / "node" / "bin" / "scontrol"
    program.write_text(f"#!/bin/bash\n{scontrol}\n")
    program.chmod(0o755)
    command = [sys.executable, "-S", "-E", str(PROGRAM), "fast", "--expect", str(expect)]
    command += ["--drain", "--publish", "--state", str(tmp_path / "state"), "--node-name", "n"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "update nodename=n state=drain reason=health: gpu_count" in calls.read_text()
    assert "health_check: no metrics: " in done.stderr


def test_an_unknown_check_names_the_known_ones(tmp_path: Path) -> None:
    done = run(tmp_path, "fast", "--only", "gpus")
    assert done.returncode == 2
    assert done.stderr.startswith("health_check: no fast check gpus; there are driver, gpu_count,")


CONTEXTS = [
    ({"SLURM_SCRIPT_CONTEXT": "prolog_slurmd"}, "prolog"),
    ({"SLURM_SCRIPT_CONTEXT": "prolog_slurmctld"}, "prolog"),
    ({"TRAINSHED_HEALTH_CONTEXT": "health_check"}, "health_check"),
]


@pytest.mark.parametrize("level", ["basic", "deep"])
@pytest.mark.parametrize(("settings", "where"), CONTEXTS, ids=["prolog", "controller", "health"])
def test_checks_of_minutes_are_refused_where_a_job_waits(
    tmp_path: Path, level: str, settings: Mapping[str, str], where: str
) -> None:
    done = run(tmp_path, level, settings=settings)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"health_check: the {level} checks take minutes and are refused in Slurm's {where}: run "
        "them on a drained node or in a reservation\n"
    )


@pytest.mark.parametrize("level", [2, 4])
def test_dcgm_is_not_started_in_a_prolog_even_when_called_directly(
    level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_SCRIPT_CONTEXT", "prolog_slurmd")
    probe = SaidNode()
    with pytest.raises(NotHereError, match=f"DCGM level {level} checks take minutes"):
        basic.diagnose(Node(probe, p5en()), level, "dcgm", 1, memory_test=False)
    assert probe.ran == []


def test_no_fast_check_starts_dcgm_or_a_load() -> None:
    probe = SaidNode()
    fast.run(Node(probe, p5en()), list(fast.CHECKS))
    assert {line.split()[0] for line in probe.ran} == {
        "nvidia-smi",
        "journalctl",
        "chronyc",
        "stat",
    }


def test_fast_checks_run_in_a_prolog(tmp_path: Path) -> None:
    done = run(tmp_path, "fast", settings={"SLURM_SCRIPT_CONTEXT": "prolog_slurmd"})
    assert done.returncode == 0


def test_xid_errors_that_were_dealt_with_are_not_judged_again(tmp_path: Path) -> None:
    error = fault("xid-95-uncontained")
    assert run(tmp_path, "fast", "--only", "xid", wrong=error).returncode == 1
    # The kernel log of the fault is of second 100 after boot, long ago on any machine that is up.
    state = tmp_path / "state"
    state.mkdir()
    (state / "xid_since").write_text("100.05\n")
    assert run(tmp_path / "a", "fast", "--only", "xid", wrong=error).returncode == 1
    (tmp_path / "b" / "state").mkdir(parents=True)
    (tmp_path / "b" / "state" / "xid_since").write_text("100.2\n")
    assert run(tmp_path / "b", "fast", "--only", "xid", wrong=error).returncode == 0


def test_acknowledge_keeps_the_time_since_boot(tmp_path: Path) -> None:
    state = tmp_path / "state"
    command = [sys.executable, str(PROGRAM), "acknowledge", "--state", str(state)]
    subprocess.run(command, check=True)
    now = float(Path("/proc/uptime").read_text().split()[0])
    assert 0 < float((state / "xid_since").read_text()) <= now + 1


def test_metrics_reach_the_agent(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as agent:
        agent.bind(("127.0.0.1", 0))
        agent.settimeout(10)
        node = Node(SaidNode(fault("double-bit-ecc")), p5en())
        from assets.node.health.checks import metrics

        metrics.publish(node, tmp_path / "run" / "counters.json", agent.getsockname())
        lines = {agent.recv(1000).decode() for _ in range(7)}
    assert "ecc_uncorrected:2|g|#ClusterName:kait,Role:compute" in lines
    assert "xid_hardware:2|g|#ClusterName:kait,Role:compute" in lines
    assert "gpus_missing:0|g|#ClusterName:kait,Role:compute" in lines


def test_an_agent_that_does_not_listen_does_not_stop_the_check(tmp_path: Path) -> None:
    assert run(tmp_path, "fast", "--publish").returncode == 0
    assert (tmp_path / "state" / "counters.json").exists()


def test_a_document_of_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExpectationError) as error:
        parse({"format": 2})
    assert str(error.value) == "what a node should have is not of format 1"
    with pytest.raises(ExpectationError, match="unexpected keyword argument 'gpu_colour'"):
        parse({"format": 1, "gpu_colour": "green"})
    with pytest.raises(ExpectationError, match="No such file"):
        load(tmp_path / "none.json")


def test_the_program_is_python_3_10() -> None:
    for path in HEALTH.rglob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 10))
        # Standard names that came with 3.11.
        assert not {"StrEnum", "tomllib", "ExceptionGroup"} & set(path.read_text().split())


def test_the_program_needs_the_standard_library_alone() -> None:
    names = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or ""
        for path in HEALTH.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level)
    }
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_a_failed_loopback_says_what_failed_and_not_that_its_server_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pingpong = tmp_path / "fi_pingpong"
    pingpong.write_text('#!/bin/sh\necho "fi_domain: No data available" >&2\nexit 61\n')
    pingpong.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    code, said = basic._ping(Node(Probe(), p5en(), xid_since=-1), "rdmap80s0")
    assert code == 61
    assert said.strip().splitlines()[-1] == "fi_domain: No data available"
