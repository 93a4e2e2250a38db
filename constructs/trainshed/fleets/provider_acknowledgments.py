"""Why the provider is as it is where cdk-nag would have it otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .._acknowledge import acknowledge
from .._stacks import StackFacts, stack_facts
from ..records import is_token
from .rights import Right

OF_LOG = {
    "NIST.800.53.R5-CloudWatchLogGroupEncrypted": (
        "CloudWatch Logs encrypts every log group with a key of its own. The log has neither "
        "secrets nor cluster configurations."
    ),
}
OF_EVERY_FUNCTION = {
    "NIST.800.53.R5-LambdaConcurrency": (
        "CloudFormation calls it once a deployment; a reserve would only take from other functions."
    ),
    "NIST.800.53.R5-LambdaDLQ": (
        "It answers CloudFormation, which reports a failure and rolls back; there is no event to "
        "keep."
    ),
    "NIST.800.53.R5-LambdaInsideVPC": "It calls AWS's APIs and nothing in the VPC.",
}
OF_OWN_FUNCTION = {
    **OF_EVERY_FUNCTION,
    "AwsSolutions-L1": (
        "AWS's layer with ParallelCluster 3.16.1 is built for Python 3.12; another Python does not "
        "load it."
    ),
}
OF_FRAMEWORK = {
    **OF_EVERY_FUNCTION,
    "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/"
    "AWSLambdaBasicExecutionRole]": "CDK's provider framework makes the role; it writes a log.",
    "AwsSolutions-SF1": (
        "What the state machine logs would contain the cluster configuration; the functions that "
        "it calls have a log."
    ),
    "AwsSolutions-SF2": "A loop of one call a minute; the functions' log says what each did.",
    "NIST.800.53.R5-IAMNoInlinePolicy": (
        "CDK's provider framework makes these policies, each for one role of its own."
    ),
}


def acknowledge_wildcards(policies: Construct, rights: Iterable[Right]) -> None:
    """Acknowledge each wildcard in the resources of policies with the reason of its right."""
    reasons: dict[str, str] = {}
    for right in rights:
        for resource in right.resources:
            if "*" in resource:
                reasons.setdefault(resource, right.why)
    acknowledge(policies, dict(zip(_wildcards(policies, reasons), reasons.values(), strict=True)))


def acknowledge_framework(framework: Construct, functions: Iterable[lambda_.IFunction]) -> None:
    """Acknowledge findings of CDK's provider framework.

    Args:
        framework: The ``custom_resources.Provider``.
        functions: The functions that it calls, its own included.
    """
    versions = _wildcards(framework, [f"{function.function_arn}:*" for function in functions])
    reason = "CDK grants a function with all its versions; the function has one."
    acknowledge(framework, {**OF_FRAMEWORK, **dict.fromkeys(versions, reason)})


def _wildcards(scope: Construct, resources: Iterable[str]) -> list[str]:
    """Return the ids of cdk-nag's findings of resources with a wildcard."""
    facts = stack_facts(scope)
    written = [_with_names(resource, facts) for resource in resources]
    unknown = [resource for resource in written if is_token(resource)]
    # One call for all of them: each is one to the CDK's Node process.
    resolved = iter(facts.stack.resolve(unknown) if unknown else ())
    return [
        f"AwsSolutions-IAM5[Resource::{_written(next(resolved)) if is_token(each) else each}]"
        for each in written
    ]


def _with_names(resource: str, facts: StackFacts) -> str:
    """Write the tokens of most ARNs as cdk-nag does."""
    for token, name in (
        (facts.partition, "AWS::Partition"),
        (facts.region, "AWS::Region"),
        (facts.account, "AWS::AccountId"),
    ):
        if is_token(token):
            resource = resource.replace(token, f"<{name}>")
    return resource


def _written(resolved: Any) -> str:
    """Write a resolved value as cdk-nag does: ``<AWS::Region>``, ``<Function.Arn>``."""
    match resolved:
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{([^}]*)\}", r"<\1>", text)
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(_written(part) for part in parts)
        case _:
            return str(resolved)
