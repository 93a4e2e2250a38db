"""What nobody foresaw: an alarm stays as bad as it is, and one odd message costs others nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from assets.functions.slack_notifier import aws as aws_module
from assets.functions.slack_notifier.alerts import read
from assets.functions.slack_notifier.blocks import Story, escape, message
from assets.functions.slack_notifier.errors import SecretError
from tests.assets.slack_notifier.slack_server import Answer

if TYPE_CHECKING:
    from tests.assets.slack_notifier.conftest import Notifications

Alarm = Callable[..., str]
NOTE = "It burns\nSeverity: critical\nDo: run\nInstitution: kait"


def odd(**parts: Any) -> str:
    """Return an alarm's message with some parts of a shape that CloudWatch does not document."""
    alarm = {"AlarmName": "a", "NewStateValue": "ALARM", "AlarmDescription": NOTE}
    return json.dumps({**alarm, "AlarmArn": "arn:aws:cloudwatch:us-east-2:1:alarm:a", **parts})


ODD = {
    "trigger": {"Trigger": "text"},
    "metrics": {"Trigger": {"Metrics": [1]}},
    "expression": {"Trigger": {"Metrics": [{"Expression": "a + b"}]}},
    "datapoint": {"NewStateReason": "[1e999 (01/12/26 00:00:00), 1.0 (01/12/26 00:01:00)]"},
    "children": {"TriggeringChildren": [{"State": "ALARM"}]},
    "surrogate": {"AlarmName": "a\ud800"},
    "description": {"AlarmDescription": NOTE, "Trigger": ["list"]},
}


@pytest.mark.parametrize("parts", ODD.values(), ids=ODD)
def test_an_alarm_with_an_odd_part_stays_as_bad_as_it_says(parts: dict[str, Any]) -> None:
    shown = read(odd(**parts), "queue-id")
    assert (shown.title, shown.severity, shown.state) == ("It burns", "critical", "alarm")
    assert (shown.institution, shown.advice) == ("kait", "run")
    assert shown.key == "arn:aws:cloudwatch:us-east-2:1:alarm:a"
    assert json.dumps(message(Story(shown)), ensure_ascii=False).encode()


def test_an_odd_part_of_an_alarm_is_shown_as_it_came() -> None:
    fields = dict(read(odd(Trigger={"Metrics": [1]}), "queue-id").fields)
    assert fields["Trigger"] == '{"Metrics": [1]}'


def test_a_change_by_eventbridge_with_odd_metrics_stays_as_bad_as_it_says() -> None:
    detail = {"alarmName": "a", "state": {"value": "ALARM"}}
    configuration = {"description": NOTE, "metrics": [{"metricStat": "text"}]}
    event = {"source": "aws.cloudwatch", "detail-type": "CloudWatch Alarm State Change"}
    text = json.dumps({**event, "detail": {**detail, "configuration": configuration}})
    shown = read(text, "queue-id")
    assert (shown.title, shown.severity, shown.state) == ("It burns", "critical", "alarm")


def test_an_event_of_health_that_names_no_list_of_entities_is_understood() -> None:
    detail = {"affectedEntities": "none", "eventTypeCategory": "issue", "service": "EC2"}
    event = {"source": "aws.health", "detail-type": "AWS Health Event", "resources": 5}
    shown = read(json.dumps({**event, "detail": detail}), "queue-id")
    assert (shown.kind, shown.severity) == ("AWS Health Event", "critical")
    assert dict(shown.fields)["affected"] == "none"


