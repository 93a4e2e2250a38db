"""The machines of a cluster and the scheduler over them, whatever runs it."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from .. import facts
from ..records import OnChange, Record, is_token
from ..slurm.policy import SlurmPolicy
from ..subnets import ipv4_network
from .accounting import AccountingDatabase
from .backends import ParallelClusterOptions, SlurmOptions
from .capacity import Capacity, is_static
from .faults import Fault, refuse
from .image import Image
from .network import LogRetentionDays
from .texts import (
    ClusterName,
    Form,
    MountDirectory,
    PolicyArn,
    QueueName,
)


class RootVolume(Record):
    """A node's root disk: gp3, encrypted."""

    gib: Annotated[int, Field(ge=40, le=16384), OnChange.DRAINS_NODES] = 100
    """Size in GiB, 40 to 16,384."""
    iops: Annotated[int, Field(ge=3000, le=16000), OnChange.DRAINS_NODES] = 3000
    """Operations a second, 3,000 to 16,000."""
    throughput_mib_s: Annotated[int, Field(ge=125, le=1000), OnChange.DRAINS_NODES] = 125
    """Throughput in MiB/s, 125 to 1,000; at most a quarter of the IOPS."""
    delete_on_termination: Annotated[bool, OnChange.DRAINS_NODES] = True
    """Delete the disk with its node. The default keeps the head node's disk and no other."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        # EBS user guide "General Purpose SSD volumes", read 2026-11-29: gp3 takes at most
        # 0.25 MiB/s for each provisioned operation a second.
        if self.throughput_mib_s * 4 > self.iops:
            refuse(
                [
                    Fault.at(
                        "throughput_mib_s",
                        reason=f"{self.throughput_mib_s} needs "
                        f"{self.throughput_mib_s * 4} iops or more, got {self.iops}; "
                        f"use throughput_mib_s up to {self.iops // 4}",
                    )
                ]
            )
        return self


def _narrow_range(value: str) -> str:
    """Check a range that may connect: a /16 at most."""
    if is_token(value):
        return value
    network = ipv4_network(value, said=f"{value!r} is not an address range", alone=32)
    if network.prefixlen < 16:
        raise ValueError(
            f"{value} opens SSH to {network.num_addresses:,} addresses; a /16 at most: give your "
            "institution's own range, or leave ssh out and use Session Manager"
        )
    return value


NarrowRange = Annotated[str, AfterValidator(_narrow_range)]


class Ssh(Record):
    """SSH from inside the network, beside Session Manager, which needs no key and no open port."""

    key_name: Annotated[
        Annotated[str, Form(r"[!-~]([ -~]{0,253}[!-~])?", "the name of an EC2 key pair")] | None,
        OnChange.REFUSED,
    ] = None
    """EC2 key pair; ED25519, since Ubuntu 22.04 and later refuse RSA. Default: none."""
    allowed_cidr: Annotated[NarrowRange, OnChange.LIVE]
    """Address range that may connect; at most a /16, never the whole internet.

    To the head node, and on ParallelCluster to every login pool too, which takes no SSH without it.
    """


class HeadNode(Record):
    """The node that runs the scheduler. It has no public address."""

    instance_type: Annotated[str, OnChange.REFUSED] = "m7i.2xlarge"
    """EC2 instance type. It cannot change later: choose one for the years ahead."""
    root_volume: Annotated[RootVolume, OnChange.REFUSED] = RootVolume(
        gib=200, delete_on_termination=False
    )
    """Root disk; it holds /home unless that is elsewhere."""
    ssh: Annotated[Ssh | None, OnChange.REFUSED] = None
    """SSH to the head node. Default: Session Manager only."""
    policies: Annotated[tuple[PolicyArn, ...], OnChange.LIVE] = ()
    """Managed policies beside those that trainshed makes."""


class LoginPool(Record):
    """Nodes that users log in to, apart from the head node."""

    instance_type: Annotated[str, OnChange.STOPS_FLEET] = "m7i.2xlarge"
    """EC2 instance type."""
    count: Annotated[int, Field(ge=0, le=20), OnChange.LIVE] = 1
    """Number of nodes."""
    grace_minutes: Annotated[int, Field(ge=3, le=120), OnChange.LIVE] = 60
    """How long users are warned before a login node goes, 3 to 120 minutes."""
    policies: Annotated[tuple[PolicyArn, ...], OnChange.STOPS_FLEET] = ()
    """Managed policies beside those that trainshed makes."""


class Queue(Record):
    """Nodes of one instance type out of one kind of capacity: a Slurm node set."""

    instance_type: Annotated[str, OnChange.STOPS_FLEET]
    """EC2 instance type of every node."""
    capacity: Annotated[Capacity, OnChange.DRAINS_NODES]
    """Where the instances come from."""
    max_nodes: Annotated[int, Field(ge=1, le=1000), OnChange.LIVE]
    """Most nodes at a time. Growing is live; shrinking stops the fleet on ParallelCluster."""
    min_nodes: Annotated[int | None, Field(ge=0), OnChange.LIVE] = None
    """Nodes that always run. Default: max_nodes with a reservation or block, else 0."""
    resource_name: Annotated[QueueName | None, OnChange.STOPS_FLEET] = None
    """Middle of the nodes' names, ``QUEUE-st-NAME-1``. Default: the instance type's family."""
    efa: Annotated[bool | None, OnChange.DRAINS_NODES] = None
    """Use Elastic Fabric Adapter. Default: on where the instance type has it."""
    efa_interface: Annotated[Literal["efa-only", "efa"], OnChange.DRAINS_NODES] = "efa-only"
    """Kind of the extra interfaces; ``efa`` takes an IP address each."""
    root_volume: Annotated[RootVolume, OnChange.DRAINS_NODES] = RootVolume(gib=200)
    """Root disk."""
    nvme_dir: Annotated[MountDirectory | None, OnChange.DRAINS_NODES] = "/opt/dlami/nvme"
    """Where the local NVMe disks, if the type has any, are mounted as one. Empty after a stop."""
    whole_node: Annotated[bool, OnChange.LIVE] = False
    """One job a node, whatever it asks for."""
    gpu_health_check: Annotated[bool, OnChange.LIVE] = False
    """ParallelCluster's DCGM check before each job: minutes a job, so off."""
    policies: Annotated[tuple[PolicyArn, ...], OnChange.LIVE] = ()
    """Managed policies beside those that trainshed makes."""

    def uses_efa(self, instance_type: facts.InstanceType) -> bool:
        """Tell whether the nodes use EFA, with the default worked out for their type."""
        return instance_type.has_efa if self.efa is None else self.efa

    def scratch_dir(self, instance_type: facts.InstanceType) -> str | None:
        """Return where the local NVMe disks are mounted; None where the type has none."""
        return self.nvme_dir if instance_type.nvme_disks else None

    @property
    def least_nodes(self) -> int:
        """Nodes that always run, with the default worked out."""
        if self.min_nodes is not None:
            return self.min_nodes
        return self.max_nodes if is_static(self.capacity) else 0


