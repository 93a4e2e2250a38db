"""References that a reader understands, for a configuration before its deployment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .. import facts
from . import boot
from .fleet_rules import has_own_boundary
from .references import NodeActions, References, Script

if TYPE_CHECKING:
    from ..config.fleet import Fleet

SESSION_MANAGER = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
BUCKET = "${ScriptBucket}"
# ParallelCluster takes nothing else than the form of an ARN.
ACCOUNTING_ARN = "arn:${Partition}:secretsmanager:${Region}:${Account}:secret:${AccountingSecret}"


def with_named_database(fleet: Fleet) -> Fleet:
    """Return the fleet with names in the place of what a database is called once it is made."""
    if fleet.accounting is None or fleet.accounting.create is None:
        return fleet
    database = fleet.accounting.made(
        host="${AccountingHost}",
        password_secret_arn=ACCOUNTING_ARN,
        client_security_group_id="${AccountingClientSecurityGroup}",
    )
    return fleet.model_copy(update={"accounting": database})


def placeholders(
    fleet: Fleet,
    *,
    region: str,
    mount_dir: str,
    cluster_name: str = "${ClusterName}",
    file_system_efa: bool = False,
    isolated: bool = False,
    known_types: Mapping[str, facts.InstanceType] = facts.INSTANCE_TYPES,
) -> References:
    """Return references with a name, ``${FileSystem}``, for each id that only AWS knows.

    Args:
        fleet: The fleet.
        region: AWS Region.
        mount_dir: Where every node mounts the file system.
        cluster_name: Name of the cluster.
        file_system_efa: Nodes can reach the file system over EFA.
        isolated: Nodes cannot reach the internet.
        known_types: Facts of instance types by name.
    """
    queue_actions = {}
    for name, queue in fleet.queues.items():
        kind = known_types.get(queue.instance_type)
        efa = file_system_efa and kind is not None and queue.uses_efa(kind)
        start = boot.compute_start_scripts(mount_dir, efa=efa)
        configured = boot.compute_configured_scripts(mount_dir)
        checks, files = _program(boot.COMPUTE_PROGRAM, "compute", f"expect-{name}", region)
        queue_actions[name] = NodeActions(
            on_start=_named(start, region),
            on_configured=(
                *_named(configured, region),
                Script(BUCKET, boot.RELEASE_RUNNER, (*checks.args, mount_dir)),
            ),
            fetched=(*files, *(Script(BUCKET, each.name) for each in start if each.optional)),
        )
    return References(
        region=region,
        head_subnet_id="${ComputeSubnet}",
        compute_subnet_id="${ComputeSubnet}",
        security_group_ids=("${EfaSecurityGroup}", "${EgressSecurityGroup}"),
        file_system_id="${FileSystem}",
        mount_dir=mount_dir,
        head_policy_arns=(SESSION_MANAGER, "${HeadPolicy}"),
        compute_policy_arns=(SESSION_MANAGER, "${ComputePolicy}"),
        login_policy_arns=(SESSION_MANAGER, "${LoginPolicy}"),
        head_actions=_head(fleet, mount_dir, region, cluster_name),
        login_actions=_listed(boot.login_scripts(mount_dir), region, cluster_name, "login"),
        queue_actions=queue_actions,
        reservation_ids={name: f"${{Reservation-{name}}}" for name in fleet.queues},
        isolated=isolated,
        permissions_boundary_arn="${Boundary}" if has_own_boundary(fleet) else None,
    )


def _named(scripts: Iterable[boot.BootScript], region: str) -> tuple[Script, ...]:
    return tuple(
        Script(BUCKET, boot.OPTIONAL_RUNNER, (region, "${Sha256}", f"s3://{BUCKET}/{script.name}"))
        if script.optional
        else Script(BUCKET, script.name, script.args)
        for script in scripts
    )


def _program(
    program: str, who: str, document: str, region: str
) -> tuple[Script, tuple[Script, ...]]:
    """Return the script that runs one of trainshed's programs, and what it fetches."""
    files = tuple(Script(BUCKET, name) for name in (f"{who}-release.zip", f"{document}.json"))
    places = [word for file in files for word in ("${Sha256}", file.url)]
    return Script(BUCKET, boot.RELEASE_RUNNER, (region, program, *places)), files


def _head(fleet: Fleet, mount_dir: str, region: str, cluster_name: str) -> NodeActions:
    start = boot.head_start_scripts(cluster_name, region)
    scripts = boot.head_scripts(mount_dir)
    files: tuple[Script, ...] = ()
    if fleet.policy is not None:
        scripts += boot.policy_scripts(cluster_name, region, "${PolicyHash}")
        files = tuple(Script(BUCKET, f) for f in (boot.POLICY_PROGRAM, boot.POLICY_DOCUMENT))
    programs, read = _program(boot.HEAD_PROGRAM, "head", "fleet", region)
    later = _listed(scripts, region, cluster_name, "head")
    first = _listed(start, region, cluster_name, "head-start")
    return NodeActions(
        on_start=first.on_configured,
        on_configured=later.on_configured,
        on_updated=later.on_updated,
        fetched=(*first.fetched, *later.fetched, programs, *files, *read),
    )


def _listed(
    scripts: Iterable[boot.BootScript], region: str, cluster_name: str, who: str
) -> NodeActions:
    args = (boot.list_parameter_name(cluster_name, who), region)
    return NodeActions(
        on_configured=(Script(BUCKET, boot.LIST_RUNNER, args),),
        on_updated=(Script(BUCKET, boot.LIST_RUNNER, (*args, "${ContentHash}")),),
        fetched=tuple(Script(BUCKET, script.name, script.args) for script in scripts),
    )
