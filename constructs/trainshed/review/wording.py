"""The words that the Markdown and the page share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from .capacity import CapacitySpan
from .effects import Effect, Finding
from .fact import Fact, Kind
from .resources import Action, ResourceChange
from .result import Review, RuleChange

LONGEST_CONDITION = 160
MARKS = {
    Effect.UNTOUCHED: "⚪",
    Effect.LIVE: "🟢",
    Effect.PAUSES_NEW_JOBS: "🔵",
    Effect.DRAINS_NODES: "🔵",
    Effect.ENDS_SESSIONS: "🔵",
    Effect.STOPS_LOGIN_NODES: "🔵",
    Effect.NEEDS_IDLE_NODES: "🟠",
    Effect.STOPS_FLEET: "🟠",
    Effect.REPLACES_NODES: "🟠",
    Effect.REFUSED: "🔴",
    Effect.REPLACES_DATA: "🔴",
    Effect.LOSES_DATA: "🔴",
}
HEADLINES = {
    Effect.UNTOUCHED: "Nothing that runs is touched.",
    Effect.LIVE: "Applied while jobs run; no node is touched.",
    Effect.PAUSES_NEW_JOBS: "The head node is away for some minutes: jobs run on, and none starts.",
    Effect.DRAINS_NODES: "Nodes are replaced as they finish their jobs; no job is lost.",
    Effect.ENDS_SESSIONS: "Login nodes go at once, with the sessions on them; jobs run on.",
    Effect.STOPS_LOGIN_NODES: "Login nodes have to be stopped first; jobs run on.",
    Effect.NEEDS_IDLE_NODES: "Nodes go; while one of them has jobs, the deployment is refused.",
    Effect.STOPS_FLEET: "The compute fleet has to be stopped first: running jobs end.",
    Effect.REPLACES_NODES: "Nodes are terminated with the jobs on them.",
    Effect.REFUSED: "AWS refuses a part of it: the deployment fails, or takes a new cluster.",
    Effect.REPLACES_DATA: "The cluster would go on with an empty file system or bucket.",
    Effect.LOSES_DATA: "Data would be lost.",
}
# What the worst effect does not say of these.
BESIDE = {
    Effect.PAUSES_NEW_JOBS: "The head node is away for some minutes: no job starts then.",
    Effect.ENDS_SESSIONS: "Sessions on login nodes end.",
    Effect.UNTOUCHED: "A part of it is not done by the deployment.",
}


def unchanged_line(review: Review) -> str:
    """Return the one line about an institution that stays as it is."""
    return f"{review.name}: nothing changes."


def verdict_title(review: Review) -> str:
    """Return the institution and its verdict."""
    word = "new" if review.is_new else "gone" if review.is_gone else review.verdict.value
    return f"{review.name}: {word}{', stopped' if review.is_stopped else ''}"


def headline(review: Review) -> str:
    """Return the verdict as a sentence."""
    if review.is_new:
        return "New: everything is made for the first time."
    if review.is_gone:
        return "No longer in the app: what is deployed stays until somebody runs cdk destroy."
    more = review.counts.keys() - {review.verdict}
    beside = [words for effect, words in BESIDE.items() if effect in more]
    return " ".join([HEADLINES[review.verdict], *beside])


def told_and_folded(findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return what everybody has to read, and what may be folded below it: what is live."""
    live = [finding for finding in findings if finding.effect is Effect.LIVE]
    return [finding for finding in findings if finding.effect is not Effect.LIVE], live


@dataclass(frozen=True)
class Group:
    """Facts of security under one heading."""

    title: str
    facts: tuple[Fact, ...]


def security_groups(review: Review) -> list[Group]:
    """Return what changes in security, what opens first; groups that have something."""
    changed, gained, lost = _conditions(review.gained, review.lost)
    titles = (
        ("Not read", gained, Kind.UNREAD),
        ("Rights gained", gained, Kind.RIGHT),
        ("Ingress opened", gained, Kind.INGRESS),
        ("Public exposure new", gained, Kind.EXPOSURE),
        ("Protection gone", lost, Kind.PROTECTION),
        ("Rights under other conditions", changed, Kind.RIGHT),
        ("Rights lost", lost, Kind.RIGHT),
        ("Ingress closed", lost, Kind.INGRESS),
        ("Public exposure gone", lost, Kind.EXPOSURE),
        ("Protection new", gained, Kind.PROTECTION),
    )
    groups = [
        Group(title, tuple(fact for fact in facts if fact.kind is kind))
        for title, facts, kind in titles
    ]
    return [group for group in groups if group.facts]


