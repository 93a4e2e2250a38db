"""Parts of somebody else's app that do not belong together, and those that do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ssm as ssm
from aws_cdk.assertions import Annotations, Match, Template

from tests.synth.file_systems import existing_storage, storage_on
from trainshed import facts
from trainshed.cluster import TrainingCluster
from trainshed.config import Fleet, Image, OnDemand, Queue, S3Link
from trainshed.config.capacity import TargetedReservation
from trainshed.fleets import ParallelClusterFleet, SlurmFleet
from trainshed.network import TrainingNetwork
from trainshed.storage import DataBucket, LustreStorage

ACCOUNT = "111122223333"
ENV = cdk.Environment(account=ACCOUNT, region="us-east-1")
ELSEWHERE = cdk.Environment(account=ACCOUNT, region="us-west-2")
HERE = facts.ZoneName("us-east-1a")
FLEET = Fleet(
    queues={"train": Queue(instance_type="p5.48xlarge", max_nodes=4, capacity=OnDemand())}
)
BARE = Fleet(
    backend="slurm",
    image=Image(ami_id="ami-0123456789abcdef0"),
    queues={
        "train": Queue(
            instance_type="p5.48xlarge",
            max_nodes=4,
            capacity=TargetedReservation(reservation_id="cr-0123456789abcdef0"),
        )
    },
)
FLEETS = pytest.mark.parametrize("fleet", [FLEET, BARE], ids=["parallelcluster", "slurm"])


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Foreign", env=ENV)


def cluster_on(
    network: TrainingNetwork,
    storage: LustreStorage,
    fleet: Fleet = FLEET,
    *,
    scope: cdk.Stack | None = None,
    id: str = "Cluster",
    name: str = "llm",
) -> TrainingCluster:
    return TrainingCluster(
        scope or cdk.Stack.of(network),
        id,
        cluster_name=name,
        fleet=fleet,
        network=network,
        storage=storage,
    )


@FLEETS
def test_a_cluster_stands_in_a_vpc_that_is_not_looked_up_yet(
    stack: cdk.Stack, fleet: Fleet
) -> None:
    """The command line looks up only what a first synthesis asks for, so that one has to end."""
    vpc = ec2.Vpc.from_lookup(stack, "Vpc", vpc_id="vpc-0123456789abcdef0")
    network = TrainingNetwork(
        stack, "Network", zone=HERE, vpc=vpc, compute_subnet=vpc.private_subnets[0]
    )
    cluster_on(network, storage_on(network), fleet)
    assembly = Path(cast(cdk.App, stack.node.root).synth().directory)
    assert json.loads((assembly / "manifest.json").read_text())["missing"]


def looked_up(scope: cdk.Stack) -> str:
    return ec2.MachineImage.lookup(name="golden-*").get_image(scope).image_id


def in_a_parameter(scope: cdk.Stack) -> str:
    return ssm.StringParameter.value_from_lookup(scope, "/images/golden")


@FLEETS
@pytest.mark.parametrize("image_id", [looked_up, in_a_parameter])
def test_an_image_is_not_looked_up_yet(
    stack: cdk.Stack, fleet: Fleet, image_id: Callable[[cdk.Stack], str]
) -> None:
    network = TrainingNetwork(stack, "Network", zone=HERE)
    image = Image(ami_id=image_id(stack))
    cluster_on(network, storage_on(network), fleet.model_copy(update={"image": image}))
    assembly = Path(cast(cdk.App, stack.node.root).synth().directory)
    assert json.loads((assembly / "manifest.json").read_text())["missing"]


@FLEETS
def test_a_fleet_stands_in_the_region_of_its_network(stack: cdk.Stack, fleet: Fleet) -> None:
    network = TrainingNetwork(stack, "Network", zone=HERE)
    other = cdk.Stack(cast(cdk.App, stack.node.root), "Other", env=ELSEWHERE)
    with pytest.raises(ValueError) as refusal:
        cluster_on(network, storage_on(network), fleet, scope=other)
    assert str(refusal.value) == (
        "the network's zone 'us-east-1a' is in us-east-1, not in us-west-2, as the stack of "
        "Other/Cluster/Fleet; a fleet stands where its network is"
    )


@pytest.mark.parametrize("other", [FLEET, BARE], ids=["parallelcluster", "slurm"])
def test_two_clusters_of_one_name_are_refused(stack: cdk.Stack, other: Fleet) -> None:
    network = TrainingNetwork(stack, "Network", zone=HERE)
    storage = storage_on(network)
    cluster_on(network, storage, id="First", name="LLM")
    with pytest.raises(ValueError) as refusal:
        cluster_on(network, storage, other, id="Second")
    assert str(refusal.value) == (
        "cluster_name is 'llm', which Foreign/First/Fleet has in the same account and Region; "
        "take another"
    )


def test_clusters_of_one_name_stand_in_two_accounts_and_in_stacks_without_one() -> None:
    app = cdk.App()
    other = cdk.Environment(account="444455556666", region="us-east-1")
    for id, env in {"A": ENV, "B": other, "C": None, "D": None}.items():
        network = TrainingNetwork(cdk.Stack(app, id, env=env), "Network", zone=HERE)
        cluster_on(network, storage_on(network))


def test_a_parallelcluster_fleet_is_no_bare_one(stack: cdk.Stack) -> None:
    network = TrainingNetwork(stack, "Network", zone=HERE)
    storage = storage_on(network)
    with pytest.raises(ValueError) as refusal:
        ParallelClusterFleet(
            stack, "Fleet", cluster_name="llm", fleet=BARE, network=network, storage=storage
        )
    assert str(refusal.value) == "fleet.backend is slurm; leave it out, or make a SlurmFleet"


def test_a_fleet_asks_its_network_whether_it_is_isolated(stack: cdk.Stack) -> None:
    """Its nodes would look for each other's names in Route 53, which they do not reach."""
    network = TrainingNetwork(stack, "Network", zone=HERE, internet="isolated")
    given: dict[str, Any] = {"network": network, "storage": storage_on(network)}
    fleet = ParallelClusterFleet(stack, "Fleet", cluster_name="llm", fleet=FLEET, **given)
    settings = fleet.configuration["Scheduling"]["SlurmSettings"]
    assert settings["Dns"] == {"DisableManagedDns": True, "UseEc2Hostnames": True}
    with pytest.raises(ValueError, match=r"^slurm\.packages: "):
        SlurmFleet(stack, "Bare", cluster_name="bare", fleet=BARE, **given)


