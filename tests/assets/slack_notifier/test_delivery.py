"""The real handler between a queue and a Slack that fails: nothing is lost, nothing is doubled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assets.functions.slack_notifier import aws as aws_module
from assets.functions.slack_notifier.blocks import Payload, Story, message
from assets.functions.slack_notifier.errors import SecretError
from assets.functions.slack_notifier.handler import NothingDeliveredError
from tests.assets.slack_notifier.slack_server import RESET, SLOW, TOKEN, WEBHOOK_PATH, Answer
from trainshed.cli import main

if TYPE_CHECKING:
    from tests.assets.slack_notifier.conftest import Notifications

Alarm = Callable[..., str]
ROOT = Path(__file__).parents[3]


def test_a_critical_alarm_is_posted_once_with_a_mention(
    notifications: Notifications, alarm: Alarm
) -> None:
    assert notifications.send(alarm("a", severity="critical")) == []
    (message,) = notifications.slack.messages
    assert message.channel == "C-oncall"
    assert message.text == "🔴 CRITICAL Something about a"
    assert "<!subteam^S0ONCALL>" in notifications.slack.text()


@pytest.mark.parametrize("severity", ["warning", "info"])
def test_only_critical_alarms_mention_anybody(
    severity: str, notifications: Notifications, alarm: Alarm
) -> None:
    notifications.send(alarm("a", severity=severity))
    assert "<!subteam" not in notifications.slack.text()


def test_an_ok_updates_the_message_and_tells_its_thread(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.send(alarm("a"))
    notifications.restart()
    notifications.send(alarm("a", "OK", minute=25))
    first, line = notifications.slack.messages
    assert first.text == "✅ RESOLVED Something about a"
    assert line.thread_ts == first.ts
    assert "UTC> after 25 min, since <!date^" in line.text


def test_an_ok_by_webhook_says_what_is_over(notifications: Notifications, alarm: Alarm) -> None:
    notifications.use(notifications.slack.webhook)
    notifications.send(alarm("a"))
    notifications.restart()
    notifications.send(alarm("a", "OK", minute=25))
    _, line = notifications.slack.messages
    assert "✅ RESOLVED Something about a" in line.text
    assert "UTC> after 25 min, since <!date^" in line.text


def test_the_end_of_a_critical_event_is_told_where_it_was_raised(
    notifications: Notifications,
) -> None:
    notifications.use(
        json.dumps(
            {"webhooks": {"oncall": notifications.slack.webhook, "ops": "https://ops.invalid/"}}
        )
    )
    for status in ("open", "closed"):
        detail = {"eventArn": "arn:1", "eventTypeCategory": "issue", "statusCode": status}
        event = {"source": "aws.health", "detail-type": "AWS Health Event", "detail": detail}
        body = {"Type": "Notification", "MessageId": status, "Message": json.dumps(event)}
        assert notifications.send(json.dumps(body)) == []
    assert [m.text[:1] for m in notifications.slack.messages] == ["🔴", "*"]


def test_a_flapping_alarm_stays_in_one_thread(notifications: Notifications, alarm: Alarm) -> None:
    for minute in range(6):
        notifications.send(alarm("a", "OK" if minute % 2 else "ALARM", minute))
    first, *lines = notifications.slack.messages
    assert {line.thread_ts for line in lines} == {first.ts}
    assert "raised 3 times" in lines[-1].text


def test_changes_of_one_alarm_in_one_batch_are_one_message_in_order(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.send(
        alarm("a", "INSUFFICIENT_DATA", 2), alarm("a", "OK", 1), alarm("a", "ALARM", 0)
    )
    (message,) = notifications.slack.messages
    assert message.text == "⚪ NO DATA Something about a"
    timeline = message.payload["blocks"][2]["text"]["text"]
    states = [word for word in timeline.split() if word in ("ok", "alarm", "data")]
    assert states == ["alarm", "ok", "data"]


def test_a_message_deleted_by_a_reader_is_posted_anew(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.send(alarm("a"))
    notifications.slack.messages.clear()
    notifications.send(alarm("a", "OK", 5))
    (message,) = notifications.slack.messages
    assert message.text == "✅ RESOLVED Something about a"
    assert message.thread_ts == ""


def test_a_message_that_comes_twice_is_shown_once(
    notifications: Notifications, alarm: Alarm
) -> None:
    body = alarm("a")
    notifications.send(body, body)
    notifications.send(body)
    notifications.restart()
    assert notifications.send(body) == []
    assert len(notifications.slack.messages) == 1


def test_many_alarms_in_one_batch_are_one_message_worst_first(
    notifications: Notifications, alarm: Alarm
) -> None:
    assert notifications.send(*(alarm(f"a{n}") for n in range(12))) == []
    (message,) = notifications.slack.messages
    assert message.text == "12 alerts: 🟠 12 warning"
    assert all(f"Something about a{n}" in notifications.slack.text() for n in range(12))


def test_the_end_of_an_alarm_in_a_digest_is_told_in_its_thread(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.send(*(alarm(f"a{n}") for n in range(12)))
    notifications.send(alarm("a3", "OK", 5))
    first, line = notifications.slack.messages
    assert first.updates == 0
    assert line.thread_ts == first.ts


def test_a_digest_brings_the_messages_of_known_alarms_up_to_date(
    notifications: Notifications, alarm: Alarm
) -> None:
    for n in range(6):
        notifications.send(alarm(f"a{n}"))
    notifications.send(*(alarm(f"a{n}", "OK", 5) for n in range(6)))
    assert [m.text[:1] for m in notifications.slack.messages] == ["✅"] * 6 + ["6"]


BUSY = [
    Answer(500),
    Answer(503, "rollup_error"),
    Answer(502, "<html>"),
    Answer(408, "<html>"),
    RESET,
    SLOW,
]


@pytest.mark.parametrize("answer", BUSY, ids=["500", "503", "502", "408", "reset", "slow"])
@pytest.mark.parametrize("webhook", [False, True], ids=["bot", "webhook"])
def test_a_passing_failure_is_tried_again(
    answer: Answer,
    webhook: bool,
    notifications: Notifications,
    alarm: Alarm,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if webhook:
        notifications.use(notifications.slack.webhook)
    monkeypatch.setattr("assets.functions.slack_notifier.slack._TIMEOUT_SECONDS", 0.3)
    notifications.slack.answers = [answer, answer]
    assert notifications.send(alarm("a")) == []
    assert len(notifications.slack.messages) == 1
    assert len(notifications.slack.calls) == 3


def test_a_rate_limit_is_waited_for_as_long_as_slack_asks(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.slack.answers = [Answer(429, "rate_limited", 7)]
    assert notifications.send(alarm("a")) == []
    (first, _, _), (second, _, _) = notifications.slack.calls
    assert second - first == 7.0


def test_a_rate_limit_longer_than_the_time_left_gives_the_messages_back(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.slack.answers = [Answer(429, "rate_limited", 300)]
    body = alarm("a")
    assert notifications.send(body) == [body]
    assert notifications.clock.slept == []
    notifications.clock.now += 100
    assert notifications.send(body) == [body]
    assert len(notifications.slack.calls) == 1
    notifications.clock.now += 201
    assert notifications.send(body) == []
    assert len(notifications.slack.messages) == 1


def test_an_outage_gives_everything_back_and_fails_the_invocation(
    notifications: Notifications, alarm: Alarm, capsys: pytest.CaptureFixture[str]
) -> None:
    notifications.slack.answers = [Answer(500)] * 20
    bodies = [alarm("a"), alarm("b"), alarm("c", severity="critical")]
    assert notifications.send(*bodies) == bodies
    assert '"error": "http_500"' in capsys.readouterr().out
    assert notifications.aws.dead_letters() == []


def test_an_invocation_that_delivers_nothing_fails(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.slack.answers = [Answer(500)] * 20
    with pytest.raises(NothingDeliveredError, match=r"^1 messages given back, none delivered$"):
        notifications.invoke([{"messageId": "sqs-1", "body": alarm("a")}])


@pytest.mark.parametrize("body", ["<html>log in</html>", "no_text"])
def test_an_answer_of_200_that_is_not_ok_is_no_delivery(
    body: str, notifications: Notifications, alarm: Alarm
) -> None:
    notifications.use(notifications.slack.webhook)
    notifications.slack.answers = [Answer(200, body)]
    notifications.send(alarm("a"))
    shown, dead = len(notifications.slack.messages), len(notifications.aws.dead_letters())
    assert (shown, dead) == ((0, 1) if body == "no_text" else (1, 0))


def test_a_secret_that_cannot_be_read_buries_nothing(
    notifications: Notifications, alarm: Alarm
) -> None:
    good = notifications.slack.api_secret()
    notifications.use(good.replace(TOKEN, "xoxb-old"))
    notifications.slack.on_request = lambda count: notifications.aws.set_secret("nonsense")
    with pytest.raises(SecretError):
        notifications.send(alarm("a"))
    assert notifications.aws.dead_letters() == []
    notifications.slack.on_request = lambda count: None
    notifications.use(good)
    assert notifications.send(alarm("a")) == []


PERMANENT = [
    Answer(404, "no_service"),
    Answer(403, "action_prohibited"),
    Answer(410, "channel_is_archived"),
    Answer(400, "invalid_blocks"),
    Answer(302),
]


@pytest.mark.parametrize("answer", PERMANENT, ids=["404", "403", "410", "400", "302"])
def test_a_permanent_error_is_tried_once_and_dead_lettered(
    answer: Answer, notifications: Notifications, alarm: Alarm
) -> None:
    notifications.use(notifications.slack.webhook)
    notifications.slack.answers = [answer]
    body = alarm("a")
    assert notifications.send(body) == []
    assert len(notifications.slack.calls) == 1
    assert notifications.slack.messages == []
    assert notifications.aws.dead_letters() == [(body, answer.body or "http_302")]


def test_an_archived_channel_dead_letters_only_its_own_alerts(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.use(
        notifications.slack.api_secret(),
        channels={"critical": "gone-oncall", "warning": "ops", "info": "ops"},
    )
    lost = alarm("a", severity="critical")
    assert notifications.send(alarm("b"), lost) == []
    assert [m.channel for m in notifications.slack.messages] == ["C-ops"]
    assert notifications.aws.dead_letters() == [(lost, "is_archived")]


def test_a_redriven_message_is_shown(notifications: Notifications, alarm: Alarm) -> None:
    notifications.use(notifications.slack.webhook)
    notifications.slack.answers = [Answer(404, "no_service")]
    notifications.send(alarm("a"))
    ((body, _),) = notifications.aws.dead_letters()
    assert notifications.send(body) == []
    assert len(notifications.slack.messages) == 1


def test_what_the_dead_letter_queue_does_not_take_goes_back(
    notifications: Notifications, alarm: Alarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assets.functions.slack_notifier.aws.time.sleep", lambda seconds: None)

    def refuse(operation: str) -> None:
        if operation == "SendMessage":
            raise RuntimeError

    notifications.aws.before = refuse
    notifications.use(notifications.slack.webhook)
    notifications.slack.answers = [Answer(404, "no_service")]
    body = alarm("a")
    assert notifications.send(body) == [body]


def test_a_new_token_is_read_when_slack_refuses_the_old_one(
    notifications: Notifications, alarm: Alarm
) -> None:
    good = notifications.slack.api_secret()
    notifications.use(good.replace(TOKEN, "xoxb-old"))
    notifications.slack.on_request = lambda count: notifications.aws.set_secret(good)
    assert notifications.send(alarm("a")) == []
    assert len(notifications.slack.messages) == 1


def test_a_refused_token_that_did_not_change_dead_letters(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.use(notifications.slack.api_secret().replace(TOKEN, "xoxb-old"))
    notifications.send(alarm("a"))
    assert [error for _, error in notifications.aws.dead_letters()] == ["invalid_auth"]


def test_alerts_are_delivered_while_the_table_does_not_answer(
    notifications: Notifications, alarm: Alarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assets.functions.slack_notifier.aws.time.sleep", lambda seconds: None)

    def refuse(operation: str) -> None:
        if operation.startswith("Batch"):
            raise RuntimeError

    notifications.aws.before = refuse
    assert notifications.send(alarm("a")) == []
    assert notifications.send(alarm("a")) == []
    assert notifications.send(alarm("a", "OK", 5)) == []
    first, _ = notifications.slack.messages
    assert first.text == "✅ RESOLVED Something about a"


def test_a_later_change_waits_for_an_earlier_one_that_was_given_back(
    notifications: Notifications, alarm: Alarm
) -> None:
    raised, over = alarm("a", "ALARM", 0), alarm("a", "OK", 5)
    notifications.slack.answers = [Answer(500)] * 4
    assert notifications.send(raised, alarm("b")) == [raised, alarm("b")]
    assert notifications.send(over) == [over]
    assert notifications.send(raised) == []
    assert notifications.send(over) == []
    assert [m.text[:1] for m in notifications.slack.messages[:1]] == ["✅"]


def test_a_third_change_waits_for_the_second_that_waits_for_the_first(
    notifications: Notifications, alarm: Alarm
) -> None:
    first, second, third = (alarm("a", s, m) for m, s in enumerate(["ALARM", "OK", "ALARM"]))
    notifications.slack.answers = [Answer(500)] * 4
    assert notifications.send(first) == [first]
    assert notifications.send(second) == [second]
    assert notifications.send(first) == []
    assert notifications.send(third) == [third]
    assert notifications.send(second) == []
    assert notifications.send(third) == []
    assert "(late)" not in notifications.slack.text()


def test_the_wait_for_an_earlier_change_ends(notifications: Notifications, alarm: Alarm) -> None:
    notifications.slack.answers = [Answer(500)] * 4
    notifications.send(alarm("a", "ALARM", 0))
    notifications.clock.now += 901
    assert notifications.send(alarm("a", "OK", 5)) == []
    notifications.send(alarm("a", "ALARM", 0))
    first, late = notifications.slack.messages
    assert first.text == "✅ RESOLVED Something about a"
    assert "WARNING (late) Something about a" in late.text


def test_what_became_worse_is_told_where_that_is_told(notifications: Notifications) -> None:
    for status in ("UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_FAILED"):
        assert notifications.send(stack_event(status)) == []
    first, second = notifications.slack.messages
    assert (first.channel, second.channel) == ("C-ops", "C-oncall")
    assert second.thread_ts == ""
    assert "<!subteam^S0ONCALL>" in json.dumps(second.payload)
    assert first.text == second.text


def test_the_end_is_told_where_it_was_worst(notifications: Notifications) -> None:
    notifications.use(
        json.dumps(
            {"webhooks": {"oncall": notifications.slack.webhook, "ops": "https://x.invalid"}}
        )
    )
    notifications.send(stack_event("UPDATE_FAILED"))
    notifications.clock.now += 7200
    assert notifications.send(stack_event("UPDATE_COMPLETE", second=9)) == []
    assert "✅ RESOLVED Stack kait" in notifications.slack.messages[-1].text


def test_events_of_one_resource_in_one_batch_are_all_told_and_the_worst_decides(
    notifications: Notifications,
) -> None:
    failed = stack_event("UPDATE_FAILED", 1, "The disk is full")
    assert notifications.send(failed, stack_event("UPDATE_ROLLBACK_IN_PROGRESS", 2)) == []
    (message,) = notifications.slack.messages
    assert message.channel == "C-oncall"
    assert "<!subteam^S0ONCALL>" in notifications.slack.text()
    assert "Stack kait: UPDATE_FAILED The disk is full" in notifications.slack.text()


def stack_event(status: str, second: int = 0, reason: str = "") -> str:
    """Return the SNS notification of one change of a stack."""
    detail = {"stack-id": "arn:aws:cloudformation:us-east-2:1:stack/kait/1"}
    event = {
        "source": "aws.cloudformation",
        "detail-type": "CloudFormation Stack Status Change",
        "time": f"2026-11-29T02:00:{second:02}Z",
        "detail": detail | {"status-details": {"status": status, "status-reason": reason}},
    }
    body = {"Type": "Notification", "MessageId": status, "Message": json.dumps(event)}
    return json.dumps(body)


def test_a_story_whose_channel_is_gone_goes_on_in_the_new_one(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.send(alarm("a"))
    gone = [Answer(200, json.dumps({"ok": False, "error": "is_archived"}))]
    notifications.use(
        notifications.slack.api_secret(),
        channels={"critical": "oncall", "warning": "new", "info": "new"},
    )
    notifications.slack.answers = gone
    assert notifications.send(alarm("a", "OK", 5)) == []
    assert notifications.slack.messages[-1].channel == "C-new"
    assert notifications.aws.dead_letters() == []


def test_one_webhook_for_all_channels_has_one_rate(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.use(notifications.slack.webhook)
    notifications.send(alarm("a"), alarm("b", severity="critical"))
    (first, _, _), (second, _, _) = notifications.slack.calls
    assert second - first == 1.0


def test_a_webhook_that_was_added_to_the_secret_is_found(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.use(json.dumps({"webhooks": {"oncall": notifications.slack.webhook}}))
    notifications.send(alarm("a", severity="critical"))
    notifications.aws.set_secret(json.dumps({"webhooks": {"*": notifications.slack.webhook}}))
    assert notifications.send(alarm("b")) == []
    assert notifications.aws.dead_letters() == []


def test_an_address_that_is_none_is_tried_once(notifications: Notifications, alarm: Alarm) -> None:
    notifications.use("https://hooks.slack.com/a planted space")
    assert notifications.send(alarm("a")) == []
    assert [error for _, error in notifications.aws.dead_letters()] == ["malformed_address"]


def test_a_change_waits_for_an_earlier_one_that_no_secret_could_be_read_for(
    notifications: Notifications, alarm: Alarm
) -> None:
    good = notifications.slack.api_secret()
    raised, over = alarm("a", "ALARM", 0), alarm("a", "OK", 5)
    notifications.use("nonsense")
    with pytest.raises(SecretError):
        notifications.send(raised)
    notifications.use(good)
    assert notifications.send(over) == [over]
    assert notifications.send(raised) == []
    assert notifications.send(over) == []
    assert "(late)" not in notifications.slack.text()


def test_a_table_that_hangs_costs_its_time_once(
    notifications: Notifications, alarm: Alarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = aws_module._attempt

    def hang(service: str, *rest: Any) -> Any:
        if service != "dynamodb":
            return real(service, *rest)
        notifications.clock.now += 5
        return "no answer (TimeoutError)", None

    monkeypatch.setattr(aws_module, "_attempt", hang)
    monkeypatch.setattr("assets.functions.slack_notifier.aws.time.sleep", lambda seconds: None)
    start = notifications.clock.now
    bodies = [alarm(f"a{n}") for n in range(4)]
    assert notifications.send(*bodies) == []
    assert len(notifications.slack.messages) == 4
    assert notifications.clock.now - start < 55


def test_a_storm_of_talkative_alarms_breaks_no_limit_of_a_message(
    notifications: Notifications,
) -> None:
    note = "\n".join(
        [
            "Lustre " * 20,
            "Severity: warning",
            f"Runbook: https://example.edu/{'r' * 300}",
            f"Dashboard: https://example.edu/{'d' * 300}",
        ]
    )
    values = [
        {"AlarmName": f"a{n}", "NewStateValue": "ALARM", "AlarmDescription": note}
        | {"NewStateReason": "because " * 100}
        for n in range(20)
    ]
    assert notifications.send(*map(json.dumps, values)) == []
    assert notifications.aws.dead_letters() == []
    assert len(notifications.slack.messages) == 2


def test_quiet_hours_send_all_but_critical_to_the_quiet_channel(
    notifications: Notifications, alarm: Alarm
) -> None:
    night = {"start": "22:00", "end": "06:00", "timezone": "Asia/Seoul", "channel": "night"}
    notifications.use(notifications.slack.api_secret(), quiet_hours=night)
    notifications.clock.now = 1_795_888_800.0  # 2026-11-28T18:00:00Z, 03:00 in Seoul
    notifications.send(alarm("a"), alarm("b", severity="critical"))
    assert [m.channel for m in notifications.slack.messages] == ["C-oncall", "C-night"]
    notifications.clock.now += 12 * 3600
    notifications.send(alarm("c"))
    assert notifications.slack.messages[-1].channel == "C-ops"


def test_no_secret_appears_in_logs_errors_or_dead_letters(
    notifications: Notifications,
    alarm: Alarm,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("assets.functions.slack_notifier.slack._TIMEOUT_SECONDS", 0.05)
    failures = [*BUSY, *PERMANENT, Answer(429, "rate_limited", 300), Answer(200, "invalid")]
    secrets = [notifications.slack.api_secret(), notifications.slack.webhook]
    secrets += [f"http://127.0.0.1:1{WEBHOOK_PATH}", f"https://[{WEBHOOK_PATH}"]
    for secret in secrets:
        notifications.use(secret)
        for number, answer in enumerate(failures):
            notifications.slack.answers = [answer] * 4
            notifications.send(alarm(f"{secret[-5:]}{number}"))
    notifications.use(f"nonsense {TOKEN}")
    with pytest.raises(Exception, match="neither a bot token") as refused:
        notifications.send(alarm("z"))
    said = capsys.readouterr()
    everything = f"{said.out}{said.err}{refused.value!r}{notifications.aws.dead_letters()}"
    assert len(said.out) > 1000
    for planted in (TOKEN, "planted-webhook-8e2b7a", "planted-token"):
        assert planted not in everything


def test_a_payload_that_slack_refuses_does_not_stop_the_others(
    notifications: Notifications, alarm: Alarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(story: Story, mention: str = "") -> Payload:
        if story.alert.title.endswith("bad"):
            raise KeyError("a bug")
        return message(story, mention)

    monkeypatch.setattr("assets.functions.slack_notifier.delivery.message", broken)
    assert notifications.send(alarm("bad"), alarm("good")) == []
    assert len(notifications.slack.messages) == 1
    assert [error for _, error in notifications.aws.dead_letters()] == ["KeyError"]


def test_the_routes_of_an_institution_come_first(notifications: Notifications) -> None:
    notifications.use(
        notifications.slack.api_secret(), institutions={"kait": {"warning": "kait-ops"}}
    )
    message = {
        "AlarmName": "a",
        "NewStateValue": "ALARM",
        "AlarmDescription": "x\nSeverity: warning\nInstitution: kait",
    }
    notifications.send(json.dumps(message))
    assert notifications.slack.messages[0].channel == "C-kait-ops"


def test_an_event_goes_to_the_channels_of_the_institution_that_the_notifier_is_of(
    notifications: Notifications, alarm: Alarm
) -> None:
    notifications.use(
        notifications.slack.api_secret(),
        institutions={"kait": {"critical": "kait-oncall", "warning": "kait-ops"}},
        institution="kait",
    )
    notifications.send(stack_event("UPDATE_FAILED"), alarm("a"))
    assert [m.channel for m in notifications.slack.messages] == ["C-kait-oncall", "C-kait-ops"]


def test_the_command_for_a_drill_brings_one_of_each_kind_to_slack(
    notifications: Notifications, capsys: pytest.CaptureFixture[str]
) -> None:
    aws = notifications.aws
    topic = aws.sns.create_topic(Name="kait-Alerts")["TopicArn"]
    queue = aws.sqs.get_queue_attributes(QueueUrl=aws.queue_url, AttributeNames=["QueueArn"])
    aws.sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue["Attributes"]["QueueArn"])
    with pytest.MonkeyPatch.context() as patch:
        # The command's client is moto's; the handler's calls go to the server before moto.
        patch.delenv("AWS_ENDPOINT_URL")
        assert main(["alert-test", str(ROOT / "institutions" / "kait.yaml"), *TO, topic]) == 0
    assert "23 messages sent to " in capsys.readouterr().out
    notifications.run_queue(aws)
    assert notifications.aws.dead_letters() == []
    shown = notifications.slack.text()
    for what in DRILLED:
        assert what in shown


TO = ("--topic-arn",)
DRILLED = (
    "RESOLVED kait: DRILL: a critical alarm",
    "DRILL: a warning alarm",
    "NO DATA kait: DRILL: an alarm for information",
    "DRILL: a composite alarm",
    "DRILL: an alarm on metric math",
    "DRILL: an alarm on an anomaly",
    "EC2 instance DRILL-i-0123456789abcdef0 is stopped",
    "Capacity Block DRILL-cr-0123456789abcdef0 ends at",
    "Instance DRILL-i-0123456789abcdef1 will be ended",
    "Instance DRILL-i-0123456789abcdef2 will be ended",
    "EC2: drill of an instance retirement",
    "FSX: drill of maintenance",
    "Auto Scaling group DRILL-kait could not launch",
    "Stack DRILL-kait: UPDATE_FAILED",
    "Cluster DRILL-kait: node-launch-failure-count",
    "Capacity Block DRILL-cr-0123456789abcdef0 ends in 24 hours",
    "DRILL: an event of an unknown kind",
    "DRILL: a budget",
    "DRILL: a plain text",
    "DRILL: JSON of an unknown kind",
    "DRILL: JSON that is no object",
)
