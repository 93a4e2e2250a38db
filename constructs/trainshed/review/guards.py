"""What stops a pull request until somebody says that it is meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from .effects import Effect, Finding
from .fact import Fact


@dataclass(frozen=True)
class Stop:
    """A change that nobody makes by mistake twice."""

    rule: str
    """Name of the guard, for ``--accept``."""
    place: str
    sentence: str
    is_accepted: bool = False
    """Somebody acknowledged it."""

    @property
    def flag(self) -> str:
        """The acknowledgement of this very change."""
        return f"--accept '{self.rule}:{self.place}'"


RULES = {
    "lose-data": "deletes something that holds data",
    "orphan-data": "leaves a file system, bucket or database behind that nothing uses any more",
    "open-ssh": "opens port 22 to the internet",
    "administrator-access": "gives a role the rights of an administrator",
    "unread": "holds what a review cannot read: macros, loops, modules, templates kept elsewhere",
}
OF_EFFECT = {Effect.LOSES_DATA: "lose-data", Effect.REPLACES_DATA: "orphan-data"}


def stops(
    findings: Iterable[Finding], gained: Iterable[Fact], accepted: Collection[str]
) -> Iterator[Stop]:
    """Yield what has to be acknowledged.

    Args:
        findings: What the changes do.
        gained: Facts of security that are new.
        accepted: Acknowledgements: ``RULE`` for every place, or ``RULE:PLACE``.
    """
    found = [
        (OF_EFFECT[finding.effect], finding.place, finding.sentence)
        for finding in findings
        if finding.effect in OF_EFFECT
    ]
    tripping = [fact for fact in gained if fact.rule]
    known = {(fact.rule, fact.place) for fact in tripping if not fact.hands_on}
    found += [
        (fact.rule, fact.place, _security(fact))
        for fact in tripping
        if not (fact.hands_on and (fact.rule, fact.place) in known)
    ]
    for rule, place, sentence in dict.fromkeys(found):
        yield Stop(rule, place, sentence, rule in accepted or f"{rule}:{place}" in accepted)


def _security(fact: Fact) -> str:
    if fact.rule == "open-ssh":
        return f"Port 22 opens to the whole internet: {fact.words}."
    if fact.rule == "unread":
        return f"Nobody knows here what it does: {fact.words}."
    return f"Whoever is on it could do anything in the account: {fact.words}."
