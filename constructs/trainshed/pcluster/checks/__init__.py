"""What ParallelCluster's own validators let through, and a cluster then fails of.

Every check is a function of the configuration and its :class:`Surroundings` that yields faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...config.faults import Fault
from ..configuration_schema import schema_faults
from . import access, cluster, queues, slurm
from .surroundings import Surroundings

Check = Callable[[Mapping[str, Any], Surroundings], Iterator[Fault]]

CHECKS: tuple[Check, ...] = (
    cluster.cluster_name_fits,
    cluster.head_node_is_ready_in_time,
    cluster.tags_are_free,
    cluster.mounts_are_apart,
    cluster.architectures_agree,
    access.ssh_is_narrow,
    access.elastic_ip_is_an_address,
    access.login_nodes_reach_the_file_system,
    access.scripts_can_be_read,
    access.policies_can_be_attached,
    queues.queues_are_few,
    queues.blocks_are_launched_as_blocks,
    queues.blocks_are_used_whole,
    queues.nodes_stay_under_drain,
    slurm.settings_are_ours_to_set,
    slurm.settings_are_visible,
    slurm.nodes_keep_their_names,
    slurm.partitions_have_nodes,
    slurm.stuck_steps_get_time,
)


def configuration_faults(
    config: Mapping[str, Any], surroundings: Surroundings | None = None
) -> list[Fault]:
    """Return every fault of a cluster configuration; key paths are those of the configuration.

    Args:
        config: The configuration, as :func:`trainshed.pcluster.render` returns it.
        surroundings: What is known of the world around it. Default: nothing.
    """
    faults = schema_faults(config)
    if not faults:
        known = surroundings or Surroundings()
        faults = [fault for check in CHECKS for fault in check(config, known)]
    return faults


__all__ = ["CHECKS", "Check", "Surroundings", "configuration_faults"]
