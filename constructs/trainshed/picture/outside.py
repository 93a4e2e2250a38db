"""What stands beside the VPC: researchers, S3, CloudWatch, alerts, the Slurm database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..config import Institution, S3Link
from ..config.alerts import Alerts
from .svg import CODE_SIZE, arrow, box, element, fitted, group, words

LINK_STEP = 32


@dataclass(frozen=True, slots=True)
class Note:
    """A card beside the VPC.

    Args:
        title: Its first line.
        lines: Further lines.
        colour: Of the title.
    """

    title: str
    lines: tuple[str, ...]
    colour: str = "ink"

    @property
    def height(self) -> float:
        """How high the card is."""
        return 52 + 21 * len(self.lines)


def notes(institution: Institution) -> list[Note]:
    """Return the cards above S3's."""
    fleet = institution.fleet
    monitoring = fleet.monitoring
    watched = [f"logs for {monitoring.log_retention_days} days"]
    watched += ["metrics each minute"] if monitoring.detailed else []
    watched += ["dashboard, alarms"] if monitoring.dashboard else ["alarms"]
    found = [Note("CloudWatch", tuple(watched))]
    if institution.alerts:
        found.append(Note("Alerts", _ways(institution.alerts), "alert"))
    if fleet.accounting:
        found.append(Note("Slurm database", (fleet.accounting.host or "Aurora MySQL",)))
    return found


def _ways(alerts: Alerts) -> tuple[str, ...]:
    routes = alerts.routes
    channels = len({routes.critical, routes.warning, routes.info})
    lines = [f"Slack, {channels} channel{'' if channels == 1 else 's'}"]
    lines.append(f"e-mail, {alerts.operators[0]}")
    if alerts.budget_usd_per_month:
        lines.append(f"budget, {alerts.budget_usd_per_month:,.0f} USD")
    return tuple(lines)


def note_card(note: Note, x: float, y: float, width: float) -> str:
    """Draw one card."""
    rows = [
        words(x + 20, y + 57 + 21 * index, fitted(text, width - 40, 14.5), "body quiet")
        for index, text in enumerate(note.lines)
    ]
    return group(
        [
            box(x, y, width, note.height, "card"),
            words(x + 20, y + 33, note.title, f"title {note.colour}"),
            *rows,
        ],
        label=f"{note.title}: {', '.join(note.lines)}",
    )


def researchers(x: float, y: float, width: float, lines: Sequence[str]) -> str:
    """Draw the people who use the cluster, and how they come in; ``y`` is their middle."""
    centre = x + width / 2
    people = []
    for shift, size in ((-26, 0.8), (26, 0.8), (0, 1.0)):
        people.append(_person(centre + shift, y - 22 + (1 - size) * 14, size))
    rows = [
        words(centre, y + 50 + 18 * index, text, "small quiet", anchor="middle")
        for index, text in enumerate(lines)
    ]
    name = words(centre, y + 30, "Researchers", "title ink", anchor="middle")
    return group([*people, name, *rows], label=f"Researchers: {', '.join(lines)}")


def _person(x: float, y: float, size: float) -> str:
    body = (
        f"M{x - 17 * size:g} {y + 28 * size:g}a{17 * size:g} {17 * size:g} 0 0 1 {34 * size:g} 0z"
    )
    head = element("circle", cx=x, cy=y, r=9 * size, class_="compute-edge", stroke_width=2)
    return element("path", d=body, class_="compute-edge", stroke_width=2) + head


def bucket_height(links: int) -> float:
    """Return how high the card of S3 is."""
    return 72 + LINK_STEP * max(links, 1)


def bucket_card(institution: Institution, x: float, y: float, width: float, height: float) -> str:
    """Draw S3 with a row for each link."""
    storage = institution.storage
    own = storage.bucket.existing or "versioned and retained"
    rows = [
        words(
            x + 20,
            link_y(y, index) + 5,
            fitted(_shown(link, storage.bucket.existing), width - 40, CODE_SIZE),
            "code ink",
        )
        for index, link in enumerate(storage.links.values())
    ]
    return group(
        [
            box(x, y, width, height, "storage-edge"),
            words(x + 20, y + 33, "Amazon S3", "title storage"),
            words(x + 20, y + 53, fitted(own, width - 40, 13), "small quiet"),
            *rows,
        ],
        label=f"Amazon S3: {own}",
    )


def _shown(link: S3Link, own: str | None) -> str:
    elsewhere = link.bucket and link.bucket != own
    return f"{link.bucket}/{link.prefix}" if elsewhere else link.prefix or "the whole bucket"


def link_y(top: float, index: int) -> float:
    """Return where the row of a link is, in the cards on both sides."""
    return top + 84 + LINK_STEP * index


def link_arrows(links: Sequence[S3Link], x1: float, x2: float, top: float) -> Iterator[str]:
    """Draw which way data goes: ``x1`` is the file system's side, ``x2`` that of S3."""
    middle = (x1 + x2) / 2
    for index, link in enumerate(links):
        y = link_y(top, index)
        if link.direction == "import":
            yield arrow(x2, y, x1, y, "storage")
        elif link.direction == "export":
            yield arrow(x1, y, x2, y, "storage")
        else:
            yield arrow(middle, y, x1, y, "storage") + arrow(middle, y, x2, y, "storage")
        yield words(x2 - 42, y - 7, link.direction, "small storage", anchor="middle")
