"""What the gate of a ParallelCluster cluster judges by, and refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assets.node.health.checks.expectation import parse
from assets.node.keeper.cluster import read_document
from trainshed import facts
from trainshed.config import (
    CapacityBlock,
    ClusterGate,
    Fleet,
    OnDemand,
    ParallelClusterOptions,
    Queue,
)
from trainshed.config.faults import dotted
from trainshed.pcluster import fleet_faults, policy_warnings
from trainshed.pcluster.release import head_document

MakeFleet = Callable[..., Fleet]
PROGRAM = "/fsx/nccl-tests/build/all_reduce_perf"


def gate(**keywords: Any) -> ParallelClusterOptions:
    return ParallelClusterOptions(gate=ClusterGate(all_reduce_perf=PROGRAM, **keywords))


def queue(instance_type: str, least: int) -> Queue:
    return Queue(
        instance_type=instance_type, capacity=OnDemand(), max_nodes=max(least, 1), min_nodes=least
    )


def document(fleet: Fleet) -> dict[str, Any]:
    return head_document(
        fleet, cluster_name="kait", mount_dir="/fsx", known_types=facts.INSTANCE_TYPES
    )


def faults(fleet: Fleet) -> list[str]:
    found = fleet_faults(fleet, cluster_name="lab", known_types=facts.INSTANCE_TYPES)
    return [f"{dotted(fault.key_path)}: {fault.reason}" for fault in found]


def test_a_cluster_has_no_gate_unless_it_says_where_the_program_is(make_fleet: MakeFleet) -> None:
    made = document(make_fleet())
    assert "gate" not in made and "expect" not in made["queues"]["train"]
    assert read_document(made).gate is None


def test_queues_with_gpus_that_always_run_are_gated(make_fleet: MakeFleet) -> None:
    queues = {
        "train": queue("p5en.48xlarge", 4),
        "burst": queue("p5en.48xlarge", 0),
        "prep": queue("m7i.large", 2),
    }
    read = read_document(document(make_fleet(queues=queues, parallelcluster=gate(strict=True))))
    assert read.gate is not None and read.gate.strict
    found = {name: (each.gpus, each.nodes) for name, each in read.queues.items()}
    assert found == {"train": (8, 4), "burst": (0, 0), "prep": (0, 0)}


def test_a_block_that_is_left_wants_no_node(
    make_fleet: MakeFleet, capacities: dict[str, Any]
) -> None:
    block = capacities["block"]
    assert isinstance(block, CapacityBlock) and not isinstance(block.end, str)
    read = read_document(
        document(make_fleet(queue_capacity=block, queue_max_nodes=4, parallelcluster=gate()))
    )
    assert read.queues["train"].drain_from is not None
    assert read.queues["train"].ceiling(read.queues["train"].drain_from) == 0


@pytest.mark.parametrize(
    ("keywords", "least"),
    [({}, 258.9), ({"tolerance": 0.9}, 332.9), ({"least_bus_gb_s": 300}, 300)],
    ids=["the table's", "another tolerance", "its own"],
)
def test_thresholds_reach_the_head_node_and_no_compute_node(
    make_fleet: MakeFleet, keywords: dict[str, Any], least: float
) -> None:
    made = document(make_fleet(parallelcluster=gate(**keywords)))
    expect = parse(made["queues"]["train"]["expect"])
    (row,) = (row for row in expect.nccl if row.nodes_to == 0 or row.nodes_from == 4)
    assert row.least_gb_s == least
    assert (expect.gpus, expect.efa_interfaces) == (8, 16)


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        (
            {"parallelcluster": gate(tolerance=0.9, least_bus_gb_s=300)},
            "parallelcluster.gate.tolerance: is 0.9 beside least_bus_gb_s, which no measurement is "
            "behind; leave one of them out",
        ),
        (
            {"parallelcluster": gate(), "queues": {"burst": queue("p5en.48xlarge", 0)}},
            "parallelcluster.gate: has no queue with GPUs and min_nodes above 0 to run over; leave "
            "it out",
        ),
        (
            {"parallelcluster": gate(strict=True), "queues": {"small": queue("g6.xlarge", 2)}},
            "queues.small.instance_type: nobody has measured an all-reduce over 2 x 1 GPUs of "
            "g6.xlarge, and parallelcluster.gate.strict lets in nothing that is not judged: give "
            "parallelcluster.gate.least_bus_gb_s, or leave strict out",
        ),
    ],
    ids=["two thresholds", "nothing to run over", "strict without a row"],
)
def test_a_gate_that_cannot_be_passed_is_refused(
    make_fleet: MakeFleet, keywords: dict[str, Any], expected: str
) -> None:
    assert faults(make_fleet(**keywords)) == [expected]


def test_what_is_not_judged_is_told(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(parallelcluster=gate(), queues={"q": queue("g5.12xlarge", 2)})
    assert policy_warnings(fleet, facts.INSTANCE_TYPES) == [
        "fleet.queues.q: nobody has measured an all-reduce over 2 x 4 GPUs of g5.12xlarge; its "
        "gate judges the rest, and says so"
    ]
    assert policy_warnings(make_fleet(parallelcluster=gate()), facts.INSTANCE_TYPES) == []


@pytest.mark.parametrize(
    ("queues", "told"),
    [
        ({"train": queue("p5en.48xlarge", 4), "b": queue("g6.xlarge", 1)}, ["train, b"]),
        ({"burst": queue("p5en.48xlarge", 0), "prep": queue("m7i.large", 2)}, []),
    ],
    ids=["two queues that it could close", "none"],
)
def test_a_cluster_without_a_gate_says_so(
    make_fleet: MakeFleet, queues: dict[str, Queue], told: list[str]
) -> None:
    assert policy_warnings(make_fleet(queues=queues), facts.INSTANCE_TYPES) == [
        f"fleet.parallelcluster.gate names no all_reduce_perf: users get nodes of {names} after "
        "the checks of each, and no all-reduce over them"
        for names in told
    ]


def test_an_own_threshold_is_judged_on_every_type(make_fleet: MakeFleet) -> None:
    options = gate(strict=True, least_bus_gb_s=4)
    fleet = make_fleet(parallelcluster=options, queues={"q": queue("g5.12xlarge", 2)})
    assert faults(fleet) == []
    assert policy_warnings(fleet, facts.INSTANCE_TYPES) == []


@pytest.mark.parametrize("program", ["all_reduce_perf", "/fsx/a b", "/fsx/$(id)"])
def test_a_program_is_a_plain_path(program: str) -> None:
    with pytest.raises(ValueError, match="is not a path, such as /fsx/nccl-tests"):
        ClusterGate(all_reduce_perf=program)
