"""A network that was there before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Annotations, Match, Template

from trainshed import facts
from trainshed.network import TrainingNetwork

HERE = facts.ZoneName("us-east-1a")


def existing(stack: cdk.Stack, **other: Any) -> dict[str, Any]:
    """A VPC with a private and a public subnet, as the arguments of a network."""
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        **{
            "vpc_id": "vpc-0123456789abcdef0",
            "vpc_cidr_block": "10.20.0.0/16",
            "availability_zones": ["us-east-1a"],
            "public_subnet_ids": ["subnet-0aaaaaaaaaaaaaaaa"],
            **other.pop("vpc", {}),
        },
    )
    subnet = ec2.Subnet.from_subnet_attributes(
        stack,
        "Subnet",
        **{
            "subnet_id": "subnet-0123456789abcdef0",
            "availability_zone": "us-east-1a",
            "ipv4_cidr_block": "10.20.1.0/24",
            **other.pop("subnet", {}),
        },
    )
    return {"vpc": vpc, "compute_subnet": subnet, "zone": HERE, **other}


def group(stack: cdk.Stack, id: str) -> ec2.ISecurityGroup:
    return ec2.SecurityGroup.from_security_group_id(stack, id, f"sg-{id.lower():0>17}")


def test_only_security_groups_are_made_in_an_existing_vpc(stack: cdk.Stack) -> None:
    network = TrainingNetwork(stack, "Network", **existing(stack, compute_addresses=251))
    template = Template.from_stack(stack)
    kinds = sorted(r["Type"] for r in template.to_json()["Resources"].values())
    assert kinds == [
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::EC2::SecurityGroupIngress",
    ]
    assert network.compute_subnet.subnet_id == "subnet-0123456789abcdef0"
    assert network.public_subnet is None
    assert network.endpoint_security_group is None


def test_with_groups_of_its_own_nothing_is_made(stack: cdk.Stack) -> None:
    network = TrainingNetwork(
        stack,
        "Network",
        **existing(stack),
        efa_security_group=group(stack, "efa"),
        efa_group_allows_itself=True,
        egress_security_group=group(stack, "out"),
    )
    fleet = cdk.CfnResource(stack, "Fleet", type="Test::Cluster::Fleet")
    fleet.node.add_dependency(network.ready)
    assert list(Template.from_stack(stack).to_json()["Resources"]) == ["Fleet"]
    assert [g.security_group_id[:3] for g in network.node_security_groups] == ["sg-", "sg-"]


def test_groups_may_be_brought_into_a_vpc_that_is_made(stack: cdk.Stack) -> None:
    TrainingNetwork(
        stack,
        "Network",
        zone=HERE,
        efa_security_group=group(stack, "efa"),
        efa_group_allows_itself=True,
        egress_security_group=group(stack, "out"),
    )
    Template.from_stack(stack).resource_count_is("AWS::EC2::SecurityGroup", 0)


def test_a_vpc_of_another_stack_is_taken(stack: cdk.Stack) -> None:
    app, env = cdk.App(), cdk.Environment(account="123456789012", region="us-east-1")
    foundation = cdk.Stack(app, "Foundation", env=env)
    owned = TrainingNetwork(foundation, "Network", zone=HERE)
    cluster = cdk.Stack(app, "Cluster", env=env)
    TrainingNetwork(
        cluster, "Network", zone=HERE, vpc=owned.vpc, compute_subnet=owned.compute_subnet
    )
    Template.from_stack(cluster).resource_count_is("AWS::EC2::SecurityGroup", 2)


def test_a_network_of_another_stack_is_taken_as_it_is(stack: cdk.Stack) -> None:
    parts = existing(stack, internet="isolated")
    network = TrainingNetwork.from_attributes(
        stack,
        "Network",
        zone=parts["zone"],
        internet="isolated",
        vpc=parts["vpc"],
        compute_subnet=parts["compute_subnet"],
        efa_security_group=group(stack, "efa"),
        egress_security_group=group(stack, "out"),
    )
    fleet = cdk.CfnResource(stack, "Fleet", type="Test::Cluster::Fleet")
    fleet.node.add_dependency(network.ready)
    assert list(Template.from_stack(stack).to_json()["Resources"]) == ["Fleet"]
    assert [g.security_group_id[:3] for g in network.node_security_groups] == ["sg-", "sg-"]
    assert network.public_subnet is None
    assert network.nat_gateway_id is None
    assert network.endpoint_security_group is None
    assert not Annotations.from_stack(stack).find_warning("/Foreign/Network", Match.any_value())


def test_an_existing_isolated_vpc_brings_a_warning_that_names_its_endpoints(
    stack: cdk.Stack,
) -> None:
    TrainingNetwork(stack, "Network", **existing(stack, internet="isolated"))
    Annotations.from_stack(stack).has_warning(
        "/Foreign/Network",
        Match.exact(
            "the VPC is isolated and its endpoints cannot be seen at synth; without them nodes "
            "hang at boot. It needs gateway endpoints for s3, dynamodb and interface endpoints "
            "for autoscaling, cloudformation, ec2, ec2messages, ecr.api, ecr.dkr, "
            "elasticloadbalancing, kms, logs, monitoring, secretsmanager, sns, ssm, ssmmessages, "
            "sts [ack: trainshed:isolated-vpc-endpoints]"
        ),
    )


def test_who_knows_the_endpoints_acknowledges_the_warning(stack: cdk.Stack) -> None:
    network = TrainingNetwork(stack, "Network", **existing(stack, internet="isolated"))
    assert network.internet == "isolated"
    cdk.Annotations.of(network).acknowledge_warning("trainshed:isolated-vpc-endpoints")
    assert not Annotations.from_stack(stack).find_warning("/Foreign/Network", Match.any_value())


def test_what_a_subnet_was_not_told_is_not_compared(stack: cdk.Stack) -> None:
    unknown = {"availability_zone": None, "ipv4_cidr_block": None}
    TrainingNetwork(stack, "Network", **existing(stack, subnet=unknown, compute_addresses=100_000))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "A6 a public compute subnet": (
        {"subnet": {"subnet_id": "subnet-0aaaaaaaaaaaaaaaa"}},
        "compute_subnet subnet-0aaaaaaaaaaaaaaaa is a public subnet, and instances with several "
        "network interfaces get no public address; use a private subnet with a NAT gateway",
    ),
    "A7 too few addresses": (
        {"compute_addresses": 256},
        "the compute subnet 10.20.1.0/24 has 251 addresses (5 more are AWS's) and 256 are needed; "
        "use a larger subnet, EFA interfaces of type efa-only, or fewer nodes",
    ),
    "C28 a subnet in another zone": (
        {"zone": facts.ZoneName("us-east-1b")},
        "compute_subnet subnet-0123456789abcdef0 is in us-east-1a and zone is us-east-1b; "
        "a cluster stands in the zone of its capacity",
    ),
    "a zone name as a text": (
        {"zone": "us-east-1a"},
        "zone is 'us-east-1a', which may be a name or an id; use facts.ZoneName(\"us-east-1a\")",
    ),
    "a zone id as a text": (
        {"zone": "use1-az4"},
        "zone is 'use1-az4', which may be a name or an id; use facts.ZoneId(\"use1-az4\")",
    ),
    "no zone": (
        {"zone": None},
        "zone is None, which may be a name or an id; "
        'use facts.ZoneName("us-east-1a") or facts.ZoneId("use1-az4")',
    ),
    "a VPC without a subnet": (
        {"compute_subnet": None},
        "vpc is given without compute_subnet; give both, or neither",
    ),
    "a subnet without a VPC": (
        {"vpc": None},
        "compute_subnet is given without vpc; give both, or neither",
    ),
    "settings of a new VPC": (
        {"cidr": "10.0.0.0/16", "flow_log_retention_days": 30},
        "cidr and flow_log_retention_days given beside vpc; "
        "an existing VPC is not changed, leave it out",
    ),
    "a VPC without its range": (
        {"vpc": {"vpc_cidr_block": None}},
        "vpc does not say its address range, which the egress group allows; "
        "give vpc_cidr_block to from_vpc_attributes, or an egress_security_group",
    ),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=list(REFUSED))
def test_an_existing_vpc_that_carries_no_cluster_is_refused(
    stack: cdk.Stack, change: dict[str, Any], message: str
) -> None:
    parts = {key: value for key, value in change.items() if isinstance(value, dict)}
    others = {key: value for key, value in change.items() if not isinstance(value, dict)}
    with pytest.raises(ValueError) as refusal:
        TrainingNetwork(stack, "Network", **{**existing(stack, **parts), **others})
    assert str(refusal.value) == message


def test_an_efa_group_whose_rules_nobody_vouches_for_is_refused(stack: cdk.Stack) -> None:
    with pytest.raises(ValueError) as refusal:
        TrainingNetwork(stack, "Network", zone=HERE, efa_security_group=group(stack, "efa"))
    assert str(refusal.value) == (
        "efa_security_group is given and its rules cannot be seen at synth; if it allows all "
        "traffic to and from itself, ingress and egress, say efa_group_allows_itself=True, "
        "else leave it out and one is made"
    )


LOOKED_UP = {
    "vpcId": "vpc-0123456789abcdef0",
    "vpcCidrBlock": "10.20.0.0/16",
    "ownerAccountId": "123456789012",
    "availabilityZones": [],
    "subnetGroups": [
        {
            "name": "Private",
            "type": "Private",
            "subnets": [
                {
                    "subnetId": "subnet-0123456789abcdef0",
                    "cidr": "10.20.1.0/24",
                    "availabilityZone": "us-east-1a",
                    "routeTableId": "rtb-0123456789abcdef0",
                }
            ],
        }
    ],
}


def in_a_vpc_that_is_looked_up(app: cdk.App, zone: str) -> cdk.Stack:
    env = cdk.Environment(account="123456789012", region="us-east-1")
    stack = cdk.Stack(app, "Foreign", env=env)
    vpc = ec2.Vpc.from_lookup(stack, "Vpc", vpc_id="vpc-0123456789abcdef0")
    TrainingNetwork(
        stack,
        "Network",
        zone=facts.ZoneName(zone),
        vpc=vpc,
        compute_subnet=vpc.private_subnets[0],
        compute_addresses=251,
    )
    return stack


def test_a_vpc_is_looked_up_and_compared_once_it_is_known() -> None:
    first = cdk.App()
    stack = in_a_vpc_that_is_looked_up(first, "us-east-1a")
    Annotations.from_stack(stack).has_warning(
        "/Foreign/Network",
        Match.exact(
            "the zone and the size of compute_subnet Foreign/Vpc/PrivateSubnet1 are not looked up "
            "yet and not compared; the CDK command line looks them up and synthesises again "
            "[ack: trainshed:subnet-not-looked-up]"
        ),
    )
    manifest = json.loads((Path(first.synth().directory) / "manifest.json").read_text())
    (missing,) = manifest["missing"]
    context = {missing["key"]: LOOKED_UP}
    stack = in_a_vpc_that_is_looked_up(cdk.App(context=context), "us-east-1a")
    assert not Annotations.from_stack(stack).find_warning("*", Match.any_value())
    with pytest.raises(ValueError) as refusal:
        in_a_vpc_that_is_looked_up(cdk.App(context=context), "us-east-1b")
    assert str(refusal.value) == (
        "compute_subnet subnet-0123456789abcdef0 is in us-east-1a and zone is us-east-1b; "
        "a cluster stands in the zone of its capacity"
    )


def test_a_vpc_whose_zones_cdk_looks_up_carries_a_cluster(stack: cdk.Stack) -> None:
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    TrainingNetwork(stack, "Network", zone=HERE, vpc=vpc, compute_subnet=vpc.private_subnets[0])
    Annotations.from_stack(stack).has_warning(
        "/Foreign/Network",
        Match.string_like_regexp("compute_subnet Foreign/Vpc/PrivateSubnet1 are not looked up yet"),
    )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        pytest.param(
            "private_subnets",
            "compute_subnet Foreign/Vpc/PrivateSubnet1 is in us-east-1b and zone is us-east-1a; "
            "a cluster stands in the zone of its capacity",
            id="zone",
        ),
        pytest.param(
            "public_subnets",
            "compute_subnet Foreign/Vpc/PublicSubnet1 is a public subnet, and instances with "
            "several network interfaces get no public address; "
            "use a private subnet with a NAT gateway",
            id="public",
        ),
    ],
)
def test_a_subnet_without_an_id_yet_is_named_by_its_path(
    stack: cdk.Stack, kind: str, message: str
) -> None:
    vpc = ec2.Vpc(stack, "Vpc", availability_zones=["us-east-1b"])
    with pytest.raises(ValueError) as refusal:
        TrainingNetwork(stack, "Network", zone=HERE, vpc=vpc, compute_subnet=getattr(vpc, kind)[0])
    assert str(refusal.value) == message
