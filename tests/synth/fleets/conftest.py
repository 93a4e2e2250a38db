"""A fleet alone in a foreign stack, on a network and a storage of others or of trainshed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, DependencyGroup, IDependable

from trainshed.config import Fleet, Queue, TargetedReservation
from trainshed.fleets import ParallelClusterFleet
from trainshed.network import TrainingNetwork
from trainshed.storage import LustreStorage

ENV = cdk.Environment(account="111122223333", region="us-east-2")

Ground = Callable[[], tuple[cdk.Stack, TrainingNetwork, LustreStorage]]
BuildFleet = Callable[..., ParallelClusterFleet]


@dataclass
class OthersNetwork:
    """A network that knows nothing of trainshed."""

    compute_subnet: ec2.ISubnet
    node_security_groups: tuple[ec2.ISecurityGroup, ...]
    ready: IDependable


class OthersStorage(Construct):
    """A file system that knows nothing of trainshed."""

    file_system_id = "fs-0123456789abcdef0"
    mount_dir = "/fsx"

    def __init__(self, scope: Construct, id: str, *, efa: bool) -> None:
        super().__init__(scope, id)
        self.efa = efa


def fleet_record(**keywords: Any) -> Fleet:
    queue = Queue(
        instance_type="p5en.48xlarge",
        capacity=TargetedReservation(reservation_id="cr-0123456789abcdef0"),
        max_nodes=4,
    )
    record: dict[str, Any] = {"queues": {"compute": queue}, **keywords}
    return Fleet(**record)


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Foreign", env=ENV)


@pytest.fixture(scope="session")
def build() -> BuildFleet:
    """Make a fleet in a stack; keywords of the construct, and ``efa`` of the storage."""

    def make(
        stack: cdk.Stack, fleet: Fleet | None = None, *, efa: bool = True, **keywords: Any
    ) -> ParallelClusterFleet:
        subnet = ec2.Subnet.from_subnet_attributes(
            stack,
            "Subnet",
            subnet_id="subnet-0123456789abcdef0",
            availability_zone="us-east-2a",
        )
        group = ec2.SecurityGroup.from_security_group_id(stack, "Group", "sg-0123456789abcdef0")
        given: dict[str, Any] = {
            "cluster_name": "kait",
            "fleet": fleet or fleet_record(),
            "network": OthersNetwork(subnet, (group,), DependencyGroup()),
            "storage": OthersStorage(stack, "Storage", efa=efa),
            **keywords,
        }
        return ParallelClusterFleet(stack, "Fleet", **given)

    return make


@pytest.fixture(scope="session")
def owned(make_ground: Ground) -> tuple[cdk.Stack, ParallelClusterFleet]:
    """A fleet on trainshed's own network and storage, in one stack."""
    stack, network, storage = make_ground()
    fleet = ParallelClusterFleet(
        stack,
        "Fleet",
        cluster_name="kait",
        fleet=fleet_record(),
        network=network,
        storage=storage,
        tags={"Grafana": "true"},
    )
    return stack, fleet


class Synthesised:
    """What a stack became."""

    def __init__(self, stack: cdk.Stack) -> None:
        app = cdk.Stage.of(stack)
        assert app is not None
        self.template: dict[str, Any] = app.synth().get_stack_by_name(stack.stack_name).template

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the resources of a type, by logical id."""
        found = self.template["Resources"].items()
        return {id: resource for id, resource in found if resource["Type"] == kind}

    @property
    def cluster(self) -> dict[str, Any]:
        """The custom resource."""
        (resource,) = self.of_type("Custom::TrainshedParallelCluster").values()
        return resource

    @property
    def configuration(self) -> dict[str, Any]:
        """The cluster configuration, with ``<Name>`` for what is known only at deployment."""
        text = self.cluster["Properties"]["ClusterConfiguration"]
        loaded: dict[str, Any] = json.loads(written(text))
        return loaded


def written(value: Any) -> str:
    """Write an intrinsic as one text."""
    match value:
        case {"Fn::Join": [_, parts]}:
            return "".join(written(part) for part in parts)
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Sub": text}:
            return re.sub(r"\$\{([^}]*)\}", r"<\1>", text)
        case _:
            return str(value)


@pytest.fixture(scope="session")
def synthesised() -> Callable[[cdk.Stack], Synthesised]:
    return Synthesised


@pytest.fixture(scope="session")
def as_text() -> Callable[[Any], str]:
    return written


@pytest.fixture(scope="session")
def record() -> Callable[..., Fleet]:
    return fleet_record


@pytest.fixture(scope="session")
def plain(build: BuildFleet) -> Synthesised:
    """A fleet on the network and the storage of others."""
    stack = cdk.Stack(cdk.App(), "Foreign", env=ENV)
    build(stack)
    return Synthesised(stack)
