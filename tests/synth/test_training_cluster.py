"""A whole cluster in a stack of somebody else, and the parts that do not fit together."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2

from tests.synth.file_systems import existing_storage, storage_on
from trainshed import facts
from trainshed.cluster import TrainingCluster
from trainshed.config import Fleet, OnDemand, Queue
from trainshed.network import TrainingNetwork
from trainshed.storage import LustreStorage

ENV = cdk.Environment(account="111122223333", region="us-east-1")
HERE = facts.ZoneName("us-east-1a")
FLEET = Fleet(
    queues={"train": Queue(instance_type="p5.48xlarge", max_nodes=4, capacity=OnDemand())}
)


@pytest.fixture
def stack() -> cdk.Stack:
    """A stack of an account and a Region, alone in its app."""
    return cdk.Stack(cdk.App(), "Foreign", env=ENV)


def network_in(scope: cdk.Stack, id: str, vpc: ec2.IVpc | None = None) -> TrainingNetwork:
    if vpc is None:
        return TrainingNetwork(scope, id, zone=HERE)
    subnet = ec2.Subnet.from_subnet_attributes(
        scope, f"{id}Subnet", subnet_id="subnet-0123456789abcdef0"
    )
    return TrainingNetwork(scope, id, zone=HERE, vpc=vpc, compute_subnet=subnet)


def existing_vpc(scope: cdk.Stack, id: str, vpc_id: str) -> ec2.IVpc:
    return ec2.Vpc.from_vpc_attributes(
        scope,
        id,
        vpc_id=vpc_id,
        vpc_cidr_block="10.20.0.0/16",
        availability_zones=["us-east-1a"],
    )


def cluster_on(
    stack: cdk.Stack, network: TrainingNetwork, storage: LustreStorage, **changed: Any
) -> TrainingCluster:
    given: dict[str, Any] = {"cluster_name": "llm", "fleet": FLEET, **changed}
    return TrainingCluster(stack, "Cluster", network=network, storage=storage, **given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            {"fleet": {"queues": {}}},
            "fleet is a dict; use trainshed.config.Fleet(**fleet)",
            id="a mapping for a fleet",
        ),
        pytest.param(
            {"fleet": None},
            "fleet is a NoneType; use trainshed.config.Fleet(...)",
            id="no fleet",
        ),
        pytest.param(
            {"network": None},
            "network is None, and none is made in its place; pass one",
            id="no network",
        ),
        pytest.param(
            {"network": None, "storage": None},
            "network and storage are None, and none is made in their place; pass them",
            id="neither network nor storage",
        ),
        pytest.param(
            {"cluster_name": cdk.Fn.import_value("Name")},
            "cluster_name is known only at deploy time, and names of roles and permissions are "
            "made of it at synth; write the name itself",
            id="a name that is known at deploy time",
        ),
    ],
)
def test_what_cannot_be_read_at_synth_is_refused_in_words(
    stack: cdk.Stack, change: dict[str, Any], message: str
) -> None:
    network = network_in(stack, "Network")
    given = {"network": network, "storage": storage_on(network), **change}
    with pytest.raises(ValueError) as refused:
        cluster_on(stack, **given)
    assert str(refused.value) == message


def test_an_institution_that_is_none_is_refused(stack: cdk.Stack) -> None:
    given: Any = {"name": "llm"}
    with pytest.raises(ValueError) as refused:
        TrainingCluster.from_institution(stack, "Cluster", given)
    assert str(refused.value) == (
        "institution is a dict; use trainshed.config.Institution(**institution)"
    )


def test_a_file_system_in_another_vpc_made_here_is_refused(stack: cdk.Stack) -> None:
    storage = storage_on(network_in(stack, "Other"))
    with pytest.raises(ValueError) as refused:
        cluster_on(stack, network_in(stack, "Network"), storage)
    assert str(refused.value) == (
        "the storage is in VPC Foreign/Other/Vpc/Resource and the network in VPC "
        "Foreign/Network/Vpc/Resource; give the storage network.vpc and network.compute_subnet, "
        "or, where the two are peered, import it with LustreStorage.from_attributes"
    )


def test_a_file_system_in_another_vpc_that_exists_is_refused(stack: cdk.Stack) -> None:
    one, two = (existing_vpc(stack, f"Vpc{n}", f"vpc-{n}") for n in (1, 2))
    storage = storage_on(network_in(stack, "Other", one))
    with pytest.raises(ValueError) as refused:
        cluster_on(stack, network_in(stack, "Network", two), storage)
    assert str(refused.value) == (
        "the storage is in VPC vpc-1 and the network in VPC vpc-2; give the storage "
        "network.vpc and network.compute_subnet, or, where the two are peered, import it with "
        "LustreStorage.from_attributes"
    )


def test_a_file_system_of_another_stack_in_the_same_vpc_is_taken() -> None:
    app = cdk.App()
    foundation, stack = (cdk.Stack(app, name, env=ENV) for name in ("Foundation", "Cluster"))
    owned = network_in(foundation, "Network")
    network = TrainingNetwork(
        stack, "Network", zone=HERE, vpc=owned.vpc, compute_subnet=owned.compute_subnet
    )
    cluster_on(stack, network, storage_on(owned))


@pytest.mark.parametrize("vpc_id", ["parameter", "lookup"])
def test_vpcs_that_cannot_be_compared_at_synth_are_taken(stack: cdk.Stack, vpc_id: str) -> None:
    if vpc_id == "parameter":
        parameter = cdk.CfnParameter(stack, "VpcId").value_as_string
        other = existing_vpc(stack, "Other", parameter)
    else:
        other = ec2.Vpc.from_lookup(stack, "Other", vpc_id="vpc-0123456789abcdef1")
    storage = storage_on(network_in(stack, "OtherNetwork", other))
    network = network_in(stack, "Network", existing_vpc(stack, "Vpc", "vpc-0123456789abcdef0"))
    cluster_on(stack, network, storage)


def test_a_file_system_in_a_peered_vpc_is_imported(stack: cdk.Stack) -> None:
    storage = existing_storage(stack)
    assert cluster_on(stack, network_in(stack, "Network"), storage).storage is storage
