from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from assets.node.keeper import leaving
from assets.node.keeper.decide import (
    BLOCK_ENDS,
    DELETED,
    OUTDATED,
    SILENT,
    SURPLUS,
    Action,
    Drain,
    EndJobs,
    Fence,
    Remove,
    Resume,
    SetDesired,
    Terminate,
    decide,
)
from assets.node.keeper.view import Group, Instance, Member, Node, View
from tests.assets.keeper.fleet import NOW, Fleet, id_of, name_of

REMOVED = leaving.REMOVED
MINUTES = timedelta(minutes=1)


def drain(number: int, reason: str) -> Drain:
    return Drain(name_of(number), reason)


def fence(number: int, why: str) -> Fence:
    return Fence(id_of(number), "train", why)


def silence(seconds: int) -> str:
    return f"slurmd has not answered for {seconds} s"


def gone(number: int, why: str, decrement: bool = False, counts: bool = False) -> Terminate:
    return Terminate(id_of(number), "train", why, decrement, counts)


LOST: list[tuple[str, Fleet, list[Action]]] = [
    ("nothing to do", Fleet(), []),
    ("briefly silent", Fleet().silent(29, 1), []),
    ("silent gets no jobs", Fleet().silent(30, 1), [drain(1, SILENT)]),
    ("silent and drained already", Fleet().silent(60, 1).drained(SILENT, 1), []),
    ("heard again", Fleet().drained(SILENT, 1), [Resume(name_of(1))]),
    ("lost and idle", Fleet().silent(120, 1).drained(SILENT, 1), [fence(1, silence(120))]),
    ("lost and busy", Fleet().busy(1).silent(150, 1), [fence(1, silence(150))]),
    ("ending", Fleet().state("shutting-down", 1).silent(200, 1), []),
    ("ended", Fleet().state("terminated", 1), [Remove(name_of(1), id_of(1))]),
    ("stopped", Fleet().state("stopped", 1), [fence(1, "its instance has stopped")]),
    ("stopping", Fleet().state("stopping", 1), [fence(1, "its instance has stopped")]),
    ("rebooted by Slurm", Fleet().node(1, "IDLE", "REBOOT_ISSUED").silent(600, 1), []),
    ("rebooted by a check", Fleet().drained("health: rebooting: Xid 119", 1).silent(600, 1), []),
    (
        "rebooted for ever",
        Fleet().node(1, "IDLE", "REBOOT_ISSUED").silent(1800, 1),
        [fence(1, silence(1800))],
    ),
    ("held by a person", Fleet().drained("maintenance by kim", 1).silent(999, 1), []),
    (
        "held, with a job",
        Fleet().drained("maintenance by kim", 1).busy(1).silent(120, 1),
        [fence(1, silence(120))],
    ),
    (
        "half are lost",
        Fleet().silent(120, 1, 2),
        [fence(1, silence(120)), fence(2, silence(120))],
    ),
    (
        "most are silent at once",
        Fleet().silent(500, 0, 1, 2),
        [drain(0, SILENT), drain(1, SILENT), drain(2, SILENT)],
    ),
    ("the only one is lost", Fleet(nodes=1).silent(120, 0), [fence(0, silence(120))]),
    ("the limit is reached", Fleet().silent(120, 1).drained(SILENT, 1).replaced(4), []),
    (
        "the limit is nearly reached",
        Fleet().silent(120, 1, 2).replaced(3),
        [fence(1, silence(120)), drain(2, SILENT)],
    ),
    (
        "a health check gives a node up",
        Fleet().drained("health: replace: Xid 79", 1),
        [gone(1, "health: replace: Xid 79", counts=True)],
    ),
    ("… which still has jobs", Fleet().drained("health: replace: Xid 48", 1).busy(1), []),
    (
        "… whose job can only hang",
        Fleet().drained("health: replace now: Xid 79", 1).busy(1),
        [fence(1, "health: replace now: Xid 79")],
    ),
    ("a health check that waits", Fleet().drained("health: 7 of 8 GPUs", 1), []),
    ("health, limit reached", Fleet().drained("health: replace: x", 1).replaced(4), []),
]

