"""Who can publish to the topic, by simulating the publish against topic policy and key policy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
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


@pytest.mark.parametrize("principal", ["sns.amazonaws.com", "events.amazonaws.com"])
def test_what_cannot_be_published_or_handed_on_becomes_a_dead_letter(
    principal: str, alerts: Alerts, stack: cdk.Stack, resources: Resources
) -> None:
    made = alerts()
    made.watch_account()
    source = flat(stack.resolve(made.topic.topic_arn))
    (policy,) = (
        p["PolicyDocument"]
        for name, p in resources("AWS::SQS::QueuePolicy").items()
        if "DeadLetters" in name
    )
    if principal == "events.amazonaws.com":
        (rule,) = (n for n in resources("AWS::Events::Rule") if "Health" in n)
        source = f"arn:{rule}"
    policy = json.loads(
        json.dumps(policy).replace("ArnEquals", "ArnLike").replace("Fn::GetAtt", "Ref")
    )
    policy = at_attributes(policy)
    context = {"aws:SecureTransport": "true", "aws:SourceArn": source}
    assert allowed(policy, principal, "sqs:SendMessage", context)
    assert not allowed(policy, principal, "sqs:SendMessage", context | {"aws:SourceArn": "arn:x"})


def at_attributes(value: Any) -> Any:
    """Name a resource alone where its ARN is meant."""
    if isinstance(value, dict):
        if isinstance(value.get("Ref"), list):
            return {"Ref": value["Ref"][0]}
        return {key: at_attributes(part) for key, part in value.items()}
    return [at_attributes(part) for part in value] if isinstance(value, list) else value


def test_a_notice_of_a_schedule_can_be_published_encrypted_and_kept(
    alerts: Alerts, stack: cdk.Stack, resources: Resources
) -> None:
    made = alerts()
    made.watch_capacity(Block())
    (policy,) = (
        p["PolicyDocument"]["Statement"]
        for name, p in resources("AWS::IAM::Policy").items()
        if "BlockNotices" in name
    )
    key = made.key
    assert key is not None
    assert [(s["Action"], s["Resource"]) for s in policy] == [
        ("sns:Publish", stack.resolve(made.topic.topic_arn)),
        (["kms:Decrypt", "kms:GenerateDataKey"], stack.resolve(key.key_arn)),
        ("sqs:SendMessage", stack.resolve(made.undelivered.queue_arn)),
    ]
    # The role is of the account, which the key's policy lets give these two away.
    (key_policy,) = resources("AWS::KMS::Key").values()
    given = key_policy["KeyPolicy"]["Statement"][0]
    assert "root" in json.dumps(given["Principal"])
    assert {"kms:Decrypt", "kms:GenerateDataKey"} <= set(given["Action"])
    for schedule in resources("AWS::Scheduler::Schedule").values():
        assert schedule["Target"]["DeadLetterConfig"] == {
            "Arn": stack.resolve(made.undelivered.queue_arn)
        }


@dataclass(frozen=True)
class Block:
    reservation_id: str | None = "cr-0abc1234def567890"
    end: datetime | None = datetime(2027, 3, 1, 11, 30, tzinfo=UTC)


def test_an_unknown_publisher_is_refused(stack: cdk.Stack) -> None:
    known = ", ".join(PUBLISHERS)
    with pytest.raises(
        ValueError, match=f"^publishers has s3.amazonaws.com; use a list of {known}$"
    ):
        AlertTopic(stack, "Topic", publishers=["s3.amazonaws.com"])


def test_the_key_of_aws_itself_is_refused(stack: cdk.Stack) -> None:
    key = kms.Alias.from_alias_name(stack, "Aws", "alias/aws/sns")
    with pytest.raises(ValueError, match=r"^key is alias/aws/sns, which admits no service"):
        AlertTopic(stack, "Topic", key=key)


def test_an_alias_in_place_of_its_key_is_refused(stack: cdk.Stack) -> None:
    alias = kms.Alias.from_alias_name(stack, "Theirs", "alias/theirs")
    with pytest.raises(ValueError, match=r"^key is an alias, by whose ARN IAM grants nothing; pas"):
        AlertTopic(stack, "Topic", key=alias)


def test_an_imported_key_gives_a_warning_with_what_its_policy_needs(stack: cdk.Stack) -> None:
    arn = f"arn:aws:kms:us-east-2:{ACCOUNT}:key/11111111-2222-3333-4444-555555555555"
    AlertTopic(stack, "Topic", key=kms.Key.from_key_arn(stack, "Theirs", arn))
    Annotations.from_stack(stack).has_warning(
        "/Foreign/Topic",
        Match.string_like_regexp("must allow kms:Decrypt and kms:GenerateDataKey to cloudwatch"),
    )
