"""The names of nodes, which partitions and jobs lean on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trainshed.config import Fleet, OnDemand, Queue
from trainshed.pcluster import compute_resource_name, node_expression

MakeFleet = Callable[..., Fleet]


@pytest.mark.parametrize(
    ("instance_type", "name"),
    [("p5en.48xlarge", "p5en"), ("p6-b300.48xlarge", "p6-b300"), ("g6e.xlarge", "g6e")],
)
def test_a_compute_resource_is_named_after_its_family(instance_type: str, name: str) -> None:
    queue = Queue(instance_type=instance_type, max_nodes=1, capacity=OnDemand())
    assert compute_resource_name(queue) == name


def test_a_compute_resource_can_have_a_name_of_its_own() -> None:
    queue = Queue(
        instance_type="p5en.48xlarge", max_nodes=2, min_nodes=2, capacity=OnDemand(),
        resource_name="kait-gpu",
    )  # fmt: skip
    assert node_expression("compute", queue) == "compute-st-kait-gpu-[1-2]"


@pytest.mark.parametrize(
    ("keywords", "expression"),
    [
        ({}, "train-st-p5en-[1-4]"),
        ({"queue_max_nodes": 1}, "train-st-p5en-1"),
        ({"queue_capacity": OnDemand()}, "train-dy-p5en-[1-4]"),
        (
            {"queue_capacity": OnDemand(), "queue_min_nodes": 1},
            "train-st-p5en-1,train-dy-p5en-[1-3]",
        ),
    ],
    ids=["static", "one", "dynamic", "both"],
)
def test_static_and_dynamic_nodes_have_names_of_their_own(
    make_fleet: MakeFleet, keywords: dict[str, object], expression: str
) -> None:
    assert node_expression("train", make_fleet(**keywords).queues["train"]) == expression