BOOTS: list[tuple[str, Fleet, list[Action]]] = [
    ("one is starting", Fleet(have=3).launch(3, 9 * MINUTES), []),
    ("one gave up just now", Fleet(have=3).launch(3, 9 * MINUTES).failure(3), []),
    (
        "one gave up a while ago",
        Fleet(have=3).launch(3, 16 * MINUTES).failure(3),
        [gone(3, "it did not boot", counts=True)],
    ),
    (
        "one never came",
        Fleet(have=3).launch(3, 31 * MINUTES),
        [gone(3, "it did not boot", counts=True)],
    ),
    ("the next one too", Fleet(have=3).launch(3, 31 * MINUTES).replaced(1, "it did not boot"), []),
    ("two gave up", Fleet().failure(2).failure(3), []),
    ("limit reached", Fleet().failure(3).replaced(4), []),
]

SIZES: list[tuple[str, Fleet, list[Action]]] = [
    ("one too many is idle", Fleet(3, have=4).busy(0, 1, 2), [drain(3, SURPLUS)]),
    ("it is drained", Fleet(3, have=4).drained(SURPLUS, 1), [gone(1, "surplus", True)]),
    ("all are busy", Fleet(3, have=4).busy(0, 1, 2, 3), [drain(0, SURPLUS)]),
    ("its job goes on", Fleet(3, have=4).busy(0, 1, 2, 3).drained(SURPLUS, 0), []),
    (
        "one that is chosen stays so",
        Fleet(3, have=4).busy(1).drained(SURPLUS, 1),
        [drain(0, SURPLUS), Resume(name_of(1))],
    ),
    ("an outdated one first", Fleet(3, have=4).outdated(2), [drain(2, SURPLUS)]),
    (
        "a failed one first",
        Fleet(3, have=4).failure(2),
        [gone(2, "surplus", True)],
    ),
    ("not one that starts", Fleet(3, have=3).launch(3, MINUTES), [drain(0, SURPLUS)]),
    (
        "the group has no more",
        Fleet(3, have=4).drained(SURPLUS, 1).but(),
        [gone(1, "surplus", True)],
    ),
    ("wanted again", Fleet().drained(SURPLUS, 1), [Resume(name_of(1))]),
    ("held by a person comes last", Fleet(3, have=4).drained("kim", 0), [drain(1, SURPLUS)]),
]

OLD: list[tuple[str, Fleet, list[Action]]] = [
    ("one idle at a time", Fleet().outdated(0, 1, 2, 3).busy(0, 1), [drain(2, OUTDATED)]),
    (
        "drained and idle",
        Fleet().outdated(0, 2).drained(OUTDATED, 2),
        [gone(2, "outdated")],
    ),
    ("its successor starts", Fleet(have=3).launch(3, MINUTES).outdated(0, 1), []),
    ("another node is lost", Fleet().outdated(0, 1).silent(40, 2), [drain(2, SILENT)]),
    ("all are busy", Fleet().outdated(0, 1, 2, 3).busy(0, 1, 2, 3), [drain(0, OUTDATED)]),
    (
        "its job goes on",
        Fleet().outdated(0, 1).busy(0, 1, 2, 3).drained(OUTDATED, 0),
        [],
    ),
    (
        "an idle one beside a draining one",
        Fleet().outdated(0, 1).busy(0).drained(OUTDATED, 0),
        [drain(1, OUTDATED)],
    ),
    ("taken back", Fleet().drained(OUTDATED, 1), [Resume(name_of(1))]),
    (
        "eight nodes: two at a time",
        Fleet(8).outdated(*range(8)),
        [drain(0, OUTDATED), drain(1, OUTDATED)],
    ),
    ("a person's node is not in the way", Fleet().outdated(1).drained("kim", 1), []),
    (
        "a person's node takes no place",
        Fleet().outdated(0, 1).drained("kim", 1),
        [drain(0, OUTDATED)],
    ),
]

