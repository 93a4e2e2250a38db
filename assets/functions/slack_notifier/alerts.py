"""From the body of a queue message to an :class:`Alert`. Pure; never raises on any body."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from .alarms import alarm_fields, as_notification
from .events import event_alert, utc

# DynamoDB developer guide, "Constraints", read 2026-11-29.
_LONGEST_KEY = 2048
# SNS and SQS write 36 characters.
_LONGEST_ID = 200
_BUDGET_LINE = re.compile(r"^([A-Z][A-Za-z ]{2,30}): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Alert:
    """One thing that was said about one resource at one time."""

    key: str
    """What the alert is about: alerts of one key are one story, in order of time."""
    message_id: str
    kind: str
    title: str
    state: str
    """``alarm``, ``ok``, ``no data`` or ``event``."""
    severity: str
    time: str
    """When it happened, ISO 8601 in UTC; empty if the message does not say."""
    what: str = ""
    chart: str = ""
    advice: str = ""
    account: str = ""
    region: str = ""
    institution: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    first: bool = False
    """Whether it is the first state of an alarm that was never raised."""


def read(body: str, fallback_id: str) -> Alert:
    """Return the alert in the body of a queue message.

    Args:
        body: An SNS notification, an SNS message delivered raw, or an EventBridge event.
        fallback_id: Identifies the message where the body has no id of its own.
    """
    envelope = _json_object(body)
    if envelope.get("Type") == "Notification" and "Message" in envelope:
        text, subject = str(envelope["Message"]), _text(envelope.get("Subject"))
        message_id = _text(envelope.get("MessageId"))
        message_id = message_id if 0 < len(message_id) <= _LONGEST_ID else fallback_id
        sent = utc(_text(envelope.get("Timestamp")))
    else:
        text, subject, message_id, sent = body, "", fallback_id, ""
    text = text.replace("\r\n", "\n")
    try:
        alert = _alert(text, subject, message_id)
    except Exception as error:  # A shape that nobody foresaw is shown as it came, never dropped.
        # A person looks at it today: it may be an alarm.
        kind = f"message that could not be read ({type(error).__name__})"
        alert = replace(_plain(text, subject, message_id), kind=kind, severity="warning")
    return replace(alert, time=alert.time or sent, key=_key(alert))


def _key(alert: Alert) -> str:
    """Keep keys within what a table takes: text, not empty, not longer than 2,048 bytes."""
    key = alert.key.encode(errors="replace")
    if not 0 < len(key) <= _LONGEST_KEY:
        key = f"message:{alert.message_id}".encode(errors="replace")
    return key.decode()


def _alert(text: str, subject: str, message_id: str) -> Alert:
    value = _json_object(text)
    if "AlarmName" in value and "NewStateValue" in value:
        return Alert(message_id=message_id, **alarm_fields(value))
    if "source" in value and ("detail-type" in value or "detail_type" in value):
        if value["source"] == "aws.cloudwatch" and "alarmName" in (value.get("detail") or ()):
            return Alert(message_id=message_id, **alarm_fields(as_notification(value)))
        return Alert(
            **({"key": f"message:{message_id}"} | event_alert(value)), message_id=message_id
        )
    if "event-type" in value and "cluster-name" in value:
        return _parallelcluster(value, message_id)
    if text.startswith("AWS Budget Notification"):
        return _budget(text, subject, message_id)
    if value:
        return _unknown_object(value, subject, message_id)
    return _plain(text, subject, message_id)


def _parallelcluster(value: dict[str, Any], message_id: str) -> Alert:
    """Show a line of ``clustermgtd.events``, ParallelCluster's structured log (3.6 and later)."""
    level = _text(value.get("level")).upper()
    cluster, event_type = str(value["cluster-name"]), str(value["event-type"])
    fields = {
        name: value[name] if isinstance(value[name], str) else json.dumps(value[name])
        for name in ("node-role", "component", "instance-id", "detail")
        if value.get(name)
    }
    return Alert(
        key=f"parallelcluster:{cluster}:{event_type}",
        message_id=message_id,
        kind="ParallelCluster event",
        title=f"Cluster {cluster}: {event_type}",
        state="event",
        severity={"ERROR": "critical", "CRITICAL": "critical", "WARNING": "warning"}.get(
            level, "info"
        ),
        time=utc(_text(value.get("datetime"))),
        what=_text(value.get("message")),
        fields=tuple(fields.items()),
    )


def _budget(text: str, subject: str, message_id: str) -> Alert:
    fields = dict(_BUDGET_LINE.findall(text))
    name = fields.get("Budget Name", "")
    what = next((line for line in text.splitlines() if line.startswith("You requested")), "")
    account = re.search(r"^AWS Account (\d{12})", text, re.MULTILINE)
    return Alert(
        key=f"budget:{account[1] if account else ''}:{name}",
        message_id=message_id,
        kind="AWS Budgets",
        title=subject or f"Budget {name} has exceeded its alert threshold",
        state="event",
        severity="warning",
        time="",
        what=what or text,
        account=account[1] if account else "",
        fields=tuple(fields.items()),
        links=(("Budgets", "https://console.aws.amazon.com/billing/home#/budgets"),),
    )


def _unknown_object(value: dict[str, Any], subject: str, message_id: str) -> Alert:
    return Alert(
        key=f"message:{message_id}",
        message_id=message_id,
        kind="JSON message of an unknown kind",
        title=subject or "Message of an unknown kind",
        state="event",
        severity="info",
        time="",
        what=json.dumps(value, indent=2, ensure_ascii=False),
    )


def _plain(text: str, subject: str, message_id: str) -> Alert:
    return Alert(
        key=f"message:{message_id}",
        message_id=message_id,
        kind="text message",
        title=subject
        or next((line for line in text.splitlines() if line.strip()), "Empty message"),
        state="event",
        severity="info",
        time="",
        what=text,
    )


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
