"""A fleet's record, rendered as the configuration of an AWS ParallelCluster cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..facts.parallelcluster import VERSION
from .names import SHARED_STORAGE_NAME
from .policy import policy_settings
from .queues import queue_section
from .sections import actions_section, iam_section, present

if TYPE_CHECKING:
    from ..config.accounting import AccountingDatabase
    from ..config.fleet import Fleet, LoginPool, Monitoring, Ssh
    from ..facts import InstanceType
    from .references import References

SlurmSetting = Mapping[str, str | int]
"""One line of slurm.conf: one key, or several for a line such as ``PartitionName=``."""

# A range that no host is in. ParallelCluster opens port 22 to 0.0.0.0/0 where AllowedIps is
# missing (pcluster 3.16.1, templates/cluster_stack.py), so there always is one.
NO_ADDRESS = "255.255.255.255/32"


def render(
    fleet: Fleet,
    references: References,
    *,
    known_types: Mapping[str, InstanceType],
    tags: Mapping[str, str] | None = None,
    slurm_settings: Sequence[SlurmSetting] = (),
    queue_slurm_settings: Mapping[str, SlurmSetting] | None = None,
) -> dict[str, Any]:
    """Return the cluster configuration, in the order in which people read it.

    Args:
        fleet: The fleet.
        references: What the configuration points to outside the fleet.
        known_types: Facts of instance types by name; it has the type of every queue.
        tags: Tags on everything that ParallelCluster makes. Default: none.
        slurm_settings: Lines for slurm.conf, between those of the fleet's policy and its own
            ``extra_slurm_settings``.
        queue_slurm_settings: Settings of the partition that a queue is, by queue. Default: none.
    """
    settings, partitions = policy_settings(fleet, known_types)
    for name, given in (queue_slurm_settings or {}).items():
        partitions[name] = {**partitions.get(name, {}), **given}
    settings += [dict(line) for line in slurm_settings]
    settings += [{key: value} for key, value in fleet.parallelcluster.extra_slurm_settings.items()]
    named = fleet.parallelcluster.permissions_boundary_arn
    boundary = named or references.permissions_boundary_arn
    return present(
        Region=references.region,
        Image=present(Os=fleet.image.os, CustomAmi=fleet.image.ami_id),
        Imds={"ImdsSupport": "v2.0"},
        HeadNode=_head_node(fleet, references),
        LoginNodes=_login_nodes(fleet, references) if fleet.login_nodes else None,
        Scheduling={
            "Scheduler": "slurm",
            "SlurmSettings": _slurm_settings(fleet, settings, isolated=references.isolated),
            "SlurmQueues": [
                queue_section(
                    name, queue, references, known_types[queue.instance_type], partitions.get(name)
                )
                for name, queue in fleet.queues.items()
            ],
        },
        SharedStorage=[_lustre(references)],
        Monitoring=_monitoring(fleet.monitoring),
        Iam={"PermissionsBoundary": boundary} if boundary else None,
        # Sorted: an update that only reorders tags is refused by ParallelCluster.
        Tags=[{"Key": key, "Value": value} for key, value in sorted((tags or {}).items())] or None,
        DevSettings=_dev_settings(fleet),
    )


def to_yaml(config: Mapping[str, Any]) -> str:
    """Return a configuration as the text of ``cluster-config.yaml``."""
    import yaml

    text: str = yaml.safe_dump(dict(config), sort_keys=False, width=100, allow_unicode=True)
    return f"# AWS ParallelCluster {VERSION}, written by trainshed\n{text}"


def _head_node(fleet: Fleet, references: References) -> dict[str, Any]:
    head, disk = fleet.head_node, fleet.head_node.root_volume
    database_client = fleet.accounting.client_security_group_id if fleet.accounting else None
    groups = [*references.security_group_ids, *filter(None, [database_client])]
    policies = (*references.head_policy_arns, *head.policies)
    return present(
        InstanceType=head.instance_type,
        Networking=present(
            SubnetId=references.head_subnet_id,
            AdditionalSecurityGroups=groups or None,
        ),
        Ssh=present(
            KeyName=head.ssh.key_name if head.ssh else None, AllowedIps=_allowed_ips(head.ssh)
        ),
        LocalStorage={
            "RootVolume": {
                "Size": disk.gib,
                "VolumeType": "gp3",
                "Iops": disk.iops,
                "Throughput": disk.throughput_mib_s,
                "Encrypted": True,
                "DeleteOnTermination": disk.delete_on_termination,
            }
        },
        Imds={"Secured": True},
        Iam=iam_section(policies, references.head_actions.objects) or None,
        CustomActions=actions_section(references.head_actions) or None,
    )


def _login_nodes(fleet: Fleet, references: References) -> dict[str, Any]:
    ssh = fleet.head_node.ssh
    pools = fleet.login_nodes.items()
    return {"Pools": [_login_pool(name, pool, ssh, references) for name, pool in pools]}


def _login_pool(
    name: str, pool: LoginPool, ssh: Ssh | None, references: References
) -> dict[str, Any]:
    return present(
        Name=name,
        InstanceType=pool.instance_type,
        Count=pool.count,
        GracetimePeriod=pool.grace_minutes,
        Networking=present(
            SubnetIds=[references.head_subnet_id],
            AdditionalSecurityGroups=list(references.security_group_ids) or None,
        ),
        Ssh={"AllowedIps": _allowed_ips(ssh)},
        # Pools have no S3Access: their policies allow the script objects.
        Iam=iam_section((*references.login_policy_arns, *pool.policies)) or None,
        CustomActions=actions_section(references.login_actions) or None,
    )


def _slurm_settings(
    fleet: Fleet, settings: list[dict[str, str | int]], *, isolated: bool
) -> dict[str, Any]:
    options = fleet.parallelcluster
    dynamic = any(queue.least_nodes < queue.max_nodes for queue in fleet.queues.values())
    return present(
        # Static nodes never scale down: there the key would only promise a saving.
        ScaledownIdletime=options.scaledown_idle_minutes if dynamic else None,
        QueueUpdateStrategy=options.queue_update_strategy,
        EnableMemoryBasedScheduling=options.memory_scheduling,
        # Route 53's API has no endpoint in a VPC (ParallelCluster guide "AWS ParallelCluster in a
        # single subnet with no internet access", read 2026-11-29).
        Dns={"DisableManagedDns": True, "UseEc2Hostnames": True} if isolated else None,
        Database=_database(fleet.accounting) if fleet.accounting else None,
        CustomSlurmSettings=settings or None,
    )


def _database(accounting: AccountingDatabase) -> dict[str, str]:
    return {
        "Uri": accounting.host,
        "UserName": accounting.user,
        "PasswordSecretArn": accounting.password_secret_arn,
        "DatabaseName": accounting.database,
    }


def _lustre(references: References) -> dict[str, Any]:
    return {
        "Name": SHARED_STORAGE_NAME,
        "StorageType": "FsxLustre",
        "MountDir": references.mount_dir,
        "FsxLustreSettings": {"FileSystemId": references.file_system_id},
    }


def _monitoring(monitoring: Monitoring) -> dict[str, Any]:
    return {
        "DetailedMonitoring": monitoring.detailed,
        "Logs": {
            "CloudWatch": {
                "Enabled": True,
                "RetentionInDays": monitoring.log_retention_days,
                "DeletionPolicy": "Retain",
            },
            "Rotation": {"Enabled": True},
        },
        "Dashboards": {"CloudWatch": {"Enabled": monitoring.dashboard}},
        "Alarms": {"Enabled": True},
    }


def _dev_settings(fleet: Fleet) -> dict[str, Any]:
    options = fleet.parallelcluster
    legacy = any(queue.efa_interface == "efa" for queue in fleet.queues.values())
    return present(
        Timeouts={
            "HeadNodeBootstrapTimeout": options.head_bootstrap_timeout_minutes * 60,
            "ComputeNodeBootstrapTimeout": options.compute_bootstrap_timeout_minutes * 60,
        },
        EfaInterfaceType="efa" if legacy else None,
    )


def _allowed_ips(ssh: Ssh | None) -> str:
    return ssh.allowed_cidr if ssh else NO_ADDRESS
