"""Checks of the cluster as a whole: its name, time, tags, mounts and architecture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from ...config.faults import Fault, KeyPath
from ...facts.parallelcluster import (
    MAX_CLUSTER_NAME,
    MAX_CLUSTER_NAME_WITH_ACCOUNTING,
    is_reserved_mount_dir,
)
from ..references import is_settled
from .surroundings import Surroundings, login_pools_of, queues_of, resources_of, slurm_settings_of

# CloudFormation gives a custom resource 3600 seconds, and the cluster's network, storage and roles
# are made before the head node starts.
MOST_HEAD_NODE_SECONDS = 3000


def cluster_name_fits(config: Mapping[str, Any], around: Surroundings) -> Iterator[Fault]:
    """The name is short enough, and not that of the stack around the cluster."""
    name = around.cluster_name
    if name is None or not is_settled(name):
        return
    settings = slurm_settings_of(config)
    accounting = "Database" in settings or "ExternalSlurmdbd" in settings
    most = MAX_CLUSTER_NAME_WITH_ACCOUNTING if accounting else MAX_CLUSTER_NAME
    if len(name) > most:
        because = ", since the names of its accounting tables begin with it" if accounting else ""
        yield Fault.at(
            reason=f"cluster_name {name!r} has {len(name)} characters; use {most} or fewer{because}"
        )
    if name == around.stack_name:
        yield Fault.at(
            reason=f"cluster_name {name!r} is also the name of the stack it is made "
            "from, and ParallelCluster makes a stack of that name; "
            "rename one of them"
        )


def head_node_is_ready_in_time(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """The head node has less time than the custom resource that waits for it."""
    timeouts = config.get("DevSettings", {}).get("Timeouts", {})
    seconds = timeouts.get("HeadNodeBootstrapTimeout", 0)
    if seconds > MOST_HEAD_NODE_SECONDS:
        yield Fault.at(
            "DevSettings",
            "Timeouts",
            "HeadNodeBootstrapTimeout",
            reason=f"{seconds} seconds leave too little of CloudFormation's hour for the resource; "
            f"use {MOST_HEAD_NODE_SECONDS} or less",
        )


def tags_are_free(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """No tag has the prefix that AWS keeps for itself."""
    lists = [
        (("Tags",), config),
        *(((*at, "Tags"), queue) for at, queue in queues_of(config)),
        *(((*at, "Tags"), resource) for at, _queue, resource in resources_of(config)),
    ]
    for key_path, holder in lists:
        for index, tag in enumerate(holder.get("Tags", [])):
            if tag["Key"].lower().startswith("aws:"):
                yield Fault(
                    (*key_path, index, "Key"),
                    f"{tag['Key']!r}: the prefix 'aws:' is reserved; rename the tag",
                )


def mounts_are_apart(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """No mount is a system directory, and none lies in another."""
    mounts = dict(_mounts(config))
    shared = [at for at in mounts if at[0] == "SharedStorage"]
    for at in shared:
        if is_reserved_mount_dir(mounts[at]):
            yield Fault(at, f"{mounts[at]} is a directory of the system; use one such as /fsx")
    for one, other in combinations(mounts, 2):
        # Scratch directories of two queues never meet: they are on different nodes.
        if (one in shared or other in shared) and _overlap(mounts[one], mounts[other]):
            yield Fault(
                other,
                f"{mounts[other]} and {mounts[one]} overlap, so one hides the other;"
                " mount them apart, such as /opt/dlami/nvme and /fsx",
            )


def architectures_agree(config: Mapping[str, Any], around: Surroundings) -> Iterator[Fault]:
    """All nodes share the head node's architecture: they run one image and one Slurm."""
    head = around.known_types.get(config["HeadNode"]["InstanceType"])
    named = [
        *(((*at, "InstanceType"), pool) for at, pool in login_pools_of(config)),
        *(((*at, "InstanceType"), resource) for at, _, resource in resources_of(config)),
    ]
    for key_path, node in named:
        other = around.known_types.get(node.get("InstanceType", ""))
        if head and other and other.architecture != head.architecture:
            yield Fault(
                key_path,
                f"{other.name} is {other.architecture} and the head node, {head.name}, is "
                f"{head.architecture}; take a head node of the same architecture",
            )


def _mounts(config: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    for index, storage in enumerate(config.get("SharedStorage", [])):
        yield ("SharedStorage", index, "MountDir"), _absolute(storage["MountDir"])
    holders: list[tuple[KeyPath, Mapping[str, Any]]] = [(("HeadNode",), config["HeadNode"])]
    holders += [
        ((*at, "ComputeSettings"), q.get("ComputeSettings", {})) for at, q in queues_of(config)
    ]
    for at, holder in holders:
        volume = holder.get("LocalStorage", {}).get("EphemeralVolume", {})
        if "MountDir" in volume:
            key_path = (*at, "LocalStorage", "EphemeralVolume", "MountDir")
            yield key_path, _absolute(volume["MountDir"])


def _absolute(path: str) -> str:
    return "/" + path.strip("/") if is_settled(path) else path


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
