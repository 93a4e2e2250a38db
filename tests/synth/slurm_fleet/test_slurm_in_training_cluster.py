"""TrainingCluster with backend slurm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from trainshed import SlurmFleet, TrainingCluster
from trainshed.config import (
    FaultsError,
    Fleet,
    Image,
    ImageLock,
    TargetedReservation,
)
from trainshed.config.capacity import ReservationRequest
from trainshed.network import TrainingNetwork
from trainshed.storage import LustreStorage

Record = Callable[..., Fleet]
Ground = Callable[[], tuple[cdk.Stack, TrainingNetwork, LustreStorage]]
Cluster = Callable[[Fleet], tuple[cdk.Stack, TrainingCluster]]


@pytest.fixture
def cluster(make_ground: Ground) -> Cluster:
    """Make a cluster with a fleet, in a foreign stack."""

    def make(fleet: Fleet) -> tuple[cdk.Stack, TrainingCluster]:
        stack, network, storage = make_ground()
        made = TrainingCluster(
            stack, "Cluster", cluster_name="lab", fleet=fleet, network=network, storage=storage
        )
        return stack, made

    return make


def resources(stack: cdk.Stack, kind: str) -> dict[str, Any]:
    return dict(Template.from_stack(stack).find_resources(kind))


def test_the_backend_of_the_record_is_made(record: Record, cluster: Cluster) -> None:
    stack, made = cluster(record())
    assert isinstance(made.fleet, SlurmFleet)
    assert len(resources(stack, "Custom::TrainshedSlurmFleet")) == 1
    assert not resources(stack, "Custom::TrainshedParallelCluster")


def test_a_made_reservation_is_used_by_its_queue(record: Record, cluster: Cluster) -> None:
    capacity = TargetedReservation(create=ReservationRequest(nodes=4))
    stack, made = cluster(record(queue={"capacity": capacity}))
    (reservation,) = resources(stack, "AWS::EC2::CapacityReservation")
    (template,) = (
        resource["Properties"]["LaunchTemplateData"]
        for id, resource in resources(stack, "AWS::EC2::LaunchTemplate").items()
        if "TrainQueue" in id
    )
    assert template["CapacityReservationSpecification"] == {
        "CapacityReservationTarget": {"CapacityReservationId": {"Ref": reservation}}
    }
    assert isinstance(made.fleet, SlurmFleet)
    queue = made.fleet.document["queues"]["train"]
    assert stack.resolve(queue["reservation_id"]) == {"Ref": reservation}


def test_keys_of_another_backend_are_refused_with_their_path(
    record: Record, cluster: Cluster
) -> None:
    image = Image(lock=ImageLock(ami_id="ami-0123456789abcdef0", name="x"))
    with pytest.raises(FaultsError, match=r"^fleet\.image\.lock: is for backend slurm; "):
        cluster(record(backend="parallelcluster", image=image))
