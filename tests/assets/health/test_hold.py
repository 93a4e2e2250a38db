"""How a static node of ParallelCluster is kept from jobs, so that it is not replaced at once."""

from __future__ import annotations

import time
from argparse import Namespace

import pytest

from assets.node.health.checks import cli
from assets.node.health.checks.hold import hold
from assets.node.health.checks.probe import Said
from assets.node.health.checks.results import Result
from assets.node.keeper.recovery import words
from tests.fixtures.health.node import SaidNode

GOOD = Result("ecc", "ok", "monitor", "fine")
BROKE = Result("clock", "warn", "monitor", "the check could not be made: ValueError('soft')")
LOST = Result("gpu_count", "fail", "reboot", '7 of 8 GPUs, at="00:53"')
NODE = "train-st-p5en-1"


def slurm(state: str = "IDLE+CLOUD", reserved: int = 1, create: int = 0) -> SaidNode:
    """Return a node whose Slurm has it in a state, perhaps with a reservation."""
    probe = SaidNode()
    probe._commands.update(
        {
            "scontrol --oneliner show node": Said(0, f"NodeName={NODE} State={state} X=1\n", ""),
            "scontrol --oneliner show reservation": Said(reserved, "", ""),
            "scontrol update": Said(0, "", ""),
            "scontrol create": Said(create, "", "Requested nodes are busy"),
        }
    )
    return probe


def told(probe: SaidNode) -> list[str]:
    """Return what Slurm was told to change."""
    return [line for line in probe.ran if " show " not in line]


def test_a_failed_check_reserves_the_node_after_its_comment_says_why() -> None:
    probe = slurm()
    assert hold(probe, NODE, [GOOD, LOST]).startswith("health: gpu_count [reboot] 7 of 8 GPUs")
    comment, reservation = told(probe)
    assert comment == (
        f"scontrol update nodename={NODE} "
        "comment=trainshed: failed gpu_count [reboot] 7 of 8 GPUs, at 00:53"
    )
    assert reservation == (
        f"scontrol create reservationname=trainshed-mend-{NODE} nodes={NODE} users=root "
        "starttime=now duration=UNLIMITED flags=MAINT,IGNORE_JOBS"
    )
    found = words.fault(comment.partition("comment=")[2])
    assert found == words.Fault("gpu_count", "reboot", "7 of 8 GPUs, at 00:53")


@pytest.mark.parametrize(
    ("probe", "results", "joining"),
    [
        (slurm(), [GOOD], False),
        (slurm(reserved=0), [LOST], False),
        (slurm("IDLE+CLOUD+DRAIN"), [LOST], False),
        (slurm("DOWN+CLOUD"), [LOST], False),
        (slurm("DOWN+CLOUD+DRAIN"), [LOST], True),
        (slurm(), [GOOD, BROKE], False),
        (slurm(reserved=0), [BROKE], True),
    ],
    ids=["well", "held", "drained", "down", "joins drained", "no verdict", "held without one"],
)
def test_a_node_that_is_well_or_out_of_use_keeps_what_it_has(
    probe: SaidNode, results: list[Result], joining: bool
) -> None:
    assert hold(probe, NODE, results, joining=joining) == ""
    assert told(probe) == []


def test_a_node_that_joins_is_held_while_it_is_down() -> None:
    probe = slurm("DOWN+CLOUD")
    assert hold(probe, NODE, [LOST], joining=True)
    assert "scontrol create" in told(probe)[1]


def test_a_node_that_joins_is_held_without_a_verdict() -> None:
    probe = slurm("DOWN+CLOUD")
    assert hold(probe, NODE, [GOOD, BROKE], joining=True)
    comment, reservation = told(probe)
    text = "checks [monitor] could not be made: clock: ValueError( soft )"
    assert comment.endswith(f"comment=trainshed: failed {text}")
    assert "scontrol create" in reservation
    assert words.fault(comment.partition("comment=")[2]) == words.Fault(
        "checks", "monitor", "could not be made: clock: ValueError( soft )"
    )


def test_a_fault_says_more_than_a_check_that_broke() -> None:
    probe = slurm("DOWN+CLOUD")
    assert "gpu_count" in hold(probe, NODE, [BROKE, LOST], joining=True)
    assert "could not be made" not in told(probe)[0]


@pytest.mark.parametrize(
    ("results", "joining"), [([LOST], False), ([BROKE], True)], ids=["fault", "no verdict"]
)
def test_a_node_that_cannot_be_reserved_is_drained(results: list[Result], joining: bool) -> None:
    probe = slurm(create=1)
    assert hold(probe, NODE, results, joining=joining)
    assert told(probe)[-1].startswith(f"scontrol update nodename={NODE} state=drain reason=health:")


@pytest.mark.parametrize(
    ("level", "joining", "tries"),
    [("fast", True, 6), ("basic", False, 6), ("fast", False, 1)],
    ids=["joins", "checks of minutes", "checks of each minute"],
)
def test_a_node_is_held_once_slurm_answers_where_nobody_checks_it_soon_again(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    level: str,
    joining: bool,
    tries: int,
) -> None:
    probe, waited = slurm(), list[float]()
    refused = Said(1, "", "Unable to contact slurm controller")
    answers = probe._commands
    probe._commands = dict.fromkeys(("scontrol update", "scontrol --oneliner show"), refused)

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == tries - 1:
            probe._commands = answers

    monkeypatch.setattr(time, "sleep", sleep)
    options = Namespace(hold=True, joining=joining, level=level, node_name=NODE)
    cli._drain(probe, [LOST], options)
    assert len(waited) == tries - 1
    assert any("scontrol create" in ran for ran in told(probe)) is (tries > 1)
    assert capsys.readouterr().err.count("is not drained") == max(1, tries - 1)


@pytest.mark.parametrize("name", ["train-dy-p5en-1", "a-st-b-dy-p5en-1"])
def test_a_node_that_starts_for_a_job_is_drained_and_not_held(name: str) -> None:
    probe = slurm()
    assert hold(probe, name, [BROKE], joining=True) == ""
    assert hold(probe, name, [LOST])
    (drained,) = told(probe)
    assert "state=drain" in drained
