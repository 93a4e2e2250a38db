"""What becomes of a static node of ParallelCluster that fails: mended, replaced, or left alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assets.node.keeper.cluster_slurm import ClusterSlurm
from assets.node.keeper.mending import Look, Mending, name_of
from assets.node.keeper.recovery.decide import Event
from assets.node.keeper.recovery.store import Store
from assets.node.keeper.slurm import SlurmError

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
NODES = [f"train-st-p5en-{number}" for number in range(1, 9)]
ONE = NODES[0]
RESET, REBOOT = "ecc [reset] GPU 3: 2 uncorrected", "gpu_count [reboot] 7 of 8 GPUs"
ISOLATE = "nvme [isolate] 7 of 8 disks"


class World:
    """Slurm's programs over eight static nodes, of which some hold themselves."""

    def __init__(self, folder: Path) -> None:
        self.states = dict.fromkeys(NODES, "IDLE+CLOUD+MAINTENANCE+RESERVED")
        self.addresses = {name: f"10.0.0.{number}" for number, name in enumerate(NODES, start=1)}
        self.comments: dict[str, str] = {}
        self.held: set[str] = set()
        self.ran: list[str] = []
        self.told: list[tuple[str, str]] = []
        self.now = NOW
        self.reboots = True
        self.store = Store(folder / "state", folder / "shared")
        self.slurm = ClusterSlurm(self, "")
        self.mending = Mending(
            self.slurm,
            self.store,
            lambda subject, text: self.told.append((subject, text)),
            lambda *_, **__: None,
            self.slurm.instance_ids,
        )

    def __call__(self, command: Sequence[str], text: str) -> str:
        said = " ".join(command)
        if "show nodes" in said:
            return "\n".join(
                f"NodeName={name} NodeAddr={self.addresses[name]} State={state} "
                f"Comment={self.comments.get(name, '')} InstanceId=i-{name[-1] * 17} "
                for name, state in self.states.items()
            )
        if command[0] == "squeue":
            return ""
        self.ran.append(said)
        if "comment=" in said:
            node, _, comment = said.partition("nodename=")[2].partition(" comment=")
            self.comments[node] = comment
        if "reboot" in command and not self.reboots:
            raise SlurmError("RebootProgram isn't defined")
        return ""

    def fails(self, fault: str, *nodes: str) -> None:
        """Let nodes hold themselves for a fault."""
        for node in nodes or (ONE,):
            self.held.add(node)
            self.comments[node] = f"trainshed: failed {fault}"

    def look(self, *closed: str) -> list[str]:
        """Do a round and return what was changed."""
        self.ran.clear()
        nodes, comments = self.slurm.nodes(), self.slurm.comments()
        self.mending.round(Look(self.now, nodes, frozenset(self.held), comments, frozenset(closed)))
        return self.ran


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_reset_is_ordered_in_the_comment_and_nothing_is_drained(world: World) -> None:
    world.fails(RESET)
    assert world.look() == [f"scontrol update nodename={ONE} comment=trainshed: reset now: {RESET}"]
    assert [event.node for event in world.store.history()] == [f"{ONE}@10.0.0.1"]
    assert world.look() == []


def test_a_reboot_goes_through_slurm(world: World) -> None:
    world.fails(REBOOT)
    assert world.look() == [
        f"scontrol update nodename={ONE} comment=trainshed: rebooting: {REBOOT}",
        f"scontrol reboot {ONE}",
    ]
    world.states[ONE] = "DOWN+CLOUD+MAINTENANCE+REBOOT_ISSUED+RESERVED"
    world.fails(RESET, NODES[1])
    assert world.look() == []


def test_a_node_that_slurm_cannot_reboot_is_replaced(world: World) -> None:
    world.reboots = False
    world.fails(REBOOT)
    world.look()
    assert world.comments[ONE] == f"trainshed: failed {REBOOT}"
    assert "state=drain" in world.look()[-1]


def test_what_is_to_be_replaced_is_drained_and_told_with_its_instance(world: World) -> None:
    world.fails(ISOLATE)
    order, drained = world.look()
    assert order.endswith(f"comment=trainshed: replace idle: {ISOLATE}")
    assert drained == (
        f"scontrol update nodename={ONE} state=drain reason=health: replace idle: {ISOLATE}"
    )
    ((subject, text),) = world.told
    assert subject == f"{ONE}@10.0.0.1 is replaced"
    assert "(i-11111111111111111) is replaced, as its severity is isolate" in text
    (report,) = (world.store.shared or Path()).glob("reports/*.txt")
    assert "instance: i-11111111111111111" in report.read_text()
    world.states[ONE] = "IDLE+CLOUD+DRAIN"
    assert world.look() == []
    world.states[ONE] = "DOWN+CLOUD"
    assert world.look() == []


