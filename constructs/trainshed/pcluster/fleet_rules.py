"""What a fleet's record asks for and ParallelCluster does not have, or would do otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ..config.faults import Fault, KeyPath
from ..facts.parallelcluster import (
    LOG_RETENTION_DAYS,
    MAX_CLUSTER_NAME_WITH_ACCOUNTING,
    MAX_LOGIN_POOLS,
    MAX_QUEUES,
    VERSION,
    head_memory_gib,
)
from ..records import is_token
from .gate import gate_faults
from .names import compute_resource_name
from .policy import policy_misfits
from .slurm_lines import LINES_OF_SEVERAL, setting_faults
from .validators import VALIDATORS

if TYPE_CHECKING:
    from ..config.fleet import Fleet, RootVolume
    from ..facts import InstanceType

# constants.py of pcluster 3.16.1: EBS_ROOT_VOLUME_SIZE_DEFAULT, "greater than or equal to the AMI
# volume size".
OFFICIAL_IMAGE_GIB = 45


def fleet_faults(
    fleet: Fleet, *, cluster_name: str, known_types: Mapping[str, InstanceType]
) -> list[Fault]:
    """Return where a fleet does not fit ParallelCluster; key paths are those of the record.

    Args:
        fleet: The fleet.
        cluster_name: Name of the cluster.
        known_types: Facts of instance types by name.
    """
    faults = [
        *_name_faults(fleet, cluster_name),
        *_scratch_faults(fleet, known_types),
        *_wishes_beyond_the_type(fleet, known_types),
        *_small_heads(fleet, known_types),
        *policy_misfits(fleet, known_types),
        *gate_faults(fleet, known_types),
    ]
    return faults + [fault for rule in RULES for fault in rule(fleet)]


def _name_faults(fleet: Fleet, cluster_name: str) -> Iterator[Fault]:
    most = MAX_CLUSTER_NAME_WITH_ACCOUNTING
    if fleet.accounting and not is_token(cluster_name) and len(cluster_name) > most:
        yield Fault.at(
            "cluster_name",
            reason=f"{cluster_name!r} has {len(cluster_name)} characters; with accounting use "
            f"{most} or fewer, since the names of its database tables begin with it",
        )
    # aws-parallelcluster-node, slurm_plugin's parse_nodename, read 2026-11-30: the last of these
    # parts ends the queue's name.
    for name, queue in fleet.queues.items():
        resource = compute_resource_name(queue)
        if re.search(r"(?:^|-)(?:st|dy)-", resource):
            yield Fault.at(
                "queues",
                name,
                "resource_name",
                reason=f"is {resource}; in a node's name, {name}-st-{resource}-1, "
                "ParallelCluster takes what stands before its last -st- or -dy- for the queue, and "
                "no node would come: leave st- and dy- out",
            )


def has_own_boundary(fleet: Fleet) -> bool:
    """Tell whether trainshed makes the permissions boundary of a fleet's roles.

    It does where the record names neither a boundary nor policies of its own: what those allow is
    not known here, and a boundary without it would take it away.
    """
    return fleet.parallelcluster.permissions_boundary_arn is None and not fleet.named_policies


def unknown_types(fleet: Fleet, known_types: Mapping[str, InstanceType]) -> list[Fault]:
    """Return the queues whose type is unknown; an institution file is judged by its own rules.

    Args:
        fleet: The fleet.
        known_types: Facts of instance types by name.
    """
    return [
        Fault.at(
            "queues",
            name,
            "instance_type",
            reason=f"{queue.instance_type!r} is not in the table of instance types; "
            "describe it under known_types",
        )
        for name, queue in fleet.queues.items()
        if queue.instance_type not in known_types
    ]


def _scratch_faults(fleet: Fleet, known_types: Mapping[str, InstanceType]) -> Iterator[Fault]:
    for name, queue in fleet.queues.items():
        kind = known_types.get(queue.instance_type)
        if kind and kind.nvme_disks and queue.nvme_dir is None:
            yield Fault.at(
                "queues",
                name,
                "nvme_dir",
                reason="is null; ParallelCluster mounts the local disks in any case, at /scratch: "
                "name the directory",
            )


def _wishes_beyond_the_type(
    fleet: Fleet, known_types: Mapping[str, InstanceType]
) -> Iterator[Fault]:
    for name, queue in fleet.queues.items():
        kind = known_types.get(queue.instance_type)
        if kind and queue.efa_interface == "efa" and not queue.uses_efa(kind):
            why = "has no EFA" if not kind.has_efa else "is without EFA here"
            yield Fault.at(
                "queues",
                name,
                "efa_interface",
                reason=f"is efa, and {kind.name} {why}; leave it out",
            )
        if kind and queue.gpu_health_check and not kind.gpus:
            yield Fault.at(
                "queues",
                name,
                "gpu_health_check",
                reason=f"is true, and {kind.name} has no GPU that DCGM checks; leave it out",
            )


def _small_heads(fleet: Fleet, known_types: Mapping[str, InstanceType]) -> Iterator[Fault]:
    head = known_types.get(fleet.head_node.instance_type)
    nodes = sum(queue.max_nodes for queue in fleet.queues.values())
    needed = head_memory_gib(nodes)
    if head and head.memory_mib < needed * 1024:
        enough = "m7i.xlarge" if head.architecture == "x86_64" else "m7g.xlarge"
        yield Fault.at(
            "head_node",
            "instance_type",
            reason=f"{head.name} has {head.memory_mib / 1024:g} GiB of memory, and ParallelCluster "
            f"asks for {needed:g} to manage {nodes} nodes; take a larger one, such as {enough}",
        )


def _count_faults(fleet: Fleet) -> Iterator[Fault]:
    for key, most in (("queues", MAX_QUEUES), ("login_nodes", MAX_LOGIN_POOLS)):
        count = len(getattr(fleet, key))
        if count > most:
            yield Fault.at(key, reason=f"{count} are above the {most} that ParallelCluster takes")


def _settings_faults(fleet: Fleet) -> Iterator[Fault]:
    at = ("parallelcluster", "extra_slurm_settings")
    settings = fleet.parallelcluster.extra_slurm_settings
    yield from setting_faults(settings, at, "SlurmConf", database=fleet.accounting is not None)
    for name in settings:
        if name.lower() in LINES_OF_SEVERAL:
            yield Fault(
                (*at, name),
                "begins a line of several settings, and each of these is a line of its own; "
                "leave it out: nodes and partitions follow from the queues",
            )


def _validator_faults(fleet: Fleet) -> Iterator[Fault]:
    for index, name in enumerate(fleet.parallelcluster.suppress_validators):
        validator = name.removeprefix("type:")
        if name == "ALL" or validator in VALIDATORS:
            continue
        near = get_close_matches(validator, sorted(VALIDATORS), n=1)
        hint = f"did you mean 'type:{near[0]}'?" if near else "use one such as 'type:EfaValidator'"
        yield Fault.at(
            "parallelcluster",
            "suppress_validators",
            index,
            reason=f"{name!r} is no validator of ParallelCluster {VERSION}; {hint}",
        )


def _layer_faults(fleet: Fleet) -> Iterator[Fault]:
    bucket, key = fleet.parallelcluster.layer_bucket, fleet.parallelcluster.layer_key
    if key is None or is_token(key):
        return
    if bucket is None:
        yield Fault.at(
            "parallelcluster",
            "layer_key",
            reason=f"is {key}, without layer_bucket; name the bucket of your mirror too, or leave "
            "the key out",
        )
    versions = set(re.findall(r"(?<![\d.])\d+\.\d+\.\d+(?![\d.])", key))
    if versions and VERSION not in versions:
        yield Fault.at(
            "parallelcluster",
            "layer_key",
            reason=f"{key} is of version {min(versions)}; the cluster is made with {VERSION}: use "
            "the layer of that version",
        )


def _idle_faults(fleet: Fleet) -> Iterator[Fault]:
    minutes = fleet.parallelcluster.scaledown_idle_minutes
    static = all(queue.least_nodes == queue.max_nodes for queue in fleet.queues.values())
    if minutes is not None and static:
        yield Fault.at(
            "parallelcluster",
            "scaledown_idle_minutes",
            reason=f"is {minutes}, but min_nodes is max_nodes in every queue, so no node is ever "
            "stopped for idleness; leave it out",
        )


def _efa_faults(fleet: Fleet) -> Iterator[Fault]:
    kinds = {name: queue.efa_interface for name, queue in fleet.queues.items()}
    odd = [name for name, kind in kinds.items() if kind == "efa"]
    if odd and len(odd) < len(kinds):
        other = next(name for name, kind in kinds.items() if kind != "efa")
        yield Fault.at(
            "queues",
            odd[0],
            "efa_interface",
            reason=f"is efa, and {kinds[other]} in queue {other}; ParallelCluster has one setting "
            "for all queues: write the same in each",
        )


def _disk_faults(fleet: Fleet) -> Iterator[Fault]:
    disks: dict[KeyPath, RootVolume] = {("head_node", "root_volume"): fleet.head_node.root_volume}
    for name, queue in fleet.queues.items():
        disks["queues", name, "root_volume"] = queue.root_volume
        if not queue.root_volume.delete_on_termination:
            yield Fault(
                ("queues", name, "root_volume", "delete_on_termination"),
                "is false; ParallelCluster deletes a compute node's disk with its node: "
                "leave it out",
            )
    for at, disk in disks.items():
        if disk.gib < OFFICIAL_IMAGE_GIB and fleet.image.ami_id is None:
            yield Fault(
                (*at, "gib"),
                f"{disk.gib} is less than ParallelCluster's images; use {OFFICIAL_IMAGE_GIB} or "
                "more",
            )


def _retention_faults(fleet: Fleet) -> Iterator[Fault]:
    days = fleet.monitoring.log_retention_days
    if days not in LOG_RETENTION_DAYS:
        lower = max(d for d in LOG_RETENTION_DAYS if d < days)
        higher = min((d for d in LOG_RETENTION_DAYS if d > days), default=lower)
        yield Fault.at(
            "monitoring",
            "log_retention_days",
            reason=f"{days} is not among ParallelCluster's; use {lower} or {higher}",
        )


RULES: tuple[Callable[[Fleet], Iterator[Fault]], ...] = (
    _count_faults,
    _settings_faults,
    _validator_faults,
    _layer_faults,
    _idle_faults,
    _efa_faults,
    _disk_faults,
    _retention_faults,
)
