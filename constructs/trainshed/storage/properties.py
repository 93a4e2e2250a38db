"""What a new Lustre file system stands on, and what CloudFormation is told about it."""

from __future__ import annotations

from functools import cache
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from .._acknowledge import acknowledge
from .._stacks import stack_facts
from ..config.lustre_rules import deployment
from ..config.storage import Lustre


def check_dns(vpc: ec2.IVpc) -> None:
    """Refuse a VPC made here in which nodes would not find the file system.

    Raises:
        ValueError: Its DNS support or DNS hostnames are off.
    """
    if isinstance(vpc, ec2.Vpc) and not (vpc.dns_support_enabled and vpc.dns_hostnames_enabled):
        raise ValueError(
            f"vpc {vpc.node.path} has DNS support or DNS hostnames off, and nodes find the file "
            "system by its name; set enable_dns_support and enable_dns_hostnames"
        )


def lustre_security_group(
    scope: Construct, vpc: ec2.IVpc, removal_policy: cdk.RemovalPolicy
) -> ec2.ISecurityGroup:
    """Make the group of the file system, without rules."""
    group = ec2.SecurityGroup(
        scope,
        "SecurityGroup",
        vpc=vpc,
        description="FSx for Lustre: servers among themselves and with their clients",
        allow_all_outbound=False,
    )
    # A retained file system keeps its group in use, and it could not be deleted.
    group.apply_removal_policy(removal_policy)
    return group


def lustre_key(
    scope: Construct, lustre: Lustre, encryption_key: kms.IKey | None
) -> kms.IKey | None:
    """Return the key of the file system; None for the account's own.

    Raises:
        ValueError: Two are given.
    """
    if lustre.kms_key_arn is None:
        return encryption_key
    if encryption_key is not None:
        raise ValueError(
            "encryption_key and lustre.kms_key_arn are both given; leave one of them out"
        )
    return kms.Key.from_key_arn(scope, "Key", lustre.kms_key_arn)


def lustre_log_group(
    scope: Construct, lustre: Lustre, removal_policy: cdk.RemovalPolicy
) -> logs.ILogGroup | None:
    """Make the log of what links could not carry over; None where it is not wanted."""
    if lustre.log_level == "disabled":
        return None
    # FSx takes only groups whose name begins like this. A retained group keeps its name, so the
    # name holds a part of the stack's id, and the stack can be made anew.
    group = logs.LogGroup(
        scope,
        "Log",
        log_group_name=f"/aws/fsx/{cdk.Names.unique_resource_name(scope)}-{_end_of_stack_id()}",
        retention=logs.RetentionDays.ONE_YEAR,
        removal_policy=removal_policy,
    )
    reason = "Paths of files that could not be carried over, no data; CloudWatch encrypts it"
    acknowledge(group, {"NIST.800.53.R5-CloudWatchLogGroupEncrypted": reason})
    return group


@cache
def _end_of_stack_id() -> str:
    """Return the last part of the UUID of any stack."""
    uuid = cdk.Fn.select(2, cdk.Fn.split("/", cdk.Aws.STACK_ID))
    return cdk.Fn.select(4, cdk.Fn.split("-", uuid))


def lustre_configuration(
    scope: Construct, lustre: Lustre, log_group: logs.ILogGroup | None
) -> dict[str, Any]:
    """Return the properties of FSx, without those that the deployment type has not."""
    return {
        "deploymentType": deployment(lustre),
        "perUnitStorageThroughput": lustre.throughput_mb_s_per_tib,
        "dataCompressionType": lustre.compression.upper(),
        "weeklyMaintenanceStartTime": lustre.maintenance,
        "efaEnabled": True if lustre.efa else None,
        "metadataConfiguration": _metadata(lustre),
        "driveCacheType": _drive_cache(lustre),
        "logConfiguration": _log_configuration(scope, lustre, log_group),
        **_backups(lustre),
    }


def _metadata(lustre: Lustre) -> dict[str, Any] | None:
    # It can only be given when the file system is made, and EFA needs it: always for PERSISTENT_2.
    if lustre.deployment_type != "persistent_2":
        return None
    if lustre.metadata_iops is None:
        return {"mode": "AUTOMATIC"}
    return {"mode": "USER_PROVISIONED", "iops": lustre.metadata_iops}


def _drive_cache(lustre: Lustre) -> str | None:
    if lustre.storage_type != "hdd":
        return None
    return "READ" if lustre.hdd_read_cache else "NONE"


def _log_configuration(
    scope: Construct, lustre: Lustre, log_group: logs.ILogGroup | None
) -> dict[str, Any]:
    if log_group is None:
        return {"level": "DISABLED"}
    level = lustre.log_level.upper()
    here = stack_facts(scope)
    destination = (
        f"arn:{here.partition}:logs:{here.region}:{here.account}:"
        f"log-group:{log_group.log_group_name}"
    )
    return {
        "level": level if level == "WARN_ERROR" else f"{level}_ONLY",
        "destination": destination,
    }


def _backups(lustre: Lustre) -> dict[str, Any]:
    if not lustre.deployment_type.startswith("persistent"):
        return {}
    if lustre.backups is None:
        return {"automaticBackupRetentionDays": 0}
    return {
        "automaticBackupRetentionDays": lustre.backups.retention_days,
        "dailyAutomaticBackupStartTime": lustre.backups.start_time,
        "copyTagsToBackups": True,
    }