class Monitoring(Record):
    """What the fleet reports to CloudWatch."""

    detailed: Annotated[bool, OnChange.STOPS_FLEET] = False
    """EC2 metrics each minute; they cost extra for every instance."""
    log_retention_days: Annotated[LogRetentionDays, OnChange.LIVE] = 180
    """How long logs are kept."""
    dashboard: Annotated[bool, OnChange.LIVE] = True
    """A CloudWatch dashboard."""


class Fleet(Record):
    """Head node, login nodes and queues, and what runs Slurm over them."""

    backend: Annotated[Literal["parallelcluster", "slurm"], OnChange.REFUSED] = "parallelcluster"
    """What builds and runs the fleet."""
    cluster_name: Annotated[ClusterName | None, OnChange.REFUSED] = None
    """Name of the cluster. Default: the institution's name."""
    image: Annotated[Image, OnChange.REFUSED] = Image()
    """Operating system image of every node."""
    head_node: Annotated[HeadNode, OnChange.REFUSED] = HeadNode()
    """The node that runs the scheduler."""
    login_nodes: Annotated[dict[QueueName, LoginPool], OnChange.LIVE] = Field(default_factory=dict)
    """Pools of login nodes by name. Default: none; users log in to the head node."""
    queues: Annotated[dict[QueueName, Queue], Field(min_length=1), OnChange.STOPS_FLEET]
    """Queues by name. Adding one is live; removing or renaming one stops the fleet."""
    accounting: Annotated[AccountingDatabase | None, OnChange.STOPS_FLEET] = None
    """Database for Slurm accounting. Default: on the head node with backend slurm, else none."""
    policy: Annotated[SlurmPolicy | None, OnChange.LIVE] = None
    """Partitions, limits, accounts and users of Slurm. Default: one open partition a queue."""
    monitoring: Annotated[Monitoring, OnChange.LIVE] = Monitoring()
    """What the fleet reports to CloudWatch."""
    slurm: Annotated[SlurmOptions, OnChange.LIVE] = SlurmOptions()
    """What only the bare Slurm fleet has."""
    parallelcluster: Annotated[ParallelClusterOptions, OnChange.LIVE] = ParallelClusterOptions()
    """What only AWS ParallelCluster has."""

    @property
    def named_policies(self) -> tuple[str, ...]:
        """Managed policies that the record names for nodes of any kind."""
        nodes: list[HeadNode | LoginPool | Queue] = [self.head_node]
        nodes += [*self.login_nodes.values(), *self.queues.values()]
        return tuple(policy for node in nodes for policy in node.policies)
