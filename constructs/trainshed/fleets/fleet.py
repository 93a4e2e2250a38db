"""What every fleet gives back, whatever runs it, and what each backend can and cannot do. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2
    from aws_cdk import aws_iam as iam
    from constructs import IDependable


class ClusterFleet(Protocol):
    """Head node, login nodes and queues of a running cluster, as alerts and stacks see them."""

    cluster_name: str
    """Name of the cluster."""
    head_node_instance_id: str
    """EC2 id of the head node."""
    security_groups: Sequence[ec2.ISecurityGroup]
    """Groups of every node."""
    head_grant_principal: iam.IGrantable
    """Who to grant what the head node may do."""
    compute_grant_principal: iam.IGrantable
    """Who to grant what compute nodes, and so every job, may do."""
    log_group_prefix: str
    """How the names of the fleet's log groups begin."""
    status_arn: str
    """What tells how the fleet is: a stack or a parameter."""


class FleetNetwork(Protocol):
    """What a fleet needs of its network; :class:`trainshed.network.TrainingNetwork` has it."""

    @property
    def compute_subnet(self) -> ec2.ISubnet:
        """Private subnet of the nodes."""

    @property
    def node_security_groups(self) -> Sequence[ec2.ISecurityGroup]:
        """Groups of every node."""

    @property
    def ready(self) -> IDependable:
        """What has to be there before a node starts, and to go after the last one."""


class Backend(StrEnum):
    """What can run a fleet; the value is ``fleet.backend`` of an institution."""

    PARALLELCLUSTER = "parallelcluster"
    SLURM = "slurm"


class Capability(StrEnum):
    """What a fleet may be asked for and not every backend has; the value is how people say it."""

    LOGIN_NODES = "login nodes apart from the head node"
    SCALE_TO_ZERO = "nodes that come with jobs and go when idle"
    ACCOUNTING_DATABASE_OUTSIDE = "an accounting database outside the cluster"
    OWN_PROLOG_AND_EPILOG = "Prolog and Epilog of your own in slurm.conf"
    ANY_SLURM_SETTING = "every setting of slurm.conf"
    EFA_INTERFACE_EACH_QUEUE = "a kind of EFA interface for each queue"
    KEPT_COMPUTE_DISKS = "root disks that outlive their compute node"
    SHRINK_WHILE_JOBS_RUN = "fewer nodes while jobs run on the others"
    NEW_HEAD_NODE_TYPE = "another head node type in place"


_BOTH = frozenset(
    {
        Capability.LOGIN_NODES,
        Capability.SCALE_TO_ZERO,
        Capability.ACCOUNTING_DATABASE_OUTSIDE,
    }
)

CAPABILITIES: Mapping[Backend, frozenset[Capability]] = MappingProxyType(
    {
        # aws-parallelcluster 3.16.1: its deny-list, its update policies and its schema.
        Backend.PARALLELCLUSTER: _BOTH,
        Backend.SLURM: (_BOTH - {Capability.SCALE_TO_ZERO})
        | {
            Capability.OWN_PROLOG_AND_EPILOG,
            Capability.ANY_SLURM_SETTING,
            Capability.EFA_INTERFACE_EACH_QUEUE,
            Capability.KEPT_COMPUTE_DISKS,
            Capability.SHRINK_WHILE_JOBS_RUN,
            Capability.NEW_HEAD_NODE_TYPE,
        },
    }
)
"""What each backend can do."""


def require(backend: Backend | str, capability: Capability, *, key: str) -> None:
    """Refuse a wish that a backend cannot fulfil.

    Args:
        backend: What runs the fleet.
        capability: What is asked for.
        key: The key that asks for it, such as ``queues.train.efa_interface``.

    Raises:
        ValueError: The backend cannot; the message names those that can.
    """
    if capability in CAPABILITIES[Backend(backend)]:
        return
    able = [other.value for other in Backend if capability in CAPABILITIES[other]]
    instead = f"backend {' or '.join(able)} has" if able else "no backend has"
    raise ValueError(
        f"{key} asks for {capability.value}, which {backend} has not; {instead} it, "
        "or leave the key out"
    )
