"""What a lab's fleet is made of: its queues, the files that its nodes fetch, its document."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from tests.slurm.lab.cluster import LAB_SETTINGS, P5EN, USERS, policy_for_lab
from trainshed import facts
from trainshed.alerts.agent import NodeAgent, NodeRole
from trainshed.health import expected_hardware
from trainshed.slurm import (
    BareCluster,
    NodeGroup,
    NodeShape,
    SlurmPolicy,
    accounting_document,
    cgroup_conf,
    gres_conf,
    slurm_conf,
)
from trainshed.slurm.bare import node_settings

from .aws import REGION
from .image import SLURM_VERSION

CLUSTER = "kait"
QUEUE = "train"
INSTANCE_TYPE = "p5en.48xlarge"
CPU_QUEUE = "prepare"
CPU_TYPE = "c7i.16xlarge"
HEAD_HOST = f"head.{CLUSTER}.trainshed.internal"
GROUP = NodeGroup(QUEUE, P5EN, 4)
CPU_GROUP = NodeGroup(CPU_QUEUE, NodeShape(64, 131_072, 1, 32, 2), 1)
# Slurm itself never declares a node dead: that is the keeper's.
_SETTINGS: dict[str, str | int] = {
    key: value for key, value in LAB_SETTINGS.items() if key != "SlurmdTimeout"
}


@dataclass
class Files:
    """What the cluster's ``files`` archive is made of; a test changes it before it launches.

    Args:
        policy: The policy.
        settings: More settings of slurm.conf.
        version: Slurm's version.
        cgroup: Plugin of cgroup.conf, and whether there is a controller of cores.
        groups: The queues.
        hardware: Whether nodes are told what they should have, so that their checks find it, and
            the head node what CloudWatch's agent takes.
    """

    policy: SlurmPolicy = field(default_factory=lambda: policy_for_lab("kait-hardened"))
    settings: dict[str, str | int] = field(default_factory=lambda: dict(_SETTINGS))
    version: tuple[int, int] = (24, 11)
    cgroup: dict[str, Any] = field(default_factory=lambda: {"plugin": "cgroup/v1", "cores": True})
    groups: tuple[NodeGroup, ...] = (GROUP,)
    hardware: bool = False

    def written(self) -> dict[str, bytes]:
        """Return the files."""
        cluster = BareCluster(
            CLUSTER,
            f"head({HEAD_HOST})",
            accounting_host=HEAD_HOST,
            state_dir="/state/slurmctld",
            slurm_version=self.version,
            extra=self.settings,
        )
        if self.hardware:
            # Slurm gives neither of them the surroundings that the lab's hardware is in.
            cluster = replace(cluster, prolog=None, health_check=None)
        document = accounting_document(self.policy, self.groups, cluster=CLUSTER)
        users = document["users"]
        policy = {**document, "users": {u: {**users[u], "uid": USERS[u]} for u in users}}
        cgroup = cgroup_conf(self.policy, plugin=self.cgroup["plugin"])
        if self.cgroup["plugin"] == "cgroup/v1":
            # At a place of its own: systemd has version 2, without controllers on this kernel.
            cgroup += "CgroupMountpoint=/srv/cgroup\n"
        if not self.cgroup["cores"]:
            cgroup = cgroup.replace("ConstrainCores=yes", "ConstrainCores=no")
        return {
            "slurm.conf": slurm_conf(self.policy, self.groups, cluster).encode(),
            "gres.conf": gres_conf(self.groups).encode(),
            "cgroup.conf": cgroup.encode(),
            "policy.json": json.dumps(policy).encode(),
            f"expect/{INSTANCE_TYPE}.json": json.dumps({"schema": 1, "gpus": 8}).encode(),
            **(_of_hardware() if self.hardware else {}),
            f"expect/{CPU_TYPE}.json": json.dumps({"schema": 1, "gpus": 0}).encode(),
        }

    def most_nodes(self, count: int) -> None:
        """Let the GPU queue have so many nodes."""
        self.groups = (replace(GROUP, count=count), *self.groups[1:])


def _of_hardware() -> dict[str, bytes]:
    kind = facts.instance_type(INSTANCE_TYPE)
    expected = expected_hardware(kind, cluster_name=CLUSTER, mounts=["/fsx"])
    agent = NodeAgent(CLUSTER, NodeRole.HEAD).configuration()
    return {
        f"expect/{INSTANCE_TYPE}.json": json.dumps(expected).encode(),
        "cloudwatch-agent-head.json": json.dumps(agent).encode(),
    }


def queue_document(group: NodeGroup, instance_type: str) -> dict[str, Any]:
    """Return what the fleet document says of a queue."""
    gpus = group.shape.gpus
    return {
        "asg": f"{CLUSTER}-{group.name}",
        "launch_template": "lt-0123456789abcdef0",
        "version": "1",
        "nodes": group.count,
        "instance_type": instance_type,
        "node_conf": " ".join(f"{key}={value}" for key, value in node_settings(group)),
        "gpus": gpus,
        "efa": bool(gpus),
        "nvme_dir": None,
        "nvlink": bool(gpus),
        "reservation_id": None,
        "start": None,
        "end": None,
        "drain_minutes": 40,
    }


def fleet_document(munge_secret: str, volume: str) -> dict[str, Any]:
    """Return the document of a fleet of four GPU nodes, without its scripts and files."""
    return {
        "schema": 1,
        "cluster": CLUSTER,
        "region": REGION,
        "packages": None,
        "slurm_version": SLURM_VERSION,
        "containers": False,
        "image": None,
        "head": {"host": HEAD_HOST, "state_volume_id": volume},
        "munge_secret_arn": munge_secret,
        "accounting": None,
        "mounts": [{"path": "/fsx", "dns_name": "fs", "mount_name": "lab", "efa": False}],
        "queues": {QUEUE: queue_document(GROUP, INSTANCE_TYPE)},
        "boot_timeout_minutes": 30,
        "log_group": f"/trainshed/{CLUSTER}/slurm",
        "alarm_topic_arn": None,
    }
