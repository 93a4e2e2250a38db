"""Why the provider is as it is where cdk-nag would have it otherwise."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Acknowledge findings of a construct, each with its reason."""
    Validations.of(construct).acknowledge(
        *(Acknowledgment(id=rule, reason=reason) for rule, reason in reasons.items())
    )


def of_log(log_group: IConstruct) -> None:
    acknowledge(log_group, {})


def of_log_policy(policy: IConstruct) -> None:
    acknowledge(policy, {})


def of_permissions(policy: IConstruct) -> None:
    acknowledge(policy, {})


def of_function(function: IConstruct) -> None:
    acknowledge(function, {})


def of_framework(framework: IConstruct) -> None:
    acknowledge(framework, {})
