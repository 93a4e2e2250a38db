"""From alerts to Slack's Block Kit. Pure; no message breaks Slack's limits, whatever it says."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from .alerts import Alert

# docs.slack.dev, "Blocks", "Text object", "Section block", "Header block", read 2026-11-29.
_HEADER = 150
_SECTION = 3000
_FIELDS_A_SECTION = 10
# All texts of a message together, which no page says: chat.postMessage has refused 11,341
# characters with msg_blocks_too_long (slackapi/bolt-js issues 2509 and 2867, read 2026-11-29).
_MESSAGE = 9000
# Ours: what an operator still reads, and far from Slack's 50 blocks.
_FIELDS = 20
_NAME = 60
_VALUES = 2400
_ADVICE = 700
_CHART = 300
_LINKS = 1200
_FALLBACK = 300
_CHANGES = 10
_CHANGES_IN_A_DIGEST = 3
_ENTRY = 700
ALERTS_A_DIGEST = 12

_CUT = " … (cut)"
# A wiki or a dashboard inside may be without TLS; nothing else is a page.
_PAGES = ("https://", "http://")
# What is no character, and what turns those after it around whatever script they are of.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\u202d\u202e\ud800-\udfff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ICONS = {"critical": "🔴", "warning": "🟠", "info": "🔵", "ok": "✅", "no data": "⚪"}

Payload = dict[str, Any]
Block = dict[str, Any]


@dataclass(frozen=True)
class Story:
    """The latest alert of a key with what was known before it."""

    alert: Alert
    since: str = ""
    """When it began, ISO 8601; empty: with this alert."""
    count: int = 1
    """How often it was raised since then."""
    changes: tuple[tuple[str, str], ...] = ()
    """Time and state of each change that this message tells of, where there are several."""
    late: bool = False
    """Whether something later about the same key was shown before."""


def message(story: Story, mention: str = "") -> Payload:
    """Return the whole message of one story."""
    alert = story.alert
    blocks: list[Block] = []
    if alert.chart:
        blocks.append(_section(f"`{escape(alert.chart, _CHART)}`"))
    blocks.append(_section(f"{mention} {_timeline(story)}".strip()))
    if alert.advice and alert.state != "ok":
        blocks.append(_section(f"*Do:* {escape(alert.advice, _ADVICE)}"))
    blocks += _field_sections(alert)
    if alert.links:
        blocks.append(_section(_links(alert, _LINKS) or "no link"))
    blocks = [_header(headline(story)), *blocks, _context(story)]
    body = escape(alert.what, min(_SECTION, _MESSAGE - sum(map(_size, blocks))) - 100).strip()
    if body:
        blocks.insert(1, _section(f"```{body}```" if alert.kind.startswith("JSON") else body))
    return {"text": escape(headline(story), _FALLBACK), "blocks": blocks}


def reply(story: Story, mention: str = "") -> Payload:
    """Return the line that goes into the thread of a message when its story goes on."""
    alert = story.alert
    parts = [mention, f"*{escape(headline(story), _FALLBACK)}*", _timeline(story)]
    if alert.what and (alert.state != "ok" or len(story.changes) > 1):
        parts.append(escape(alert.what, 1000))
    return {"text": "\n".join(part for part in parts if part)}


def digest(stories: Sequence[Story], mention: str = "") -> Payload:
    """Return one message for many stories, worst first, at most :data:`ALERTS_A_DIGEST`."""
    if len(stories) > ALERTS_A_DIGEST:
        raise ValueError(f"{len(stories)} alerts in one message; at most {ALERTS_A_DIGEST}")
    names = ("critical", "warning", "info", "ok", "no data")
    looks = [_look(story.alert) for story in stories]
    counts = ", ".join(f"{_ICONS[n]} {looks.count(n)} {n}" for n in names if n in looks)
    title = f"{len(stories)} alerts: {counts}"
    ordered = sorted(zip(looks, stories, strict=True), key=lambda pair: names.index(pair[0]))
    blocks = [_header(title), *([_section(mention)] if mention else [])]
    blocks += [_section(_digest_entry(story)) for _, story in ordered]
    return {"text": escape(title, _FALLBACK), "blocks": blocks}


def headline(story: Story) -> str:
    """Return the one line that says what it is and how bad."""
    alert = story.alert
    # A new alarm's first state is no news of an end.
    good = "OK" if alert.first and not story.since else "RESOLVED"
    word = {"ok": good, "no data": "NO DATA"}.get(alert.state, alert.severity.upper())
    place = f"{alert.institution}: " if alert.institution else ""
    late = " (late)" if story.late else ""
    return f"{_ICONS[_look(alert)]} {word}{late} {place}{alert.title}"


def escape(text: str, limit: int) -> str:
    """Escape Slack's three control characters and cut visibly, never inside a character.

    Lengths are counted in UTF-16 units, the largest of the ways in which Slack may count.
    """
    return _fit(text, limit, _ESCAPES)


def _fit(text: str, limit: int, escapes: dict[str, str]) -> str:
    kept: list[str] = []
    used = 0
    for cluster in _clusters(text):
        piece = "".join(escapes.get(char, char) for char in cluster)
        used += _units(piece)
        kept.append(piece)
        if used > limit:
            break
    else:
        return "".join(kept)
    while kept and used > limit - _units(_CUT):
        used -= _units(kept.pop())
    return "".join(kept) + _CUT


def _clusters(text: str) -> Iterator[str]:
    """Yield what a reader sees as one character: a letter with its accents, a joined emoji."""
    cluster = ""
    for char in _UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", text):
        # A cluster without an end is an attack on the reader: text of combining marks alone.
        if cluster and len(cluster) < 32 and _joins(cluster, char):
            cluster += char
            continue
        if cluster:
            yield cluster
        cluster = char
    if cluster:
        yield cluster


def _joins(cluster: str, char: str) -> bool:
    """Tell whether a character belongs to the one before it, as a reader sees them.

    The rules of Unicode's Annex 29 that occur in names and chat: marks, emoji sequences, flags,
    and Hangul in parts, as file names of macOS have it.
    """
    last = cluster[-1]
    if unicodedata.category(char) in ("Mn", "Mc", "Me") or char == "\N{ZERO WIDTH JOINER}":
        return True
    if "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f":
        return True
    if _is_flag_letter(char):
        return _is_flag_letter(last) and len(cluster) == 1
    if "\u1160" <= char <= "\u11ff":
        return "\u1100" <= last <= "\u11ff" or "\uac00" <= last <= "\ud7a3"
    return last == "\N{ZERO WIDTH JOINER}"


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _units(text: str) -> int:
    return len(text) + sum(char > "\uffff" for char in text)


def _look(alert: Alert) -> str:
    return alert.state if alert.state in ("ok", "no data") else alert.severity


def _header(text: str) -> Block:
    # Plain text: Slack parses no mention in it, and escapes would be shown.
    return {
        "type": "header",
        "text": {"type": "plain_text", "text": _fit(_line(text), _HEADER, {})},
    }


def _size(block: Block) -> int:
    """Return the length of all texts of a block."""
    parts = [block.get("text"), *block.get("fields", ()), *block.get("elements", ())]
    return sum(_units(part["text"]) for part in parts if part)


def _section(text: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def _line(text: str) -> str:
    return " ".join(text.split())


def _timeline(story: Story, most_changes: int = _CHANGES) -> str:
    alert, now = story.alert, story.alert.time
    since = story.since or now
    if not since:
        parts = ["*Since* unknown"]
    elif alert.state == "ok" and now and story.since:
        parts = [f"*Over* {_date(now)} after {duration(since, now)}, since {_date(since)}"]
    elif now in ("", since):
        parts = [f"*Since* {_date(since)}"]
    else:
        parts = [f"*Since* {_date(since)}, latest {_date(now)}"]
    if story.count > 1:
        parts.append(f"raised {story.count} times")
    if len(story.changes) > 1:
        shown = story.changes[-most_changes:]
        steps = [f"{state} {_date(time)}" for time, state in shown]
        before = ["…"] if len(story.changes) > most_changes else []
        parts.append(f"changes: {' → '.join([*before, *steps])}")
    return " · ".join(parts)


def duration(start: str, end: str) -> str:
    """Return the time between two ISO 8601 texts in words: ``25 min``."""
    span = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    seconds = max(int(span.total_seconds()), 0)
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 2 * 3600:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"


def _date(time: str) -> str:
    """Return a time that Slack shows in the reader's own zone, and in UTC where it cannot."""
    if not time:
        return "unknown time"
    moment = datetime.fromisoformat(time)
    fallback = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return f"<!date^{int(moment.timestamp())}^{{date_short_pretty}} {{time_secs}}|{fallback}>"


