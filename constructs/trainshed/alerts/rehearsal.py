"""A drill: one message of each kind, marked as a drill, through the real topic. Pure but for send.

``send(topic_arn)`` publishes with the caller's credentials; what arrives in Slack has gone the
whole way that an alarm goes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from .note import AlarmNote, Severity

_CALLED = {
    "critical": "a critical alarm",
    "warning": "a warning alarm",
    "info": "an alarm for information",
}


class SnsClient(Protocol):
    """The part of boto3's SNS client that a drill needs."""

    def publish(self, *, TopicArn: str, Subject: str, Message: str) -> Mapping[str, Any]:  # noqa: N803
        """Publish one message."""


def messages(institution: str, account: str, region: str, now: datetime) -> list[tuple[str, str]]:
    """Return subject and text of each message of the drill, in order.

    A critical alarm and its end, a warning, an info and its lack of data, a Capacity
    Block that ends, an unknown event, a budget, a plain text, and JSON of an unknown kind.

    Args:
        institution: Whose channels they go to.
        account: AWS account, shown in the messages.
        region: AWS Region, shown in the messages.
        now: The time of the drill, with a time zone.
    """
    severities: tuple[Severity, ...] = ("critical", "warning", "info")
    alarms = [
        ("ALARM", _alarm(severity, "ALARM", institution, account, region, now))
        for severity in severities
    ]
    later = now + timedelta(minutes=1)
    alarms += [
        ("OK", _alarm("critical", "OK", institution, account, region, later)),
        (
            "INSUFFICIENT_DATA",
            _alarm("info", "INSUFFICIENT_DATA", institution, account, region, later),
        ),
    ]
    found = [(f"{state}: drill", json.dumps(alarm)) for state, alarm in alarms]
    found += [("Drill", json.dumps(event)) for event in _events(institution, account, region, now)]
    budget = (
        f"AWS Budget Notification {now:%B %d, %Y}\nAWS Account {account}\n\n"
        "You requested that we alert you when a drill is held.\n\n"
        f"Budget Name: drill of {institution}\nBudgeted Amount: $1.00\n"
    )
    found += [
        ("DRILL: a budget", budget),
        ("DRILL: a plain text", "Nothing is wrong. <This> & that are shown as they are."),
        ("DRILL: JSON of an unknown kind", json.dumps({"drill": True, "institution": institution})),
    ]
    return found


def send(client: SnsClient, topic_arn: str, institution: str, now: datetime | None = None) -> int:
    """Publish the drill to a topic; return the number of messages.

    Args:
        client: boto3's SNS client.
        topic_arn: The topic of ``SlackAlerts``.
        institution: Whose channels it goes to.
        now: The time of the drill. None: now.
    """
    _, _, _, region, account, _ = topic_arn.split(":", 5)
    moment = now or datetime.now(UTC)
    drill = messages(institution, account, region, moment)
    for subject, text in drill:
        client.publish(TopicArn=topic_arn, Subject=subject, Message=text)
    return len(drill)


def _alarm(
    severity: Severity, state: str, institution: str, account: str, region: str, when: datetime
) -> dict[str, Any]:
    name = f"drill-{severity}"
    note = AlarmNote(
        summary=f"DRILL: {_CALLED[severity]}",
        severity=severity,
        do="Nothing; this is a drill.",
        institution=institution,
    )
    points = ", ".join(
        f"{90 + minute:.1f} ({when - timedelta(minutes=minute):%d/%m/%y %H:%M:00})"
        for minute in range(5)
    )
    return {
        "AlarmName": name,
        "AlarmDescription": note.description,
        "AWSAccountId": account,
        "NewStateValue": state,
        "NewStateReason": f"Threshold Crossed: 5 out of the last 5 datapoints [{points}]",
        "StateChangeTime": when.isoformat(timespec="milliseconds"),
        "AlarmArn": f"arn:aws:cloudwatch:{region}:{account}:alarm:{name}",
        "Trigger": {
            "MetricName": "Drill",
            "Namespace": "Trainshed",
            "Dimensions": [],
            "ComparisonOperator": "GreaterThanThreshold",
            "Threshold": 90,
        },
    }


def _events(institution: str, account: str, region: str, now: datetime) -> list[dict[str, Any]]:
    event = {
        "id": f"drill-{now:%Y%m%d%H%M%S}",
        "account": account,
        "region": region,
        "time": now.isoformat(),
        "resources": [],
    }
    return [
        {
            **event,
            "source": "trainshed",
            "detail-type": "Capacity Block Notice",
            "detail": {
                "capacity-reservation-id": "cr-0123456789abcdef0",
                "severity": "warning",
                "notice": "DRILL: ends in 24 hours",
                "do": "Nothing; this is a drill.",
                "institution": institution,
            },
        },
        {
            **event,
            "source": "trainshed",
            "detail-type": "DRILL: an event of an unknown kind",
            "detail": {"institution": institution},
        },
    ]
