"""What the policy needs to know of the nodes it is for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ..facts.parallelcluster import schedulable_memory_mib


class InstanceFacts(Protocol):
    """The facts of an instance type that a shape is made of."""

    @property
    def vcpus(self) -> int:
        """Virtual CPUs."""

    @property
    def memory_mib(self) -> int:
        """Memory in MiB."""

    @property
    def sockets(self) -> int:
        """Processor sockets."""

    @property
    def cores_per_socket(self) -> int:
        """Cores of a socket."""

    @property
    def threads_per_core(self) -> int:
        """Threads of a core."""

    @property
    def gpus(self) -> int:
        """GPUs."""

    @property
    def gpu_name(self) -> str | None:
        """Name of the GPU, such as H200; None without GPUs."""


@dataclass(frozen=True)
class NodeShape:
    """The hardware of one node, as Slurm counts it.

    Args:
        cpus: Hardware threads.
        memory_mib: Memory of the instance type in MiB; 95 % of it is given to jobs.
        sockets: Processor sockets.
        cores_per_socket: Cores of a socket.
        threads_per_core: Threads of a core.
        gpus: GPUs; 0 for a node without.
        gpu_type: Type of the GPUs in lower case, such as ``h200``; empty without GPUs.
    """

    cpus: int
    memory_mib: int
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    gpus: int = 0
    gpu_type: str = ""

    def __post_init__(self) -> None:
        if self.sockets * self.cores_per_socket * self.threads_per_core != self.cpus:
            raise ValueError(
                f"cpus is {self.cpus}, but sockets {self.sockets} x cores {self.cores_per_socket} "
                f"x threads {self.threads_per_core} is another number; Slurm drains such a node"
            )
        if self.gpu_type != self.gpu_type.lower() or bool(self.gpus) != bool(self.gpu_type):
            raise ValueError(
                f"gpus is {self.gpus} and gpu_type {self.gpu_type!r}; a node with GPUs has a type "
                "in lower case, a node without has none"
            )

    @property
    def schedulable_memory_mib(self) -> int:
        """Memory that jobs may use, in MiB."""
        return schedulable_memory_mib(self.memory_mib)

    @property
    def cpus_per_gpu(self) -> int:
        """CPUs that fall to each GPU; 0 without GPUs."""
        return self.cpus // self.gpus if self.gpus else 0

    @property
    def memory_per_gpu_mib(self) -> int:
        """Memory that falls to each GPU, in MiB; 0 without GPUs."""
        return self.schedulable_memory_mib // self.gpus if self.gpus else 0

    @classmethod
    def of_instance(cls, facts: InstanceFacts) -> NodeShape:
        """Make the shape of an instance type from ``trainshed.facts.instance_type(name)``."""
        return cls(
            cpus=facts.vcpus,
            memory_mib=facts.memory_mib,
            sockets=facts.sockets,
            cores_per_socket=facts.cores_per_socket,
            threads_per_core=facts.threads_per_core,
            gpus=facts.gpus,
            gpu_type=(facts.gpu_name or "").lower() if facts.gpus else "",
        )


@dataclass(frozen=True)
class NodeGroup:
    """The nodes of one queue.

    Args:
        name: Name of the queue; its node set is ``<name>_nodes``.
        shape: Hardware of each node.
        count: Most nodes at a time.
        node_names: Node expression of fixed names, such as ``compute-st-gpu-[1-4]``. Default:
            nodes come and go under any name and carry the queue's name as a feature.
    """

    name: str
    shape: NodeShape
    count: int
    node_names: str | None = None

    @property
    def node_set(self) -> str:
        """Name of the NodeSet of all its nodes."""
        return f"{self.name}_nodes"


def with_gpus(groups: Iterable[NodeGroup]) -> list[NodeGroup]:
    """Return the groups whose nodes have GPUs."""
    return [group for group in groups if group.shape.gpus]
