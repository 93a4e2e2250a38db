"""What is done in fewer calls to the CDK's Node process comes to the same."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from constructs import Construct

from trainshed._acknowledge import acknowledge
from trainshed._stacks import stack_facts

REASONS = {
    "AwsSolutions-S1": "one",
    "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/ReadOnlyAccess]": "two",
    "CloudFormation-Validate::W3010": "three",
}


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "stack", env=cdk.Environment(account="111122223333"))


def acknowledged(construct: Construct) -> dict[str, str]:
    return {
        rule: reason
        for entry in construct.node.metadata
        if entry.type == "aws:cdk:acknowledged-rules"
        for rule, reason in entry.data.items()
    }


def test_rules_are_acknowledged_as_the_cdk_does(stack: cdk.Stack) -> None:
    ours, theirs = Construct(stack, "Ours"), Construct(stack, "Theirs")
    acknowledge(ours, REASONS)
    cdk.Validations.of(theirs).acknowledge(
        *(cdk.Acknowledgment(id=rule, reason=reason) for rule, reason in REASONS.items())
    )
    assert len(acknowledged(ours)) == len(REASONS)
    assert acknowledged(ours) == acknowledged(theirs)


def test_the_stack_of_a_construct_is_found_above_it(stack: cdk.Stack) -> None:
    outer = Construct(stack, "Outer")
    inner = Construct(outer, "Inner")
    assert stack_facts(outer, stack).stack is stack
    assert stack_facts(inner, outer) is stack_facts(stack)
    assert stack_facts(Construct(inner, "Innermost")) is stack_facts(stack)


def test_a_stack_inside_another_is_its_own(stack: cdk.Stack) -> None:
    nested = cdk.NestedStack(stack, "Nested")
    assert stack_facts(nested, stack).stack is nested
    assert stack_facts(Construct(nested, "Inner"), nested).stack is nested


def test_facts_of_a_stack_are_what_the_stack_says(stack: cdk.Stack) -> None:
    facts = stack_facts(stack)
    assert facts.account == "111122223333"
    assert stack.resolve([facts.partition, facts.region]) == [
        {"Ref": "AWS::Partition"},
        {"Ref": "AWS::Region"},
    ]
