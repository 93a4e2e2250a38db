"""What the picture says of an institution, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .. import facts
from ..config import (
    CapacityBlock,
    Institution,
    Lustre,
    OnDemand,
    OpenReservation,
    Queue,
    Spot,
    TargetedReservation,
)
from ..config.capacity import DRAIN_MINUTES_BEFORE_END, DRAIN_MINUTES_BEFORE_END_ULTRASERVER

DOT = " \N{MIDDLE DOT} "
TIMES = "\N{MULTIPLICATION SIGN}"
DASH = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """A queue as the picture shows it.

    Args:
        name: Its name.
        instance_type: Facts of its instance type.
        nodes: Most nodes at a time.
        always: Nodes that always run.
        efa: EFA interfaces of each node.
        capacity: How its instances are bought, for a label.
        details: Dates, reservation or price, a line each.
        scratch: Where local disks are mounted; None without.
    """

    name: str
    instance_type: facts.InstanceType
    nodes: int
    always: int
    efa: int
    capacity: str
    details: tuple[str, ...]
    scratch: str | None

    @property
    def gpus(self) -> int:
        """GPUs of all its nodes."""
        return self.nodes * self.instance_type.gpus

    @property
    def accelerator(self) -> str:
        """Kind of its GPUs, in capitals; empty without any."""
        return self.instance_type.gpu_name.upper()

    @property
    def count(self) -> str:
        """How many nodes there are: ``16``, or ``0 to 8``."""
        return str(self.nodes) if self.always == self.nodes else f"{self.always} to {self.nodes}"


def queue_facts(institution: Institution) -> list[QueueFacts]:
    """Return the queues, in the order of the file."""
    found = []
    for name, queue in institution.fleet.queues.items():
        kind = institution.known_types[queue.instance_type]
        label, *details = _capacity(queue, kind)
        found.append(
            QueueFacts(
                name=name,
                instance_type=kind,
                nodes=queue.max_nodes,
                always=queue.least_nodes,
                efa=kind.efa_interfaces if queue.uses_efa(kind) else 0,
                capacity=label,
                details=tuple(details),
                scratch=queue.scratch_dir(kind),
            )
        )
    return found


def _capacity(queue: Queue, kind: facts.InstanceType) -> tuple[str, ...]:
    """Return what the capacity is called, then details of it."""
    match queue.capacity:
        case CapacityBlock() as block:
            minutes = (
                DRAIN_MINUTES_BEFORE_END_ULTRASERVER
                if kind.ultraserver
                else DRAIN_MINUTES_BEFORE_END
            )
            return "Capacity Block", _window(block), f"drain {minutes} minutes before its end"
        case TargetedReservation(create=None, reservation_id=str(id)):
            return "Reservation", id
        case TargetedReservation(create=None):
            return "Reservation", "a pool of reservations"
        case TargetedReservation(create=request):
            end = request.end if request else None
            return "Reservation", f"made here{f', until {_day(end)}' if end else ''}"
        case OpenReservation():
            return "Open reservation", "any open one that matches"
        case Spot(max_price_usd_per_hour=price):
            return "Spot", *([f"at most {price:g} USD an hour each"] if price else [])
        case OnDemand(placement_group=together):
            return "On-Demand", *(["one placement group"] if together else [])


def _window(block: CapacityBlock) -> str:
    if block.start is None:
        return f"until {_day(block.end)}"
    days = round((block.end - block.start).total_seconds() / 86400)
    return f"{_day(block.start)} {DASH} {_day(block.end)}{DOT}{days} days"


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y}"


def file_system_stats(institution: Institution) -> list[tuple[str, str]]:
    """Return number and label of what the file system is like."""
    storage = institution.storage
    if storage.existing:
        stats = [(storage.existing.file_system_id, "existing file system")]
    else:
        stats = _lustre_stats(storage.lustre) if storage.lustre else []
    efa = bool(storage.source.efa)
    return [*stats, ("EFA" if efa else "TCP", "to the nodes")]


def _lustre_stats(lustre: Lustre) -> list[tuple[str, str]]:
    kind = lustre.deployment_type.replace("_", " ").capitalize()
    stats = [(f"{lustre.capacity_gib:,} GiB", f"{kind} {lustre.storage_type.upper()}")]
    tier = lustre.throughput_mb_s_per_tib
    if tier:
        stats.append((_speed(lustre.capacity_gib / 1024 * tier), f"{tier} MB/s per TiB"))
    return stats


def _speed(mb_s: float) -> str:
    return f"{mb_s:.0f} MB/s" if mb_s < 1000 else f"{mb_s / 1000:.3g} GB/s"


def headline(institution: Institution) -> str:
    """Return the line below the name: nodes, GPUs, storage."""
    queues = queue_facts(institution)
    nodes = sum(queue.nodes for queue in queues)
    gpus: dict[str, int] = {}
    for queue in queues:
        if queue.gpus:
            gpus[queue.accelerator] = gpus.get(queue.accelerator, 0) + queue.gpus
    parts = [f"{'up to ' if any(q.always < q.nodes for q in queues) else ''}{_many(nodes, 'node')}"]
    parts += [f"{count:,} {TIMES} {name}" for name, count in gpus.items()]
    lustre = institution.storage.lustre
    parts.append(f"{lustre.capacity_gib:,} GiB Lustre" if lustre else "existing Lustre")
    return DOT.join(parts)


def description(institution: Institution) -> str:
    """Return the picture in words, for those who do not see it."""
    network = institution.network
    queues = "; ".join(
        f"queue {q.name}, {q.count} {q.instance_type.name} by {q.capacity}"
        for q in queue_facts(institution)
    )
    links = ", ".join(
        f"{link.path} ({link.direction})" for link in institution.storage.links.values()
    )
    stats = " ".join(f"{number} {label}," for number, label in file_system_stats(institution))
    return (
        f"The cluster {institution.cluster_name} in {institution.region}, zone "
        f"{network.place.value}. A head node, {institution.fleet.head_node.instance_type}, runs "
        f"Slurm over these queues: {queues}. FSx for Lustre at {institution.storage.mount_dir}, "
        f"{stats} linked to S3: {links or 'nothing'}."
    )


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
