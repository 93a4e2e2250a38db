"""Findings of cdk-nag and of validators that a construct knows of, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Acknowledge rules for a construct and all below it.

    Args:
        construct: What breaks the rules.
        reasons: Why, by the id of the rule.
    """
    acknowledged = [Acknowledgment(id=rule, reason=reason) for rule, reason in reasons.items()]
    Validations.of(construct).acknowledge(*acknowledged)
