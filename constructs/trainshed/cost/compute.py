"""Head node, login nodes, queues and their disks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal

from ..config import (
    CapacityBlock,
    Institution,
    OpenReservation,
    Queue,
    RootVolume,
    Spot,
    TargetedReservation,
)
from ..config.capacity import reserved_nodes
from .amounts import Range
from .estimate import HOURS_A_MONTH, Item
from .market import Market, unknown
from .own_prices import Assumptions

MONTH = Range.of(HOURS_A_MONTH)

# EBS user guide "General Purpose SSD volumes", read 2026-11-29: what every gp3 volume has.
INCLUDED_IOPS = 3000
INCLUDED_MIB_S = 125

# Nothing in the file sets it: ParallelCluster makes it as large as the image, at least 35 GiB.
LOGIN_DISK_GIB = Range.of(35, 100)


def compute_items(
    institution: Institution, market: Market, assumptions: Assumptions
) -> Iterator[Item]:
    """Yield instances first, then their disks."""
    types = institution.known_types
    fleet = institution.fleet
    head = fleet.head_node
    yield market.instances(f"Head node, {head.instance_type}", types[head.instance_type], MONTH)
    for name, pool in fleet.login_nodes.items():
        yield market.instances(
            f"Login nodes {name}, {pool.instance_type}",
            types[pool.instance_type],
            MONTH * Range.of(pool.count),
        )
    yield from _reserved(institution, market)
    for name, queue in fleet.queues.items():
        if not isinstance(queue.capacity, CapacityBlock | TargetedReservation):
            yield from _unreserved(name, queue, institution, market, assumptions)
    yield from _disks(institution, market, assumptions)


def _reserved(institution: Institution, market: Market) -> Iterator[Item]:
    """Yield reservations and blocks: paid as a whole, once each, however many queues use them."""
    users: dict[str, list[str]] = defaultdict(list)
    queues = institution.fleet.queues
    for name, queue in queues.items():
        capacity = queue.capacity
        if isinstance(capacity, CapacityBlock):
            users[capacity.reservation_id].append(name)
        elif isinstance(capacity, TargetedReservation):
            place = capacity.reservation_id or capacity.resource_group_arn
            users[place or f"made for {name}"].append(name)
    for names in users.values():
        yield _reservation(names, queues, institution, market)


def _reservation(
    names: list[str], queues: Mapping[str, Queue], institution: Institution, market: Market
) -> Item:
    first = queues[names[0]]
    used = sum(queues[name].max_nodes for name in names)
    sizes = [size for name in names if (size := reserved_nodes(queues[name].capacity))]
    nodes = max([used, *sizes])
    known = "" if sizes else f"size not given, {used} nodes assumed"
    hours = MONTH * Range.of(nodes)
    kind = f"queue {', '.join(names)}, {first.instance_type}"
    if isinstance(first.capacity, CapacityBlock):
        end = f"{first.capacity.end:%Y-%m-%d}"
        return market.item(
            "Compute",
            f"Capacity Block of {kind}",
            hours,
            f"capacity-block:{first.instance_type}",
            assumed="; ".join(filter(None, (known, f"charged at purchase, until {end}"))),
        )
    return market.instances(
        f"Reservation of {kind}",
        institution.known_types[first.instance_type],
        hours,
        assumed=known,
    )


def _unreserved(
    name: str,
    queue: Queue,
    institution: Institution,
    market: Market,
    assumptions: Assumptions,
) -> Iterator[Item]:
    kind = institution.known_types[queue.instance_type]
    label = f"queue {name}, {queue.instance_type}"
    share = None
    how = "On-Demand"
    assumed = ""
    if isinstance(queue.capacity, Spot):
        share, how = _spot_share(queue.capacity, market, kind.name, assumptions), "Spot"
        assumed = "price assumed as a share of On-Demand"
    always = _always(queue, institution)
    if always:
        hours = MONTH * Range.of(always)
        yield market.instances(
            f"{how} nodes that always run, {label}", kind, hours, share=share, assumed=assumed
        )
    more = queue.max_nodes - always
    if more:
        yield market.instances(
            f"{how} nodes while jobs run, {label}",
            kind,
            assumptions.busy_hours * Range.of(more),
            idle=False,
            share=share,
            assumed="; ".join(filter(None, (assumed, "hours assumed"))),
        )
    if isinstance(queue.capacity, OpenReservation):
        yield unknown(
            "Compute",
            f"Open reservation for {label}, unused part",
            "it is billed unused as well, and its size is not in the file",
        )


def _always(queue: Queue, institution: Institution) -> int:
    """Return how many nodes run without a job: of a bare fleet all."""
    return queue.max_nodes if institution.fleet.backend == "slurm" else queue.least_nodes


def _spot_share(capacity: Spot, market: Market, name: str, assumptions: Assumptions) -> Range:
    """Return the share of the On-Demand price; what is offered at most bounds it."""
    share = assumptions.spot_share
    price = market.table.find(f"ec2:{name}", market.region)
    if price is None or capacity.max_price_usd_per_hour is None:
        return share
    most = min(Decimal(str(capacity.max_price_usd_per_hour)) / price.usd.low, share.high)
    return Range(min(share.low, most), most)


def _disks(institution: Institution, market: Market, assumptions: Assumptions) -> Iterator[Item]:
    fleet = institution.fleet
    logins = sum(pool.count for pool in fleet.login_nodes.values())
    one = Range.of(1)
    yield from _volumes(market, "of the head node", [(fleet.head_node.root_volume, one)])
    if fleet.backend == "slurm":
        size = Range.of(fleet.slurm.state_volume_gib)
        yield market.item("Compute", "Disk of Slurm's state, gp3", size, "ebs:gp3")
    if logins:
        quantity = LOGIN_DISK_GIB * Range.of(logins)
        yield market.item(
            "Compute",
            "Root disks of login nodes, gp3",
            quantity,
            "ebs:gp3",
            assumed="size of the image assumed",
        )
    queues = fleet.queues.values()
    always = [(q.root_volume, Range.of(_always(q, institution))) for q in queues]
    yield from _volumes(market, "of nodes that always run", always)
    busy = assumptions.busy_hours * Range(Decimal(1) / HOURS_A_MONTH, Decimal(1) / HOURS_A_MONTH)
    more = [(q.root_volume, busy * Range.of(q.max_nodes - _always(q, institution))) for q in queues]
    yield from _volumes(market, "of nodes while jobs run", more, idle=False)


def _volumes(
    market: Market, whose: str, disks: list[tuple[RootVolume, Range]], *, idle: bool = True
) -> Iterator[Item]:
    zero = Range.of(0)
    parts = (
        ("gp3", "ebs:gp3", [count * Range.of(disk.gib) for disk, count in disks]),
        (
            f"IOPS above {INCLUDED_IOPS:,}",
            "ebs:gp3:iops",
            [count * Range.of(disk.iops - INCLUDED_IOPS) for disk, count in disks],
        ),
        (
            f"throughput above {INCLUDED_MIB_S} MiB/s",
            "ebs:gp3:throughput",
            [count * Range.of(disk.throughput_mib_s - INCLUDED_MIB_S) for disk, count in disks],
        ),
    )
    assumed = "" if idle else "hours assumed"
    for part, price_name, amounts in parts:
        quantity = sum(amounts, zero)
        if quantity.high:
            yield market.item(
                "Compute",
                f"Root disks {whose}, {part}",
                quantity,
                price_name,
                idle=idle,
                assumed=assumed,
            )
