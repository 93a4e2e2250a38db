"""A statement of a policy, with the reason for what is wide in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Right:
    """A policy statement, and why its resources are as wide as they are.

    Args:
        sid: Id of the statement.
        actions: Actions, written out.
        resources: What they are allowed on.
        why: Why a resource has a wildcard. Empty where none has.
        conditions: When they are allowed. Empty: always.
    """

    sid: str
    actions: Sequence[str]
    resources: Sequence[str]
    why: str = ""
    conditions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def statement(self) -> dict[str, Any]:
        """The statement as IAM writes it: a document of them is one call to the CDK's process."""
        written: dict[str, Any] = {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": list(self.actions),
            "Resource": list(self.resources),
        }
        return {**written, "Condition": dict(self.conditions)} if self.conditions else written


def alarm_rights(topic_arn: str, key_arn: str | None) -> list[Right]:
    """Return what the head node needs to publish to a topic.

    Args:
        topic_arn: The topic.
        key_arn: Its key. Default: it has none of its own.
    """
    rights = [Right("RaiseAlarms", ("sns:Publish",), (topic_arn,))]
    if key_arn:
        # What SNS needs of a publisher: SNS developer guide, "Key management", read 2026-11-29.
        actions = ("kms:Decrypt", "kms:GenerateDataKey")
        rights.append(Right("EncryptAlarms", actions, (key_arn,)))
    return rights
