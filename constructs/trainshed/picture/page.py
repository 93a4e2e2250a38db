"""The whole picture: frames, and where everything stands in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from ..config import ExistingVpc, Institution
from ..facts.parallelcluster import VERSION
from ..subnets import subnet_plan
from .cards import PAD, Tiles, machine_card, node_tile, queue_card, queue_height, stat_row
from .facts_shown import (
    TIMES,
    QueueFacts,
    description,
    file_system_stats,
    headline,
    queue_facts,
)
from .outside import (
    bucket_card,
    bucket_height,
    link_arrows,
    link_y,
    note_card,
    notes,
    researchers,
)
from .style import style_sheet
from .svg import arrow, box, element, fitted, group, line, words

WIDTH = 1600
LEAST_HEIGHT = 900
SCOPE = "trainshed-picture"

HEADER = 132
REGION_LEFT, REGION_RIGHT = 206, 1560
VPC_LEFT, VPC_RIGHT = 226, 1216
RAIL_LEFT, RAIL_WIDTH = 1300, 240
INNER_LEFT, INNER_RIGHT = 274, 1168
SIDE_WIDTH = 212
MACHINE_HEIGHT = 118
GAP = 18


@dataclass(frozen=True, slots=True)
class Places:
    """Where things stand, from top to bottom.

    Args:
        way_out: Top of the strip with the NAT gateway or the endpoints.
        subnet: Top of the compute subnet.
        cards: Top of the cards in it.
        lustre: Top of the file system.
        lustre_height: Its height.
        end: Lower edge of the compute subnet.
        rows: Height of each row of queues.
    """

    way_out: float
    subnet: float
    cards: float
    lustre: float
    lustre_height: float
    end: float
    rows: tuple[float, ...]

    @property
    def height(self) -> float:
        """Height of the picture."""
        return self.end + 16 + 18 + 18 + 66


def picture(institution: Institution, *, alerts_to: Sequence[str] = ()) -> str:
    """Draw what an institution gets, as SVG: the same bytes for the same institution.

    It follows the reader's light or dark colours, needs no font, image or script, and says in
    words what it shows.

    Args:
        institution: The institution.
        alerts_to: Where alerts go, such as ``Slack #gpu-alerts``. Default: nothing is shown.
    """
    queues = queue_facts(institution)
    places = _places(institution, queues)
    height = max(places.height, LEAST_HEIGHT)
    name = institution.name
    parts = [
        element("title", escape(f"GPU cluster {name}"), id=f"{name}-title"),
        element("desc", escape(description(institution)), id=f"{name}-desc"),
        element("style", style_sheet(SCOPE)),
        element("rect", width=WIDTH, height=height, class_="page"),
        *_header(institution),
        *_frames(institution, places),
        *_machines(institution, places),
        *_queues(queues, places),
        *_lustre(institution, places),
        *_rail(institution, places, alerts_to),
        *_legend(queues, height),
    ]
    return (
        element(
            "svg",
            "\n" + "\n".join(parts) + "\n",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH} {height:g}",
            class_=SCOPE,
            role="img",
            aria_labelledby=f"{name}-title {name}-desc",
        )
        + "\n"
    )


def _columns(queues: Sequence[QueueFacts]) -> int:
    return min(len(queues), 2)


def _queue_width(queues: Sequence[QueueFacts]) -> float:
    columns = _columns(queues)
    room = INNER_RIGHT - INNER_LEFT - SIDE_WIDTH - GAP
    return (room - GAP * (columns - 1)) / columns


def _places(institution: Institution, queues: Sequence[QueueFacts]) -> Places:
    columns, width = _columns(queues), _queue_width(queues)
    heights = [queue_height(queue, width) for queue in queues]
    rows = [max(heights[at : at + columns]) for at in range(0, len(heights), columns)]
    machines = MACHINE_HEIGHT + (MACHINE_HEIGHT + GAP) * len(institution.fleet.login_nodes)
    lustre_height = max(bucket_height(len(institution.storage.links)), 132)
    way_out = HEADER + 74
    subnet = way_out + 66
    cards = subnet + 42
    free = LEAST_HEIGHT - (cards + 58 + lustre_height + 20 + 118)
    needed = max(sum(rows) + GAP * (len(rows) - 1), machines)
    if needed < free:
        # A small cluster fills the page as well.
        rows = [row + (free - needed) / len(rows) for row in rows] if len(rows) else rows
        needed = free
    lustre = cards + max(needed, sum(rows) + GAP * (len(rows) - 1)) + 58
    return Places(
        way_out, subnet, cards, lustre, lustre_height, lustre + lustre_height + 20, tuple(rows)
    )


def _header(institution: Institution) -> Iterator[str]:
    yield words(40, 66, fitted(institution.cluster_name, 900, 44), "name ink")
    # The label of the way out stands beside it.
    room = 940 if institution.network.source.internet == "nat" else 1480
    yield words(40, 102, fitted(headline(institution), room, 21), "headline quiet")


def _frames(institution: Institution, places: Places) -> Iterator[str]:
    network = institution.network
    source = network.source
    region_end, vpc_end, zone_end = places.end + 52, places.end + 34, places.end + 16
    existing = isinstance(source, ExistingVpc)
    vpc = f"existing VPC {source.vpc_id}" if isinstance(source, ExistingVpc) else "VPC"
    yield box(REGION_LEFT, HEADER, REGION_RIGHT - REGION_LEFT, region_end - HEADER, "region", 16)
    yield words(
        REGION_LEFT + 20, HEADER + 24, f"AWS Region {institution.region}", "frame-label quiet"
    )
    top = HEADER + 36
    yield box(VPC_LEFT, top, VPC_RIGHT - VPC_LEFT, vpc_end - top, "vpc", 14)
    yield words(VPC_LEFT + 18, top + 24, f"{vpc} {source.cidr}", "frame-label quiet")
    zone = places.way_out - 2
    yield element(
        "rect",
        x=VPC_LEFT + 16,
        y=zone,
        width=VPC_RIGHT - VPC_LEFT - 32,
        height=zone_end - zone,
        rx=12,
        class_="zone dashed",
    )
    yield words(
        VPC_LEFT + 34,
        zone + 26,
        f"Availability Zone {network.place.value}",
        "frame-label quiet",
    )
    yield box(
        VPC_LEFT + 32,
        places.subnet,
        VPC_RIGHT - VPC_LEFT - 64,
        places.end - places.subnet,
        "subnet",
    )
    where = source.compute_subnet_id if isinstance(source, ExistingVpc) else _range(source.cidr)
    yield words(INNER_LEFT, places.subnet + 26, f"Private subnet {where}", "frame-label quiet")
    yield from _way_out(institution, places, existing=existing)


def _range(cidr: str) -> str:
    return str(subnet_plan(cidr).compute)


def _way_out(institution: Institution, places: Places, *, existing: bool) -> Iterator[str]:
    right = INNER_RIGHT + 16
    if institution.network.source.internet == "isolated":
        text = "VPC endpoints to AWS services, no way to the internet"
    else:
        text = "NAT gateway of the VPC" if existing else "NAT gateway in a public subnet"
    width = len(text) * 7.4 + 36
    y = places.way_out + 10
    yield group(
        [
            box(right - width, y, width, 38, "card", 19),
            words(right - width / 2, y + 24, text, "body ink", anchor="middle"),
        ],
        label=text,
    )
    if institution.network.source.internet == "nat":
        centre = right - width / 2
        yield arrow(centre, y, centre, HEADER - 16, "quiet-wire")
        yield words(centre, HEADER - 26, "Internet", "body quiet", anchor="middle")


def _machines(institution: Institution, places: Places) -> Iterator[str]:
    fleet = institution.fleet
    head = fleet.head_node
    y = places.cards
    lines = [head.instance_type, "Slurm controller"]
    if fleet.backend == "parallelcluster":
        lines.append(f"ParallelCluster {VERSION}")
    yield machine_card(
        INNER_LEFT,
        y,
        SIDE_WIDTH,
        MACHINE_HEIGHT,
        "Head node",
        lines,
        f"Head node, {head.instance_type}",
    )
    entrance = y + MACHINE_HEIGHT / 2
    y += MACHINE_HEIGHT + GAP
    for number, (name, pool) in enumerate(fleet.login_nodes.items()):
        count = f"{pool.count} {TIMES} {pool.instance_type}"
        yield machine_card(
            INNER_LEFT,
            y,
            SIDE_WIDTH,
            MACHINE_HEIGHT,
            f"Login: {name}",
            (count, "where users log in"),
            f"Login nodes {name}: {count}",
        )
        entrance = y + MACHINE_HEIGHT / 2 if number == 0 else entrance
        y += MACHINE_HEIGHT + GAP
    ways = ["Session Manager"]
    if head.ssh:
        ways.append(f"SSH, {head.ssh.allowed_cidr}")
    yield researchers(30, entrance, 150, ways)
    yield arrow(158, entrance, INNER_LEFT, entrance, "quiet-wire")


def _queues(queues: Sequence[QueueFacts], places: Places) -> Iterator[str]:
    columns, width = _columns(queues), _queue_width(queues)
    left = INNER_LEFT + SIDE_WIDTH + GAP
    y = places.cards
    for row, height in enumerate(places.rows):
        for column, queue in enumerate(queues[row * columns : (row + 1) * columns]):
            yield queue_card(queue, left + column * (width + GAP), y, width, height)
        y += height + GAP


def _lustre(institution: Institution, places: Places) -> Iterator[str]:
    storage = institution.storage
    x, y, width = INNER_LEFT, places.lustre, INNER_RIGHT - INNER_LEFT
    links = list(storage.links.values())
    yield from _cable(institution, places)
    stats = file_system_stats(institution)
    room = (width - 2 * PAD) * (0.66 if links else 1)
    paths = [
        words(
            x + width - 20,
            link_y(y, index) + 5,
            fitted(f"{storage.mount_dir}{link.path}", width - room - 40, 13.5),
            "code ink",
            anchor="end",
        )
        for index, link in enumerate(links)
    ]
    label = f"FSx for Lustre at {storage.mount_dir}"
    yield group(
        [
            box(x, y, width, places.lustre_height, "storage-edge"),
            words(x + PAD, y + 33, "FSx for Lustre", "title storage"),
            words(x + PAD, y + 53, f"{storage.mount_dir} on every node", "small quiet"),
            *stat_row(stats, x + PAD, y + places.lustre_height - 66, room),
            *paths,
        ],
        label=label,
    )
    yield from link_arrows(links, x + width, RAIL_LEFT, y)


def _cable(institution: Institution, places: Places) -> Iterator[str]:
    """Draw how nodes reach the file system."""
    fabric = places.lustre - 30
    kind = "EFA" if institution.storage.source.efa else "TCP"
    yield line(INNER_LEFT, fabric, INNER_RIGHT, fabric, "wire storage")
    for x in (INNER_LEFT + SIDE_WIDTH + GAP + 60, INNER_RIGHT - 60):
        yield arrow(x, fabric, x, places.lustre, "storage")
        yield arrow(x, fabric, x, fabric - 26, "storage")
    text = f"Lustre over {kind}"
    width = len(text) * 7.2 + 28
    middle = (INNER_LEFT + INNER_RIGHT) / 2
    yield box(middle - width / 2, fabric - 13, width, 26, "storage-ground", 13)
    yield words(middle, fabric + 4.5, text, "pill-text storage", anchor="middle")


def _rail(institution: Institution, places: Places, alerts_to: Sequence[str]) -> Iterator[str]:
    y = places.cards
    for note in notes(institution, alerts_to):
        yield note_card(note, RAIL_LEFT, y, RAIL_WIDTH)
        y += note.height + GAP
    if institution.storage.links:
        yield bucket_card(institution, RAIL_LEFT, places.lustre, RAIL_WIDTH, places.lustre_height)


def _legend(queues: Sequence[QueueFacts], height: float) -> Iterator[str]:
    tile = Tiles(34, 22, 0)
    y = height - 40
    x = float(REGION_LEFT)
    entries = [("a node that always runs", True)] if any(q.always for q in queues) else []
    entries += [("a node while jobs run", False)] if any(q.always < q.nodes for q in queues) else []
    for text, runs in entries:
        yield node_tile(x, y, tile, 0, runs=runs)
        yield words(x + 44, y + 16, text, "small quiet")
        x += 44 + len(text) * 7.2 + 26
    if any(queue.gpus for queue in queues):
        yield element("circle", cx=x + 5, cy=y + 11, r=4, class_="compute")
        yield words(x + 18, y + 16, "a GPU", "small quiet")
    yield words(REGION_RIGHT, y + 16, "drawn by trainshed", "small quiet", anchor="end")
