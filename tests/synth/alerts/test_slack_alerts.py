"""The way from a topic to Slack, and the other way when it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import cdk_nag
import pytest
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_kms as kms
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Annotations, Match, Template

from assets.functions.slack_notifier.routes import parse
from trainshed.config import AlertRoutes, QuietHours, SeverityChannels

if TYPE_CHECKING:
    from tests.synth.alerts.conftest import Alerts

Resources = Callable[[str], dict[str, dict[str, Any]]]
HOOK = "https://hooks.slack.com/services/T0/B0/planted-7f3e"


def test_topic_queue_and_function_are_joined(alerts: Alerts, stack: cdk.Stack) -> None:
    alerts()
    template = Template.from_stack(stack)
    template.has_resource_properties(
        "AWS::SNS::Subscription",
        {
            "Protocol": "sqs",
            "RedrivePolicy": Match.any_value(),
            "RawMessageDelivery": Match.absent(),
        },
    )
    template.has_resource_properties(
        "AWS::Lambda::EventSourceMapping",
        {
            "BatchSize": 20,
            "MaximumBatchingWindowInSeconds": 2,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "ScalingConfig": {"MaximumConcurrency": 2},
        },
    )
    template.has_resource_properties(
        "AWS::Lambda::Function",
        {
            "Handler": "slack_notifier.handler.handler",
            "ReservedConcurrentExecutions": 1,
            "Timeout": 60,
            "Environment": {"Variables": {"SECRET_ARN": Match.any_value()}},
        },
    )


def test_an_account_without_concurrency_to_reserve_lets_two_run(
    alerts: Alerts, stack: cdk.Stack
) -> None:
    alerts(reserved_concurrency=None)
    template = Template.from_stack(stack)
    template.has_resource_properties(
        "AWS::Lambda::Function",
        {
            "Handler": "slack_notifier.handler.handler",
            "ReservedConcurrentExecutions": Match.absent(),
        },
    )
    template.has_resource_properties(
        "AWS::Lambda::EventSourceMapping", {"ScalingConfig": {"MaximumConcurrency": 2}}
    )


def test_a_rule_brings_no_warning_of_its_environment(alerts: Alerts, stack: cdk.Stack) -> None:
    alerts().watch_account()
    assert not Annotations.from_stack(stack).find_warning("*", Match.any_value())


def test_routes_as_a_mapping_are_refused(alerts: Alerts) -> None:
    with pytest.raises(ValueError) as refused:
        alerts(routes={"critical": "C0ONCALL00"})
    assert str(refused.value) == "routes is a dict; use trainshed.config.AlertRoutes(**routes)"


def test_the_queue_hides_messages_six_times_as_long_as_the_function_may_run(
    alerts: Alerts, stack: cdk.Stack
) -> None:
    alerts()
    Template.from_stack(stack).has_resource_properties(
        "AWS::SQS::Queue",
        {
            "VisibilityTimeout": 360,
            "SqsManagedSseEnabled": True,
            "RedrivePolicy": {"maxReceiveCount": 200, "deadLetterTargetArn": Match.any_value()},
        },
    )


def test_dead_letters_are_kept_as_long_as_sqs_can(alerts: Alerts, resources: Resources) -> None:
    alerts()
    retention = {q["MessageRetentionPeriod"] for q in resources("AWS::SQS::Queue").values()}
    assert retention == {4 * 86400, 14 * 86400}


def test_the_function_holds_the_modules_of_the_notifier_and_nothing_else(
    alerts: Alerts, stack: cdk.Stack, resources: Resources
) -> None:
    alerts()
    app = stack.node.root
    assert isinstance(app, cdk.App)
    assembly = app.synth()
    written = Path(assembly.directory)
    assets = json.loads((written / "Foreign.assets.json").read_text())["files"].values()
    (folder,) = (a["source"]["path"] for a in assets if a["source"]["packaging"] == "zip")
    names = sorted(path.name for path in (written / folder).rglob("*") if path.is_file())
    assert names == [
        "alarms.py",
        "alerts.py",
        "aws.py",
        "blocks.py",
        "console.py",
        "credentials.py",
        "delivery.py",
        "errors.py",
        "events.py",
        "handler.py",
        "memory.py",
        "routes.py",
        "slack.py",
        "work.py",
    ]
    (function,) = resources("AWS::Lambda::Function").values()
    module, _, name = function["Handler"].rpartition(".")
    # As the Python runtime of Lambda does it: the folder of the code on the path, import, getattr.
    code = f"import importlib; importlib.import_module({module!r}).{name}"
    environment = {"PYTHONPATH": str(written / folder), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", code], cwd="/", env=environment, check=True)


def test_the_role_may_do_what_the_function_does_and_nothing_more(
    alerts: Alerts, resources: Resources
) -> None:
    alerts()
    (policy,) = (
        p
        for name, p in resources("AWS::IAM::Policy").items()
        if name.startswith("AlertsNotifierRole")
    )
    statements = policy["PolicyDocument"]["Statement"]
    actions = sorted(a for s in statements for a in _listed(s["Action"]))
    assert actions == [
        "dynamodb:BatchGetItem",
        "dynamodb:BatchWriteItem",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "secretsmanager:DescribeSecret",
        "secretsmanager:GetSecretValue",
        "sqs:ChangeMessageVisibility",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
        "sqs:GetQueueUrl",
        "sqs:ReceiveMessage",
        "sqs:SendMessage",
    ]
    assert "*" not in [r for s in statements for r in _listed(s["Resource"])]


def test_failures_of_the_notifier_go_by_mail_and_never_by_slack(
    alerts: Alerts, stack: cdk.Stack, resources: Resources
) -> None:
    made = alerts()
    failures = stack.resolve(made.failure_topic.topic_arn)
    alarms = resources("AWS::CloudWatch::Alarm")
    assert sorted(name[:-8] for name in alarms) == [
        "AlertsNotifierDeadLetters",
        "AlertsNotifierErrors",
        "AlertsNotifierOldestAlert",
        "AlertsNotifierUndelivered",
    ]
    for alarm in alarms.values():
        assert alarm["AlarmActions"] == [failures]
        assert alarm["TreatMissingData"] == "notBreaching"
        assert "\nSeverity: critical\nDo: " in alarm["AlarmDescription"]
    mails = [s for s in resources("AWS::SNS::Subscription").values() if s["Protocol"] == "email"]
    assert [(s["TopicArn"], s["Endpoint"]) for s in mails] == [(failures, "hpc@example.edu")]


def test_an_alarm_of_anyone_is_told_when_raised_and_when_over(
    alerts: Alerts, stack: cdk.Stack, resources: Resources
) -> None:
    made = alerts()
    metric = cloudwatch.Metric(namespace="Theirs", metric_name="m")
    alarm = cloudwatch.Alarm(stack, "Theirs", metric=metric, threshold=1, evaluation_periods=1)
    made.notify(alarm)
    (found,) = (
        a for name, a in resources("AWS::CloudWatch::Alarm").items() if name.startswith("Theirs")
    )
    topic = stack.resolve(made.topic.topic_arn)
    assert (found["AlarmActions"], found["OKActions"]) == ([topic], [topic])
    assert "InsufficientDataActions" not in found


def test_a_topic_a_key_and_a_failure_topic_of_anyone_are_used(
    alerts: Alerts, stack: cdk.Stack, resources: Resources
) -> None:
    arn = "arn:aws:sns:us-east-2:123456789012:"
    made = alerts(
        topic=sns.Topic.from_topic_arn(stack, "Theirs", f"{arn}theirs"),
        failure_topic=sns.Topic.from_topic_arn(stack, "Mail", f"{arn}mail"),
        operators=[],
    )
    assert made.key is None
    assert resources("AWS::SNS::Topic") == {}
    assert resources("AWS::KMS::Key") == {}
    subscriptions = resources("AWS::SNS::Subscription").values()
    assert [s["TopicArn"] for s in subscriptions] == [f"{arn}theirs"]
    alarms = resources("AWS::CloudWatch::Alarm").values()
    assert {a for alarm in alarms for a in alarm["AlarmActions"]} == {f"{arn}mail"}


@pytest.mark.parametrize("secret", [HOOK, "xoxb-planted-7f3e"])
def test_a_secret_in_plain_text_is_refused_without_being_quoted(
    secret: str, alerts: Alerts
) -> None:
    with pytest.raises(ValueError, match=r"^secret is a text, which everybody") as refused:
        alerts(secret=secret)
    assert "planted" not in str(refused.value)


def test_a_secret_made_with_its_text_is_refused_without_being_quoted(
    alerts: Alerts, stack: cdk.Stack
) -> None:
    literal = cdk.SecretValue.unsafe_plain_text(HOOK)
    made = secretsmanager.Secret(stack, "Made", secret_string_value=literal)
    with pytest.raises(ValueError, match=r"^secret is made with its text in the temp") as refused:
        alerts(secret=made)
    assert "planted" not in str(refused.value)


def test_routes_longer_than_a_function_takes_are_refused(alerts: Alerts) -> None:
    channels = SeverityChannels(critical="C0ONCALL00", warning="C0OPS00000")
    many = {f"institution-{number}": channels for number in range(60)}
    routes = AlertRoutes(
        critical="C0ONCALL00", warning="C0OPS00000", info="C0OPS00000", institutions=many
    )
    with pytest.raises(ValueError, match=r"^routes have \d+ characters, and a function's environm"):
        alerts(routes=routes)


def test_a_notifier_whose_failure_nobody_would_hear_is_refused(alerts: Alerts) -> None:
    with pytest.raises(ValueError, match=r"^operators is empty and failure_topic is None"):
        alerts(operators=[])


def test_no_secret_is_in_the_template(alerts: Alerts, stack: cdk.Stack) -> None:
    alerts(
        secret=secretsmanager.Secret(
            stack, "Made", secret_string_value=cdk.SecretValue.ssm_secure("/slack", "1")
        )
    )
    template = json.dumps(Template.from_stack(stack).to_json())
    assert "hooks.slack.com" not in template
    assert "xox" not in template
    # It would be resolved into the environment, which whoever reads the function sees.
    assert "resolve:secretsmanager" not in template


def test_the_function_reads_the_routes_as_they_were_given(
    alerts: Alerts, resources: Resources
) -> None:
    routes = AlertRoutes(
        critical="C0ONCALL00",
        warning="C0OPS00000",
        info="C0OPS00000",
        mention="<!subteam^S0ABC>",
        quiet_hours=QuietHours(
            start="22:00", end="06:00", timezone="Asia/Seoul", channel="C0NIGHT000"
        ),
        institutions={"kait": SeverityChannels(critical="C0KAIT0000")},
        group_above=9,
    )
    alerts(routes=routes)
    (function,) = resources("AWS::Lambda::Function").values()
    parsed = parse(function["Environment"]["Variables"]["ROUTES"])
    assert parsed.channels == {
        "critical": "C0ONCALL00",
        "warning": "C0OPS00000",
        "info": "C0OPS00000",
    }
    assert parsed.institutions == {"kait": {"critical": "C0KAIT0000"}}
    assert (parsed.mention, parsed.group_above) == ("<!subteam^S0ABC>", 9)
    assert parsed.quiet_hours is not None
    assert parsed.quiet_hours.channel == "C0NIGHT000"


@pytest.mark.parametrize("reserved", [1, None])
def test_cdk_nag_finds_nothing_that_is_not_reasoned(
    alerts: Alerts, stack: cdk.Stack, reserved: int | None
) -> None:
    made = alerts(reserved_concurrency=reserved)
    made.watch_account()
    app = stack.node.root
    assert isinstance(app, cdk.App)
    packs = cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)
    cdk.Validations.of(app).add_plugins(*packs)
    app.synth()


def test_a_given_key_admits_the_publishers(alerts: Alerts, stack: cdk.Stack) -> None:
    alerts(key=kms.Key(stack, "Theirs"))
    Template.from_stack(stack).resource_count_is("AWS::KMS::Key", 1)


def _listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]
