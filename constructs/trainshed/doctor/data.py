"""Checks of buckets, of an existing file system, of secrets and of ParallelCluster's layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from ..config import ExistingLustre, ExistingVpc, Institution
from ..facts import lustre
from ..facts.parallelcluster import VERSION
from .verdict import Check, Clients, Run, Verdict, error_code, judged, not_ready, ready, unknown

# As trainshed.fleets.provider has it, which cannot be imported without the CDK; a test compares.
LAYER_KEY = f"parallelcluster/{VERSION}/layers/aws-parallelcluster/lambda-layer.zip"


def data_checks(institution: Institution) -> Iterator[Check]:
    """Yield the checks of what exists already and holds data or secrets."""
    storage = institution.storage
    named = [link.bucket for link in storage.links.values()]
    for bucket in dict.fromkeys(filter(None, (storage.bucket.existing, *named))):
        imports = any(
            link.imports and (link.bucket or storage.bucket.existing) == bucket
            for link in storage.links.values()
        )
        region = institution.region
        yield Check(f"bucket {bucket}", "s3:ListBucket", _bucket(bucket, region, imports))
        yield Check(
            f"notifications of {bucket}", "s3:GetBucketNotification", _notifications(bucket)
        )
        yield Check(f"encryption of {bucket}", "s3:GetEncryptionConfiguration", _encryption(bucket))
    if storage.existing:
        yield Check(
            f"file system {storage.existing.file_system_id}",
            "fsx:DescribeFileSystems",
            _file_system(institution, storage.existing),
        )
        yield Check(
            f"links of {storage.existing.file_system_id}",
            "fsx:DescribeDataRepositoryAssociations",
            _links(institution, storage.existing),
        )
    secrets = {}
    if institution.fleet.accounting and not institution.fleet.accounting.create:
        secrets["Slurm database"] = institution.fleet.accounting.password_secret_arn
    if institution.alerts:
        secrets["Slack"] = institution.alerts.slack_secret_arn
    for whose, arn in secrets.items():
        yield Check(f"secret of {whose}", "secretsmanager:DescribeSecret", _secret(arn))
    if institution.fleet.backend == "parallelcluster":
        yield Check("ParallelCluster's Lambda layer", "s3:GetObject", _layer(institution))


def _bucket(bucket: str, region: str, imports: bool) -> Run:
    def run(clients: Clients) -> Verdict:
        try:
            answer = clients.client("s3").head_bucket(Bucket=bucket)
        except ClientError as error:
            if error_code(error) not in ("404", "NoSuchBucket"):
                raise
            return not_ready(
                f"there is no bucket {bucket}",
                f"aws s3api create-bucket --bucket {bucket} --region {region}"
                + (
                    ""
                    if region == "us-east-1"
                    else f" --create-bucket-configuration LocationConstraint={region}"
                ),
            )
        headers = answer["ResponseMetadata"]["HTTPHeaders"]
        where = answer.get("BucketRegion") or headers.get("x-amz-bucket-region")
        if imports and where not in (None, region):
            return not_ready(
                f"{bucket} is in {where}, and FSx imports only from {region}",
                "write direction: export for its links, or copy the bucket",
            )
        return ready(f"in {where or region}")

    return run


def _notifications(bucket: str) -> Run:
    def run(clients: Clients) -> Verdict:
        answer = clients.client("s3").get_bucket_notification_configuration(Bucket=bucket)
        others = [
            str(configuration.get("Id", "without a name"))
            for key, configurations in answer.items()
            if key.endswith(("Configurations", "Configuration"))
            and isinstance(configurations, list)
            for configuration in configurations
            if not str(configuration.get("Id", "")).startswith("FSx")
        ]
        if "EventBridgeConfiguration" in answer:
            others.append("EventBridge")
        if others:
            return not_ready(
                f"{bucket} notifies others as well, and FSx's own notification would clash: "
                f"{', '.join(others)}",
                "send these events from another bucket; this one shows them: "
                f"aws s3api get-bucket-notification-configuration --bucket {bucket}",
            )
        return ready("none but FSx's own")

    return run


def _encryption(bucket: str) -> Run:
    def run(clients: Clients) -> Verdict:
        try:
            answer = clients.client("s3").get_bucket_encryption(Bucket=bucket)
        except ClientError as error:
            if error_code(error) != "ServerSideEncryptionConfigurationNotFoundError":
                raise
            return ready("S3's own keys")
        rules = answer["ServerSideEncryptionConfiguration"]["Rules"]
        by = rules[0].get("ApplyServerSideEncryptionByDefault", {})
        key = by.get("KMSMasterKeyID")
        if str(by.get("SSEAlgorithm", "")).startswith("aws:kms") and key:
            return unknown(
                f"encrypted with {key}",
                "see that its policy lets FSx's role use it: "
                f"aws kms get-key-policy --policy-name default --key-id {key}",
            )
        return ready(str(by.get("SSEAlgorithm", "S3's own keys")))

    return run


def _file_system(institution: Institution, existing: ExistingLustre) -> Run:
    id = existing.file_system_id

    def run(clients: Clients) -> Verdict:
        fsx = clients.client("fsx")
        try:
            found = fsx.describe_file_systems(FileSystemIds=[id])["FileSystems"][0]
        except ClientError as error:
            if error_code(error) != "FileSystemNotFound":
                raise
            return not_ready(
                f"there is no {id} in {institution.region}",
                f"aws fsx describe-file-systems --region {institution.region}",
            )
        faults = list(_file_system_faults(found, institution, existing))
        return judged(faults, f"{found.get('StorageCapacity', '?')} GiB, {found['Lifecycle']}")

    return run


def _file_system_faults(
    found: Any, institution: Institution, existing: ExistingLustre
) -> Iterator[tuple[str, str]]:
    configuration = found.get("LustreConfiguration", {})
    if found["FileSystemType"] != "LUSTRE":
        yield f"it is {found['FileSystemType']}, not LUSTRE", "give a Lustre file system"
        return
    if found["Lifecycle"] != "AVAILABLE":
        yield f"it is {found['Lifecycle']}", "wait until it is AVAILABLE; the FSx console says why"
    for key, mine, theirs in (
        ("mount_name", existing.mount_name, configuration.get("MountName")),
        ("dns_name", existing.dns_name, found.get("DNSName")),
    ):
        if theirs and mine != theirs:
            yield f"{key} is {theirs}, and the file says {mine}", f"{key}: {theirs}"
    has_efa = bool(configuration.get("EfaEnabled", False))
    if has_efa != existing.efa:
        made = "with" if has_efa else "without"
        yield f"it was made {made} EFA", f"efa: {str(has_efa).lower()}"
    network = institution.network.source
    vpc = found.get("VpcId")
    if isinstance(network, ExistingVpc) and vpc not in (None, network.vpc_id):
        yield (
            f"it is in {vpc}, and the cluster in {network.vpc_id}",
            "take the VPC of the file system, or join the two",
        )


def _links(institution: Institution, existing: ExistingLustre) -> Run:
    mine = {link.path for link in institution.storage.links.values()}

    def run(clients: Clients) -> Verdict:
        answer = clients.client("fsx").describe_data_repository_associations(
            Filters=[{"Name": "file-system-id", "Values": [existing.file_system_id]}]
        )
        others = {found.get("FileSystemPath", "/") for found in answer["Associations"]} - mine
        count = len(others) + len(mine)
        if count > lustre.MAX_ASSOCIATIONS:
            return not_ready(
                f"{count} links with those that are there, above {lustre.MAX_ASSOCIATIONS}",
                "leave some out, or delete one of these: aws fsx "
                "describe-data-repository-associations --filters "
                f"Name=file-system-id,Values={existing.file_system_id}",
            )
        return ready(f"{count} of {lustre.MAX_ASSOCIATIONS}")

    return run


def _secret(arn: str) -> Run:
    def run(clients: Clients) -> Verdict:
        try:
            found = clients.client("secretsmanager").describe_secret(SecretId=arn)
        except ClientError as error:
            if error_code(error) != "ResourceNotFoundException":
                raise
            return not_ready(
                f"there is no secret {arn}",
                "aws secretsmanager create-secret --name NAME --secret-string file://secret, "
                "and give its ARN",
            )
        if found.get("DeletedDate"):
            return not_ready(
                f"{found['Name']} is about to be deleted",
                f"aws secretsmanager restore-secret --secret-id {arn}",
            )
        return ready(str(found["Name"]))

    return run


def _layer(institution: Institution) -> Run:
    options = institution.fleet.parallelcluster
    bucket = options.layer_bucket or f"{institution.region}-aws-parallelcluster"
    key = options.layer_key or LAYER_KEY

    def run(clients: Clients) -> Verdict:
        place = f"s3://{bucket}/{key}"
        try:
            clients.client("s3").head_object(Bucket=bucket, Key=key)
        except ClientError as error:
            if error_code(error) not in ("404", "NoSuchKey", "NoSuchBucket"):
                raise
            return not_ready(
                f"there is no {place}",
                "mirror AWS's layer into a bucket of your own, and give layer_bucket and layer_key",
            )
        return ready(place)

    return run