LEFT: list[tuple[str, Fleet, list[Action]]] = [
    (
        "no new jobs, and no end of those there are",
        Fleet(2).busy(1).removed(),
        [drain(0, REMOVED), drain(1, REMOVED)],
    ),
    ("drained already", Fleet(2).busy(1).drained(REMOVED, 0, 1).removed(), []),
    ("drained by a person", Fleet(1).drained("kim", 0).removed(), []),
    (
        "not even a silent one is ended",
        Fleet(1).busy(0).silent(500, 0).removed(),
        [drain(0, REMOVED)],
    ),
    ("before it is live", Fleet(1).removed().but(settled=False), [drain(0, REMOVED)]),
    (
        "its instance has ended",
        Fleet(1).state("terminated", 0).removed(),
        [Remove(name_of(0), id_of(0))],
    ),
    ("one that starts", Fleet(0).launch(0, MINUTES).removed(), []),
    ("with all of the cluster", Fleet(1).removed().but(ends_at=NOW), [drain(0, DELETED)]),
    ("it came back", Fleet(1).drained(REMOVED, 0), [Resume(name_of(0))]),
]


@pytest.mark.parametrize(
    ("fleet", "actions"),
    [
        pytest.param(fleet, actions, id=id)
        for id, fleet, actions in LOST + BOOTS + SIZES + OLD + LEFT
    ],
)
def test_one_round_of_a_fleet(fleet: Fleet, actions: list[Action]) -> None:
    assert decide(fleet.view) == actions


def test_a_group_that_would_launch_the_old_version_gets_no_work() -> None:
    fleet = Fleet().outdated(0, 1)
    fleet.group_version = "1"
    assert decide(fleet.view) == []


def test_a_version_that_is_not_told_is_not_outdated() -> None:
    fleet = Fleet()
    fleet.members[id_of(0)] = Member(id_of(0), "InService", None)
    assert decide(fleet.view) == []


def test_desired_capacity_above_what_there_is_is_lowered_to_the_document() -> None:
    fleet = Fleet(4)
    fleet.desired = 6
    assert decide(fleet.view) == [SetDesired("kait-train", 4)]


def test_a_surplus_that_the_group_does_not_want_either_is_not_counted_down() -> None:
    fleet = Fleet(3, have=4).drained(SURPLUS, 1)
    fleet.desired = 3
    assert decide(fleet.view) == [gone(1, "surplus")]


@pytest.mark.parametrize("part", ["groups", "instances", "nodes"])
def test_with_a_part_unread_nothing_is_done(part: str) -> None:
    fleet = Fleet(3, have=4).outdated(0).silent(500, 1).state("terminated", 2)
    assert decide(fleet.view) != []
    assert decide(fleet.but(**{part: None}).view) == []


def test_a_document_that_is_not_live_takes_nobody_away_but_the_dead() -> None:
    fleet = Fleet(3, have=5).outdated(0).state("terminated", 1).silent(120, 2).drained(SURPLUS, 3)
    assert decide(fleet.but(settled=False).view) == [
        Remove(name_of(1), id_of(1)),
        fence(2, silence(120)),
    ]


def test_an_instance_that_ec2_does_not_list_is_not_taken_for_ended() -> None:
    fleet = Fleet()
    del fleet.instances[id_of(1)]
    assert decide(fleet.silent(900, 1).view) == [drain(1, SILENT)]


