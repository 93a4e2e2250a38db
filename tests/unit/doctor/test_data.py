from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from trainshed.config import Institution
from trainshed.doctor import Status, Verdict
from trainshed.doctor.data import LAYER_KEY
from trainshed.fleets.provider import LAYER_KEY as DEPLOYED_LAYER_KEY

Make = Callable[..., Institution]
Run = Callable[[Institution, str, Any], Verdict]

FS = "fs-0123456789abcdef0"
STORAGE = f"""
existing: {{file_system_id: {FS}, mount_name: ab3tzbev, efa: true,
           dns_name: {FS}.fsx.us-east-1.amazonaws.com, security_group_id: sg-0123456789abcdef0}}
bucket: {{existing: my-bucket}}
links: {{A: {{path: /a, prefix: a/, direction: import}}}}
"""
FOUND: dict[str, Any] = {
    "FileSystemId": FS,
    "FileSystemType": "LUSTRE",
    "Lifecycle": "AVAILABLE",
    "StorageCapacity": 4800,
    "DNSName": f"{FS}.fsx.us-east-1.amazonaws.com",
    "VpcId": "vpc-0123456789abcdef0",
    "LustreConfiguration": {
        "DeploymentType": "PERSISTENT_2",
        "MountName": "ab3tzbev",
        "EfaEnabled": True,
    },
}
NETWORK = """
zone: us-east-1a
existing: {vpc_id: vpc-0123456789abcdef0, cidr: 10.0.0.0/16,
           compute_subnet_id: subnet-0123456789abcdef0}
"""


def _bucket_answer(region: str) -> dict[str, Any]:
    return {
        "BucketRegion": region,
        "ResponseMetadata": {"HTTPHeaders": {"x-amz-bucket-region": region}},
    }


def test_a_bucket_in_the_region_is_ready(institution: Make, verdict: Run, aws: Any) -> None:
    aws.answer("s3", "head_bucket", _bucket_answer("us-east-1"), Bucket="my-bucket")
    found = verdict(institution(storage=STORAGE), "bucket my-bucket", aws)
    assert found == Verdict(Status.READY, "in us-east-1")


def test_fsx_imports_only_from_its_own_region(institution: Make, verdict: Run, aws: Any) -> None:
    aws.answer("s3", "head_bucket", _bucket_answer("eu-west-1"))
    found = verdict(institution(storage=STORAGE), "bucket my-bucket", aws)
    assert found.detail == "my-bucket is in eu-west-1, and FSx imports only from us-east-1"


def test_exports_may_cross_regions(institution: Make, verdict: Run, aws: Any) -> None:
    aws.answer("s3", "head_bucket", _bucket_answer("eu-west-1"))
    storage = STORAGE.replace("import", "export")
    found = verdict(institution(storage=storage), "bucket my-bucket", aws)
    assert found == Verdict(Status.READY, "in eu-west-1")


def test_a_missing_bucket_comes_with_the_command(institution: Make, verdict: Run, aws: Any) -> None:
    aws.refuse("s3", "head_bucket", "404", status=404)
    found = verdict(institution(storage=STORAGE), "bucket my-bucket", aws)
    assert found.status is Status.NOT_READY
    assert found.fix == "aws s3api create-bucket --bucket my-bucket --region us-east-1"


def test_a_bucket_of_somebody_else_is_unknown(institution: Make, verdict: Run, aws: Any) -> None:
    aws.refuse("s3", "head_bucket", "403", status=403)
    found = verdict(institution(storage=STORAGE), "bucket my-bucket", aws)
    assert found == Verdict(
        Status.UNKNOWN,
        "no permission for s3:ListBucket",
        "run it as somebody who may s3:ListBucket",
    )


QUEUE = {"QueueArn": "arn:aws:sqs:us-east-1:111122223333:q", "Events": ["s3:ObjectCreated:*"]}