def test_a_bucket_of_another_region_is_only_exported_to() -> None:
    app = cdk.App()
    bucket = DataBucket(cdk.Stack(app, "Far", env=ELSEWHERE), "Bucket").bucket
    network = TrainingNetwork(cdk.Stack(app, "Near", env=ENV), "Network", zone=HERE)
    link = S3Link(path="/out", prefix="out/", direction="export")
    back = S3Link(path="/in", prefix="in/", direction="import")
    with pytest.raises(ValueError) as refusal:
        storage_on(network, bucket=bucket, links={"A": link, "B": back})
    assert str(refusal.value) == (
        "link B imports, which takes a bucket in us-east-1, and Far/Bucket/Resource is in "
        "us-west-2; use direction export, or copy the bucket"
    )


def in_two_vpcs(stack: cdk.Stack) -> tuple[ec2.Vpc, ec2.Vpc]:
    zones = ["us-east-1a"]
    return (
        ec2.Vpc(stack, "One", availability_zones=zones),
        ec2.Vpc(stack, "Two", availability_zones=zones),
    )


def test_subnet_and_groups_are_of_the_vpc(stack: cdk.Stack) -> None:
    one, two = in_two_vpcs(stack)
    given: dict[str, Any] = {"zone": HERE, "vpc": one}
    with pytest.raises(ValueError) as refusal:
        TrainingNetwork(stack, "Network", **given, compute_subnet=two.private_subnets[0])
    assert str(refusal.value) == (
        "compute_subnet Foreign/Two/PrivateSubnet1 is in VPC Foreign/Two/Resource and vpc is "
        "Foreign/One/Resource; take one of vpc"
    )
    group = ec2.SecurityGroup(stack, "Group", vpc=two)
    with pytest.raises(ValueError) as refusal:
        TrainingNetwork(
            stack,
            "Second",
            **given,
            compute_subnet=one.private_subnets[0],
            egress_security_group=group,
        )
    assert str(refusal.value) == (
        "egress_security_group Foreign/Group/Resource is in VPC Foreign/Two/Resource and vpc is "
        "Foreign/One/Resource; take one of vpc"
    )


