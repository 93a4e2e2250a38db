"""The files of a cluster that its nodes fetch: what ``/etc/trainshed/files`` holds. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..alerts.agent import NodeAgent, NodeRole
from ..health import expected_hardware
from ..slurm import BareCluster, accounting_document, cgroup_conf, gres_conf, slurm_conf
from ..slurm.fleet_rules import node_groups
from . import names
from .document import SLURM_VERSION
from .shapes import Types, policy_of

if TYPE_CHECKING:
    from ..config.fleet import Fleet
    from ..facts import InstanceType

# Settings of slurm.conf in lower case, by the field that has what trainshed writes.
PROGRAMS = {
    "prolog": "prolog",
    "taskprolog": "task_prolog",
    "rebootprogram": "reboot_program",
}
_YEAR, _MONTH = (int(part) for part in SLURM_VERSION.split("."))
_NODE_LOGS = ("/var/log/trainshed/*.log", "/var/log/cloud-init-output.log")
_LOGS = {
    NodeRole.HEAD: (*_NODE_LOGS, "/var/log/slurm/slurmctld.log", "/var/log/slurm/slurmdbd.log"),
    NodeRole.LOGIN: _NODE_LOGS,
    NodeRole.COMPUTE: (*_NODE_LOGS, "/var/log/slurm/slurmd.log"),
}


def cluster_files(
    fleet: Fleet, *, cluster_name: str, mount_dir: str, types: Types
) -> dict[str, str]:
    """Return the text of each file by its name.

    Args:
        fleet: The fleet.
        cluster_name: Name of the cluster.
        mount_dir: Where every node mounts the shared file system.
        types: Facts of instance types by name.

    Raises:
        ValueError: The policy cannot be written for these queues.
    """
    policy, groups = policy_of(fleet), node_groups(fleet, types)
    used = {queue.instance_type: types[queue.instance_type] for queue in fleet.queues.values()}
    return {
        "slurm.conf": slurm_conf(policy, groups, bare_cluster(fleet, cluster_name)),
        "gres.conf": gres_conf(groups),
        "cgroup.conf": cgroup_conf(policy),
        "policy.json": _json(accounting_document(policy, groups, cluster=cluster_name)),
        **{
            f"expect/{name}.json": _json(_expected(fleet, kind, cluster_name, mount_dir))
            for name, kind in used.items()
        },
        **{f"cloudwatch-agent-{role}.json": _json(_agent(cluster_name, role)) for role in NodeRole},
    }


def bare_cluster(fleet: Fleet, cluster_name: str, *, extra: bool = True) -> BareCluster:
    """Return what slurm.conf says of the cluster itself.

    Args:
        fleet: The fleet.
        cluster_name: Name of the cluster.
        extra: With the settings that the record adds, apart from its own programs.
    """
    given = fleet.slurm.extra_slurm_settings
    programs = {key.lower(): str(value).strip() for key, value in given.items() if is_program(key)}
    more = {key: value for key, value in given.items() if not is_program(key)}
    made = BareCluster(
        name=cluster_name,
        # slurmctld looks for its host name among the controllers; the address follows it.
        controller=f"{names.HEAD_HOST}({names.head_host(cluster_name)})",
        accounting_host=names.head_host(cluster_name),
        state_dir=f"{names.STATE_DIR}/slurmctld",
        slurm_version=(_YEAR, _MONTH),
        extra=more if extra else {},
    )
    return replace(
        made,
        prolog=programs.get("prolog", made.prolog),
        task_prolog=programs.get("taskprolog", made.task_prolog),
        reboot_program=programs.get("rebootprogram", made.reboot_program),
    )


def is_program(setting: str) -> bool:
    """Tell whether a setting may name a program of a record's own in the place of trainshed's."""
    return setting.lower() in PROGRAMS


def _expected(
    fleet: Fleet, kind: InstanceType, cluster_name: str, mount_dir: str
) -> dict[str, Any]:
    queues = [queue for queue in fleet.queues.values() if queue.instance_type == kind.name]
    lock = fleet.image.lock
    return expected_hardware(
        kind,
        cluster_name=cluster_name,
        mounts=[mount_dir],
        efa=all(queue.uses_efa(kind) for queue in queues),
        driver=lock.nvidia_driver or "" if lock else "",
        tolerance=fleet.slurm.gate.tolerance,
        least_bus_gb_s=fleet.slurm.gate.least_bus_gb_s,
    )


def node_agent(cluster_name: str, role: NodeRole) -> NodeAgent:
    """Return the CloudWatch agent of the nodes of a role, as alarms know it."""
    disks = ("/", names.STATE_DIR) if role is NodeRole.HEAD else ("/",)
    return NodeAgent(cluster_name, role, disks)


def _agent(cluster_name: str, role: NodeRole) -> dict[str, Any]:
    collected = [
        {
            "file_path": path,
            "log_group_name": names.log_group_name(cluster_name),
            "log_stream_name": f"{role}/{{instance_id}}",
        }
        for path in _LOGS[role]
    ]
    return {
        **node_agent(cluster_name, role).configuration(),
        "logs": {"logs_collected": {"files": {"collect_list": collected}}},
    }


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"
