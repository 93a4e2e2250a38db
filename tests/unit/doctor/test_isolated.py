"""Endpoints of an existing VPC without internet, and the size of a locked image's disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trainshed.config import Institution
from trainshed.doctor import Status, Verdict, checks_of
from trainshed.facts.endpoints import GATEWAY_ENDPOINTS, INTERFACE_ENDPOINTS

Make = Callable[..., Institution]
Run = Callable[[Institution, str, Any], Verdict]

VPC, SUBNET = "vpc-0123456789abcdef0", "subnet-0123456789abcdef0"
NETWORK = f"""
zone: us-east-1a
existing: {{vpc_id: {VPC}, cidr: 10.0.0.0/16, compute_subnet_id: {SUBNET}, internet: isolated}}
"""
NAME = f"endpoints of {VPC}"
AMI = "ami-0123456789abcdef0"


def endpoint(service: str, **over: Any) -> dict[str, Any]:
    gateway = service in GATEWAY_ENDPOINTS
    return {
        "VpcEndpointId": f"vpce-{service}",
        "VpcEndpointType": "Gateway" if gateway else "Interface",
        "ServiceName": f"com.amazonaws.us-east-1.{service}",
        "State": "available",
        "RouteTableIds": ["rtb-1"] if gateway else [],
        "PrivateDnsEnabled": not gateway,
        **over,
    }


ALL = {name: endpoint(name) for name in (*INTERFACE_ENDPOINTS.values(), *GATEWAY_ENDPOINTS)}


def endpoints(aws: Any, found: dict[str, dict[str, Any]]) -> None:
    aws.answer(
        "ec2",
        "describe_vpc_endpoints",
        {"VpcEndpoints": list(found.values())},
        Filters=[{"Name": "vpc-id", "Values": [VPC]}],
    )


def test_a_vpc_with_every_endpoint_is_ready(institution: Make, verdict: Run, aws: Any) -> None:
    endpoints(aws, ALL)
    found = verdict(institution(network=NETWORK), NAME, aws)
    assert found == Verdict(Status.READY, "all 17 are there")


@pytest.mark.parametrize(
    ("service", "over", "detail", "fix"),
    [
        pytest.param("ssm", None, "there is no endpoint of ssm", "create-vpc-endpoint", id="none"),
        pytest.param(
            "s3", None, "there is no endpoint of s3", "--route-table-ids TABLE", id="no gateway"
        ),
        pytest.param(
            "logs",
            {"PrivateDnsEnabled": False},
            "the endpoint of logs has no private DNS, so nodes do not find it",
            "aws ec2 modify-vpc-endpoint --vpc-endpoint-id vpce-logs --private-dns-enabled",
            id="without private DNS",
        ),
        pytest.param(
            "ec2", {"State": "failed"}, "the endpoint of ec2 is failed", "vpce-ec2", id="failed"
        ),
        pytest.param(
            "s3",
            {"RouteTableIds": []},
            "the endpoint of s3 is in no route table",
            "--add-route-table-ids TABLE",
            id="in no table",
        ),
    ],
)
def test_what_an_isolated_vpc_lacks_is_named(
    service: str,
    over: dict[str, Any] | None,
    detail: str,
    fix: str,
    institution: Make,
    verdict: Run,
    aws: Any,
) -> None:
    there = {name: made for name, made in ALL.items() if name != service}
    endpoints(aws, there if over is None else {**there, service: endpoint(service, **over)})
    found = verdict(institution(network=NETWORK), NAME, aws)
    assert (found.status, found.detail) == (Status.NOT_READY, detail)
    assert fix in found.fix


def test_a_vpc_with_a_way_out_is_not_asked_for_endpoints(institution: Make) -> None:
    network = NETWORK.replace(", internet: isolated", "")
    assert NAME not in {check.name for check in checks_of(institution(network=network))}


def locked(institution: Make, gib: int) -> Institution:
    lock = f"{{lock: {{ami_id: {AMI}, name: dlami}}}}"
    fleet = f"{{backend: slurm, image: {lock}, head_node: {{root_volume: {{gib: {gib}}}}}}}"
    return institution(fleet=fleet)


@pytest.mark.parametrize(
    ("gib", "detail"),
    [(75, "dlami"), (60, "its root disk has 75 GiB, and head_node.root_volume.gib is 60")],
    ids=["as large", "smaller"],
)
def test_a_root_disk_that_is_smaller_than_the_image_is_named(
    gib: int, detail: str, institution: Make, verdict: Run, aws: Any
) -> None:
    image = {
        "Name": "dlami",
        "State": "available",
        "Architecture": "x86_64",
        "RootDeviceName": "/dev/sda1",
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 75}},
            {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"},
        ],
    }
    aws.answer("ec2", "describe_images", {"Images": [image]}, ImageIds=[AMI])
    found = verdict(locked(institution, gib), "image", aws)
    assert (found.status, found.detail) == (
        Status.READY if gib == 75 else Status.NOT_READY,
        detail,
    )


def test_the_newest_image_is_looked_at_where_each_deployment_takes_it(
    institution: Make, verdict: Run, aws: Any
) -> None:
    name = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest"
    disk = {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 300}}
    image = {"Name": "newest", "RootDeviceName": "/dev/sda1", "BlockDeviceMappings": [disk]}
    aws.answer("ssm", "get_parameter", {"Parameter": {"Value": AMI}}, Name=f"{name}/ami-id")
    aws.answer("ec2", "describe_images", {"Images": [image]}, ImageIds=[AMI])
    made = institution(fleet="{backend: slurm, image: {latest: true}}")
    found = verdict(made, "image", aws)
    assert found.status is Status.NOT_READY
    assert "its root disk has 300 GiB, and head_node.root_volume.gib is 200" in found.detail


def test_a_lock_of_an_image_that_is_gone_is_renewed(
    institution: Make, verdict: Run, aws: Any
) -> None:
    aws.refuse("ec2", "describe_images", "InvalidAMIID.NotFound")
    found = verdict(locked(institution, 200), "image", aws)
    assert found == Verdict(
        Status.NOT_READY, f"there is no {AMI} in us-east-1", "renew the lock: trainshed image FILE"
    )
