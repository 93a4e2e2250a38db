"""What a change does to a running cluster, from nothing to the loss of data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from ..records import OnChange


class Effect(StrEnum):
    """What a change does, in the order in which it hurts.

    A refusal stands before the replacement of data: it stops a deployment half-way, and nothing is
    lost by it.
    """

    UNTOUCHED = "untouched"
    """Nothing happens."""
    LIVE = "live"
    """Applied while jobs run; no node is touched."""
    PAUSES_NEW_JOBS = "pauses new jobs"
    """The head node of a bare fleet is away for some minutes: jobs run on, and none starts."""
    DRAINS_NODES = "drains nodes"
    """Nodes finish their jobs, then come back with the new setting."""
    ENDS_SESSIONS = "ends sessions"
    """Login nodes of a bare fleet go at once, with the sessions on them; jobs run on."""
    STOPS_LOGIN_NODES = "stops login nodes"
    """The login pool has to be at 0 nodes first; jobs run on."""
    NEEDS_IDLE_NODES = "needs idle nodes"
    """Nodes of a bare fleet go; while one of them has jobs, the deployment is refused."""
    STOPS_FLEET = "stops the fleet"
    """The compute fleet has to be stopped first; running jobs end."""
    REPLACES_NODES = "replaces nodes"
    """Nodes are terminated at once, with their jobs and what is on their disks."""
    REFUSED = "refused by AWS"
    """It cannot be changed in place: the deployment fails, or a new cluster is needed."""
    REPLACES_DATA = "replaces data"
    """A new, empty one takes its place; the old one is retained, and nothing uses it any more."""
    LOSES_DATA = "would lose data"
    """It is deleted with what it holds."""

    @property
    def rank(self) -> int:
        """Place in the order, from 0."""
        return _RANKS[self]


_RANKS = {effect: rank for rank, effect in enumerate(Effect)}

OF_ON_CHANGE = {
    OnChange.LIVE: Effect.LIVE,
    OnChange.DRAINS_NODES: Effect.DRAINS_NODES,
    OnChange.STOPS_FLEET: Effect.STOPS_FLEET,
    OnChange.REPLACES_NODES: Effect.REPLACES_NODES,
    OnChange.REPLACES_DATA: Effect.REPLACES_DATA,
    OnChange.REFUSED: Effect.REFUSED,
}


@dataclass(frozen=True)
class Finding:
    """One change and what it does."""

    place: str
    """Where: a key of the cluster configuration, a resource or a key of the institution file."""
    before: str
    """The value that is there, as text; empty where there was none."""
    after: str
    """The value that comes, as text; empty where it goes."""
    effect: Effect
    sentence: str
    """What happens, in plain words."""


def worst(effects: Iterable[Effect]) -> Effect:
    """Return the effect that hurts most; untouched where there is none."""
    return max(effects, key=lambda effect: effect.rank, default=Effect.UNTOUCHED)