def test_a_node_that_passed_its_checks_is_released_and_by_them_alone(world: World) -> None:
    world.fails(RESET)
    world.comments[ONE] = "trainshed: passed; gate passed 2026-11-30 12:00"
    assert world.look() == []
    world.comments[ONE] = "trainshed: passed basic 2026-11-30 12:00"
    assert world.look(ONE) == []
    assert world.look() == [f"scontrol delete reservationname=trainshed-mend-{ONE}"]


def test_one_that_fails_again_within_a_day_is_replaced_and_its_successor_begins_anew(
    world: World,
) -> None:
    world.fails(RESET)
    world.look()
    world.now += timedelta(hours=2)
    world.fails(RESET)
    assert "state=drain" in world.look()[-1]
    assert "it failed again after a reset" in world.told[0][1]
    world.addresses[ONE] = "10.0.0.99"
    world.fails(RESET)
    assert world.look() == [f"scontrol update nodename={ONE} comment=trainshed: reset now: {RESET}"]


def test_one_that_does_not_do_what_it_is_told_is_replaced(world: World) -> None:
    world.fails(RESET)
    world.look()
    world.now += timedelta(minutes=46)
    assert "state=drain" in world.look()[-1]
    assert "it did not come back in 0:45:00" in world.told[0][1]


@pytest.mark.parametrize(
    "state",
    [
        "ALLOCATED+CLOUD",
        "MIXED+CLOUD+MAINTENANCE",
        "IDLE+CLOUD+DRAIN",
        "DOWN+CLOUD",
        "IDLE+CLOUD+POWERING_DOWN",
    ],
)
@pytest.mark.parametrize("fault", [RESET, REBOOT, ISOLATE])
def test_jobs_and_nodes_that_another_took_out_are_left_alone(
    world: World, state: str, fault: str
) -> None:
    world.fails(fault)
    world.states[ONE] = state
    assert world.look() == [] and world.told == []


def test_a_node_that_is_drained_and_not_held_is_parallelclusters(world: World) -> None:
    world.states[ONE] = "IDLE+CLOUD+DRAIN"
    world.comments[ONE] = f"trainshed: failed {REBOOT}"
    assert world.look() == []


def test_a_check_that_asks_for_nothing_changes_nothing(world: World) -> None:
    world.fails("checks [monitor] could not be made")
    assert world.look() == [] and world.told == []


def test_one_is_mended_at_a_time(world: World) -> None:
    world.fails(RESET, ONE)
    world.fails(ISOLATE, NODES[1])
    assert [ran.split()[2] for ran in world.look()] == [f"nodename={ONE}"]
    assert world.look() == []
    world.held.remove(ONE)
    assert "state=drain" in world.look()[-1]


def test_a_node_that_no_instance_replaces_keeps_none_from_being_mended(world: World) -> None:
    world.fails(ISOLATE)
    world.look()
    world.states[ONE] = "DOWN+CLOUD"
    world.fails(RESET, NODES[1])
    assert [ran.split()[2] for ran in world.look()] == [f"nodename={NODES[1]}"]


def test_a_fault_of_many_is_told_with_how_to_release_them_and_mends_none(world: World) -> None:
    world.fails("fsx [reboot] no answer", *NODES[:3])
    assert world.look() == world.look() == []
    ((subject, text),) = world.told
    assert subject == "3 nodes fail fsx"
    assert text.endswith(
        f"for node in {' '.join(NODES[:3])}; do scontrol delete "
        "reservationname=trainshed-mend-$node; done"
    )


def replaced(world: World, name: str, hours: float, address: str = "10.0.9.9") -> None:
    at = world.now - timedelta(hours=hours)
    world.store.add(Event(at, f"{name}@{address}", "replace", ISOLATE))


def test_a_name_that_two_replacements_did_not_mend_is_held_and_told_once(world: World) -> None:
    for hours in (9, 3):
        replaced(world, ONE, hours)
    world.fails(ISOLATE)
    assert world.look() == world.look() == []
    ((subject, text),) = world.told
    assert subject == f"{ONE} fails again"
    assert f"Mend the cause, then: scontrol delete reservationname=trainshed-mend-{ONE}" in text
    world.now += timedelta(hours=16)
    assert "state=drain" in world.look()[-1]


def test_four_are_replaced_in_an_hour(world: World) -> None:
    for number, name in enumerate(NODES[4:], start=1):
        replaced(world, name, number * 0.2)
    world.fails(ISOLATE)
    assert world.look() == []
    world.now += timedelta(minutes=13)
    assert "state=drain" in world.look()[-1]


def test_a_key_has_the_name() -> None:
    assert name_of(f"{ONE}@10.0.0.1") == name_of(ONE) == ONE