def _field_sections(alert: Alert) -> list[Block]:
    fields = [(name, value) for name, value in alert.fields if value]
    shown, hidden = fields[:_FIELDS], len(fields) - _FIELDS
    limit = min(_VALUES // max(len(shown), 1), 1000)
    texts = [
        {"type": "mrkdwn", "text": f"*{escape(name, _NAME)}*\n{escape(value, limit)}"}
        for name, value in shown
    ]
    sections = [
        {"type": "section", "fields": texts[start : start + _FIELDS_A_SECTION]}
        for start in range(0, len(texts), _FIELDS_A_SECTION)
    ]
    return [*sections, *([_section(f"… and {hidden} more fields")] if hidden > 0 else [])]


def _links(alert: Alert, limit: int) -> str:
    """Return whole links only: one that does not fit is left out, and never cut."""
    text = ""
    for label, url in alert.links:
        link = f"<{escape(url, 10_000).replace('|', '%7C')}|{escape(label, 100)}>"
        if url.startswith(_PAGES) and _units(text) + _units(link) + 3 <= limit:
            text = f"{text} · {link}" if text else link
    return text


def _context(story: Story) -> Block:
    alert = story.alert
    parts = (alert.kind, alert.account, alert.region)
    text = " · ".join(escape(part, 100) for part in parts if part.strip()) or "message"
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}


def _digest_entry(story: Story) -> str:
    alert = story.alert
    text = f"*{escape(_line(headline(story)), 200)}*\n{_timeline(story, _CHANGES_IN_A_DIGEST)}"
    if alert.chart:
        text += f"\n`{escape(alert.chart, 100)}`"
    elif alert.what and alert.state != "ok" and _units(text) < _ENTRY - 100:
        text += f"\n{escape(_line(alert.what), min(300, _ENTRY - _units(text) - 1))}"
    links = _links(replace(alert, links=alert.links[:2]), _ENTRY - _units(text) - 1)
    return f"{text}\n{links}" if links else text
