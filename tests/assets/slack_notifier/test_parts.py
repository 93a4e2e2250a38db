"""The notifier's parts: routes, the secret, the signature, the table, the weight of its imports."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as AwsCredentials
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.functions.slack_notifier import aws, memory, routes
from assets.functions.slack_notifier.credentials import credentials
from assets.functions.slack_notifier.errors import SecretError

ROOT = Path(__file__).parents[3]
CHANNELS = {"critical": "C1", "warning": "C2", "info": "C3"}
NIGHT = {"start": "22:00", "end": "06:00", "timezone": "UTC", "channel": "C9"}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ([], "routes is not an object"),
        ({}, "routes lacks channels"),
        ({"channels": {"critical": "C1"}}, "channels lacks info, warning"),
        ({"channels": CHANNELS | {"loud": "C4"}}, "channels has unknown keys: loud"),
        ({"channels": CHANNELS | {"info": 3}}, "channels.info is not a text"),
        ({"channels": CHANNELS, "mentions": ""}, "routes has unknown keys: mentions"),
        ({"channels": CHANNELS, "group_above": 0}, "group_above is 0; use a whole number from 1"),
        (
            {"channels": CHANNELS, "institutions": {"kait": {"urgent": "C"}}},
            "institutions.kait has unknown keys: urgent",
        ),
        ({"channels": CHANNELS, "quiet_hours": {}}, "quiet_hours lacks channel, end, start, time"),
        ({"channels": CHANNELS, "quiet_hours": NIGHT | {"start": "25:00"}}, "hour must be in"),
    ],
)
def test_routes_that_are_not_understood_are_refused(value: object, fault: str) -> None:
    with pytest.raises(ValueError, match=fault.replace(".", r"\.")):
        routes.parse(json.dumps(value))


@pytest.mark.parametrize(
    ("start", "end", "clock", "covered"),
    [
        ("22:00", "06:00", "21:59", False),
        ("22:00", "06:00", "22:00", True),
        ("22:00", "06:00", "05:59", True),
        ("22:00", "06:00", "06:00", False),
        ("12:00", "13:00", "12:30", True),
        ("12:00", "13:00", "13:00", False),
    ],
)
def test_quiet_hours_may_span_midnight(start: str, end: str, clock: str, covered: bool) -> None:
    night = NIGHT | {"start": start, "end": end}
    parsed = routes.parse(json.dumps({"channels": CHANNELS, "quiet_hours": night}))
    hour, minute = clock.split(":")
    moment = 1_795_910_400.0 + int(hour) * 3600 + int(minute) * 60
    assert (parsed.channel("warning", "", moment) == "C9") is covered
    assert parsed.channel("critical", "", moment) == "C1"


@pytest.mark.parametrize(
    ("clock", "covered"),
    [
        ("2026-03-29T00:30:00Z", True),
        ("2026-03-29T01:00:00Z", False),
        ("2026-10-25T00:30:00Z", True),
        ("2026-10-25T01:30:00Z", True),
        ("2026-10-25T02:00:00Z", False),
    ],
    ids=["before-spring", "spring", "first-autumn-hour", "second-autumn-hour", "after"],
)
def test_quiet_hours_follow_the_clock_on_the_wall_in_spring_and_autumn(
    clock: str, covered: bool
) -> None:
    night = NIGHT | {"start": "22:00", "end": "03:00", "timezone": "Europe/Berlin"}
    parsed = routes.parse(json.dumps({"channels": CHANNELS, "quiet_hours": night}))
    moment = datetime.fromisoformat(clock).timestamp()
    assert (parsed.channel("info", "", moment) == "C9") is covered


def test_a_runtime_without_time_zones_has_no_quiet_hours() -> None:
    night = NIGHT | {"timezone": "Moon/Base"}
    parsed = routes.parse(json.dumps({"channels": CHANNELS, "quiet_hours": night}))
    assert parsed.channel("info", "", 1_795_910_400.0) == "C3"


@pytest.mark.parametrize(
    ("text", "token", "webhook"),
    [
        ("xoxb-1\n", "xoxb-1", None),
        ("https://hooks.example/x", "", "https://hooks.example/x"),
        ('{"bot_token": "xoxb-2"}', "xoxb-2", None),
        ('{"webhooks": {"ops": "https://a", "*": "https://b"}}', "", "https://a"),
        ('{"webhooks": {"*": "https://b"}}', "", "https://b"),
    ],
)
def test_each_form_of_the_secret_is_read(text: str, token: str, webhook: str | None) -> None:
    read = credentials(text)
    assert read.bot_token == token
    if webhook:
        assert read.webhook("ops") == webhook


@pytest.mark.parametrize(
    "text",
    [
        "planted",
        "xoxp-planted",
        '["planted"]',
        "{}",
        '{"bot_token": 1}',
        '{"token": "planted"}',
        "http://hooks.slack.com/planted",
        '{"webhooks": {"ops": "http://hooks.slack.com/planted"}}',
        '{"webhooks": {"ops": 1}}',
        '{"bot_token": "planted", "api": "http://slack.com/api/"}',
    ],
)
def test_a_secret_of_another_form_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(SecretError) as refused:
        credentials(text)
    assert "planted" not in f"{refused.value!r}{refused.value.__context__!r}"


def test_credentials_do_not_show_themselves() -> None:
    assert repr(credentials("xoxb-planted")) == "Credentials(...)"


@settings(deadline=None)
@given(
    body=st.binary(max_size=200),
    token=st.sampled_from(["", "session-token/+=="]),
    service=st.sampled_from(["dynamodb", "sqs", "secretsmanager"]),
    when=st.integers(0, 4_000_000_000),
)
def test_the_signature_is_botocores(body: bytes, token: str, service: str, when: int) -> None:
    moment = time.gmtime(when)
    url = f"https://{service}.eu-central-1.amazonaws.com/"
    headers = {"content-type": "application/x-amz-json-1.1", "x-amz-target": "x.Y"}
    environment = {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret+/key",
        "AWS_REGION": "eu-central-1",
        "AWS_SESSION_TOKEN": token,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        ours = aws.signature(service, url, headers, body, moment)
    request = AWSRequest("POST", url, headers=headers, data=body)
    request.context["timestamp"] = time.strftime("%Y%m%dT%H%M%SZ", moment)
    theirs = SigV4Auth(
        AwsCredentials("AKIDEXAMPLE", "secret+/key", token or None), service, "eu-central-1"
    )
    if token:
        request.headers["X-Amz-Security-Token"] = token
    request.headers["X-Amz-Date"] = request.context["timestamp"]
    canonical = theirs.canonical_request(request)
    signed = theirs.signature(theirs.string_to_sign(request, canonical), request)
    assert ours["authorization"].rpartition("Signature=")[2] == signed


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("us-east-2", "https://sqs.us-east-2.amazonaws.com/"),
        ("cn-north-1", "https://sqs.cn-north-1.amazonaws.com.cn/"),
        ("us-gov-west-1", "https://sqs.us-gov-west-1.amazonaws.com/"),
    ],
)
def test_the_endpoint_is_that_of_the_region(
    region: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_REGION", region)
    assert aws.endpoint("sqs") == host


@pytest.mark.parametrize(
    ("faults", "tries"),
    [(["500", "no answer (TimeoutError)", ""], 3), (["400 ThrottlingException", ""], 2)],
)
def test_an_outage_and_throttling_are_tried_again(
    faults: list[str], tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def attempt(service: str, *_: object) -> tuple[str, dict[str, Any] | None]:
        made.append(service)
        fault = faults[len(made) - 1]
        return fault, None if fault else {}

    monkeypatch.setattr(aws, "_attempt", attempt)
    monkeypatch.setattr("assets.functions.slack_notifier.aws.time.sleep", lambda seconds: None)
    assert aws.call("sqs", "SendMessage", {}) == {}
    assert len(made) == tries


def test_a_refused_call_is_not_tried_again_and_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws, "_attempt", lambda *_: ("400 AccessDeniedException", None))
    with pytest.raises(aws.AwsError, match=r"^sqs SendMessage: 400 AccessDeniedException$"):
        aws.call("sqs", "SendMessage", {"MessageBody": "planted"})


def test_what_dynamodb_leaves_unprocessed_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table: dict[str, Any] = {}

    def call(service: str, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        (request,) = body["RequestItems"].values()
        if operation == "BatchWriteItem":
            assert len(request) <= 25
            for put in request[:2]:
                table[put["PutRequest"]["Item"]["key"]["S"]] = put["PutRequest"]["Item"]
            return {"UnprocessedItems": {"t": request[2:]}} if request[2:] else {}
        assert len(request["Keys"]) <= 100
        now, later = request["Keys"][:3], request["Keys"][3:]
        found = [table[key["key"]["S"]] for key in now if key["key"]["S"] in table]
        left = {"UnprocessedKeys": {"t": {"Keys": later}}} if later else {}
        return {"Responses": {"t": found}, **left}

    monkeypatch.setattr(aws, "call", call)
    keep = memory.Table("t")
    records = [memory.Record(f"k{n}", state="alarm", seen=[str(n)]) for n in range(130)]
    keep.save(records, now=1_000_000.0)
    assert table["k0"]["expires"] == {"N": str(1_000_000 + 14 * 24 * 3600)}
    assert list(keep.load([*(r.key for r in records), "new"]).values()) == [
        *records,
        memory.Record("new"),
    ]


@pytest.mark.parametrize("use", ["load", "save"])
def test_a_table_that_never_gets_on_is_given_up(use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(service: str, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        (request,) = body["RequestItems"].items()
        table, wanted = request
        if operation == "BatchGetItem":
            return {"UnprocessedKeys": {table: wanted}}
        return {"UnprocessedItems": {table: wanted}}

    monkeypatch.setattr(aws, "call", call)
    keep = memory.Table("t")
    with pytest.raises(aws.AwsError, match="always leaves"):
        keep.load(["k"]) if use == "load" else keep.save([memory.Record("k")], now=0.0)


def test_a_record_of_another_version_is_read_as_far_as_it_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = json.dumps({"key": "k", "state": "alarm", "colour": "red"})
    answer = {"Responses": {"t": [{"record": {"S": text}}]}}
    monkeypatch.setattr(aws, "call", lambda *_: answer)
    assert memory.Table("t").load(["k"]) == {"k": memory.Record("k", state="alarm")}


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"state": "alarm"}', '{"key": "k", "seen": 1}'])
def test_a_record_that_cannot_be_read_holds_up_nothing(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = {"Responses": {"t": [{"record": {"S": text}}, {"key": {"S": "k"}}]}}
    monkeypatch.setattr(aws, "call", lambda *_: answer)
    assert memory.Table("t").load(["k"]) == {"k": memory.Record("k")}


def test_only_the_latest_message_ids_are_kept() -> None:
    record = memory.Record("k", waiting={"7": ["", "0"]})
    for number in range(80):
        record.see(str(number))
    assert record.seen == [str(number) for number in range(30, 80)]
    assert record.waiting == {}


def test_the_handler_imports_nothing_heavy() -> None:
    code = (
        "import sys; import assets.functions.slack_notifier.handler;"
        "print(*(set(sys.modules) & {'boto3', 'botocore', 'urllib3', 'requests', 'logging',"
        " 'asyncio', 'zoneinfo'}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == ""
