"""What a held node makes of programs that hang: nothing that they did not do counts as done."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.node.health.checks import apart, held
from assets.node.health.checks.probe import Said
from assets.node.health.checks.results import Result
from assets.node.keeper.recovery import words
from tests.fixtures.health.node import SaidNode

SHOWN = f"NodeName=n State=IDLE+DRAIN X=1 Reason={words.RESET}xid [reset] Xid 95 Comment="
CHECKS = " ".join(apart.PROGRAM)


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that says that this boot's checks are over."""
    path = tmp_path / "run/gate-checked"
    monkeypatch.setattr(held, "CHECKED", path)
    return path


@pytest.fixture
def probe(checked: Path, monkeypatch: pytest.MonkeyPatch) -> SaidNode:
    """A drained node with the order to reset its GPUs, on which all goes well."""
    node = SaidNode()
    monkeypatch.setattr(held, "Probe", lambda: node)
    node._commands = {
        "scontrol": Said(0),
        "scontrol --oneliner show node": Said(0, f"{SHOWN}{words.WAITS}\n"),
        "nvidia-smi": Said(0),
        CHECKS: Said(0, Result("ecc", "ok", "monitor", "fine").line()),
    }
    return node


def hangs(probe: SaidNode, command: str) -> None:
    """Let a command not end in time."""
    probe._commands[command] = Said(None, "", f"{command.split()[0]} did not end in 60 s")


def comments(probe: SaidNode) -> list[str]:
    """Return what the node said of itself."""
    return [ran.partition("comment=")[2] for ran in probe.ran if "comment=" in ran]


def test_a_reset_that_hangs_is_none_that_was_made(probe: SaidNode) -> None:
    hangs(probe, "nvidia-smi --gpu-reset")
    assert held.main(["n"], None) == 0
    assert comments(probe) == [f"{held.NOT_RESET}nvidia-smi did not end in 60 s"]
    assert not [ran for ran in probe.ran if ran.startswith(CHECKS)]


def test_a_comment_that_slurm_does_not_take_in_time_is_said_again(
    probe: SaidNode, checked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hangs(probe, "scontrol update")
    assert held.main(["n"], None) == 1
    assert not checked.exists()
    assert "node_gate: scontrol did not end in 60 s" in capsys.readouterr().err
    probe._commands["scontrol update"] = Said(0)
    assert held.main(["n"], None) == 0
    assert checked.exists()
    assert [text.startswith(held.PASSED) for text in comments(probe)] == [True, True]


@pytest.mark.parametrize("options", [[], ["--reserved"]], ids=["drained", "reserved"])
def test_a_node_of_which_slurm_says_nothing_in_time_is_not_taken_for_checked(
    probe: SaidNode, checked: Path, options: list[str]
) -> None:
    hangs(probe, "scontrol --oneliner show node")
    assert held.main([*options, "n"], None) == 0
    assert len(probe.ran) == 1
    assert not checked.exists()