def test_what_cannot_be_read_at_all_is_a_warning() -> None:
    event = {"source": "aws.cloudwatch", "detail-type": "x", "detail": 5}
    shown = read(json.dumps(event), "queue-id")
    assert shown.kind == "message that could not be read (TypeError)"
    assert shown.severity == "warning"


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"Type": "Notification", "MessageId": "m", "Message": odd(AlarmArn="\ud800")}),
        json.dumps({"Type": "Notification", "MessageId": "\ud800", "Message": "text"}),
        json.dumps({"Type": "Notification", "MessageId": "m" * 3000, "Message": "text"}),
    ],
    ids=["arn", "id", "long-id"],
)
def test_an_odd_message_does_not_make_the_table_forget_the_others(
    body: str,
    notifications: Notifications,
    alarm: Alarm,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert notifications.send(body, alarm("good")) == []
    notifications.restart()
    assert notifications.send(alarm("good")) == []
    assert len(notifications.slack.messages) == 2
    assert "the table does not answer" not in capsys.readouterr().out


def test_a_dead_letter_queue_that_hangs_costs_its_time_once(
    notifications: Notifications, alarm: Alarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = aws_module._attempt

    def hang(service: str, *rest: Any) -> Any:
        if service != "sqs":
            return real(service, *rest)
        notifications.clock.now += 5
        return "no answer (TimeoutError)", None

    monkeypatch.setattr(aws_module, "_attempt", hang)
    monkeypatch.setattr("assets.functions.slack_notifier.aws.time.sleep", lambda seconds: None)
    gone = {"critical": "gone-oncall", "warning": "ops", "info": "ops"}
    notifications.use(notifications.slack.api_secret(), channels=gone)
    lost = [alarm(f"c{n}", severity="critical") for n in range(4)]
    start = notifications.clock.now
    assert notifications.send(*lost, alarm("w")) == lost
    assert notifications.clock.now - start < 30
    assert [m.channel for m in notifications.slack.messages] == ["C-ops"]


@pytest.mark.parametrize(
    "secret",
    [
        '{"bot_token": ""}',
        '{"bot_token": "xoxb-planted\\nx"}',
        '{"webhooks": {}}',
        "xoxb-planted\nx",
        "xoxb-plänted",
    ],
)
def test_a_secret_that_is_cut_or_empty_buries_nothing(
    secret: str, notifications: Notifications, alarm: Alarm
) -> None:
    notifications.use(secret)
    with pytest.raises(SecretError):
        notifications.send(alarm("a"))
    assert notifications.aws.dead_letters() == []
    notifications.use(notifications.slack.api_secret())
    assert notifications.send(alarm("a")) == []


@pytest.mark.parametrize("retry_after", [None, 0])
def test_a_rate_limit_without_a_time_is_a_second(
    retry_after: int | None, notifications: Notifications, alarm: Alarm
) -> None:
    notifications.slack.answers = [Answer(429, "rate_limited", retry_after)]
    assert notifications.send(alarm("a")) == []
    (first, _, _), (second, _, _) = notifications.slack.calls
    assert second - first == 1.0


def test_a_name_that_does_not_resolve_gives_back_and_tells_no_address(
    notifications: Notifications, alarm: Alarm, capsys: pytest.CaptureFixture[str]
) -> None:
    notifications.use("https://planted.invalid/services/planted")
    assert notifications.send(alarm("a")) == [alarm("a")]
    said = capsys.readouterr().out
    assert '"error": "no answer (URLError)"' in said
    assert "planted" not in said


@pytest.mark.parametrize("error", ["update_failed", "is_archived", "an_error_of_tomorrow"])
def test_news_of_a_message_that_cannot_be_changed_is_a_message_of_its_own(
    error: str, notifications: Notifications, alarm: Alarm
) -> None:
    notifications.send(alarm("a"))
    notifications.slack.answers = [Answer(200, json.dumps({"ok": False, "error": error}))]
    assert notifications.send(alarm("a", "OK", 5)) == []
    assert notifications.aws.dead_letters() == []
    _, news = notifications.slack.messages
    assert (news.text, news.thread_ts) == (
        "\N{WHITE HEAVY CHECK MARK} RESOLVED Something about a",
        "",
    )


def test_a_page_inside_without_tls_is_linked() -> None:
    text = odd(AlarmDescription=f"{NOTE}\nRunbook: http://wiki.internal/gpus")
    shown = json.dumps(message(Story(read(text, "queue-id"))))
    assert "<http://wiki.internal/gpus|Runbook>" in shown


@pytest.mark.parametrize("turns", ["\u202d", "\u202e"])
def test_a_text_that_turns_the_rest_of_a_line_around_is_shown_without_that(turns: str) -> None:
    assert escape(f"kait{turns}tiak", 100) == "kait\N{REPLACEMENT CHARACTER}tiak"


def test_text_from_right_to_left_stays_as_it_is() -> None:
    text = "\N{HEBREW LETTER ALEF}\u200f\u2067\N{ARABIC LETTER BEH}\u2069"
    assert escape(text, 100) == text
