"""TrainingCluster with backend slurm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from trainshed import SlurmFleet, TrainingCluster, facts
from trainshed.config import (
    FaultsError,
    Fleet,
    Image,
    ImageLock,
    Lustre,
    TargetedReservation,
)
from trainshed.config.capacity import ReservationRequest
from trainshed.network import TrainingNetwork
from trainshed.storage import LustreStorage

Record = Callable[..., Fleet]

ENV = cdk.Environment(account="111122223333", region="us-east-2")


def cluster(fleet: Fleet) -> tuple[cdk.Stack, TrainingCluster]:
    stack = cdk.Stack(cdk.App(), "Foreign", env=ENV)
    network = TrainingNetwork(stack, "Network", zone=facts.ZoneName("us-east-2a"))
    storage = LustreStorage(
        stack,
        "Storage",
        vpc=network.vpc,
        subnet=network.compute_subnet,
        client_security_group=network.efa_security_group,
        lustre=Lustre(capacity_gib=38400, throughput_mb_s_per_tib=125, efa=True),
    )
    made = TrainingCluster(
        stack, "Cluster", cluster_name="lab", fleet=fleet, network=network, storage=storage
    )
    return stack, made


def resources(stack: cdk.Stack, kind: str) -> dict[str, Any]:
    return dict(Template.from_stack(stack).find_resources(kind))


def test_the_backend_of_the_record_is_made(record: Record) -> None:
    stack, made = cluster(record())
    assert isinstance(made.fleet, SlurmFleet)
    assert len(resources(stack, "Custom::TrainshedSlurmFleet")) == 1
    assert not resources(stack, "Custom::TrainshedParallelCluster")


def test_a_made_reservation_is_used_by_its_queue(record: Record) -> None:
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


def test_keys_of_another_backend_are_refused_with_their_path(record: Record) -> None:
    image = Image(lock=ImageLock(ami_id="ami-0123456789abcdef0", name="x"))
    with pytest.raises(FaultsError, match=r"^fleet\.image\.lock: is for backend slurm; "):
        cluster(record(backend="parallelcluster", image=image))
