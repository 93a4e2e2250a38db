from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trainshed.config import Institution
from trainshed.doctor import Status, Verdict

Make = Callable[..., Institution]
Run = Callable[[Institution, str, Any], Verdict]

VPC, SUBNET, GROUP = "vpc-0123456789abcdef0", "subnet-0123456789abcdef0", "sg-0123456789abcdef0"
NETWORK = f"""
zone: us-east-1a
existing: {{vpc_id: {VPC}, cidr: 10.0.0.0/16, compute_subnet_id: {SUBNET},
           compute_subnet_cidr: 10.0.1.0/24,
           efa_security_group_id: {GROUP}, efa_group_allows_itself: true}}
"""
FOUND = {
    "SubnetId": SUBNET,
    "VpcId": VPC,
    "CidrBlock": "10.0.1.0/24",
    "AvailabilityZone": "us-east-1a",
    "AvailableIpAddressCount": 200,
    "MapPublicIpOnLaunch": False,
}


@pytest.mark.parametrize("support", [True, False])
@pytest.mark.parametrize("hostnames", [True, False])
def test_a_vpc_needs_dns_support_and_hostnames(
    support: bool, hostnames: bool, institution: Make, verdict: Run, aws: Any
) -> None:
    for attribute, value in (("Support", support), ("Hostnames", hostnames)):
        aws.answer(
            "ec2",
            "describe_vpc_attribute",
            {f"EnableDns{attribute}": {"Value": value}},
            VpcId=VPC,
            Attribute=f"enableDns{attribute}",
        )
    found = verdict(institution(network=NETWORK), f"DNS of {VPC}", aws)
    assert found.status is (Status.READY if support and hostnames else Status.NOT_READY)
    assert ("--enable-dns-support" in found.fix) != support
    assert ("--enable-dns-hostnames" in found.fix) != hostnames


def _subnet(institution: Make, verdict: Run, aws: Any, **found: Any) -> Verdict:
    aws.answer("ec2", "describe_subnets", {"Subnets": [{**FOUND, **found}]}, SubnetIds=[SUBNET])
    return verdict(institution(network=NETWORK), f"subnet {SUBNET}", aws)


def test_a_subnet_as_the_file_says_is_ready(institution: Make, verdict: Run, aws: Any) -> None:
    found = _subnet(institution, verdict, aws)
    assert found == Verdict(Status.READY, "10.0.1.0/24, 200 addresses free")


@pytest.mark.parametrize(
    ("found", "detail"),
    [
        ({"VpcId": "vpc-1"}, "it is in vpc-1"),
        (
            {"AvailabilityZone": "us-east-1b"},
            "it is in us-east-1b, and the network in us-east-1a",
        ),
        (
            {"CidrBlock": "10.0.2.0/24"},
            "its range is 10.0.2.0/24, and the file says 10.0.1.0/24",
        ),
        ({"AvailableIpAddressCount": 2}, "2 addresses are free, and nodes take 3"),
        (
            {"MapPublicIpOnLaunch": True},
            "it gives public addresses, which nodes with several interfaces cannot have",
        ),
    ],
)
def test_another_subnet_is_not_ready(
    found: dict[str, Any], detail: str, institution: Make, verdict: Run, aws: Any
) -> None:
    answer = _subnet(institution, verdict, aws, **found)
    assert (answer.status, answer.detail) == (Status.NOT_READY, detail)


def test_a_subnet_that_is_not_there_is_not_ready(institution: Make, verdict: Run, aws: Any) -> None:
    aws.refuse("ec2", "describe_subnets", "InvalidSubnetID.NotFound")
    found = verdict(institution(network=NETWORK), f"subnet {SUBNET}", aws)
    assert found.detail == f"there is no {SUBNET} in us-east-1"


ITSELF = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": GROUP}]}]
TCP = [{"IpProtocol": "tcp", "UserIdGroupPairs": [{"GroupId": GROUP}]}]
OTHER = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-1"}]}]
OPEN = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]


