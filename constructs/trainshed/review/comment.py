"""A review as the comment of a pull request: GitHub's and GitLab's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .effects import Finding
from .result import Review
from .wording import (
    MARKS,
    capacity_changed,
    count,
    fact_words,
    headline,
    moment,
    resource_groups,
    resource_words,
    rule_title,
    security_groups,
    span_words,
    told_and_folded,
    unchanged_line,
    verdict_title,
)

# A comment on GitHub holds 65,536 characters.
MOST_CHARACTERS = 65_000
LONGEST_DIFF_LINES = 400
MOST_ROWS = 60
CUT = "\n\n> ✂️ Cut here: the rest does not fit into a comment. The HTML page has all of it.\n"


def markdown(review: Review) -> str:
    """Return one review as Markdown, short enough for a comment."""
    return markdown_of([review])


def markdown_of(reviews: Sequence[Review]) -> str:
    """Return several reviews as Markdown, those that change something first."""
    changed = [review for review in reviews if not review.is_unchanged]
    same = [review for review in reviews if review.is_unchanged]
    blocks = ["\n".join(_lines(review)) for review in changed]
    if len(changed) > 1:
        # First of all, so that what is cut off below is not missed.
        blocks.insert(0, "\n".join(f"- {_mark(each)} {_title(each)}" for each in changed))
    if same:
        blocks.append("\n\n".join(f"**{_bold(unchanged_line(each))}" for each in same))
    return _cut("\n\n".join(blocks or ["Neither version has a stack."]) + "\n")


def _mark(review: Review) -> str:
    return "⛔" if review.is_stopped else MARKS[review.verdict]


def _title(review: Review) -> str:
    return _html(verdict_title(review))


def _bold(line: str) -> str:
    name, _, rest = line.partition(": ")
    return f"{name}**: {rest}"


def _cut(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    kept = text[: MOST_CHARACTERS - len(CUT) - 100].rpartition("\n")[0]
    fence, folded = "", 0
    for line in kept.splitlines():
        ticks = re.match("`{3,}", line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif ticks:
            fence = ticks[0]
        else:
            folded += line.startswith("<details") - line.startswith("</details>")
    return kept + (f"\n{fence}" if fence else "") + "\n</details>" * folded + CUT


def _lines(review: Review) -> Iterator[str]:
    yield f"## {_mark(review)} {_title(review)}"
    yield ""
    yield headline(review)
    if review.counts:
        yield ""
        yield " · ".join(
            f"{MARKS[effect]} **{number}** {effect.value}"
            for effect, number in review.counts.items()
        )
    yield from _stops(review)
    yield from _findings(review.findings)
    yield from _security(review)
    yield from _capacity(review)
    yield from _files(review)
    yield from _resources(review)
    yield from _rules(review)
    for title, text in review.sections.items():
        yield from ("", f"### {title}", "", text.strip())
    for sentence in review.left_out:
        yield from ("", f"> {_words(sentence)}")


def _stops(review: Review) -> Iterator[str]:
    open_stops = [stop for stop in review.stops if not stop.is_accepted]
    if open_stops:
        yield from ("", "> [!CAUTION]", "> **Stopped.** Each of these has to be acknowledged:")
        for stop in open_stops:
            yield f"> - {_code(stop.place)}: {_words(stop.sentence)}"
            yield f">   If it is meant: {_code(stop.flag)}"
    for stop in review.stops:
        if stop.is_accepted:
            place, words = _code(stop.place), _words(stop.sentence)
            yield from ("", f"> ✔️ Acknowledged, `{stop.rule}` at {place}: {words}")


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    if not findings:
        return
    hurting, mild = told_and_folded(findings)
    yield from ("", "### What happens", "")
    if hurting:
        yield from _finding_table(hurting)
    if mild and hurting:
        yield ""
        title = f"{count(len(mild), 'more change')} applied while jobs run"
        yield from _details(title, _finding_table(mild))
    elif mild:
        yield from _finding_table(mild)


def _finding_table(findings: Iterable[Finding]) -> Iterator[str]:
    yield "| | Where | Change | What it does |"
    yield "|---|---|---|---|"
    for finding in findings:
        mark = f"{MARKS[finding.effect]} {finding.effect.value}"
        change = _change(finding.before, finding.after)
        yield f"| {mark} | {_code(finding.place)} | {change} | {_cell(finding.sentence)} |"


def _change(before: str, after: str) -> str:
    if not before and not after:
        return ""
    return f"{_code(before) or '*none*'} → {_code(after) or '*none*'}"


def _security(review: Review) -> Iterator[str]:
    groups = security_groups(review)
    if not groups:
        return
    yield from ("", "### Security")
    for group in groups:
        loud = any(fact.is_alarming for fact in group.facts)
        rows = [
            f"- {'⚠️ ' if fact.is_alarming else ''}{_code(fact.place)}: {_code(fact_words(fact))}"
            for fact in group.facts[:MOST_ROWS]
        ]
        yield ""
        heading = f"{group.title}: {len(group.facts)}"
        rows += _more(len(group.facts))
        if len(rows) > 8:
            yield from _details(f"{'⚠️ ' if loud else ''}{heading}", rows)
        else:
            yield from (f"**{heading}**", "", *rows)


def _capacity(review: Review) -> Iterator[str]:
    if not review.capacity or not (capacity_changed(review) or review.is_new):
        return
    before = {span.queue: span for span in review.capacity_before}
    yield from ("", "### Capacity", "")
    yield "| Queue | Instances | Starts | Drain by | Ends |"
    yield "|---|---|---|---|---|"
    for span in review.capacity:
        was = before.get(span.queue)
        times = [
            _moved(moment(getattr(was, key, None)), moment(getattr(span, key)))
            for key in ("start", "drain", "end")
        ]
        words = _moved(span_words(was) if was else "", span_words(span))
        yield f"| {_code(span.queue)} | {words} | {' | '.join(times)} |"
    for name in before.keys() - {span.queue for span in review.capacity}:
        yield f"| {_code(name)} | ~~{_cell(span_words(before[name]))}~~ | | | |"


def _moved(before: str, after: str) -> str:
    if before and before != after:
        return f"~~{_cell(before)}~~ {_cell(after)}".strip()
    return _cell(after)


def _files(review: Review) -> Iterator[str]:
    if not review.files:
        return
    yield from ("", "### Rendered files")
    for file in review.files:
        lines = file.diff.splitlines()
        shown = lines[:LONGEST_DIFF_LINES]
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", file.diff)), 3)
        body = [f"{fence}diff", *shown, fence]
        if len(lines) > len(shown):
            body.append(f"✂️ {len(lines) - len(shown)} more lines")
        yield ""
        title = f"<code>{_html(file.name)}</code> +{file.added} −{file.removed}"  # noqa: RUF001
        yield from _details(title, body)


def _resources(review: Review) -> Iterator[str]:
    groups = resource_groups(review)
    if not groups:
        return
    total = ", ".join(f"{len(changes)} {action.value}" for action, changes in groups)
    rows = ["| | Resource | Type | Why |", "|---|---|---|---|"]
    rows += [
        f"| {action.value} | {_code(each.place)} | {each.resource_type} | "
        f"{_cell(resource_words(each))} |"
        for action, changes in groups
        for each in changes[:MOST_ROWS]
    ]
    more = _more(max(len(changes) for _, changes in groups))
    rows += ["", *more] if more else []
    yield from ("", "### Resources", "")
    yield from _details(total, rows)


def _rules(review: Review) -> Iterator[str]:
    if not review.rules:
        return
    rows = ["| | Rule | Where | Words |", "|---|---|---|---|"]
    rows += [
        f"| {rule_title(each)} | {_code(each.rule)} | {_code(each.place)} | {_cell(each.words)} |"
        for each in review.rules
    ]
    yield from ("", "### cdk-nag", "")
    yield from _details(count(len(review.rules), "change"), rows)


def _more(number: int) -> list[str]:
    return [f"✂️ {number - MOST_ROWS} more are in the page."] if number > MOST_ROWS else []


def _details(summary: str, lines: Iterable[str]) -> Iterator[str]:
    yield from (f"<details><summary>{summary}</summary>", "", *lines, "", "</details>")


def _cell(text: str) -> str:
    return _words(text).replace("|", "\\|")


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _words(text: str) -> str:
    """Return a sentence that shows as it is: no mark-up, picture or comment comes of it."""
    return re.sub(r"([\\`*_\[\]])", r"\\\1", _html(text))


def _code(text: str) -> str:
    """Return text as code; in a table even code needs its bars escaped."""
    inner = " ".join(text.replace("|", "\\|").splitlines())
    if not inner:
        return ""
    longest = max((len(run) for run in re.findall("`+", inner)), default=0)
    ticks, pad = "`" * (longest + 1), " " if longest else ""
    return f"{ticks}{pad}{inner}{pad}{ticks}"
