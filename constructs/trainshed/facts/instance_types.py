"""What EC2 says of each instance type that a cluster is likely to use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Literal

from trainshed.facts.instance_type_data import ACCELERATED, GENERAL

Architecture = Literal["x86_64", "arm64"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """The facts of one EC2 instance type.

    A type that is too new for :data:`INSTANCE_TYPES` is described by making one of these;
    ``aws ec2 describe-instance-types`` shows every value but ``sockets``.

    Args:
        name: Family and size, such as ``p5en.48xlarge``.
        vcpus: ``sockets`` x ``cores_per_socket`` x ``threads_per_core``.
        memory_mib: All memory, in MiB; the operating system sees a few percent less.
        sockets: Processors, as ``slurmd -C`` shows them.
        cores_per_socket: Physical cores a processor.
        threads_per_core: 2 with simultaneous multithreading, else 1.
        architecture: Of the processors, and so of the image.
        gpus: GPUs of one kind.
        gpu_name: EC2's name of the GPU in lower case, as Slurm's GRES type: ``h200``. Empty
            without GPUs.
        gpu_memory_mib: Memory of each GPU, in MiB.
        neuron_devices: AWS Trainium or Inferentia devices.
        neuron_cores: NeuronCores of all devices together.
        network_cards: Cards, numbered from 0. Card 0 always carries the primary interface.
        efa_interfaces: The most EFA interfaces that one instance takes.
        efa_cards: Indexes of the cards that can carry an EFA interface, at most one each.
        interfaces_per_card: Network interfaces that every card takes; device indexes below it
            are valid.
        nvme_disks: Instance store disks; empty again after each stop.
        nvme_disk_gb: Size of each disk, in GB (10**9 bytes).
        nvlink: Whether the GPUs reach each other without PCI Express.
        capacity_block: Whether Capacity Blocks are sold for it.
        ultraserver: Whether it is sold only as a part of an UltraServer.

    Raises:
        ContradictoryFactsError: The facts contradict each other; the message names every fault.
    """

    name: str
    vcpus: int
    memory_mib: int
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    architecture: Architecture = "x86_64"
    gpus: int = 0
    gpu_name: str = ""
    gpu_memory_mib: int = 0
    neuron_devices: int = 0
    neuron_cores: int = 0
    network_cards: int = 1
    efa_interfaces: int = 0
    efa_cards: tuple[int, ...] = ()
    interfaces_per_card: int = 2
    nvme_disks: int = 0
    nvme_disk_gb: int = 0
    nvlink: bool = False
    capacity_block: bool = False
    ultraserver: bool = False

    def __post_init__(self) -> None:
        faults = list(_contradictions(self))
        if faults:
            raise ContradictoryFactsError(self.name, faults)

    @property
    def family(self) -> str:
        """What is before the dot: ``p5en`` of ``p5en.48xlarge``."""
        return self.name.partition(".")[0]

    @property
    def is_gpu(self) -> bool:
        """Whether it has GPUs."""
        return self.gpus > 0

    @property
    def has_efa(self) -> bool:
        """Whether it takes at least one EFA interface."""
        return self.efa_interfaces > 0

    @property
    def is_multi_card(self) -> bool:
        """Whether it has several network cards; EC2 then gives it no automatic public address."""
        return self.network_cards > 1

    @property
    def cores(self) -> int:
        """Physical cores of all sockets."""
        return self.sockets * self.cores_per_socket

    @property
    def gpu_memory_total_mib(self) -> int:
        """Memory of all GPUs together, in MiB."""
        return self.gpus * self.gpu_memory_mib

    @property
    def cpus_per_gpu(self) -> int:
        """The vCPUs that each GPU may have when the GPUs share evenly; 0 without GPUs."""
        return self.vcpus // self.gpus if self.gpus else 0


class ContradictoryFactsError(ValueError):
    """The facts of an instance type cannot all be true.

    Args:
        name: Of the instance type.
        faults: The fact at fault and the reason, for each contradiction.
    """

    def __init__(self, name: str, faults: list[tuple[str, str]]) -> None:
        self.faults = faults
        reasons = "; ".join(reason for _, reason in faults)
        super().__init__(f"instance type {name!r}: {reasons}")


class UnknownInstanceTypeError(ValueError):
    """An instance type is neither in the table nor described by the user.

    Args:
        name: What was asked for.
        nearest: Names that come close, the closest first.
    """

    def __init__(self, name: str, nearest: list[str]) -> None:
        self.name = name
        self.nearest = nearest
        hint = f"did you mean {nearest[0]!r}? " if nearest else ""
        super().__init__(
            f"instance type {name!r} is not in the table; "
            f"{hint}describe it under instance_types if it is new"
        )


def instance_type(
    name: str, *, described: Mapping[str, InstanceType] = MappingProxyType({})
) -> InstanceType:
    """Return the facts of an instance type.

    Args:
        name: Family and size, such as ``p5en.48xlarge``.
        described: Types that the user described, by name; they win over the table.

    Raises:
        UnknownInstanceTypeError: The name is in neither; the message names the closest one.
    """
    found = described.get(name) or INSTANCE_TYPES.get(name)
    if found is None:
        raise UnknownInstanceTypeError(name, nearest(name, described=described))
    return found


def nearest(
    name: str, *, described: Mapping[str, InstanceType] = MappingProxyType({})
) -> list[str]:
    """Return up to three known names that come close to this one, the closest first.

    Sizes of the same family come before anything else. Empty when nothing is close.
    """
    wanted = name.strip().lower()
    known = [*described, *INSTANCE_TYPES]
    family = wanted.partition(".")[0]
    siblings = [other for other in known if other.partition(".")[0] == family]
    close = get_close_matches(wanted, known, n=3)
    ranked = [*get_close_matches(wanted, siblings, n=3, cutoff=0), *close] if siblings else close
    return list(dict.fromkeys(ranked))[:3]


def _contradictions(facts: InstanceType) -> Iterator[tuple[str, str]]:
    """Yield what cannot be true of an instance type: the fact, and why not."""
    if not all(facts.name.partition(".")):
        yield "name", "name is not a family, a dot and a size"
    threads = facts.sockets * facts.cores_per_socket * facts.threads_per_core
    if threads != facts.vcpus:
        yield (
            "vcpus",
            f"{facts.sockets} sockets x {facts.cores_per_socket} cores x "
            f"{facts.threads_per_core} threads is {threads} vcpus, not {facts.vcpus}",
        )
    if min(facts.vcpus, facts.memory_mib, facts.network_cards, facts.interfaces_per_card) < 1:
        yield "vcpus", "vcpus, memory_mib, network_cards and interfaces_per_card are at least 1"
    if len({bool(facts.gpus), bool(facts.gpu_name), bool(facts.gpu_memory_mib)}) > 1:
        yield "gpus", "gpus, gpu_name and gpu_memory_mib go together: give all three or none"
    if bool(facts.neuron_devices) != bool(facts.neuron_cores):
        yield (
            "neuron_devices",
            "neuron_devices and neuron_cores go together: give both or neither",
        )
    if bool(facts.nvme_disks) != bool(facts.nvme_disk_gb):
        yield "nvme_disks", "nvme_disks and nvme_disk_gb go together: give both or neither"
    if facts.nvlink and facts.gpus < 2:
        yield "nvlink", f"nvlink joins GPUs, and there are {facts.gpus}: leave it out"
    yield from _efa_contradictions(facts)


def _efa_contradictions(facts: InstanceType) -> Iterator[tuple[str, str]]:
    absent = [card for card in facts.efa_cards if not 0 <= card < facts.network_cards]
    if absent:
        yield (
            "efa_cards",
            f"efa_cards names {absent}; the network cards are 0 to {facts.network_cards - 1}",
        )
    if list(facts.efa_cards) != sorted(set(facts.efa_cards)):
        yield "efa_cards", "efa_cards is not in rising order, each card once"
    if bool(facts.efa_cards) != facts.has_efa or facts.efa_interfaces > len(facts.efa_cards):
        yield (
            "efa_cards",
            f"efa_interfaces is {facts.efa_interfaces} on {len(facts.efa_cards)} efa_cards; "
            "a card carries at most one",
        )


def _read(table: str) -> Iterator[InstanceType]:
    """Turn the lines of a data table into instance types."""
    for line in table.splitlines()[1:]:
        name, arch, vcpus, memory, sockets, threads, chips, cards, efa, ports, nvme, flags = (
            line.split()
        )
        count, _, chip = chips.partition("x")
        kind, _, size = chip.partition(":")
        on_gpu, on_neuron = bool(chip) and kind != "neuron", kind == "neuron"
        disks, _, disk_gb = nvme.partition("x")
        first, _, last = efa.partition("-")
        efa_cards = tuple(range(int(first), int(last or first) + 1)) if first else ()
        yield InstanceType(
            name=name,
            vcpus=int(vcpus),
            memory_mib=int(memory),
            sockets=int(sockets),
            cores_per_socket=int(vcpus) // int(sockets) // int(threads),
            threads_per_core=int(threads),
            architecture="arm64" if arch == "arm64" else "x86_64",
            gpus=int(count) if on_gpu else 0,
            gpu_name=kind if on_gpu else "",
            gpu_memory_mib=int(size) if on_gpu else 0,
            neuron_devices=int(count) if on_neuron else 0,
            neuron_cores=int(count) * int(size) if on_neuron else 0,
            network_cards=int(cards),
            efa_interfaces=len(efa_cards),
            efa_cards=efa_cards,
            interfaces_per_card=int(ports),
            nvme_disks=int(disks) if disk_gb else 0,
            nvme_disk_gb=int(disk_gb or 0),
            nvlink="nvl" in flags,
            capacity_block="cb" in flags,
            ultraserver="us" in flags,
        )


INSTANCE_TYPES: Mapping[str, InstanceType] = MappingProxyType(
    {facts.name: facts for table in (ACCELERATED, GENERAL) for facts in _read(table)}
)
"""Every type of the table, by name; read only."""