@pytest.mark.parametrize(
    ("incoming", "outgoing", "verbs"),
    [
        (ITSELF, ITSELF, []),
        (ITSELF, OPEN, ["egress"]),
        (TCP, ITSELF, ["ingress"]),
        (OTHER, [], ["ingress", "egress"]),
    ],
    ids=["both", "open egress is not enough", "one protocol", "another group"],
)
def test_an_efa_group_has_to_allow_itself_both_ways(
    incoming: Any, outgoing: Any, verbs: list[str], institution: Make, verdict: Run, aws: Any
) -> None:
    group = {"GroupId": GROUP, "IpPermissions": incoming, "IpPermissionsEgress": outgoing}
    aws.answer("ec2", "describe_security_groups", {"SecurityGroups": [group]}, GroupIds=[GROUP])
    found = verdict(institution(network=NETWORK), f"group {GROUP}", aws)
    assert found.status is (Status.NOT_READY if verbs else Status.READY)
    assert len(found.fix.splitlines()) == len(verbs)
    for verb in verbs:
        assert f"aws ec2 authorize-security-group-{verb} --group-id {GROUP}" in found.fix


def test_a_group_that_is_not_there_is_not_ready(institution: Make, verdict: Run, aws: Any) -> None:
    aws.refuse("ec2", "describe_security_groups", "InvalidGroup.NotFound")
    found = verdict(institution(network=NETWORK), f"group {GROUP}", aws)
    assert found.fix == "leave it out, and one is made"


IMAGE = "image: {os: ubuntu2204, ami_id: ami-0123456789abcdef0}"
BUILT = {
    "Name": "ours",
    "State": "available",
    "Architecture": "x86_64",
    "Tags": [{"Key": "parallelcluster:version", "Value": "3.16.1"}],
}


@pytest.mark.parametrize(
    ("image", "detail"),
    [
        ([{**BUILT}], "ours"),
        (
            [{**BUILT, "Architecture": "arm64"}],
            "it is for arm64, and nodes are x86_64",
        ),
        ([{**BUILT, "State": "pending"}], "it is pending"),
        (
            [{**BUILT, "Tags": [{"Key": "parallelcluster:version", "Value": "3.11.0"}]}],
            "it was built for ParallelCluster 3.11.0, and 3.16.1 is needed",
        ),
        (
            [{**BUILT, "Tags": []}],
            "it was built without the tag of ParallelCluster, and 3.16.1 is needed",
        ),
        (
            [],
            "there is no ami-0123456789abcdef0 in us-east-1, or it is not shared with the account",
        ),
    ],
)
def test_an_image_has_to_be_built_for_parallelcluster(
    image: list[Any], detail: str, institution: Make, verdict: Run, aws: Any
) -> None:
    aws.answer("ec2", "describe_images", {"Images": image}, ImageIds=["ami-0123456789abcdef0"])
    found = verdict(institution(fleet=IMAGE), "image", aws)
    assert found.detail == detail
    assert found.status is (Status.READY if detail == "ours" else Status.NOT_READY)


SSH = "head_node: {ssh: {key_name: ops, allowed_cidr: 10.0.0.0/16}}"


@pytest.mark.parametrize(("kind", "status"), [("ed25519", Status.READY), ("rsa", Status.NOT_READY)])
def test_ubuntu_refuses_rsa_keys(
    kind: str, status: Status, institution: Make, verdict: Run, aws: Any
) -> None:
    aws.answer("ec2", "describe_key_pairs", {"KeyPairs": [{"KeyType": kind}]}, KeyNames=["ops"])
    assert verdict(institution(fleet=SSH), "key pair ops", aws).status is status


def test_a_missing_key_pair_comes_with_the_command(
    institution: Make, verdict: Run, aws: Any
) -> None:
    aws.refuse("ec2", "describe_key_pairs", "InvalidKeyPair.NotFound")
    found = verdict(institution(fleet=SSH), "key pair ops", aws)
    assert found.fix.startswith("aws ec2 create-key-pair --key-type ed25519 --key-name ops")
