"""A drill shows one message of each kind, and each says that it is one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

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


def test_each_kind_is_sent_once_to_the_topic() -> None:
    sns = Sns()
    assert rehearsal.send(sns, TOPIC, "kait", NOW) == 10
    assert {topic for topic, _, _ in sns.published} == {TOPIC}
    kinds = [read(text, f"id-{n}").kind for n, (_, _, text) in enumerate(sns.published)]
    assert sorted(set(kinds)) == [
        "AWS Budgets",
        "Capacity Block Notice",
        "DRILL: an event of an unknown kind",
        "JSON message of an unknown kind",
        "metric alarm",
        "text message",
    ]


def test_each_message_says_that_it_is_a_drill() -> None:
    for subject, text in rehearsal.messages("kait", "123456789012", "us-east-2", NOW):
        shown = str(message(Story(read(text, "id")))) + subject
        assert "drill" in shown.lower()


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
