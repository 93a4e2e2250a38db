"""A node that joins is not given to users without a verdict, whatever became of its checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from assets.node.health.checks import apart
from assets.node.health.checks.probe import Said
from assets.node.health.checks.results import Result
from tests.fixtures.health.node import SaidNode, fault, stand_in

PROGRAM = Path(__file__).parents[3] / "assets" / "node" / "health" / "health_check.py"
GOOD = Result("ecc", "ok", "monitor", "fine")
LOST = Result("gpu_count", "fail", "reboot", "7 of 8 GPUs")
BROKE = Result("clock", "warn", "monitor", "the check could not be made: ValueError('soft')")
STATIC = "train-st-p5en-1"
SCONTROL = """\
#!/bin/bash
case "$2 $3" in
"show node") echo "NodeName=$4 State=DOWN+CLOUD" ;;
"show reservation") exit 1 ;;
*) echo "scontrol $*" >>"{calls}" ;;
esac
"""


def found(said: Said) -> list[Result]:
    """Return what is made of what the program said."""
    probe = SaidNode()
    probe._commands = {f"{sys.executable} -S -E {PROGRAM} basic --json --only ecc": said}
    return apart.run(probe, "basic", ["--only", "ecc"])


@pytest.mark.parametrize(
    ("code", "results"),
    [(0, [GOOD]), (1, [GOOD, LOST]), (2, [GOOD, BROKE])],
    ids=["well", "failed", "one check broke"],
)
def test_what_the_program_found_is_taken(code: int, results: list[Result]) -> None:
    assert found(Said(code, "".join(f"{each.line()}\n" for each in results))) == results


@pytest.mark.parametrize(
    ("said", "evidence"),
    [
        (Said(None, "", "python3 did not end in 2400 s"), "python3 did not end in 2400 s"),
        (Said(1, "", "Traceback: ImportError: no xid\n"), "code 1: Traceback: ImportError: no xid"),
        (Said(-9), "code -9: "),
        (Said(2, "", "health_check: cannot read it\n"), "code 2: health_check: cannot read it"),
        (Said(0), "code 0: "),
        (Said(0, '{"check": "ecc", "verd'), 'code 0: {"check": "ecc", "verd'),
        (Said(0, "[1]\n"), "code 0: [1]"),
        (Said(0, GOOD.line().replace('"ok"', '"fine"')), f"code 0: {GOOD.line()[:9]}"),
    ],
    ids=["no end", "crash", "killed", "refusal", "nothing", "half a line", "a list", "verdict"],
)
def test_what_is_no_verdict_is_a_check_that_could_not_be_made(said: Said, evidence: str) -> None:
    (result,) = found(said)
    assert (result.check, result.verdict) == ("checks", "warn")
    assert result.evidence.startswith(f"the check could not be made: {evidence}")


def test_results_before_a_crash_are_kept() -> None:
    kept, crash = found(Said(-11, f"{LOST.line()}\n"))
    assert (kept, crash.check) == (LOST, "checks")


def join(directory: Path, name: str, wrong: str = "", expect: str = "") -> tuple[int, list[str]]:
    """Run the fast checks on a node that joins; return the code, and what Slurm was told."""
    document, environment = stand_in(directory / "node", fault(wrong) if wrong else None)
    if expect:
        document.write_text(expect)
    calls = directory / "calls"
    calls.touch()
    scontrol = directory / "node" / "bin" / "scontrol"
    scontrol.write_text(SCONTROL.format(calls=calls))
    scontrol.chmod(0o755)
    command = [sys.executable, "-S", "-E", str(PROGRAM), "fast", "--expect", str(document)]
    command += ["--state", str(directory / "state"), "--node-name", name]
    command += ["--only", "gpu_count", "--hold", "--joining"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, calls.read_text().splitlines()


def test_a_static_node_that_joins_without_a_verdict_is_held(tmp_path: Path) -> None:
    code, told = join(tmp_path, STATIC, expect="half")
    assert code == 2
    assert told[0].startswith(
        f"scontrol update nodename={STATIC} comment=trainshed: failed checks [monitor] could not "
        "be made: code 2: "
    )
    assert told[0].endswith("/expect.json: Expecting value: line 1 column 1 (char 0)")
    assert told[1].startswith(f"scontrol create reservationname=trainshed-mend-{STATIC} ")


def test_a_node_that_fails_joins_held_with_its_own_fault(tmp_path: Path) -> None:
    code, told = join(tmp_path, STATIC, wrong="gpu-missing")
    assert code == 1
    assert "comment=trainshed: failed gpu_count [reboot] 7 of 8 GPUs" in told[0]


def test_a_node_that_is_well_joins_without_a_word(tmp_path: Path) -> None:
    assert join(tmp_path, STATIC) == (0, [])


def test_a_node_that_starts_for_a_job_joins_without_a_verdict(tmp_path: Path) -> None:
    assert join(tmp_path, "train-dy-p5en-1", expect="half") == (2, [])
