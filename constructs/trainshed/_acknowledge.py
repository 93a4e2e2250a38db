"""Findings of cdk-nag and of validators that a construct knows of, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from aws_cdk import Validations
from constructs import IConstruct

# aws-cdk-lib 2.275, validation-id.ts: what `Validations.acknowledge` puts before a rule without
# the name of its plugin, such as those of cdk-nag.
_NO_PLUGIN = "Annotation"


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Acknowledge rules for a construct and all below it.

    ``Validations.of(construct).acknowledge`` writes an entry of metadata for each rule, with a
    trace of the CDK's own JavaScript, and looks through all constructs below for warnings: eighty
    rules would take a twentieth of a synthesis. This writes one entry, without a trace.

    Args:
        construct: What breaks the rules.
        reasons: Why, by the id of the rule.
    """
    named = {_qualified(rule): reason for rule, reason in reasons.items()}
    construct.node.add_metadata(_metadata_key(), named)


def _qualified(rule: str) -> str:
    # The id may have brackets with a `::` of their own: AwsSolutions-IAM4[Policy::arn:…].
    return rule if "::" in rule.partition("[")[0] else f"{_NO_PLUGIN}::{rule}"


@cache
def _metadata_key() -> str:
    return Validations.ACKNOWLEDGED_RULES_METADATA_KEY
