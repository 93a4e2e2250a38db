"""What a configuration does not say itself, and its queues with their key paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...config.faults import KeyPath

if TYPE_CHECKING:
    from ...facts import InstanceType


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What is known of the world around a configuration. A check without its facts is silent.

    Args:
        cluster_name: Name of the cluster.
        stack_name: Name of the CloudFormation stack that has the cluster's custom resource.
        capacity_block_ids: Reservations known to be Capacity Blocks.
        file_system_group_ids: Security groups that the shared file system lets in.
        attachable_policies: Patterns of the policy ARNs that the provider's role may attach.
        previous: The configuration that the cluster runs with now.
        known_types: Facts of instance types by name.
    """

    cluster_name: str | None = None
    stack_name: str | None = None
    capacity_block_ids: frozenset[str] = frozenset()
    file_system_group_ids: frozenset[str] = frozenset()
    attachable_policies: tuple[str, ...] = ()
    previous: Mapping[str, Any] | None = None
    known_types: Mapping[str, InstanceType] = field(default_factory=dict)


def queues_of(config: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Mapping[str, Any]]]:
    """Yield each queue with its key path."""
    for index, queue in enumerate(config["Scheduling"]["SlurmQueues"]):
        yield ("Scheduling", "SlurmQueues", index), queue


def resources_of(
    config: Mapping[str, Any],
) -> Iterator[tuple[KeyPath, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each compute resource with its key path and its queue."""
    for at, queue in queues_of(config):
        for index, resource in enumerate(queue["ComputeResources"]):
            yield (*at, "ComputeResources", index), queue, resource


def login_pools_of(config: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Mapping[str, Any]]]:
    """Yield each pool of login nodes with its key path."""
    for index, pool in enumerate(config.get("LoginNodes", {}).get("Pools", [])):
        yield ("LoginNodes", "Pools", index), pool


def slurm_settings_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the ``SlurmSettings``, empty where there are none."""
    settings: Mapping[str, Any] = config["Scheduling"].get("SlurmSettings", {})
    return settings
