"""What a batch has to tell of one alarm or resource."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .alerts import Alert
from .blocks import Story
from .memory import Record
from .routes import SEVERITIES


@dataclass(frozen=True)
class Incoming:
    """One message of the queue."""

    sqs_id: str
    body: str
    alert: Alert


@dataclass
class Work:
    """What is new about one key."""

    record: Record
    incoming: list[Incoming]
    story: Story
    goes_on: bool


def whole(alerts: list[Alert]) -> Alert:
    """Return the latest alert, with what the earlier ones of the batch said, and as bad as they.

    The changes of an alarm are told by its states alone; events of one resource are each news.
    """
    latest = alerts[-1]
    earlier = [alert for alert in alerts[:-1] if alert.state == "event"]
    if not earlier:
        return latest
    said = [" ".join(filter(None, (alert.time, alert.title, alert.what))) for alert in earlier]
    told = [latest] if latest.state == "ok" else alerts
    return replace(
        latest,
        what="\n".join(filter(None, (latest.what, "Before:", *said))),
        severity=min((alert.severity for alert in told), key=SEVERITIES.index),
    )


def worst(work: Work) -> str:
    """Return how bad a story is that may have been worse before."""
    known = [work.record.severity] if work.goes_on and work.record.severity else []
    return min([work.story.alert.severity, *known], key=SEVERITIES.index)


def remember(work: Work, now: float) -> None:
    """Write into the record what was shown now."""
    record, story = work.record, work.story
    for entry in work.incoming:
        record.see(entry.alert.message_id)
    record.touched, record.count, record.since = now, story.count, story.since
    if story.alert.state != "ok":
        record.severity = worst(work)
    if not story.late:
        record.state, record.time = story.alert.state, story.alert.time or record.time
