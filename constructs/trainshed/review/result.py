"""What a review found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .capacity import CapacitySpan
from .effects import Effect, Finding, worst
from .fact import Fact
from .guards import Stop
from .resources import ResourceChange


@dataclass(frozen=True)
class FileDiff:
    """A rendered file, or a script that is shipped, whose text differs."""

    name: str
    diff: str
    """Unified, without end of line at the end."""
    added: int
    """Lines that come."""
    removed: int
    """Lines that go."""


@dataclass(frozen=True)
class RuleChange:
    """An acknowledgement or a finding of cdk-nag that is new or gone."""

    is_new: bool
    is_acknowledged: bool
    place: str
    rule: str
    words: str
    """The reason beside the acknowledgement, or what the rule says."""


@dataclass(frozen=True)
class Review:
    """What one institution's change does, before anything is deployed."""

    name: str
    """The institution, or the stack where it belongs to none."""
    findings: tuple[Finding, ...] = ()
    """What each change does, those that hurt first."""
    gained: tuple[Fact, ...] = ()
    """Rights, openings and protections that are new."""
    lost: tuple[Fact, ...] = ()
    """Rights, openings and protections that are gone."""
    files: tuple[FileDiff, ...] = ()
    resources: tuple[ResourceChange, ...] = ()
    rules: tuple[RuleChange, ...] = ()
    capacity: tuple[CapacitySpan, ...] = ()
    """The timeline as it will be; empty where no institution file is at hand."""
    capacity_before: tuple[CapacitySpan, ...] = ()
    stops: tuple[Stop, ...] = ()
    """What has to be acknowledged, acknowledged or not."""
    left_out: tuple[str, ...] = ()
    """What could not be looked at, each a sentence."""
    sections: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    picture: str = ""
    """Markdown of others by its title, such as Cost and Quotas."""
    is_new: bool = False
    """There was nothing of this name."""
    is_gone: bool = False
    """There is nothing of this name any more."""

    @property
    def verdict(self) -> Effect:
        """The effect that hurts most."""
        least = Effect.UNTOUCHED if self.is_unchanged or self.is_gone else Effect.LIVE
        return worst([least, *(finding.effect for finding in self.findings)])

    @property
    def counts(self) -> dict[Effect, int]:
        """Findings by their effect, what hurts most first."""
        found = Counter(finding.effect for finding in self.findings)
        return {effect: found[effect] for effect in reversed(Effect) if found[effect]}

    @property
    def is_unchanged(self) -> bool:
        """Nothing differs."""
        parts = (self.findings, self.gained, self.lost, self.files, self.resources, self.rules)
        return not any(parts) and not self.is_new and not self.is_gone

    @property
    def is_stopped(self) -> bool:
        """Something is not acknowledged."""
        return any(not stop.is_accepted for stop in self.stops)
