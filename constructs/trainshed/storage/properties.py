"""What CloudFormation is told about a new Lustre file system."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from constructs import Construct

from ..config.lustre_rules import deployment
from ..config.storage import Lustre


def lustre_log_group(
    scope: Construct, lustre: Lustre, removal_policy: cdk.RemovalPolicy
) -> logs.ILogGroup | None:
    """Make the log of what links could not carry over; None where it is not wanted."""
    if lustre.log_level == "disabled":
        return None
    # FSx takes only groups whose name begins like this. A retained group keeps its name, so the
    # name holds a part of the stack's id, and the stack can be made anew.
    uuid = cdk.Fn.select(2, cdk.Fn.split("/", cdk.Aws.STACK_ID))
    last_part = cdk.Fn.select(4, cdk.Fn.split("-", uuid))
    group = logs.LogGroup(
        scope,
        "Log",
        log_group_name=f"/aws/fsx/{cdk.Names.unique_resource_name(scope)}-{last_part}",
        retention=logs.RetentionDays.ONE_YEAR,
        removal_policy=removal_policy,
    )
    cdk.Validations.of(group).acknowledge(
        cdk.Acknowledgment(
            id="NIST.800.53.R5-CloudWatchLogGroupEncrypted",
            reason="Paths of files that could not be carried over, no data; CloudWatch encrypts it",
        )
    )
    return group


def lustre_configuration(lustre: Lustre, log_group: logs.ILogGroup | None) -> dict[str, Any]:
    """Return the properties of FSx, without those that the deployment type has not."""
    return {
        "deploymentType": deployment(lustre),
        "perUnitStorageThroughput": lustre.throughput_mb_s_per_tib,
        "dataCompressionType": lustre.compression.upper(),
        "weeklyMaintenanceStartTime": lustre.maintenance,
        "efaEnabled": True if lustre.efa else None,
        "metadataConfiguration": _metadata(lustre),
        "driveCacheType": _drive_cache(lustre),
        "logConfiguration": _log_configuration(lustre, log_group),
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


def _log_configuration(lustre: Lustre, log_group: logs.ILogGroup | None) -> dict[str, Any]:
    if log_group is None:
        return {"level": "DISABLED"}
    level = lustre.log_level.upper()
    destination = cdk.Stack.of(log_group).format_arn(
        service="logs",
        resource="log-group",
        resource_name=log_group.log_group_name,
        arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
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
