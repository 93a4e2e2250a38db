"""What becomes of nodes that are held or failed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from assets.node.keeper.decide import verdict
from assets.node.keeper.recovery.act import report
from assets.node.keeper.recovery.decide import (
    Action,
    Ask,
    Event,
    Hold,
    Mend,
    Release,
    Replace,
    Seen,
    at_once,
    decide,
)
from assets.node.keeper.recovery.words import HELD, PASSED, REBOOT, RESET, WAITS, Fault, fault
from assets.node.keeper.view import Node

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
NAME = "train-0123456789abc0001"
GPU = Fault("gpu_count", "reboot", "7 of 8 GPUs")
ECC = Fault("ecc", "reset", "GPU 3: 2 uncorrected errors")
HELD_BY = Fault("gpu_reset", "reboot", "used by one or more other processes")
ROW = Fault("ecc", "isolate", "GPU 3: a row was not remapped")


def node(reason: str = "", *, state: str = "IDLE+DRAIN", name: str = NAME) -> Node:
    return Node(name, "10.0.0.1", frozenset(state.split("+")), reason)


def seen(*nodes: Node, **more: object) -> Seen:
    return Seen(NOW, {each.name: each for each in nodes}, **more)  # type: ignore[arg-type]


def event(action: str, hours: float, text: str = "x [reboot] y") -> Event:
    return Event(NOW - timedelta(hours=hours), NAME, action, text)


def says(text: str) -> Mapping[str, str]:
    return {NAME: text}


TABLE: dict[str, tuple[Seen, list[Action]]] = {
    "well": (seen(node(state="IDLE")), []),
    "joins": (seen(node("")), [Hold(NAME, HELD)]),
    "is being checked": (seen(node(HELD)), []),
    "has passed": (seen(node(HELD), comments=says(f"{PASSED} basic 12:00")), [Release(NAME)]),
    "has passed, in a closed queue": (
        seen(node(HELD), comments=says(PASSED), closed=frozenset({NAME})),
        [],
    ),
    "has failed while held": (
        seen(node(HELD), comments=says(f"trainshed: failed {GPU.text}")),
        [Hold(NAME, f"health: {GPU.text}")],
    ),
    "a person's reason": (seen(node("fan, ask Kim"), comments=says(PASSED)), []),
    "the keeper's reason": (seen(node("trainshed: outdated"), comments=says(PASSED)), []),
    "reset": (seen(node(f"health: {ECC.text}")), [Mend(NAME, "reset", ECC)]),
    "reboot": (seen(node(f"health: {GPU.text}")), [Mend(NAME, "reboot", GPU)]),
    "isolate": (
        seen(node(f"health: {ROW.text}")),
        [Replace(NAME, ROW, "its severity is isolate")],
    ),
    "monitor": (seen(node("health: xid [monitor] Xid 13")), []),
    "has jobs": (seen(node(f"health: {ROW.text}", state="ALLOCATED+DRAIN")), []),
    "is down": (seen(node(f"health: {ROW.text}", state="DOWN+DRAIN")), []),
    "again within a day": (
        seen(node(f"health: {GPU.text}"), history=(event("reboot", 23),)),
        [Replace(NAME, GPU, "it failed again after a reboot")],
    ),
    "again after a reset": (
        seen(node(f"health: {GPU.text}"), history=(event("reset", 1),)),
        [Replace(NAME, GPU, "it failed again after a reset")],
    ),
    "a reset that could not be made": (
        seen(node(f"health: {HELD_BY.text}"), history=(event("reset", 0.1),)),
        [Mend(NAME, "reboot", HELD_BY)],
    ),
    "a reset that could not be made, after a reboot": (
        seen(
            node(f"health: {HELD_BY.text}"),
            history=(event("reset", 2), event("reboot", 1), event("reset", 0.1)),
        ),
        [Replace(NAME, HELD_BY, "it failed again after a reset")],
    ),
    "again after a day": (
        seen(node(f"health: {GPU.text}"), history=(event("reboot", 25),)),
        [Mend(NAME, "reboot", GPU)],
    ),
    "reboots": (
        seen(node(REBOOT + GPU.text), comments=says(WAITS), history=(event("reboot", 0.1),)),
        [],
    ),
    "is back": (
        seen(node(REBOOT + GPU.text), comments=says(PASSED), history=(event("reboot", 0.1),)),
        [Release(NAME)],
    ),
    "is back and fails": (
        seen(
            node(RESET + ECC.text),
            comments=says(f"trainshed: failed {ECC.text}"),
            history=(event("reset", 0.1),),
        ),
        [Hold(NAME, f"health: {ECC.text}")],
    ),
    "does not come back": (
        seen(node(REBOOT + GPU.text), comments=says(WAITS), history=(event("reboot", 1),)),
        [Replace(NAME, GPU, "it did not come back in 0:45:00")],
    ),
    "is being replaced": (seen(node(f"health: replace idle: {ROW.text}")), []),
}


@pytest.mark.parametrize(("given", "actions"), TABLE.values(), ids=TABLE)
def test_what_is_done(given: Seen, actions: list[Action]) -> None:
    assert decide(given) == actions


def names(count: int) -> list[str]:
    return [f"train-{number:017x}" for number in range(count)]


@pytest.mark.parametrize(("nodes", "most"), [(1, 1), (4, 1), (19, 1), (20, 2), (100, 10)], ids=str)
def test_a_tenth_of_the_nodes_is_mended_at_a_time(nodes: int, most: int) -> None:
    assert at_once(nodes) == most
    faults = [f"health: c{index} [reboot] x" for index in range(min(nodes, 12))]
    failing = [node(reason, name=name) for reason, name in zip(faults, names(nodes), strict=False)]
    well = [node(state="IDLE", name=name) for name in names(nodes)[len(failing) :]]
    assert len(decide(seen(*failing, *well))) == min(most, len(failing))


def test_a_node_that_is_being_mended_counts() -> None:
    first, second, *rest = names(8)
    busy = [node(state="IDLE", name=name) for name in rest]
    given = seen(
        node(f"{REBOOT}{GPU.text}", name=first),
        node(f"health: {ECC.text}", name=second),
        *busy,
        history=(Event(NOW, first, "reboot", GPU.text),),
    )
    assert decide(given) == []


def test_what_many_nodes_have_is_asked_about_once_and_not_mended() -> None:
    failing = [node("health: fsx [reboot] no answer", name=name) for name in names(3)]
    well = [node(state="IDLE", name=name) for name in names(8)[3:]]
    asked = decide(seen(*failing, *well))
    assert asked == [Ask("fsx", tuple(names(3)))]
    before = Event(NOW - timedelta(minutes=59), "", "ask", "fsx")
    assert decide(seen(*failing, *well, history=(before,))) == []
    # Three of twenty are three nodes with bad luck.
    more = [node(state="IDLE", name=name) for name in names(20)[8:]]
    assert [type(each) for each in decide(seen(*failing, *well, *more))] == [Mend, Mend]


def test_the_keeper_replaces_what_is_given_up_once_it_is_idle_and_nothing_before() -> None:
    given_up = Replace(NAME, ROW, "its severity is isolate").reason
    assert verdict(node(given_up)) == "idle"
    for reason in (HELD, "", f"health: {GPU.text}", RESET + ECC.text, REBOOT + GPU.text):
        assert verdict(node(reason)) == ""
        assert not node(reason).held


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("health: nvlink [reboot] GPU 4: link 7 down (+xid)", ("nvlink", "reboot")),
        ("trainshed: failed ecc [reset] GPU 3", ("ecc", "reset")),
        ("health: nvme [isolate]", ("nvme", "isolate")),
        ("health: something else", None),
        (HELD, None),
        (RESET + ECC.text, None),
        ("not health: ecc [reset] x", None),
    ],
)
def test_reasons_are_read_as_the_checks_write_them(
    text: str, found: tuple[str, str] | None
) -> None:
    read = fault(text)
    assert (None if read is None else (read.check, read.severity)) == found


def test_a_report_has_the_instance_the_evidence_and_what_was_tried() -> None:
    action = Replace(NAME, GPU, "it failed again after a reboot")
    history = [event("reboot", 2, GPU.text), Event(NOW, "train-0123456789abc0002", "reset", "x")]
    text = "\n".join(report(NOW, action, history, "i-0123456789abc0001"))
    assert "instance: i-0123456789abc0001" in text
    assert "evidence: 7 of 8 GPUs" in text
    assert "  2026-11-29T10:00:00+00:00 reboot: gpu_count [reboot] 7 of 8 GPUs" in text
    assert "reset" not in text
