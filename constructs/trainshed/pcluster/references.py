"""What a cluster configuration points to: ids, script objects and policies.

Every text may be a real id, a CDK token, or a readable placeholder such as ``${ComputeSubnet}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..records import is_stand_in, is_token


def is_settled(value: str) -> bool:
    """Tell whether a text is its final value: no CDK token, placeholder or lookup to be made."""
    return not (is_token(value) or value.startswith("${") or is_stand_in(value))


@dataclass(frozen=True)
class Script:
    """A script object in S3 and what it is started with.

    Args:
        bucket: Bucket name.
        key: Key of the object. It changes with the content, so that an edit is seen.
        args: Arguments, in order.
    """

    bucket: str
    key: str
    args: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Where ParallelCluster finds the script."""
        return f"s3://{self.bucket}/{self.key}"


@dataclass(frozen=True, kw_only=True)
class NodeActions:
    """The scripts of a kind of node, and the objects that they fetch themselves.

    Args:
        on_start: Run before ParallelCluster sets the node up; file systems are not mounted yet.
        on_configured: Run when the node is set up. Fixed for the life of head and login nodes.
        on_updated: Run on head and login nodes by each update of the cluster.
        fetched: Further objects in S3 that the node has to read.
    """

    on_start: tuple[Script, ...] = ()
    on_configured: tuple[Script, ...] = ()
    on_updated: tuple[Script, ...] = ()
    fetched: tuple[Script, ...] = ()

    @property
    def objects(self) -> tuple[Script, ...]:
        """Every object that the node reads."""
        return (*self.on_start, *self.on_configured, *self.on_updated, *self.fetched)


@dataclass(frozen=True, kw_only=True)
class References:
    """Everything outside the fleet's own record that its configuration names.

    Args:
        region: AWS Region.
        head_subnet_id: Subnet of the head node and the login nodes.
        compute_subnet_id: Subnet of the compute nodes, in the zone of the capacity.
        security_group_ids: Groups of every node beside ParallelCluster's own; at most four.
        file_system_id: FSx for Lustre file system.
        mount_dir: Where every node mounts it.
        head_policy_arns: Managed policies of the head node.
        compute_policy_arns: Managed policies of the compute nodes.
        login_policy_arns: Managed policies of the login nodes.
        head_actions: Scripts of the head node.
        login_actions: Scripts of the login nodes.
        queue_actions: Scripts of the compute nodes, by queue.
        reservation_ids: Reservations made with the stack, by queue.
        isolated: Nodes cannot reach the internet, hence not Route 53 either.
        permissions_boundary_arn: Boundary of every role, where the record names none.
    """

    region: str
    head_subnet_id: str
    compute_subnet_id: str
    security_group_ids: tuple[str, ...]
    file_system_id: str
    mount_dir: str
    head_policy_arns: tuple[str, ...] = ()
    compute_policy_arns: tuple[str, ...] = ()
    login_policy_arns: tuple[str, ...] = ()
    head_actions: NodeActions = NodeActions()
    login_actions: NodeActions = NodeActions()
    queue_actions: Mapping[str, NodeActions] = field(default_factory=dict)
    reservation_ids: Mapping[str, str] = field(default_factory=dict)
    isolated: bool = False
    permissions_boundary_arn: str | None = None
