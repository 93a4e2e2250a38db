"""The whole picture: frames, and where everything stands in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from ..config import Institution
from .cards import PAD, Tiles, machine_card, node_tile, queue_card, stat_row
from .facts_shown import (
    TIMES,
    QueueFacts,
    description,
    file_system_stats,
    headline,
    queue_facts,
)
from .frames import frames
from .outside import (
    bucket_card,
    link_arrows,
    link_y,
    note_card,
    notes,
    researchers,
)
from .places import (
    GAP,
    INNER_LEFT,
    INNER_RIGHT,
    LEAST_HEIGHT,
    MACHINE_HEIGHT,
    RAIL_LEFT,
    RAIL_WIDTH,
    REGION_LEFT,
    REGION_RIGHT,
    SIDE_WIDTH,
    WIDTH,
    Places,
    columns_of,
    places_of,
    queue_width,
)
from .style import style_sheet
from .svg import CODE_SIZE, arrow, box, element, fitted, group, line, words

SCOPE = "trainshed-picture"


def picture(institution: Institution) -> str:
    """Draw what an institution gets, as SVG: the same bytes for the same institution.

    It follows the reader's light or dark colours, needs no font, image or script, and says in
    words what it shows.

    Args:
        institution: The institution.
    """
    queues = queue_facts(institution)
    places = places_of(institution, queues)
    height = max(places.height, LEAST_HEIGHT)
    name = institution.name
    parts = [
        element("title", escape(f"GPU cluster {name}"), id=f"{name}-title"),
        element("desc", escape(description(institution)), id=f"{name}-desc"),
        element("style", style_sheet(SCOPE)),
        element("rect", width=WIDTH, height=height, class_="page"),
        *_header(institution),
        *frames(institution, places),
        *_machines(institution, places),
        *_queues(queues, places),
        *_lustre(institution, places),
        *_rail(institution, places),
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


def _header(institution: Institution) -> Iterator[str]:
    yield words(40, 66, fitted(institution.cluster_name, 900, 44), "name ink")
    # The label of the way out stands beside it.
    room = 940 if institution.network.source.internet == "nat" else 1480
    yield words(40, 102, fitted(headline(institution), room, 21), "headline quiet")


def _machines(institution: Institution, places: Places) -> Iterator[str]:
    fleet = institution.fleet
    head = fleet.head_node
    y = places.cards
    lines = [head.instance_type, "Slurm controller"]
    if fleet.backend == "parallelcluster":
        lines.append("AWS ParallelCluster")
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
    columns, width = columns_of(queues), queue_width(queues)
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
            fitted(f"{storage.mount_dir}{link.path}", width - room - 40, CODE_SIZE),
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


def _rail(institution: Institution, places: Places) -> Iterator[str]:
    y = places.cards
    for note in notes(institution):
        yield note_card(note, RAIL_LEFT, y, RAIL_WIDTH)
        y += note.height + places.rail_gap
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
