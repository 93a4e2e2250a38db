"""A drill: one message of each kind, marked as a drill, through the real topic. Pure but for send.

``send(topic_arn)`` publishes with the caller's credentials; what arrives in Slack has gone the
whole way that an alarm goes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from .note import AlarmNote, Severity
from .rehearsal_events import events

_CALLED: dict[Severity, str] = {
    "critical": "a critical alarm",
    "warning": "a warning alarm",
    "info": "an alarm for information",
}
_TOPIC = re.compile(r"arn:(aws[a-z-]*):sns:([a-z0-9-]+):([0-9]{12}):[\w-]+")


class SnsClient(Protocol):
    """The part of boto3's SNS client that a drill needs."""

    def publish(self, *, TopicArn: str, Subject: str, Message: str) -> Mapping[str, Any]:  # noqa: N803
        """Publish one message."""


def messages(
    institution: str, account: str, region: str, now: datetime, partition: str = "aws"
) -> list[tuple[str, str]]:
    """Return subject and text of each message of the drill, in order.

    A critical alarm and its end, a warning, an info and its lack of data; a composite alarm, one on
    metric math, one on an anomaly; an event of each kind; a budget, a plain text, and JSON of an
    unknown kind and that is no object.

    Args:
        institution: Whose channels they go to.
        account: AWS account, shown in the messages.
        region: AWS Region, shown in the messages.
        now: The time of the drill, with a time zone.
        partition: AWS partition of the Region.
    """
    where = f"arn:{partition}:cloudwatch:{region}:{account}:alarm:"
    later = now + timedelta(minutes=1)
    alarms = [
        *(_alarm(severity, "ALARM", institution, where, now) for severity in _CALLED),
        _alarm("critical", "OK", institution, where, later),
        _alarm("info", "INSUFFICIENT_DATA", institution, where, later),
        *_other_alarms(institution, where, now),
    ]
    found = [(f"{alarm['NewStateValue']}: drill", json.dumps(alarm)) for alarm in alarms]
    happened = events(institution, account, region, now, partition)
    found += [("Drill", json.dumps(event)) for event in happened]
    budget = (
        f"AWS Budget Notification {now:%B %d, %Y}\nAWS Account {account}\n\n"
        "You requested that we alert you when a drill is held.\n\n"
        f"Budget Name: drill of {institution}\nBudgeted Amount: $1.00\n"
    )
    found += [
        ("DRILL: a budget", budget),
        ("DRILL: a plain text", "Nothing is wrong. <This> & that are shown as they are."),
        ("DRILL: JSON of an unknown kind", json.dumps({"drill": True, "institution": institution})),
        ("DRILL: JSON that is no object", json.dumps(["drill", institution])),
    ]
    return found


def send(client: SnsClient, topic_arn: str, institution: str, now: datetime | None = None) -> int:
    """Publish the drill to a topic; return the number of messages.

    Args:
        client: boto3's SNS client, of the Region of the topic.
        topic_arn: The topic of ``SlackAlerts``.
        institution: Whose channels it goes to.
        now: The time of the drill. None: now.

    Raises:
        ValueError: It is not the ARN of a topic.
    """
    partition, region, account = place_of(topic_arn)
    moment = now or datetime.now(UTC)
    drill = messages(institution, account, region, moment, partition)
    for subject, text in drill:
        client.publish(TopicArn=topic_arn, Subject=subject, Message=text)
    return len(drill)


def place_of(topic_arn: str) -> tuple[str, str, str]:
    """Return partition, Region and account of a topic.

    Raises:
        ValueError: It is not the ARN of a topic.
    """
    found = _TOPIC.fullmatch(topic_arn)
    if not found:
        raise ValueError(
            f"{topic_arn!r} is not the ARN of a topic, arn:aws:sns:REGION:ACCOUNT:NAME"
        )
    partition, region, account = found.groups()
    return partition, region, account


def _alarm(
    severity: Severity, state: str, institution: str, where: str, when: datetime
) -> dict[str, Any]:
    points = ", ".join(
        f"{90 + minute:.1f} ({when - timedelta(minutes=minute):%d/%m/%y %H:%M:00})"
        for minute in range(5)
    )
    return {
        **_base(f"drill-{severity}", _CALLED[severity], severity, institution, where, when),
        "NewStateValue": state,
        "NewStateReason": f"Threshold Crossed: 5 out of the last 5 datapoints [{points}]",
        "Trigger": {
            "MetricName": "Drill",
            "Namespace": "Trainshed",
            "Dimensions": [],
            "ComparisonOperator": "GreaterThanThreshold",
            "Threshold": 90,
        },
    }


def _other_alarms(institution: str, where: str, when: datetime) -> list[dict[str, Any]]:
    """Return the alarms that carry no metric of their own: composite, metric math, anomaly."""
    drill = {"Metric": {"MetricName": "Drill", "Namespace": "Trainshed", "Dimensions": []}}
    metric = {"Id": "m1", "MetricStat": drill}
    child = f"{where}drill-critical"
    return [
        {
            **_base("drill-composite", "a composite alarm", "info", institution, where, when),
            "AlarmRule": f"ALARM({child})",
            "TriggeringChildren": [{"Arn": child, "State": {"Value": "ALARM"}}],
        },
        {
            **_base("drill-math", "an alarm on metric math", "info", institution, where, when),
            "Trigger": {"Metrics": [metric, {"Id": "e1", "Expression": "m1 * 100"}]},
        },
        {
            **_base("drill-anomaly", "an alarm on an anomaly", "info", institution, where, when),
            "Trigger": {
                "ThresholdMetricId": "ad1",
                "Metrics": [metric, {"Id": "ad1", "Expression": "ANOMALY_DETECTION_BAND(m1, 2)"}],
            },
        },
    ]


def _base(
    name: str, what: str, severity: Severity, institution: str, where: str, when: datetime
) -> dict[str, Any]:
    note = AlarmNote(
        summary=f"DRILL: {what}",
        severity=severity,
        do="Nothing; this is a drill.",
        institution=institution,
    )
    return {
        "AlarmName": name,
        "AlarmDescription": note.description,
        "AWSAccountId": where.split(":")[4],
        "NewStateValue": "ALARM",
        "NewStateReason": "This is a drill.",
        "StateChangeTime": when.isoformat(timespec="milliseconds"),
        "AlarmArn": f"{where}{name}",
    }