def queues_of_one(count: int, silent: int) -> View:
    """Return a fleet of queues of one node each, of which some are silent."""
    view = Fleet(1).view
    names = [f"q{number}" for number in range(count)]
    queues = {name: replace(Fleet(1).queue, name=name, group=name) for name in names}
    nodes = {name_of(n, queue): n for n, queue in enumerate(names)}
    members = {n: Member(id_of(n), "InService", "2") for n in range(count)}
    return replace(
        view,
        document=replace(view.document, queues=queues),
        groups={name: Group(name, 1, "2", {id_of(n): members[n]}) for n, name in enumerate(names)},
        instances={
            id_of(n): Instance(id_of(n), "running", "compute", name, NOW - timedelta(days=2))
            for n, name in enumerate(names)
        },
        nodes={name: Node(name, "10.0.0.1", frozenset({"ALLOCATED"})) for name in nodes},
        silent={name: 900.0 for name, number in nodes.items() if number < silent},
    )


@pytest.mark.parametrize(
    ("count", "silent", "ended"),
    [(3, 1, 1), (3, 2, 0), (3, 3, 0), (2, 1, 1), (2, 2, 0), (1, 1, 1)],
)
def test_queues_of_one_node_that_are_silent_together_are_not_ended(
    count: int, silent: int, ended: int
) -> None:
    decided = decide(queues_of_one(count, silent))
    fenced = [each for each in decided if isinstance(each, Fence)]
    drained = [each for each in decided if isinstance(each, Drain)]
    assert (len(fenced), len(drained)) == (ended, silent - ended)


def test_foreign_nodes_and_instances_are_left_alone() -> None:
    fleet = Fleet()
    fleet.slurm["cloud-1"] = Node("cloud-1", "10.0.0.9", frozenset({"IDLE"}))
    fleet.slurm["other-0123456789abcdef0"] = Node(
        "other-0123456789abcdef0", "10.0.0.9", frozenset({"DOWN"})
    )
    for id, role, queue in (("i-0aa", "compute", "other"), ("i-0bb", "login", "train")):
        fleet.instances[id] = Instance(id, "stopped", role, queue, NOW)
    # It has the tags, and is in no group.
    fleet.instances["i-0cc"] = Instance("i-0cc", "running", "compute", "train", NOW)
    assert decide(fleet.silent(900, 7).view) == []


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (41, []),
        (40, [drain(0, BLOCK_ENDS), EndJobs((name_of(0),), NOW + 10 * MINUTES, True)]),
        (31, [drain(0, BLOCK_ENDS), EndJobs((name_of(0),), NOW + 1 * MINUTES, True)]),
    ],
    ids=["a minute before", "at its time", "nine minutes later"],
)
def test_a_block_is_left_before_it_ends(minutes: int, expected: list[Action]) -> None:
    fleet = Fleet(1, drain_from=NOW + (minutes - 40) * MINUTES).busy(0)
    assert decide(fleet.view) == expected


def test_at_the_end_of_a_block_the_group_is_emptied_and_stays_empty() -> None:
    fleet = Fleet(2, drain_from=NOW - MINUTES).drained(BLOCK_ENDS, 0, 1).launch(2, MINUTES)
    fleet.desired = 3
    assert decide(fleet.view) == [gone(number, "block ends", True) for number in (0, 1, 2)]
    empty = Fleet(2, have=0, drain_from=NOW - MINUTES)
    assert decide(empty.view) == []
    empty.desired = 2
    assert decide(empty.view) == [SetDesired("kait-train", 0)]


def test_a_block_that_was_extended_gets_its_nodes_back() -> None:
    fleet = Fleet(1, drain_from=NOW + MINUTES).drained(BLOCK_ENDS, 0)
    assert decide(fleet.view) == [Resume(name_of(0))]


def test_before_a_deletion_nodes_drain_and_nothing_is_terminated() -> None:
    ends_at = datetime(2026, 11, 29, 12, 10, tzinfo=UTC)
    fleet = Fleet(3, have=4).busy(1, 2).drained("kim", 2).silent(999, 3).outdated(0)
    assert decide(fleet.but(ends_at=ends_at).view) == [
        drain(0, DELETED),
        drain(1, DELETED),
        drain(3, DELETED),
        EndJobs((name_of(1), name_of(2)), ends_at, requeue=False),
    ]
