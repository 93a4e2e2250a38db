"""The parts of the page: each yields or returns HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from .effects import Effect, Finding
from .result import FileDiff, Review
from .timeline import timeline
from .wording import (
    capacity_changed,
    count,
    dated,
    fact_words,
    moment,
    resource_groups,
    resource_words,
    rule_title,
    security_groups,
    slug,
    span_words,
    told_and_folded,
)

TONES = {
    Effect.UNTOUCHED: "none",
    Effect.LIVE: "calm",
    Effect.PAUSES_NEW_JOBS: "wait",
    Effect.DRAINS_NODES: "wait",
    Effect.ENDS_SESSIONS: "wait",
    Effect.STOPS_LOGIN_NODES: "wait",
    Effect.NEEDS_IDLE_NODES: "warn",
    Effect.STOPS_FLEET: "warn",
    Effect.REPLACES_NODES: "warn",
    Effect.REFUSED: "stop",
    Effect.REPLACES_DATA: "stop",
    Effect.LOSES_DATA: "stop",
}
ALARM = '<li class="alarm"><span aria-label="attention">⚠</span> '


def findings(review: Review) -> Iterator[str]:
    """Yield what happens: what hurts first, the rest folded."""
    hurting, mild = told_and_folded(review.findings)
    if hurting:
        yield _finding_list(hurting)
    if mild and hurting:
        title = f"{count(len(mild), 'more change')} applied while jobs run"
        yield f"<details><summary>{title}</summary>{_finding_list(mild)}</details>"
    elif mild:
        yield _finding_list(mild)


def _finding_list(findings: Iterable[Finding]) -> str:
    return f'<ul class="findings">{"".join(_finding(each) for each in findings)}</ul>'


def _finding(finding: Finding) -> str:
    section, _, key = finding.place.rpartition(".")
    small = f"<small>{escape(section)}</small>" if section else ""
    return (
        f'<li><div><span class="chip {TONES[finding.effect]}">{finding.effect.value}</span></div>'
        f'<div><div class="where">{escape(key)}{small}</div>'
        f"{_change(finding)}<p>{escape(finding.sentence)}</p></div></li>"
    )


def _change(finding: Finding) -> str:
    if not finding.before and not finding.after:
        return ""
    sides = [
        f"<code>{escape(side)}</code>" if side else '<span class="soft">none</span>'
        for side in (finding.before, finding.after)
    ]
    return f'<div class="change">{sides[0]} <span aria-label="becomes">→</span> {sides[1]}</div>'


def security(review: Review) -> Iterator[str]:
    """Yield what opens and what closes, group by group."""
    groups = security_groups(review)
    if not groups:
        return
    yield '<div class="pair">'
    for group in groups:
        rows = "".join(
            f"{ALARM if fact.is_alarming else '<li>'}{escape(fact_words(fact))}"
            f"<small>{escape(fact.place)}</small></li>"
            for fact in group.facts
        )
        title = f"{group.title}: {len(group.facts)}"
        yield (
            f'<div class="facts"><h4>{title}</h4>'
            f'<ul tabindex="0" aria-label="{escape(group.title)}">{rows}</ul></div>'
        )
    yield "</div>"


def capacity(review: Review) -> Iterator[str]:
    """Yield the timeline and its table."""
    if not review.capacity:
        return
    yield '<div class="card">'
    for width, kind in ((960, "wide"), (340, "narrow")):
        drawing = timeline(
            review.capacity,
            review.capacity_before,
            width=width,
            name=f"{slug(review.name)}-{kind}",
        )
        yield f'<div class="{kind}">{drawing}</div>' if drawing else ""
    if dated(review.capacity):
        yield '<p class="soft">Solid: as it will be. Dashed: as it is. Red: drain nodes.</p>'
    before = {span.queue: span for span in review.capacity_before}
    rows = [
        (
            span.queue,
            span_words(span),
            moment(span.start),
            moment(span.drain),
            moment(span.end) or "no end",
            span_words(before[span.queue]) if before.get(span.queue, span) != span else "",
        )
        for span in review.capacity
    ]
    yield _table(("Queue", "Instances", "Starts", "Drain by", "Ends", "Before"), rows, "Capacity")
    gone = [name for name in before if name not in {span.queue for span in review.capacity}]
    for name in gone:
        yield f'<p class="soft">Gone: {escape(name)}, {escape(span_words(before[name]))}.</p>'
    if not capacity_changed(review):
        yield '<p class="soft">As before.</p>'
    yield "</div>"


def file(file: FileDiff) -> str:
    """Return the diff of one file, folded."""
    kinds = {"+": "a", "-": "c", "@": "h"}
    lines = "".join(
        f'<span class="{"h" if at < 2 else kinds.get(line[:1], "")}">{escape(line) or " "}</span>'
        for at, line in enumerate(file.diff.splitlines())
    )
    name = escape(file.name)
    return (
        f'<details><summary>{name} <span class="soft">{count(file.added, "line")} added, '
        f"{file.removed} removed</span></summary>"
        f'<pre class="diff" tabindex="0" role="region" aria-label="Diff of {name}">{lines}</pre>'
        "</details>"
    )


def resources(review: Review) -> Iterator[str]:
    """Yield the resources by what becomes of them, folded."""
    for action, changes in resource_groups(review):
        rows = [(each.place, each.resource_type, resource_words(each)) for each in changes]
        yield _details(
            f"{len(changes)} {action.value}",
            _table(("Resource", "Type", "Why"), rows, f"Resources {action.value}"),
        )


def rules(review: Review) -> Iterator[str]:
    """Yield what changes in cdk-nag, folded."""
    if review.rules:
        rows = [(rule_title(each), each.rule, each.place, each.words) for each in review.rules]
        table = _table(("What", "Rule", "Where", "Words"), rows, "cdk-nag")
        yield _details(count(len(review.rules), "change"), table)


def _details(summary: str, body: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def _cell(head: str, text: str) -> str:
    """Return a cell that brings its heading along, for a phone."""
    return f'<td data-head="{head}">{escape(text)}</td>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], label: str) -> str:
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    body = "".join("<tr>" + "".join(map(_cell, heads, row)) + "</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<table class="lanes"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )
