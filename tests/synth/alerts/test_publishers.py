"""Who can publish to the topic, by simulating the publish against topic policy and key policy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Annotations, Match

from trainshed.alerts import AlertTopic
from trainshed.alerts.topic import PUBLISHERS

if TYPE_CHECKING:
    from tests.synth.alerts.conftest import Alerts

Resources = Callable[[str], dict[str, dict[str, Any]]]
ACCOUNT = "123456789012"
SOURCES = {
    "cloudwatch.amazonaws.com": f"arn:aws:cloudwatch:us-east-2:{ACCOUNT}:alarm:kait-full",
    "events.amazonaws.com": None,
    "budgets.amazonaws.com": f"arn:aws:budgets::{ACCOUNT}:budget/kait",
    "fsx.amazonaws.com": f"arn:aws:fsx:us-east-2:{ACCOUNT}:file-system/fs-0123",
}


def flat(value: Any) -> Any:
    """Replace what CloudFormation would fill in: partition and names."""
    if isinstance(value, dict):
        if "Fn::Join" in value:
            return "".join(flat(part) for part in value["Fn::Join"][1])
        if set(value) == {"Ref"}:
            return "aws" if value["Ref"] == "AWS::Partition" else f"arn:{value['Ref']}"
        return {key: flat(part) for key, part in value.items()}
    return [flat(part) for part in value] if isinstance(value, list) else value


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def holds(condition: Mapping[str, Mapping[str, Any]], context: Mapping[str, str]) -> bool:
    """Evaluate a condition; a key that the request lacks makes it false, as in IAM."""
    tests: dict[str, Callable[[str, str], bool]] = {
        "StringEquals": str.__eq__,
        "ArnLike": lambda given, pattern: fnmatchcase(given, pattern),
        "Bool": lambda given, wanted: given == str(wanted).lower(),
    }
    return all(
        key in context and any(tests[name](context[key], value) for value in listed(wanted))
        for name, keys in condition.items()
        for key, wanted in keys.items()
    )


def allowed(policy: Any, principal: str, action: str, context: Mapping[str, str]) -> bool:
    """Evaluate a resource policy for a service principal: a deny wins over an allow."""
    effects = set()
    for statement in flat(policy)["Statement"]:
        who = statement["Principal"]
        services = listed(who.get("Service", [])) if isinstance(who, dict) else [principal]
        matches = any(
            re.fullmatch(pattern.replace("*", ".*"), action)
            for pattern in listed(statement["Action"])
        )
        if principal in services and matches and holds(statement.get("Condition", {}), context):
            effects.add(statement["Effect"])
    return effects == {"Allow"}


def request(principal: str, account: str = ACCOUNT) -> dict[str, str]:
    """Return what a service sends with a publish; EventBridge sends no source."""
    source = SOURCES[principal]
    context = {"aws:SecureTransport": "true"}
    if source:
        context |= {
            "aws:SourceArn": source.replace(ACCOUNT, account),
            "aws:SourceAccount": account,
        }
    return context


@pytest.fixture
def policies(alerts: Alerts, resources: Resources) -> tuple[Any, Any]:
    """Topic policy and key policy of the alerts."""
    made = alerts()
    made.watch_account()
    topic = next(
        p["PolicyDocument"]
        for name, p in resources("AWS::SNS::TopicPolicy").items()
        if "Failures" not in name
    )
    (key,) = resources("AWS::KMS::Key").values()
    return topic, key["KeyPolicy"]


@pytest.mark.parametrize("principal", PUBLISHERS)
def test_each_publisher_can_publish_to_the_encrypted_topic(
    principal: str, policies: tuple[Any, Any]
) -> None:
    topic, key = policies
    context = request(principal)
    assert allowed(topic, principal, "sns:Publish", context)
    # SNS passes no source of EventBridge on to the key: no condition may ask for it.
    bare = {"aws:SecureTransport": "true"}
    assert allowed(key, principal, "kms:Decrypt", bare)
    assert allowed(key, principal, "kms:GenerateDataKey", bare)


@pytest.mark.parametrize("principal", sorted(set(PUBLISHERS) - {"events.amazonaws.com"}))
def test_no_publisher_can_be_used_by_another_account(
    principal: str, policies: tuple[Any, Any]
) -> None:
    topic, _ = policies
    assert not allowed(topic, principal, "sns:Publish", request(principal, "999999999999"))


@pytest.mark.parametrize("principal", PUBLISHERS)
def test_nobody_publishes_without_tls(principal: str, policies: tuple[Any, Any]) -> None:
    topic, _ = policies
    context = request(principal) | {"aws:SecureTransport": "false"}
    assert not allowed(topic, principal, "sns:Publish", context)


def test_other_services_can_publish_nothing(policies: tuple[Any, Any]) -> None:
    topic, key = policies
    context = {"aws:SecureTransport": "true", "aws:SourceAccount": ACCOUNT}
    assert not allowed(topic, "s3.amazonaws.com", "sns:Publish", context)
    assert not allowed(key, "s3.amazonaws.com", "kms:Decrypt", context)


def test_publishers_can_do_nothing_but_publish(policies: tuple[Any, Any]) -> None:
    topic, key = policies
    for principal in PUBLISHERS:
        assert not allowed(topic, principal, "sns:Subscribe", request(principal))
        assert not allowed(key, principal, "kms:CreateGrant", request(principal))


def test_the_queue_takes_messages_of_the_topic_alone(
    alerts: Alerts, stack: cdk.Stack, resources: Resources
) -> None:
    made = alerts()
    topic = flat(stack.resolve(made.topic.topic_arn))
    policy = next(
        p["PolicyDocument"]
        for name, p in resources("AWS::SQS::QueuePolicy").items()
        if "DeadLetters" not in name
    )
    policy = {
        "Statement": [
            {**s, "Condition": {k.replace("ArnEquals", "ArnLike"): v for k, v in c.items()}}
            for s in policy["Statement"]
            for c in [s.get("Condition", {})]
        ]
    }
    context = {"aws:SecureTransport": "true", "aws:SourceArn": topic}
    assert allowed(policy, "sns.amazonaws.com", "sqs:SendMessage", context)
    other = context | {"aws:SourceArn": "arn:other"}
    assert not allowed(policy, "sns.amazonaws.com", "sqs:SendMessage", other)


def test_an_unknown_publisher_is_refused(stack: cdk.Stack) -> None:
    known = ", ".join(PUBLISHERS)
    with pytest.raises(ValueError, match=f"^publishers has s3.amazonaws.com; use {known}$"):
        AlertTopic(stack, "Topic", publishers=["s3.amazonaws.com"])


def test_the_key_of_aws_itself_is_refused(stack: cdk.Stack) -> None:
    key = kms.Alias.from_alias_name(stack, "Aws", "alias/aws/sns")
    with pytest.raises(ValueError, match=r"^key is alias/aws/sns, which admits no service"):
        AlertTopic(stack, "Topic", key=key)


def test_an_imported_key_gives_a_warning_with_what_its_policy_needs(stack: cdk.Stack) -> None:
    arn = f"arn:aws:kms:us-east-2:{ACCOUNT}:key/11111111-2222-3333-4444-555555555555"
    AlertTopic(stack, "Topic", key=kms.Key.from_key_arn(stack, "Theirs", arn))
    Annotations.from_stack(stack).has_warning(
        "/Foreign/Topic",
        Match.string_like_regexp("must allow kms:Decrypt and kms:GenerateDataKey to cloudwatch"),
    )
