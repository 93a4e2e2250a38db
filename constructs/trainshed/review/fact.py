"""What is so of the security of one version, and may not be of the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What a fact of security is about."""

    RIGHT = "right"
    INGRESS = "ingress"
    EXPOSURE = "public exposure"
    PROTECTION = "protection"
    UNREAD = "not read"


@dataclass(frozen=True)
class Fact:
    """Something that is so in one version and may not be in the other."""

    kind: Kind
    place: str
    """The role, policy, security group or key."""
    words: str
    """What it may or lets in, in one line."""
    rule: str = field(default="", compare=False)
    """The guard that this trips when it is new; empty for none."""
    hands_on: bool = field(default=False, compare=False)
    """It gives what stands elsewhere to somebody: no second stop where that is new as well."""

    @property
    def is_alarming(self) -> bool:
        """It trips a guard, opens something to everybody, or allows a wildcard of actions."""
        actions = self.words.partition(" if ")[0].partition(" on ")[0]
        wildcard = self.kind is Kind.RIGHT and "*" in actions
        return bool(self.rule) or self.kind is Kind.EXPOSURE or wildcard