def test_subnet_and_groups_that_are_made_in_the_vpc_are_taken(stack: cdk.Stack) -> None:
    vpc, _ = in_two_vpcs(stack)
    group = ec2.SecurityGroup(stack, "Group", vpc=vpc)
    subnet = vpc.private_subnets[0]
    TrainingNetwork(
        stack, "Network", zone=HERE, vpc=vpc, compute_subnet=subnet, egress_security_group=group
    )
    Template.from_stack(stack).resource_count_is("AWS::EC2::SecurityGroup", 2)


def test_an_isolated_subnet_is_warned_of(stack: cdk.Stack) -> None:
    kind = ec2.SubnetType.PRIVATE_ISOLATED
    vpc = ec2.Vpc(
        stack,
        "Vpc",
        availability_zones=["us-east-1a"],
        subnet_configuration=[ec2.SubnetConfiguration(name="Own", subnet_type=kind)],
    )
    subnet = vpc.isolated_subnets[0]
    TrainingNetwork(stack, "Network", zone=HERE, vpc=vpc, compute_subnet=subnet)
    Annotations.from_stack(stack).has_warning(
        "/Foreign/Network",
        Match.exact(
            "compute_subnet Foreign/Vpc/OwnSubnet1 is an isolated subnet of its VPC and internet "
            "is 'nat'; without a route out, such as a transit gateway's, nodes hang at boot: take "
            "a subnet with one, or say internet='isolated' [ack: trainshed:isolated-subnet]"
        ),
    )


def network(stack: cdk.Stack, **given: Any) -> None:
    TrainingNetwork(stack, "Network", zone=HERE, **given)


def storage(stack: cdk.Stack, **given: Any) -> None:
    storage_on(TrainingNetwork(stack, "Network", zone=HERE), **given)


def bucket(stack: cdk.Stack, **given: Any) -> None:
    DataBucket(stack, "Bucket", **given)


def cluster(stack: cdk.Stack, fleet: Fleet = FLEET, **given: Any) -> None:
    ground = TrainingNetwork(stack, "Network", zone=HERE)
    cluster_on(ground, storage_on(ground), fleet, **given)


LINK = S3Link(path="/d", prefix="d/", direction="both")


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (network, {"internet": "none"}, "internet: 'none' is not one of nat, isolated"),
        (network, {"compute_addresses": -5}, "compute_addresses is -5; use 0 to compare nothing"),
        (
            network,
            {"flow_log_retention_days": 100},
            "flow_log_retention_days: 100 is not one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, "
            "365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653; use 90 or 120",
        ),
        (
            storage,
            {"mount_dir": "/"},
            "mount_dir: '/' is not an absolute path, such as /fsx",
        ),
        (
            existing_storage,
            {"mount_dir": "fsx"},
            "mount_dir: 'fsx' is not an absolute path, such as /fsx",
        ),
        (
            storage,
            {"links": {"1": LINK}},
            "links['1']: '1' is not a link name: a letter, then up to 39 letters and digits",
        ),
        (bucket, {"noncurrent_days": 0}, "noncurrent_days: 0 is below 1, the least allowed"),
        (
            cluster,
            {"name": "my llm"},
            "cluster_name: 'my llm' is not a cluster name: a letter, then up to 59 letters, "
            "digits, -",
        ),
        (
            cluster,
            {"name": "my llm", "fleet": BARE},
            "cluster_name: 'my llm' is not a cluster name: a letter, then up to 59 letters, "
            "digits, -",
        ),
    ],
)
def test_a_construct_refuses_what_the_file_refuses(
    stack: cdk.Stack, make: Callable[..., object], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        make(stack, **given)
    assert str(refusal.value) == message