def _conditions(
    gained: Sequence[Fact], lost: Sequence[Fact]
) -> tuple[list[Fact], list[Fact], list[Fact]]:
    """Take out the rights of which only the condition differs, and say in what."""
    changed, new, gone = [], [], list(lost)
    for fact in gained:
        before = next((each for each in gone if _is_pair(each, fact)), None)
        if before is None:
            new.append(fact)
            continue
        gone.remove(before)
        was, now = (set(_QUOTED.findall(each.words)) for each in (before, fact))
        said = [f"+{word}" for word in sorted(now - was)]
        said += [f"-{word}" for word in sorted(was - now)]
        words = f"{_split(fact)[0]}: {', '.join(said) or 'other condition'}"
        changed.append(replace(fact, words=words))
    return changed, new, gone


_QUOTED = re.compile('"([^"]*)"')


def _is_pair(before: Fact, after: Fact) -> bool:
    if before.kind is not Kind.RIGHT or after.kind is not Kind.RIGHT:
        return False
    return before.place == after.place and _split(before)[0] == _split(after)[0]


def _split(fact: Fact) -> tuple[str, str]:
    """Return what a fact says, and its condition."""
    what, _, condition = fact.words.partition(" if ")
    return what, condition


def fact_words(fact: Fact) -> str:
    """Return what a fact says, with no more of its condition than people read."""
    what, condition = _split(fact)
    if len(condition) > LONGEST_CONDITION:
        condition = f"{condition[:LONGEST_CONDITION]}…"
    return f"{what}, only if {condition}" if condition else what


def rule_title(change: RuleChange) -> str:
    """Return what became of an acknowledgement or a finding of cdk-nag."""
    noun = "acknowledgement" if change.is_acknowledged else "finding"
    return f"{noun} {'new' if change.is_new else 'gone'}"


def resource_groups(review: Review) -> list[tuple[Action, list[ResourceChange]]]:
    """Return the resources by what happens to them, what goes first."""
    order = (
        Action.REMOVED,
        Action.MAY_BE_REMOVED,
        Action.TYPE_CHANGED,
        Action.REPLACED,
        Action.MAY_BE_REPLACED,
        Action.ADDED,
        Action.CHANGED,
    )
    grouped = [
        (action, [each for each in review.resources if each.action is action]) for action in order
    ]
    return [(action, changes) for action, changes in grouped if changes]


def resource_words(change: ResourceChange) -> str:
    """Return why, or in what, a resource changes."""
    names = ", ".join(dict.fromkeys(".".join(path) for path in change.causes))
    if change.is_removed or change.is_replaced:
        kept = "the old one is retained" if change.is_retained else ""
        return "; ".join(part for part in (names, kept) if part)
    return names


def moment(when: datetime | None) -> str:
    """Return a time as people write it, in UTC where it says so."""
    if when is None:
        return ""
    zone = "UTC" if not when.utcoffset() else when.strftime("%z")
    return f"{when:%Y-%m-%d %H:%M} {zone}".strip()


def span_words(span: CapacitySpan) -> str:
    """Return a capacity in one line."""
    nodes = f"{span.nodes} × {span.instance_type}"  # noqa: RUF001
    kind = f"{span.kind} {span.reservation}".strip()
    return f"{nodes}, {kind}"


def dated(spans: Sequence[CapacitySpan]) -> list[CapacitySpan]:
    """Return the capacities that end."""
    return [span for span in spans if span.end is not None]


def capacity_changed(review: Review) -> bool:
    """Tell whether the timeline is not what it was."""
    return review.capacity != review.capacity_before


def slug(name: str) -> str:
    """Return a name as it may stand in the address of a place in a page."""
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def count(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
