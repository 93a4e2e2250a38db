"""Every kind of message that AWS sends becomes a Slack message within Slack's limits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.functions.slack_notifier.alerts import Alert, read
from assets.functions.slack_notifier.blocks import (
    ALERTS_A_DIGEST,
    Story,
    digest,
    duration,
    escape,
    message,
    reply,
)

EVENTS = Path(__file__).parents[2] / "events" / "slack_notifier"
NAMES = sorted(path.stem for path in EVENTS.glob("*.json"))
MENTION = "<!subteam^S0ONCALL>"
CONTROL = re.compile(r"<(?!!date\^|!subteam\^S0ONCALL>|https://)|&(?!amp;|lt;|gt;)")
LINK = re.compile(r"<[^<>]*>")


def body(name: str) -> str:
    """Return the body of the queue message for one event file."""
    event = json.loads((EVENTS / f"{name}.json").read_text())
    text = event["Message"]
    return json.dumps(
        {
            "Type": "Notification",
            "MessageId": f"sns-{name}",
            "TopicArn": "arn:aws:sns:us-east-2:123456789012:kait-Alerts",
            "Message": text if isinstance(text, str) else json.dumps(text),
            "Timestamp": "2026-11-29T02:07:31.600Z",
        }
        | ({"Subject": event["Subject"]} if "Subject" in event else {})
    )


def alert(**changed: Any) -> Alert:
    given: dict[str, Any] = {
        "key": "k",
        "message_id": "m",
        "kind": "metric alarm",
        "title": "t",
        "state": "alarm",
        "severity": "warning",
        "time": "2026-11-29T02:07:31.000Z",
    }
    return Alert(**{**given, **changed})


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def texts(value: object) -> Iterator[tuple[str, str]]:
    """Yield type and text of every text object of a payload."""
    if isinstance(value, dict):
        if value.get("type") in ("mrkdwn", "plain_text"):
            yield value["type"], value["text"]
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)


def check_limits(payload: dict[str, Any]) -> None:
    """Hold a payload against the limits of docs.slack.dev, read 2026-11-29."""
    blocks = payload["blocks"]
    assert 1 <= len(blocks) <= 50
    assert 0 < units(payload["text"]) <= 40_000
    for block in blocks:
        match block["type"]:
            case "header":
                assert block["text"]["type"] == "plain_text"
                assert 0 < units(block["text"]["text"]) <= 150
            case "section" if "fields" in block:
                assert 1 <= len(block["fields"]) <= 10
                assert all(0 < units(field["text"]) <= 2000 for field in block["fields"])
            case "section":
                assert 0 < units(block["text"]["text"]) <= 3000
            case kind:
                assert kind == "context"
                assert 1 <= len(block["elements"]) <= 10
    assert sum(units(text) for _, text in texts(blocks)) <= 9000
    mrkdwn = [text for kind, text in texts(blocks) if kind == "mrkdwn"]
    for text in [*mrkdwn, payload["text"]]:
        assert not CONTROL.search(text), text
        assert text.encode()


@pytest.mark.parametrize("name", NAMES)
def test_each_event_gives_its_golden_message(
    name: str, golden: Callable[[str, object], None]
) -> None:
    shown = read(body(name), "queue-id")
    mention = MENTION if shown.severity == "critical" else ""
    payload = message(Story(shown), mention)
    check_limits(payload)
    text = json.dumps(payload, indent=1, ensure_ascii=False)
    golden(f"slack_notifier/{name}.json", text)


@pytest.mark.parametrize("name", NAMES)
def test_each_event_is_understood_and_not_merely_shown(name: str) -> None:
    shown = read(body(name), "queue-id")
    assert "could not be read" not in shown.kind
    assert shown.message_id == f"sns-{name}"
    assert shown.time.startswith("2026-11-29T")


@pytest.mark.parametrize(
    ("name", "kind", "state", "severity"),
    [
        ("alarm_metric", "metric alarm", "alarm", "critical"),
        ("alarm_ok", "metric alarm", "ok", "critical"),
        ("alarm_no_data", "metric alarm", "no data", "warning"),
        ("alarm_composite", "composite alarm", "alarm", "critical"),
        ("alarm_metric_math", "metric math alarm", "alarm", "warning"),
        ("alarm_anomaly", "anomaly alarm", "alarm", "warning"),
        ("event_alarm_state_change", "metric alarm", "alarm", "warning"),
        ("event_health_fsx", "AWS Health Event", "ok", "info"),
        ("event_instance_retirement", "AWS Health Event", "event", "critical"),
        ("event_stack_failure", "CloudFormation Stack Status Change", "event", "critical"),
        ("budgets", "AWS Budgets", "event", "warning"),
        ("json_not_an_object", "text message", "event", "info"),
    ],
)
def test_kind_state_and_severity_are_read(name: str, kind: str, state: str, severity: str) -> None:
    shown = read(body(name), "queue-id")
    assert (shown.kind, shown.state, shown.severity) == (kind, state, severity)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alarm_metric", "alarm_ok"),
        ("event_capacity_block_ending", "event_capacity_block_ending_short"),
        ("event_capacity_block_interruption", "event_capacity_block_interruption_other"),
    ],
)
def test_two_messages_about_one_thing_are_one_story(one: str, other: str) -> None:
    assert read(body(one), "a").key == read(body(other), "b").key


def test_both_spellings_of_a_capacity_block_event_look_alike() -> None:
    first = message(Story(read(body("event_capacity_block_ending"), "a")))
    second = message(Story(read(body("event_capacity_block_ending_short"), "b")))
    assert first["blocks"][:-1] == second["blocks"][:-1]


def test_an_alarm_without_a_single_optional_key_is_shown() -> None:
    shown = read('{"AlarmName": "a", "NewStateValue": "ALARM"}', "queue-id")
    assert (shown.title, shown.state, shown.key) == ("a", "alarm", "a")
    check_limits(message(Story(shown)))


def test_an_unforeseen_shape_is_shown_as_it_came_and_says_why() -> None:
    text = '{"source": "aws.cloudwatch", "detail-type": "x", "detail": 5}'
    shown = read(text, "queue-id")
    assert shown.kind == "message that could not be read (TypeError)"
    assert shown.what == text


def test_a_key_longer_than_a_table_takes_is_replaced() -> None:
    text = json.dumps({"AlarmName": "ä" * 2000, "NewStateValue": "OK"})
    assert read(text, "queue-id").key == "message:queue-id"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda children: st.lists(children) | st.dictionaries(st.text(max_size=20), children),
    max_leaves=12,
)
KEYS = ["AlarmName", "NewStateValue", "Trigger", "AlarmArn", "source", "detail-type", "detail"]
SHAPES = st.dictionaries(st.sampled_from([*KEYS, "event-type", "cluster-name", "time"]), JSON)


@settings(deadline=None)
@given(st.text() | JSON.map(json.dumps) | SHAPES.map(json.dumps))
def test_whatever_arrives_becomes_a_message_that_slack_takes(text: str) -> None:
    for arrived in (text, json.dumps({"Type": "Notification", "Message": text})):
        shown = read(arrived, "queue-id")
        check_limits(message(Story(shown), MENTION))
        assert units(reply(Story(shown))["text"]) <= 3000


@settings(deadline=None)
@given(st.text(), st.integers(10, 200))
def test_escaping_stays_within_the_limit_and_escapes_three_characters(
    text: str, limit: int
) -> None:
    shown = escape(text, limit)
    assert units(shown) <= limit
    assert not CONTROL.search(shown)
    if "(cut)" not in shown:
        plain = shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        assert len(plain) == len(text)


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("a & b < c > d \"'", 100, "a &amp; b &lt; c &gt; d \"'"),
        ("&amp;", 100, "&amp;amp;"),
        ("<!channel>", 100, "&lt;!channel&gt;"),
        ("x" * 12, 12, "x" * 12),
        ("x" * 13, 12, "xxxx … (cut)"),
        ("xx&&&&&&&", 14, "xx … (cut)"),
        ("e\u0301" * 20, 14, "e\u0301" * 3 + " … (cut)"),
        ("👩‍🚀" * 9, 14, "👩‍🚀 … (cut)"),
        ("🇰🇷" * 9, 14, "🇰🇷 … (cut)"),
        ("\u1112\u1161\u11ab" * 9, 13, "\u1112\u1161\u11ab … (cut)"),
        ("1\ufe0f\u20e3" * 9, 13, "1\ufe0f\u20e3 … (cut)"),
        ("🏴\U000e0067\U000e0062\U000e007f" * 9, 20, "🏴\U000e0067\U000e0062\U000e007f … (cut)"),
    ],
    ids=[
        "three",
        "entity",
        "ping",
        "fits",
        "cut",
        "whole-entity",
        "accent",
        "emoji",
        "flag",
        "hangul",
        "keycap",
        "subdivision",
    ],
)
def test_text_is_cut_between_characters_and_entities_and_says_so(
    text: str, limit: int, shown: str
) -> None:
    assert escape(text, limit) == shown


def test_a_text_of_marks_alone_loses_none() -> None:
    assert escape("x" + "\u0301" * 90, 200) == "x" + "\u0301" * 90


def test_lines_that_end_as_on_windows_are_lines() -> None:
    shown = read("Licence server\r\nis down\r\n", "q")
    assert (shown.title, shown.what) == ("Licence server", "Licence server\nis down\n")


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "x"])
def test_a_time_that_no_clock_shows_is_none(time: str) -> None:
    body = {"Type": "Notification", "MessageId": "m", "Message": "hello", "Timestamp": time}
    assert read(json.dumps(body), "q").time == ""


def test_an_event_with_many_long_fields_is_one_message_that_slack_takes() -> None:
    detail = {f"field-{n}": "&" * 1500 for n in range(30)} | {"message": "<" * 9000}
    event = {"source": "x", "detail-type": "Long", "detail": detail, "resources": ["r" * 3000] * 9}
    payload = message(Story(read(json.dumps(event), "q")), MENTION)
    check_limits(payload)
    assert "… and 19 more fields" in json.dumps(payload, ensure_ascii=False)
    assert payload["blocks"][1]["text"]["text"].endswith("(cut)")


def test_the_first_state_of_a_new_alarm_is_no_news_of_an_end() -> None:
    value = {"AlarmName": "a", "NewStateValue": "OK", "OldStateValue": "INSUFFICIENT_DATA"}
    shown = read(json.dumps(value), "q")
    assert message(Story(shown))["text"] == "✅ OK a"
    raised_before = Story(shown, since="2026-11-29T02:07:31.000Z")
    assert message(raised_before)["text"] == "✅ RESOLVED a"


def test_a_chart_shows_the_values_oldest_first_with_the_threshold() -> None:
    assert read(body("alarm_metric"), "q").chart == "█▅▁ 22.9 T to 21 T (alarm when < 23.04 T)"


def test_the_datapoints_are_sorted_across_months() -> None:
    reason = "Threshold Crossed: [5.0 (01/12/26 00:00:00), 1.0 (30/11/26 23:55:00)] was greater"
    value = {"AlarmName": "a", "NewStateValue": "ALARM", "NewStateReason": reason}
    assert read(json.dumps(value), "q").chart == "▁█ 1 to 5"


@pytest.mark.parametrize(
    ("arn", "page"),
    [
        (
            "arn:aws-cn:cloudwatch:cn-north-1:1:alarm:a/b",
            "https://cn-north-1.console.amazonaws.cn/",
        ),
        (
            "arn:aws-us-gov:cloudwatch:us-gov-west-1:1:alarm:a/b",
            "https://us-gov-west-1.console.amazonaws-us-gov.com/",
        ),
    ],
)
def test_links_go_to_the_console_of_the_partition(arn: str, page: str) -> None:
    value = {"AlarmName": "a/b", "NewStateValue": "OK", "AlarmArn": arn}
    ((label, url),) = read(json.dumps(value), "q").links
    assert label == "Alarm"
    assert url.startswith(page)
    assert url.endswith("#alarmsV2:alarm/a%2Fb")


def test_a_link_that_is_not_https_or_too_long_is_left_out_whole() -> None:
    links = (("Runbook", "javascript:alert(1)"), ("Long", "https://x/" + "y" * 4000))
    payload = message(Story(alert(links=links)))
    check_limits(payload)
    assert payload["blocks"][-2]["text"]["text"] == "no link"


def test_a_resolved_alarm_says_for_how_long_it_was_raised() -> None:
    story = Story(
        alert(state="ok", time="2026-11-29T02:37:31.000Z"), since="2026-11-29T02:07:31.000Z"
    )
    assert "|2026-11-29 02:37:31 UTC> after 30 min, since <!date^" in reply(story)["text"]
    assert message(story)["text"] == "✅ RESOLVED t"


def test_a_repeated_alarm_says_how_often_and_what_changed() -> None:
    changes = (("2026-11-29T02:07:31.000Z", "alarm"), ("2026-11-29T02:08:31.000Z", "ok"))
    text = reply(Story(alert(state="ok"), count=3, changes=changes))["text"]
    assert "raised 3 times" in text
    assert text.count("<!date^") == 3


def test_a_digest_of_the_worst_alerts_stays_within_the_limits_and_shows_the_worst_first() -> None:
    changes = ((f"2026-11-29T02:07:{second:02}.000Z", "no data") for second in range(20))
    worst = alert(
        title="&" * 5000,
        what="<" * 5000,
        severity="critical",
        chart="▁" * 999,
        links=tuple((str(n), f"https://x/{'%' * 1400}") for n in range(2)),
    )
    stories = [
        Story(alert()),
        *[Story(worst, worst.time, 99, tuple(changes))] * (ALERTS_A_DIGEST - 1),
    ]
    payload = digest(stories, MENTION)
    check_limits(payload)
    assert payload["text"] == "12 alerts: 🔴 11 critical, 🟠 1 warning"
    assert "WARNING" in payload["blocks"][-1]["text"]["text"]


def test_a_digest_of_too_many_is_refused() -> None:
    with pytest.raises(ValueError, match="13 alerts in one message; at most 12"):
        digest([Story(alert())] * 13)


@pytest.mark.parametrize(
    ("end", "words"),
    [("00:01:59", "119 s"), ("00:59:00", "59 min"), ("05:30:00", "5 h 30 min")],
)
def test_a_duration_is_said_in_the_largest_fitting_unit(end: str, words: str) -> None:
    assert duration("2026-11-29T00:00:00Z", f"2026-11-29T{end}Z") == words
