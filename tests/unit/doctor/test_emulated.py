"""The checks against an emulated account, as far as moto goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from trainshed.config import Institution
from trainshed.doctor import SessionClients, Status, Verdict

Make = Callable[..., Institution]
Run = Callable[[Institution, str, Any], Verdict]


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield boto3.session.Session()


@pytest.fixture
def clients(account: Any) -> SessionClients:
    return SessionClients(account, "us-east-1")


def test_a_prepared_account_is_ready(
    account: Any, clients: SessionClients, institution: Make, verdict: Run
) -> None:
    ec2, s3 = account.client("ec2"), account.client("s3")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.1.0/24", AvailabilityZone="us-east-1a")[
        "Subnet"
    ]["SubnetId"]
    group = ec2.create_security_group(GroupName="efa", Description="efa", VpcId=vpc)["GroupId"]
    itself = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=itself)
    ec2.authorize_security_group_egress(GroupId=group, IpPermissions=itself)
    ec2.create_key_pair(KeyName="ops", KeyType="ed25519")
    s3.create_bucket(Bucket="my-bucket")
    secret = account.client("secretsmanager").create_secret(Name="slurm", SecretString="x")["ARN"]
    made = institution(
        account='"123456789012"',
        network=f"""
        zone: us-east-1a
        existing: {{vpc_id: {vpc}, cidr: 10.0.0.0/16, compute_subnet_id: {subnet},
                   efa_security_group_id: {group}, efa_group_allows_itself: true}}
        """,
        storage="""
        lustre: {capacity_gib: 1200, throughput_mb_s_per_tib: 125}
        links: {A: {path: /a, prefix: a/, direction: import, bucket: my-bucket}}
        """,
        fleet=f"""
        head_node: {{ssh: {{key_name: ops, allowed_cidr: 10.0.0.0/16}}}}
        accounting: {{host: db.example.edu, user: slurm, password_secret_arn: '{secret}'}}
        """,
    )
    for name in (
        "Region",
        "zone",
        f"DNS of {vpc}",
        f"subnet {subnet}",
        f"group {group}",
        "key pair ops",
        "bucket my-bucket",
        "notifications of my-bucket",
        "encryption of my-bucket",
        "secret of Slurm database",
        "g6.12xlarge in the zone",
    ):
        found = verdict(made, name, clients)
        assert found.status is Status.READY, (name, found)


def test_an_empty_account_is_not_ready(
    clients: SessionClients, institution: Make, verdict: Run
) -> None:
    made = institution(
        storage="""
        lustre: {capacity_gib: 1200, throughput_mb_s_per_tib: 125}
        links: {A: {path: /a, prefix: a/, direction: import, bucket: my-bucket}}
        """,
        fleet="""
        head_node: {ssh: {key_name: ops, allowed_cidr: 10.0.0.0/16}}
        image: {os: ubuntu2204, ami_id: ami-0123456789abcdef0}
        accounting: {host: db.example.edu, user: slurm, password_secret_arn:
            'arn:aws:secretsmanager:us-east-1:111122223333:secret:slurm-AbCdEf'}
        """,
    )
    for name in (
        "CDK bootstrap",
        "key pair ops",
        "image",
        "bucket my-bucket",
        "secret of Slurm database",
        "ParallelCluster's Lambda layer",
    ):
        found = verdict(made, name, clients)
        assert found.status is Status.NOT_READY, (name, found)
        assert found.fix
