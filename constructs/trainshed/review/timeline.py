"""The capacity of an institution over time, as a drawing inside a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from html import escape

from .capacity import CapacitySpan
from .wording import dated, moment, span_words

ROW, BAR, TOP, AXIS = 78, 16, 8, 30
INSET = 6
STEPS_DAYS = (1, 2, 7, 14, 30, 61, 91, 182, 365, 730)
TICK_PIXELS = 110
WIDE = 600


def timeline(
    after: Sequence[CapacitySpan], before: Sequence[CapacitySpan], *, width: int, name: str
) -> str:
    """Return an SVG of the dated capacity, with what it was as an outline.

    Args:
        after: The capacity as it will be.
        before: The capacity as it is.
        width: Width in pixels; letters keep their size, so that a phone gets a drawing of its own.
        name: What the drawing is called, unique in the page.

    Returns:
        The SVG; empty where nothing has an end.
    """
    moments = [
        when
        for span in (*dated(after), *dated(before))
        for when in (span.start, span.drain, span.end)
        if when is not None
    ]
    if not moments:
        return ""
    scale = _Scale(min(moments), max(moments), width)
    past = {span.queue: span for span in before}
    height = TOP + ROW * len(after) + AXIS
    rows = "".join(
        _row(span, past.get(span.queue), scale, TOP + ROW * index)
        for index, span in enumerate(after)
    )
    said = "; ".join(f"{span.queue}: {span_words(span)}{_times(span)}" for span in after)
    return (
        f'<svg class="timeline" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="{name}-t" aria-describedby="{name}-d">'
        f'<title id="{name}-t">Capacity over time</title>'
        f'<desc id="{name}-d">{escape(said)}</desc>'
        f"{''.join(_axis(scale, height))}{rows}</svg>"
    )


class _Scale:
    """Times to pixels, with a margin before the first and after the last."""

    def __init__(self, first: datetime, last: datetime, width: int) -> None:
        length = max(last - first, timedelta(days=1))
        self.first, self.last = first - length * 0.08, last + length * 0.06
        self.width = width

    def x(self, when: datetime) -> float:
        share: float = (when - self.first) / (self.last - self.first)
        return round(INSET + share * (self.width - 2 * INSET), 1)

    def ticks(self) -> Iterator[datetime]:
        """Yield midnights, as many as have room."""
        days = (self.last - self.first).days
        fit = max(1, self.width // TICK_PIXELS)
        step = next((each for each in STEPS_DAYS if days / each <= fit), STEPS_DAYS[-1])
        when = self.first.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        while when < self.last:
            yield when
            when += timedelta(days=step)


def _axis(scale: _Scale, height: int) -> Iterator[str]:
    bottom = height - AXIS
    for when in scale.ticks():
        x = scale.x(when)
        yield f'<path class="tick" d="M{x} {TOP}V{bottom + 6}"/>'
        if x < scale.width - 70:
            yield f'<text class="date" x="{x + 3}" y="{height - 8}">{when:%d %b %Y}</text>'


def _row(span: CapacitySpan, was: CapacitySpan | None, scale: _Scale, y: int) -> str:
    bar = y + 26
    parts = [
        f'<text class="queue" x="{INSET}" y="{y + 16}">{escape(span.queue)}'
        f'<tspan class="words" dx="8">{escape(_words(span, scale.width))}</tspan></text>'
    ]
    if was and (was.start, was.end) != (span.start, span.end) and was.end:
        left, right = _ends(was, scale)
        parts.append(
            f'<rect class="was" x="{left}" y="{bar - 3}" width="{max(right - left, 2):.1f}" '
            f'height="{BAR + 6}" rx="6"><title>before: until {moment(was.end)}</title></rect>'
        )
    left, right = _ends(span, scale)
    kind = "bar" if span.end else "bar open"
    parts.append(
        f'<rect class="{kind}" x="{left}" y="{bar}" width="{max(right - left, 2):.1f}" '
        f'height="{BAR}" rx="4"/>'
    )
    if span.drain:
        x = scale.x(span.drain)
        parts.append(f'<path class="drain" d="M{x} {bar - 5}V{bar + BAR + 5}"/>')
    parts.append(f'<text class="when" x="{INSET}" y="{bar + BAR + 18}">{_when(span)}</text>')
    return f"<g>{''.join(parts)}</g>"


def _words(span: CapacitySpan, width: int) -> str:
    """Return the capacity as a line that fits: a phone has the reservation in the table below."""
    return span_words(span) if width >= WIDE else span_words(replace(span, reservation=""))


def _ends(span: CapacitySpan, scale: _Scale) -> tuple[float, float]:
    left = scale.x(span.start) if span.start else float(INSET)
    return left, scale.x(span.end) if span.end else float(scale.width - INSET)


def _when(span: CapacitySpan) -> str:
    if span.end is None:
        return "no end"
    drains = f"drain by {moment(span.drain)}, " if span.drain else ""
    return f"{drains}ends {moment(span.end)}"


def _times(span: CapacitySpan) -> str:
    return f", {_when(span)}"
