"""What holds in every round, of fleets in any state."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from assets.node.keeper.decide import (
    OUTDATED,
    REPLACEMENTS_AN_HOUR,
    SILENT,
    SURPLUS,
    Drain,
    Fence,
    Remove,
    Resume,
    SetDesired,
    Terminate,
    at_once,
    decide,
)
from tests.assets.keeper.fleet import NOW, Fleet, id_of, name_of

REASONS = ["", SILENT, OUTDATED, SURPLUS, "kim", "health: replace: x", "health: replace now: x"]
STATES = ["running"] * 6 + ["stopped", "shutting-down", "terminated"]


@st.composite
def fleets(draw: st.DrawFn) -> Fleet:
    fleet = Fleet(draw(st.integers(0, 8)), have=0)
    for number in range(draw(st.integers(0, 9))):
        fleet.launch(number, timedelta(minutes=draw(st.integers(0, 60))))
        if draw(st.booleans()):
            fleet.outdated(number)
        fleet.state(draw(st.sampled_from(STATES)), number)
        if draw(st.integers(0, 5)):
            fleet.node(number)
            if draw(st.booleans()):
                fleet.busy(number)
            reason = draw(st.sampled_from(REASONS))
            if reason:
                fleet.drained(reason, number)
            if draw(st.integers(0, 2)) == 0:
                fleet.silent(draw(st.integers(1, 300)), number)
        elif draw(st.booleans()):
            fleet.failure(number)
    fleet.desired = draw(st.integers(0, 10))
    fleet.replaced(draw(st.integers(0, 5)))
    if draw(st.booleans()):
        fleet.queue = type(fleet.queue)(
            **{**vars(fleet.queue), "drain_from": NOW + timedelta(minutes=draw(st.integers(-9, 9)))}
        )
    return fleet


@given(fleets())
def test_only_the_clusters_own_compute_nodes_are_touched(fleet: Fleet) -> None:
    for action in decide(fleet.view):
        if isinstance(action, Fence | Terminate | Remove):
            assert fleet.instances[action.instance].role == "compute"


@given(fleets())
def test_jobs_start_elsewhere_only_once_nothing_can_write_any_more(fleet: Fleet) -> None:
    for action in decide(fleet.view):
        if isinstance(action, Remove):
            assert fleet.instances[action.instance].state == "terminated"


@given(fleets())
def test_a_node_with_jobs_is_ended_only_if_it_is_lost_or_given_up(fleet: Fleet) -> None:
    view = fleet.view
    for action in decide(view):
        if isinstance(action, Terminate):
            node = fleet.slurm.get(f"train-{action.instance[2:]}")
            assert node is None or (node.drained and not node.busy)
        if isinstance(action, Fence):
            name = f"train-{action.instance[2:]}"
            stopped = fleet.instances[action.instance].state == "stopped"
            given_up = name in fleet.slurm and "now" in fleet.slurm[name].reason
            assert stopped or given_up or view.silent[name] >= 120


@given(fleets())
def test_the_hours_limit_is_never_passed(fleet: Fleet) -> None:
    made = [
        action
        for action in decide(fleet.view)
        if (isinstance(action, Terminate) and action.counts)
        or (isinstance(action, Fence) and fleet.instances[action.instance].state == "running")
    ]
    assert len(made) <= max(0, REPLACEMENTS_AN_HOUR - len(fleet.view.replacements))


@given(fleets())
def test_the_fleet_is_never_smaller_than_its_document_by_choice(fleet: Fleet) -> None:
    view = fleet.view
    ceiling = fleet.queue.ceiling(NOW)
    actions = decide(view)
    smaller = [a for a in actions if isinstance(a, Terminate) and a.decrement]
    lowered = [a.capacity for a in actions if isinstance(a, SetDesired)]
    left = lowered[0] if lowered else fleet.desired - len(smaller)
    assert left >= min(fleet.desired, ceiling)


@given(fleets())
def test_few_nodes_are_away_by_choice(fleet: Fleet) -> None:
    view = fleet.view
    actions = decide(view)
    ended = {a.instance for a in actions if isinstance(a, Fence | Terminate)}
    idle = {name for name, node in fleet.slurm.items() if not node.busy and not node.drained}
    taken = {a.node for a in actions if isinstance(a, Drain) and a.reason == OUTDATED} & idle
    taken |= {
        f"train-{a.instance[2:]}"
        for a in actions
        if isinstance(a, Terminate) and a.why == "outdated"
    }
    assert len(taken) <= at_once(fleet.queue.nodes)
    if taken:
        serving = [
            number
            for number in range(10)
            if (node := fleet.slurm.get(name_of(number)))
            and fleet.instances[id_of(number)].state == "running"
            and (not node.drained or node.busy or node.held)
            and name_of(number) not in view.silent
            and name_of(number) not in taken
            and id_of(number) not in ended
        ]
        assert len(serving) >= fleet.queue.nodes - at_once(fleet.queue.nodes)


@given(fleets())
def test_no_node_gets_two_orders(fleet: Fleet) -> None:
    named = [
        action.node
        if isinstance(action, Drain | Resume | Remove)
        else f"train-{action.instance[2:]}"
        for action in decide(fleet.view)
        if isinstance(action, Drain | Resume | Fence | Terminate | Remove)
    ]
    assert len(named) == len(set(named))


@given(fleets())
def test_a_person_is_not_overruled(fleet: Fleet) -> None:
    for action in decide(fleet.view):
        if isinstance(action, Resume):
            assert fleet.slurm[action.node].reason.startswith("trainshed: ")
