"""A topic that every service that has something to say can publish to, encrypted with its key."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from constructs import Construct

from ._given import check_publishers

# Where messages of each service come from, as a pattern of ARNs of this account. EventBridge has
# none: it sends no source with a publish, so that a condition makes every event vanish
# (EventBridge user guide, "Using resource-based policies", read 2026-11-29).
PUBLISHERS = MappingProxyType(
    {
        "cloudwatch.amazonaws.com": "arn:{partition}:cloudwatch:{region}:{account}:alarm:*",
        "events.amazonaws.com": "",
        "budgets.amazonaws.com": "arn:{partition}:budgets::{account}:*",
        "fsx.amazonaws.com": "arn:{partition}:fsx:{region}:{account}:*",
    }
)
"""The services that may publish, with the resources of this account that they publish for."""


class AlertTopic(Construct):
    """An encrypted SNS topic with a policy that names each publisher.

    The policy is written whole: the default one vanishes as soon as a first statement is added, and
    alarms with it. CDK adds EventBridge to a key only, and the key ``aws/sns`` admits no service.

    Args:
        publishers: Service principals that may publish. Default: CloudWatch, EventBridge, Budgets
            and FSx.
        key: Key of the topic, to whose policy the publishers are added; a key that is imported
            must admit them itself. None: one is made.

    Raises:
        ValueError: A publisher is unknown, there is none, or the key is AWS's own or an alias.
    """

    topic: sns.ITopic
    """The topic."""
    key: kms.IKey
    """Its key."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        publishers: Sequence[str] = tuple(PUBLISHERS),
        key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, id)
        check_publishers(publishers, tuple(PUBLISHERS))
        if key is not None and "alias/aws/" in key.key_arn:
            raise ValueError(
                "key is alias/aws/sns, which admits no service, so that no alarm arrives; "
                "leave key out or pass a key of yours"
            )
        if key is not None and ":alias/" in key.key_arn:
            # AWS KMS developer guide, "Using aliases to control access", read 2026-11-30.
            raise ValueError(
                "key is an alias, by whose ARN IAM grants nothing; pass the key that it stands for"
            )
        self.key = key or kms.Key(
            self,
            "Key",
            description=f"Alerts of {self.node.path}",
            enable_key_rotation=True,
            policy=_account_keeps_the_key(cdk.Stack.of(self)),
            # Nothing is stored under it for longer than SNS takes to deliver.
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        self._admit_to_key(publishers)
        topic = sns.Topic(self, "Topic", master_key=self.key, enforce_ssl=True)
        for publisher in publishers:
            topic.add_to_resource_policy(self._publish(topic, publisher))
        self.topic = topic

    def _admit_to_key(self, publishers: Sequence[str]) -> None:
        # No condition on the source account: it would shut EventBridge out.
        statement = iam.PolicyStatement(
            principals=[iam.ServicePrincipal(publisher) for publisher in publishers],
            # What SNS needs of a publisher: SNS developer guide, "Key management", 2026-11-29.
            actions=["kms:Decrypt", "kms:GenerateDataKey"],
            resources=["*"],
        )
        if not self.key.add_to_resource_policy(statement, allow_no_op=True).statement_added:
            cdk.Annotations.of(self).add_warning_v2(
                "trainshed:alertKeyPolicy",
                "the key of the topic is imported: its policy must allow kms:Decrypt and "
                f"kms:GenerateDataKey to {', '.join(publishers)}, or no alert arrives",
            )

    def _publish(self, topic: sns.Topic, publisher: str) -> iam.PolicyStatement:
        stack = cdk.Stack.of(self)
        source = PUBLISHERS[publisher].format(
            partition=stack.partition, region=stack.region, account=stack.account
        )
        conditions: dict[str, Any] = {
            "ArnLike": {"aws:SourceArn": source},
            "StringEquals": {"aws:SourceAccount": stack.account},
        }
        return iam.PolicyStatement(
            sid=publisher.partition(".")[0].capitalize(),
            principals=[iam.ServicePrincipal(publisher)],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions=conditions if source else None,
        )


# Service Authorization Reference, "Actions for AWS KMS", read 2026-11-29: what an owner needs to
# keep a symmetric key, one by one where CDK's own policy says kms:*.
_KEY_ACTIONS = (
    "CancelKeyDeletion", "CreateAlias", "CreateGrant", "Decrypt", "DeleteAlias", "DescribeKey",
    "DisableKey", "DisableKeyRotation", "EnableKey", "EnableKeyRotation", "Encrypt",
    "GenerateDataKey", "GetKeyPolicy", "GetKeyRotationStatus", "ListGrants", "ListKeyPolicies",
    "ListKeyRotations", "ListResourceTags", "PutKeyPolicy", "ReEncryptFrom", "ReEncryptTo",
    "RetireGrant", "RevokeGrant", "RotateKeyOnDemand", "ScheduleKeyDeletion", "TagResource",
    "UntagResource", "UpdateAlias", "UpdateKeyDescription",
)  # fmt: skip


def _account_keeps_the_key(stack: cdk.Stack) -> iam.PolicyDocument:
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(
                principals=[iam.AccountPrincipal(stack.account)],
                actions=[f"kms:{action}" for action in _KEY_ACTIONS],
                resources=["*"],
            )
        ]
    )
