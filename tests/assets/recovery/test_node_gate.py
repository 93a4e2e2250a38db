"""What a held node does by itself, with stand-ins for Slurm and the checks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assets.node import node_gate
from assets.node.health.checks import held, hold
from assets.node.health.checks.held import verdict
from assets.node.health.checks.results import Result
from assets.node.keeper import mending
from assets.node.keeper.recovery import words

SCONTROL = """\
#!/bin/bash
if [[ $3 == reservation ]]; then test -e "$WORK/reserved"; exit; fi
if [[ $1 == update ]]; then echo "$3" >>"$WORK/comments"; else cat "$WORK/node"; fi
"""
NVIDIA_SMI = """\
#!/bin/bash
if [[ $1 == --query-gpu* ]]; then echo "${PERSISTENCE:-Disabled}"; exit 0; fi
echo "$*" >>"$WORK/resets"
if [[ -e $WORK/held && $1 == --gpu-reset ]]; then cat "$WORK/held"; exit 19; fi
"""
CHECKS = """\
import os, pathlib, sys
work = pathlib.Path(os.environ["WORK"])
with (work / "checks").open("a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
said = (work / "says").read_text()
print(said)
sys.exit(1 if "fail" in said else 2 if "could not be made" in said else 0)
"""


GOOD = Result("ecc", "ok", "monitor", "fine")
BROKE = Result("clock", "warn", "monitor", "the check could not be made: ValueError('soft')")


class Machine:
    """A node."""

    def __init__(self, work: Path) -> None:
        self.work = work
        (work / "bin").mkdir()
        (work / "health").mkdir()
        programs = {"scontrol": SCONTROL, "nvidia-smi": NVIDIA_SMI}
        for name, text in programs.items():
            (work / "bin" / name).write_text(text)
            (work / "bin" / name).chmod(0o755)
        shutil.copytree(Path(held.__file__).parent, work / "health" / "checks")
        (work / "health" / "health_check.py").write_text(CHECKS)
        shutil.copy(Path(node_gate.__file__), work)
        (work / "says").write_text(GOOD.line())
        self.becomes("IDLE+DRAIN", words.HELD, "")

    def becomes(self, state: str, reason: str, comment: str) -> None:
        why = f" Reason={reason} [root@2026-11-29T12:00:00]" if reason else ""
        said = f" Comment={comment}" if comment else ""
        (self.work / "node").write_text(f"NodeName=n State={state} TmpDisk=0{why}{said}\n")

    def reserved(self, comment: str, state: str = "IDLE+CLOUD+MAINTENANCE+RESERVED") -> None:
        """Be a static node of ParallelCluster that is held, and do a round."""
        (self.work / "reserved").touch()
        self.becomes(state, "", comment)
        self.round("--reserved")

    def round(self, *options: str) -> None:
        environment = {**os.environ, "PATH": f"{self.work}/bin:{os.environ['PATH']}"}
        environment |= {"WORK": str(self.work)}
        command = [sys.executable, str(self.work / "node_gate.py"), *options, "n", "basic"]
        subprocess.run(command, env={**environment, "ROOT_DIR": str(self.work)}, check=True)

    def lines(self, name: str) -> list[str]:
        path = self.work / name
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_held_node_is_checked_once_after_its_boot(machine: Machine) -> None:
    machine.round()
    machine.round()
    assert machine.lines("checks") == ["fast --json", "basic --json"]
    assert machine.lines("comments")[0].startswith(f"comment={words.PASSED} basic 20")


def test_a_node_that_fails_says_what(machine: Machine) -> None:
    bad = {"check": "nvlink", "verdict": "fail", "severity": "reboot", "evidence": 'GPU "4": x=1'}
    (machine.work / "says").write_text(json.dumps(bad))
    machine.round()
    [comment] = machine.lines("comments")
    found = words.fault(comment.removeprefix("comment="))
    assert found == words.Fault("nvlink", "reboot", "GPU 4 : x 1")
    # Nothing is loaded for minutes on a node that has failed already.
    assert machine.lines("checks") == ["fast --json"]


def test_a_reset_is_made_once_for_each_order(machine: Machine) -> None:
    machine.round()
    machine.becomes("IDLE+DRAIN", f"{words.RESET}ecc [reset] GPU 3", words.WAITS)
    machine.round()
    assert machine.lines("resets") == ["--gpu-reset"]
    checked = ["fast --json", "basic --json"]
    assert machine.lines("checks") == [*checked, "acknowledge", *checked]
    machine.becomes("IDLE+DRAIN", f"{words.RESET}ecc [reset] GPU 3", f"{words.PASSED} basic")
    machine.round()
    assert len(machine.lines("resets")) == 1


def test_persistence_mode_lets_go_of_the_gpus_for_a_reset(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERSISTENCE", "Enabled")
    machine.becomes("IDLE+DRAIN", f"{words.RESET}ecc [reset] GPU 3", words.WAITS)
    machine.round()
    assert machine.lines("resets") == ["-pm 0", "--gpu-reset", "-pm 1"]


def test_a_reset_that_could_not_be_made_takes_no_error_for_dealt_with(machine: Machine) -> None:
    """Xid errors that were acknowledged without it would let users onto the broken GPU."""
    held = "GPU 00000000:53:00.0 is currently being used by one or more other processes"
    (machine.work / "held").write_text(f"{held}\n")
    machine.becomes("IDLE+DRAIN", f"{words.RESET}xid [reset] Xid 95", words.WAITS)
    machine.round()
    assert machine.lines("checks") == []
    [comment] = machine.lines("comments")
    found = words.fault(comment.removeprefix("comment="))
    assert found is not None and (found.check, found.severity) == (words.NOT_RESET, "reboot")
    assert "used by one or more other processes" in found.evidence


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("IDLE", ""),
        ("ALLOCATED+DRAIN", ""),
        ("MIXED", ""),
        ("MIXED+DRAIN", ""),
        ("IDLE+COMPLETING+DRAIN", words.HELD),
        ("IDLE+DRAIN", "fan, ask Kim"),
    ],
)
def test_a_node_in_use_or_of_a_person_is_left_alone(
    machine: Machine, state: str, reason: str
) -> None:
    machine.becomes(state, reason, "")
    machine.round()
    assert machine.lines("checks") == []


def test_the_words_are_those_of_the_head_node() -> None:
    assert held.WAITS == words.WAITS
    assert (held.HELD, held.RESET) == (words.HELD, words.RESET)
    assert held.REBOOT == words.REBOOT
    assert f"{words.FAILED}{words.NOT_RESET} [reboot] " == held.NOT_RESET
    assert verdict([GOOD]) == held.PASSED == words.PASSED


def test_the_worst_of_several_faults_decides() -> None:
    faults = (("efa", "reboot"), ("nvme", "isolate"), ("ecc", "reset"))
    found = [Result(check, "fail", severity, "x") for check, severity in faults]
    assert verdict([*found, BROKE]) == "trainshed: failed nvme [isolate] x"


@pytest.mark.parametrize(
    ("said", "evidence"),
    [
        (f"{GOOD.line()}\n{BROKE.line()}", "clock: ValueError( soft )"),
        ("health_check: no expect.json", "code 0: health_check: no expect.json"),
        ("", "code 0:"),
        (f"{GOOD.line()}\n[1]", "code 0: { check : ecc "),
        (GOOD.line().replace("monitor", "terrible"), "code 0: { check : ecc "),
    ],
    ids=["a check broke", "no document", "nothing", "half", "an unknown severity"],
)
def test_checks_without_a_verdict_release_nobody(
    machine: Machine, said: str, evidence: str
) -> None:
    (machine.work / "says").write_text(said)
    machine.round()
    [comment] = machine.lines("comments")
    found = words.fault(comment.removeprefix("comment="))
    assert found is not None and (found.check, found.severity) == ("checks", "monitor")
    assert found.evidence.startswith(f"could not be made: {evidence}")


RESET_ORDER = "trainshed: reset now: ecc [reset] GPU 3"
REBOOT_ORDER = "trainshed: rebooting: nvlink [reboot] GPU 4"


def test_a_reserved_node_does_what_its_comment_orders_and_nothing_else(machine: Machine) -> None:
    machine.reserved("trainshed: failed ecc [reset] GPU 3")
    machine.reserved("trainshed: passed basic 2026-11-30 12:00")
    assert machine.lines("checks") == machine.lines("comments") == []
    machine.reserved(RESET_ORDER)
    assert machine.lines("resets") == ["--gpu-reset"]
    assert machine.lines("checks") == ["acknowledge", "fast --json", "basic --json"]
    assert machine.lines("comments")[0].startswith(f"comment={words.PASSED} basic 20")


def test_a_reserved_node_is_checked_after_the_reboot_and_not_before(machine: Machine) -> None:
    machine.reserved("trainshed: failed nvlink [reboot] GPU 4")
    machine.reserved(REBOOT_ORDER)
    assert machine.lines("checks") == []
    shutil.rmtree(machine.work / "run")
    machine.reserved(REBOOT_ORDER, "DOWN+CLOUD+MAINTENANCE+REBOOT_ISSUED+RESERVED")
    assert machine.lines("checks") == []
    machine.reserved(REBOOT_ORDER)
    assert machine.lines("checks") == ["fast --json", "basic --json"]
    assert machine.lines("resets") == []


@pytest.mark.parametrize("state", ["ALLOCATED+CLOUD", "MIXED+CLOUD+MAINTENANCE+RESERVED"])
def test_a_reserved_node_with_jobs_is_let_be(machine: Machine, state: str) -> None:
    machine.reserved(RESET_ORDER, state)
    assert machine.lines("resets") == machine.lines("checks") == []


def test_an_order_without_the_reservation_is_an_old_one(machine: Machine) -> None:
    machine.becomes("IDLE+CLOUD", "", RESET_ORDER)
    machine.round("--reserved")
    assert machine.lines("resets") == machine.lines("checks") == []


def test_the_orders_of_head_and_node_are_the_same_words() -> None:
    for order, reason in (
        (held.RESET_ORDER, words.RESET),
        (held.REBOOT_ORDER, words.REBOOT),
    ):
        assert order == words.OURS + reason.removeprefix("health: ")
    assert held.MEND == mending.RESERVATION == hold.RESERVATION
