"""A bare fleet alone in a foreign stack, on a network and a storage of others or of trainshed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from constructs import Construct, DependencyGroup, IDependable

from trainshed import facts
from trainshed.config import Fleet, Image, ImageLock, Queue, TargetedReservation
from trainshed.fleets import SlurmFleet
from trainshed.network import TrainingNetwork
from trainshed.storage import LustreStorage

ENV = cdk.Environment(account="111122223333", region="us-east-2")
Statements = dict[str, tuple[list[str], list[str], Any]]
RESERVED = TargetedReservation(reservation_id="cr-0123456789abcdef0")


@dataclass
class OthersNetwork:
    """A network that knows nothing of trainshed."""

    vpc: ec2.IVpc
    zone: facts.Zone
    compute_subnet: ec2.ISubnet
    node_security_groups: tuple[ec2.ISecurityGroup, ...]
    ready: IDependable


class OthersStorage(Construct):
    """A file system that knows nothing of trainshed."""

    dns_name = "fs-0123456789abcdef0.fsx.us-east-2.amazonaws.com"
    mount_name = "abcdefgh"
    mount_dir = "/fsx"
    efa = True


Ground = Callable[[], tuple[cdk.Stack, TrainingNetwork, LustreStorage]]
Record = Callable[..., Fleet]
Build = Callable[..., "Made"]


class Made:
    """A fleet and what its stack became."""

    def __init__(self, stack: cdk.Stack, fleet: SlurmFleet) -> None:
        self.stack, self.fleet = stack, fleet
        app = cdk.Stage.of(stack)
        assert app is not None
        self.template: dict[str, Any] = app.synth().get_stack_by_name(stack.stack_name).template

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the resources of a type, by logical id."""
        found = self.template["Resources"].items()
        return {id: resource for id, resource in found if resource["Type"] == kind}

    def properties(self, kind: str, part: str = "") -> dict[str, Any]:
        """Return the properties of the one resource of a type whose logical id has a part."""
        (found,) = (r for id, r in self.of_type(kind).items() if part in id)
        properties: dict[str, Any] = found["Properties"]
        return properties

    def template_data(self, part: str) -> dict[str, Any]:
        """Return the data of a launch template."""
        data: dict[str, Any] = self.properties("AWS::EC2::LaunchTemplate", part)[
            "LaunchTemplateData"
        ]
        return data

    @property
    def document(self) -> dict[str, Any]:
        """The fleet document, with ``<Name>`` for what is known only at deployment."""
        loaded: dict[str, Any] = json.loads(
            written(self.properties("AWS::SSM::Parameter")["Value"])
        )
        return loaded

    def statements(self, part: str) -> Statements:
        """Return the statements of the managed policy whose logical id has a part."""
        document = self.properties("AWS::IAM::ManagedPolicy", part)["PolicyDocument"]
        listed = document["Statement"]
        assert {statement["Effect"] for statement in listed} == {"Allow"}
        many = [(s, [s["Action"]] if isinstance(s["Action"], str) else s["Action"]) for s in listed]
        return {
            statement["Sid"]: (
                actions,
                [
                    named(resource)
                    for resource in (
                        statement["Resource"]
                        if isinstance(statement["Resource"], list)
                        else [statement["Resource"]]
                    )
                ],
                statement.get("Condition"),
            )
            for statement, actions in many
        }


def named(resource: Any) -> str:
    """Write a resource with the partition of the world, and what AWS names as ``<What>``."""
    match resource:
        case {"Fn::Join": [_, parts]}:
            text = "".join(named(part) for part in parts)
            return "arn:aws:s3:::<bucket>/<key>" if "cdk-hnb659fds-assets" in text else text
        case {"Ref": "AWS::Partition"}:
            return "aws"
        case {"Ref": name}:
            return "<MungeKey>" if "MungeKey" in name else "<Volume>" if "Volume" in name else name
        case _:
            return str(resource)


def written(value: Any) -> str:
    """Write a value as people read it: ``<Name>``, ``<Name.Attribute>``."""
    match value:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(written(part) for part in parts)
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case _:
            return str(value)


@pytest.fixture(scope="session")
def record() -> Record:
    """Make a fleet of one queue; ``queue`` has keywords of the queue, the others win."""

    def make(*, queue: dict[str, Any] | None = None, **keywords: Any) -> Fleet:
        of_queue: dict[str, Any] = {
            "instance_type": "p5en.48xlarge",
            "capacity": RESERVED,
            "max_nodes": 4,
        }
        lock = ImageLock(ami_id="ami-0123456789abcdef0", name="Deep Learning (Ubuntu 24.04) 1")
        given: dict[str, Any] = {
            "backend": "slurm",
            "image": Image(lock=lock),
            "queues": {"train": Queue(**(of_queue | (queue or {})))},
        }
        return Fleet(**(given | keywords))

    return make


@pytest.fixture(scope="session")
def build(record: Record) -> Build:
    """Make a fleet in a foreign stack and synthesise it; keywords of the construct, ``alarms``."""

    def make(fleet: Fleet | None = None, **keywords: Any) -> Made:
        env = keywords.pop("env", ENV)
        stack = cdk.Stack(keywords.pop("app", None) or cdk.App(), "Foreign", env=env)
        vpc = ec2.Vpc.from_vpc_attributes(
            stack, "Vpc", vpc_id="vpc-0123456789abcdef0", availability_zones=["us-east-2a"]
        )
        subnet = ec2.Subnet.from_subnet_attributes(
            stack,
            "Subnet",
            subnet_id="subnet-0123456789abcdef0",
            availability_zone="us-east-2a",
        )
        group = ec2.SecurityGroup.from_security_group_id(stack, "Group", "sg-0123456789abcdef0")
        zone = keywords.pop("zone", facts.ZoneName("us-east-2a"))
        given: dict[str, Any] = {
            "cluster_name": "lab",
            "fleet": fleet or record(),
            "network": OthersNetwork(vpc, zone, subnet, (group,), DependencyGroup()),
            "storage": OthersStorage(stack, "Storage"),
            **keywords,
        }
        alarms = given.pop("alarms", None)
        fleet_made = SlurmFleet(stack, "Fleet", **given)
        if alarms:
            fleet_made.send_alarms_to(alarms[0], key_arn=alarms[1])
        return Made(stack, fleet_made)

    return make


@pytest.fixture(scope="session")
def plain(build: Build) -> Made:
    """The fleet without any wish."""
    return build()


@pytest.fixture(scope="session")
def owned(record: Record, make_ground: Ground) -> Made:
    """A fleet on trainshed's own network and storage, in one stack."""
    stack, network, storage = make_ground()
    fleet = SlurmFleet(
        stack,
        "Fleet",
        cluster_name="lab",
        fleet=record(),
        network=network,
        storage=storage,
        tags={"Grafana": "true"},
    )
    return Made(stack, fleet)