@pytest.mark.parametrize(
    ("configuration", "status", "named"),
    [
        ({}, Status.READY, ""),
        ({"QueueConfigurations": [{"Id": "FSx", **QUEUE}]}, Status.READY, ""),
        ({"QueueConfigurations": [{"Id": "mine", **QUEUE}]}, Status.NOT_READY, "mine"),
        ({"EventBridgeConfiguration": {}}, Status.NOT_READY, "EventBridge"),
    ],
    ids=["none", "FSx's own", "another", "EventBridge"],
)
def test_notifications_of_others_break_the_links(
    configuration: dict[str, Any],
    status: Status,
    named: str,
    institution: Make,
    verdict: Run,
    aws: Any,
) -> None:
    aws.answer("s3", "get_bucket_notification_configuration", configuration)
    found = verdict(institution(storage=STORAGE), "notifications of my-bucket", aws)
    assert found.status is status
    assert named in found.detail


@pytest.mark.parametrize(
    ("by", "status"),
    [
        ({"SSEAlgorithm": "AES256"}, Status.READY),
        ({"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "key-1"}, Status.UNKNOWN),
    ],
    ids=["S3's own keys", "a key of its own"],
)
def test_a_bucket_key_needs_a_look_at_its_policy(
    by: dict[str, str], status: Status, institution: Make, verdict: Run, aws: Any
) -> None:
    rules = {"Rules": [{"ApplyServerSideEncryptionByDefault": by}]}
    aws.answer("s3", "get_bucket_encryption", {"ServerSideEncryptionConfiguration": rules})
    found = verdict(institution(storage=STORAGE), "encryption of my-bucket", aws)
    assert found.status is status
    assert ("--key-id key-1" in found.fix) == (status is Status.UNKNOWN)


def test_a_bucket_without_a_rule_has_s3s_keys(institution: Make, verdict: Run, aws: Any) -> None:
    aws.refuse("s3", "get_bucket_encryption", "ServerSideEncryptionConfigurationNotFoundError")
    found = verdict(institution(storage=STORAGE), "encryption of my-bucket", aws)
    assert found == Verdict(Status.READY, "S3's own keys")


def _file_system(institution: Make, verdict: Run, aws: Any, **found: Any) -> Verdict:
    aws.answer(
        "fsx", "describe_file_systems", {"FileSystems": [{**FOUND, **found}]}, FileSystemIds=[FS]
    )
    made = institution(storage=STORAGE, network=NETWORK)
    return verdict(made, f"file system {FS}", aws)


def test_a_file_system_as_the_file_says_is_ready(institution: Make, verdict: Run, aws: Any) -> None:
    found = _file_system(institution, verdict, aws)
    assert found == Verdict(Status.READY, "4800 GiB, AVAILABLE")


@pytest.mark.parametrize(
    ("found", "detail", "fix"),
    [
        ({"Lifecycle": "FAILED"}, "it is FAILED", "wait until it is AVAILABLE"),
        ({"FileSystemType": "OPENZFS"}, "it is OPENZFS, not LUSTRE", "give a Lustre file system"),
        (
            {"LustreConfiguration": {"MountName": "fsx", "EfaEnabled": True}},
            "mount_name is fsx, and the file says ab3tzbev",
            "mount_name: fsx",
        ),
        (
            {"LustreConfiguration": {"MountName": "ab3tzbev"}},
            "it was made without EFA",
            "efa: false",
        ),
        (
            {"VpcId": "vpc-0123456789abcdef1"},
            "it is in vpc-0123456789abcdef1, and the cluster in vpc-0123456789abcdef0",
            "take the VPC of the file system",
        ),
        (
            {"DNSName": f"{FS}.example.com.local"},
            f"dns_name is {FS}.example.com.local, "
            f"and the file says {FS}.fsx.us-east-1.amazonaws.com",
            f"dns_name: {FS}.example.com.local",
        ),
    ],
)
def test_a_file_system_of_another_kind_is_not_ready(
    found: dict[str, Any], detail: str, fix: str, institution: Make, verdict: Run, aws: Any
) -> None:
    answer = _file_system(institution, verdict, aws, **found)
    assert (answer.status, answer.detail) == (Status.NOT_READY, detail)
    assert fix in answer.fix


def test_a_file_system_that_is_not_there_is_not_ready(
    institution: Make, verdict: Run, aws: Any
) -> None:
    aws.refuse("fsx", "describe_file_systems", "FileSystemNotFound")
    answer = verdict(institution(storage=STORAGE), f"file system {FS}", aws)
    assert answer.detail == f"there is no {FS} in us-east-1"


@pytest.mark.parametrize(
    ("paths", "status"),
    [(["/a"], Status.READY), ([f"/{n}" for n in range(8)], Status.NOT_READY)],
    ids=["its own", "eight others"],
)
def test_links_that_are_there_count(
    paths: list[str], status: Status, institution: Make, verdict: Run, aws: Any
) -> None:
    aws.answer(
        "fsx",
        "describe_data_repository_associations",
        {"Associations": [{"FileSystemPath": path} for path in paths]},
    )
    assert verdict(institution(storage=STORAGE), f"links of {FS}", aws).status is status


ACCOUNTING = (
    "accounting: {host: db.example.edu, user: slurm, password_secret_arn: "
    "'arn:aws:secretsmanager:us-east-1:111122223333:secret:slurm-AbCdEf'}"
)
SECRET = "secret of Slurm database"


def test_a_secret_is_looked_for_and_not_read(institution: Make, verdict: Run, aws: Any) -> None:
    aws.answer("secretsmanager", "describe_secret", {"Name": "slurm"})
    found = verdict(institution(fleet=ACCOUNTING), SECRET, aws)
    assert found == Verdict(Status.READY, "slurm")


def test_a_secret_that_is_going_is_not_ready(institution: Make, verdict: Run, aws: Any) -> None:
    gone = datetime(2026, 11, 1, tzinfo=UTC)
    aws.answer("secretsmanager", "describe_secret", {"Name": "slurm", "DeletedDate": gone})
    found = verdict(institution(fleet=ACCOUNTING), SECRET, aws)
    assert found.fix.startswith("aws secretsmanager restore-secret --secret-id arn:")


def test_a_missing_secret_is_not_ready(institution: Make, verdict: Run, aws: Any) -> None:
    aws.refuse("secretsmanager", "describe_secret", "ResourceNotFoundException")
    found = verdict(institution(fleet=ACCOUNTING), SECRET, aws)
    assert found.status is Status.NOT_READY


def test_slacks_secret_is_looked_for_too(institution: Make, verdict: Run, aws: Any) -> None:
    alerts = """
    slack_secret_arn: arn:aws:secretsmanager:us-east-1:111122223333:secret:slack-AbCdEf
    routes: {critical: C0ONCALL00, warning: C0OPS00000, info: C0OPS00000}
    operators: [hpc@example.edu]
    """
    aws.answer("secretsmanager", "describe_secret", {"Name": "slack"})
    assert verdict(institution(alerts=alerts), "secret of Slack", aws).detail == "slack"


def test_the_layer_is_looked_for_where_the_provider_takes_it_from(
    institution: Make, verdict: Run, aws: Any
) -> None:
    assert LAYER_KEY == DEPLOYED_LAYER_KEY
    aws.answer("s3", "head_object", {}, Bucket="us-east-1-aws-parallelcluster", Key=LAYER_KEY)
    found = verdict(institution(), "ParallelCluster's Lambda layer", aws)
    assert found.status is Status.READY


def test_a_region_without_the_layer_needs_a_mirror(
    institution: Make, verdict: Run, aws: Any
) -> None:
    aws.refuse("s3", "head_object", "404", status=404)
    found = verdict(institution(), "ParallelCluster's Lambda layer", aws)
    assert found.fix.startswith("mirror AWS's layer into a bucket of your own")
