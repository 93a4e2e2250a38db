"""Wrong input of code and of a file's section is refused in words, and no secret is quoted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import pytest
import yaml
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Annotations, Match

from assets.functions.slack_notifier.routes import parse
from trainshed.alerts import AlertTopic, InstitutionBudget
from trainshed.alerts.topic import PUBLISHERS
from trainshed.config import AlertRoutes, ConfigError, SeverityChannels, load

if TYPE_CHECKING:
    from tests.synth.alerts.conftest import Alerts

Resources = Callable[[str], dict[str, dict[str, Any]]]
ROOT = Path(__file__).parents[3]
HOOK = "https://hooks.slack.com/services/T0/B0/planted-7f3e"
TOKEN = "xoxb-planted-7f3e"
STANDS = "a token or a webhook's address stands here"
PAGE = "is not the address of a page, such as https://hpc.example.edu/runbooks"
LONG = f"https://hpc.example.edu/{'d' * 300}"


@pytest.mark.parametrize("secret", [HOOK, TOKEN])
@pytest.mark.parametrize("name", ["runbook_url", "dashboard_url", "institution", "operators"])
def test_a_secret_in_any_argument_is_refused_without_being_quoted(
    name: str, secret: str, alerts: Alerts
) -> None:
    value: object = [secret] if name == "operators" else secret
    with pytest.raises(ValueError, match=f"^{name}.*: {STANDS}") as refused:
        alerts(**{name: value})
    assert "planted" not in str(refused.value)


def test_a_secret_made_of_a_template_with_a_text_is_refused(
    alerts: Alerts, stack: cdk.Stack
) -> None:
    generator = secretsmanager.SecretStringGenerator(
        secret_string_template=json.dumps({"bot_token": TOKEN}), generate_string_key="unused"
    )
    made = secretsmanager.Secret(stack, "Made", generate_secret_string=generator)
    with pytest.raises(ValueError, match=r"^secret is made with its text in the temp") as refused:
        alerts(secret=made)
    assert "planted" not in str(refused.value)


def test_a_secret_that_is_made_empty_is_taken(alerts: Alerts, stack: cdk.Stack) -> None:
    alerts(secret=secretsmanager.Secret(stack, "Made"))


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"secret": None}, "secret is None; pass secretsmanager.Secret.from_secret_name_v2(...)"),
        ({"runbook_url": "javascript:x"}, f"runbook_url: 'javascript:x' {PAGE}"),
        ({"dashboard_url": "https://x\ny"}, f"dashboard_url: 'https://x\\ny' {PAGE}"),
        (
            {"dashboard_url": LONG},
            f"dashboard_url: '{LONG}' {PAGE}; it has 324 characters and an alarm has room for 280: "
            "shorten it",
        ),
        (
            {"institution": "a\nSeverity: info"},
            "institution: 'a\\nSeverity: info' is not the name of an institution, one line of at "
            "most 60 characters",
        ),
        (
            {"institution": 5},
            "institution is a int; use the name of an institution, one line of at most 60 "
            "characters",
        ),
        (
            {"operators": ["hpc"]},
            "operators[0]: 'hpc' is not an e-mail address, such as hpc@example.edu",
        ),
        (
            {"operators": ["a@b.cc", "A@b.cc"]},
            "operators[1]: A@b.cc is listed twice; leave one out",
        ),
        (
            {"operators": "hpc@example.edu"},
            "operators is a text; use a list of addresses, even of one",
        ),
        (
            {"reserved_concurrency": 0},
            "reserved_concurrency is 0; use 1, which keeps the order of alerts, or None in an "
            "account without concurrency to reserve (0 would stop them all)",
        ),
        (
            {"reserved_concurrency": 2},
            "reserved_concurrency is 2; use 1, which keeps the order of alerts, or None in an "
            "account without concurrency to reserve (0 would stop them all)",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_would_keep_alerts_from_people_is_refused(
    changed: dict[str, Any], fault: str, alerts: Alerts
) -> None:
    with pytest.raises(ValueError) as refused:
        alerts(**changed)
    assert str(refused.value) == fault


@pytest.mark.parametrize(
    ("publishers", "given"), [([], "nothing"), ("events.amazonaws.com", "a text")]
)
def test_no_publisher_and_a_text_of_one_are_refused(
    publishers: Any, given: str, stack: cdk.Stack
) -> None:
    known = ", ".join(PUBLISHERS)
    with pytest.raises(ValueError) as refused:
        AlertTopic(stack, "Topic", publishers=publishers)
    assert str(refused.value).startswith(f"publishers has {given}")
    assert str(refused.value).endswith(f"; use a list of {known}")


def test_a_topic_of_anyone_gives_a_warning_with_what_its_policy_needs(
    alerts: Alerts, stack: cdk.Stack
) -> None:
    alerts(topic=sns.Topic(stack, "Theirs"))
    Annotations.from_stack(stack).has_warning(
        "/Foreign/Alerts",
        Match.string_like_regexp("must allow sns:Publish to cloudwatch.*, events.*or their alerts"),
    )


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"usd_per_month": float("nan")}, "usd_per_month is nan; a budget is above 0"),
        ({"usd_per_month": float("inf")}, "usd_per_month is inf; a budget is above 0"),
        ({"institution": ""}, "institution is empty; it is the value of the tag that is counted"),
        (
            {"actual_percent": [50, -5]},
            "-5 percent of a budget tells nothing; use shares above 0",
        ),
        (
            {"emails": [f"a{number}@b.cc" for number in range(11)]},
            "11 addresses; a notification takes 10: name a mailing list",
        ),
        ({"emails": ["hpc"]}, "emails[0]: 'hpc' is not an e-mail address, such as hpc@example.edu"),
    ],
)
def test_a_budget_that_would_tell_nothing_is_refused(
    changed: dict[str, Any], fault: str, stack: cdk.Stack
) -> None:
    topic = sns.Topic(stack, "Theirs")
    given: dict[str, Any] = {"institution": "kait", "usd_per_month": 1, "topic": topic}
    with pytest.raises(ValueError) as refused:
        InstitutionBudget(stack, "Budget", **{**given, **changed})
    assert str(refused.value) == fault


ARN = "arn:aws:secretsmanager:ap-northeast-2:111122223333:secret:kait/slack"
NIGHT = {"start": "22:00", "end": "06:00", "channel": "C0NIGHT000"}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        (
            {"slack_secret_arn": ARN},
            f"slack_secret_arn: '{ARN}' is not the ARN of a secret, "
            "arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME; its last part lacks the hyphen and "
            "six characters that Secrets Manager added to the name",
        ),
        (
            {"dashboard_url": LONG},
            "it has 324 characters and an alarm has room for 280: shorten it",
        ),
        (
            {"routes": {"quiet_hours": {**NIGHT, "timezone": "localtime"}}},
            "timezone: 'localtime' is no time zone; use an IANA name, Asia/Seoul",
        ),
        (
            {"routes": {"quiet_hours": {**NIGHT, "timezone": "right/UTC"}}},
            "timezone: 'right/UTC' is no time zone; use an IANA name, Asia/Seoul",
        ),
    ],
    ids=["arn", "page", "localtime", "leap-seconds"],
)
def test_a_section_that_would_fail_in_the_account_is_refused_by_validate(
    changed: dict[str, Any], fault: str, tmp_path: Path
) -> None:
    example = yaml.safe_load((ROOT / "institutions" / "kait.yaml").read_text())
    routes = {**example["alerts"]["routes"], **changed.get("routes", {})}
    example["alerts"] |= {**changed, "routes": routes}
    file = tmp_path / "kait.yaml"
    file.write_text(yaml.safe_dump(example))
    with pytest.raises(ConfigError) as refused:
        load(file)
    assert fault in str(refused.value)


def test_what_names_no_institution_goes_to_the_channels_of_the_one_it_is_made_for(
    alerts: Alerts, resources: Resources
) -> None:
    routes = AlertRoutes(
        critical="C0ONCALL00",
        warning="C0OPS00000",
        info="C0OPS00000",
        institutions={"kait": SeverityChannels(critical="C0KAIT0000")},
    )
    alerts(routes=routes, institution="kait")
    (function,) = resources("AWS::Lambda::Function").values()
    parsed = parse(function["Environment"]["Variables"]["ROUTES"])
    assert parsed.channel("critical", "", 0.0) == "C0KAIT0000"
    assert parsed.channel("critical", "uni", 0.0) == "C0ONCALL00"
    assert parsed.channel("warning", "", 0.0) == "C0OPS00000"
