"""A drill shows one message of each kind, and each says that it is one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from assets.functions.slack_notifier.alerts import read
from assets.functions.slack_notifier.blocks import Story, message
from trainshed.alerts import rehearsal

TOPIC = "arn:aws:sns:us-east-2:123456789012:kait-Alerts"
NOW = datetime(2026, 11, 29, 2, 7, tzinfo=UTC)


class Sns:
    """Takes what is published."""

    def __init__(self) -> None:
        self.published: list[tuple[str, str, str]] = []

    def publish(self, *, TopicArn: str, Subject: str, Message: str) -> Mapping[str, Any]:  # noqa: N803
        self.published.append((TopicArn, Subject, Message))
        return {}


def test_each_kind_is_sent_to_the_topic() -> None:
    sns = Sns()
    assert rehearsal.send(sns, TOPIC, "kait", NOW) == len(sns.published) == 23
    assert {topic for topic, _, _ in sns.published} == {TOPIC}
    kinds = [read(text, f"id-{n}").kind for n, (_, _, text) in enumerate(sns.published)]
    assert sorted(set(kinds)) == [
        "AWS Budgets",
        "AWS Health Event",
        "Capacity Block Notice",
        "Capacity Block Reservation Expiration Warning",
        "CloudFormation Stack Status Change",
        "DRILL: an event of an unknown kind",
        "EC2 Capacity Block Instance Interruption Warning",
        "EC2 Capacity Reservation Instance Interruption Warning",
        "EC2 Instance Launch Unsuccessful",
        "EC2 Instance State-change Notification",
        "JSON message of an unknown kind",
        "ParallelCluster event",
        "anomaly alarm",
        "composite alarm",
        "metric alarm",
        "metric math alarm",
        "text message",
    ]


def test_a_drill_names_what_is_of_the_partition_of_its_topic() -> None:
    sns = Sns()
    rehearsal.send(sns, "arn:aws-cn:sns:cn-north-1:123456789012:kait-Alerts", "kait", NOW)
    texts = " ".join(text for _, _, text in sns.published)
    assert "arn:aws-cn:cloudwatch:cn-north-1:123456789012:alarm:drill-critical" in texts
    assert "arn:aws:" not in texts


@pytest.mark.parametrize("arn", ["foo", "arn:aws:sqs:us-east-2:123456789012:x", f"{TOPIC}:1"])
def test_what_is_no_topic_is_refused(arn: str) -> None:
    with pytest.raises(ValueError, match=f"^'{arn}' is not the ARN of a topic, arn:aws:sns:REGIO"):
        rehearsal.send(Sns(), arn, "kait", NOW)


def test_each_message_says_that_it_is_a_drill() -> None:
    for subject, text in rehearsal.messages("kait", "123456789012", "us-east-2", NOW):
        body = {"Type": "Notification", "Subject": subject, "Message": text}
        shown = message(Story(read(json.dumps(body), "id")))
        assert "drill" in shown["text"].lower()


def test_alarms_of_the_drill_go_to_the_institution_and_have_a_chart() -> None:
    drill = rehearsal.messages("kait", "123456789012", "us-east-2", NOW)
    alarms = [read(text, "id") for _, text in drill[:5]]
    assert {alarm.institution for alarm in alarms} == {"kait"}
    assert [(a.severity, a.state) for a in alarms] == [
        ("critical", "alarm"),
        ("warning", "alarm"),
        ("info", "alarm"),
        ("critical", "ok"),
        ("info", "no data"),
    ]
    assert alarms[0].chart == "█▆▅▃▁ 94 to 90 (alarm when > 90)"
