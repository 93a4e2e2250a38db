"""A review as one page that needs nothing else: no script, no font, no request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from . import page_parts, prose
from .result import Review
from .wording import headline, slug, unchanged_line, verdict_title

# The browser itself then refuses to ask for anything.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def html(review: Review, *, picture: str = "") -> str:
    """Return one review as a page.

    Args:
        review: The review.
        picture: SVG of what the institution gets, shown as it is. Default: the review's own.
    """
    return html_of([review], pictures={review.name: picture} if picture else None)


def html_of(reviews: Sequence[Review], *, pictures: Mapping[str, str] | None = None) -> str:
    """Return several reviews as one page, those that change something first."""
    changed = [review for review in reviews if not review.is_unchanged]
    same = [review for review in reviews if review.is_unchanged]
    title = f"Review of {', '.join(review.name for review in reviews)}"
    given = {**{r.name: r.picture for r in reviews}, **(pictures or {})}
    body = (
        _contents(changed)
        + "".join("".join(_article(review, given.get(review.name, ""))) for review in changed)
        + "".join(_unchanged(review, given.get(review.name, "")) for review in same)
    )
    style = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<title>{escape(title)}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">To the review</a>\n'
        f"<header><h1>{escape(title)}</h1></header>\n"
        f'<main id="main">{body}</main>\n'
        "<footer><p>Written by trainshed before anything is deployed.</p></footer>\n"
        "</body>\n</html>\n"
    )


def _contents(reviews: Sequence[Review]) -> str:
    """Return the verdicts of several institutions, each with the way to it."""
    if len(reviews) < 2:
        return ""
    links = "".join(
        f'<li><a href="#{slug(each.name)}-verdict">{escape(verdict_title(each))}</a></li>'
        for each in reviews
    )
    return f'<nav aria-label="Institutions"><ul>{links}</ul></nav>'


def _unchanged(review: Review, picture: str) -> str:
    line = f'<div class="verdict none"><p>{escape(unchanged_line(review))}</p></div>'
    return f"<article>{line}{_picture(review, picture)}</article>"


def _article(review: Review, picture: str) -> Iterator[str]:
    parts = [
        ("happens", "What happens", "".join(page_parts.findings(review))),
        ("security", "Security", "".join(page_parts.security(review))),
        ("capacity", "Capacity", "".join(page_parts.capacity(review))),
        ("picture", "Picture", _picture(review, picture)),
        ("files", "Rendered files", "".join(page_parts.file(each) for each in review.files)),
        *(
            (f"section-{at}", title, f'<div class="card">{prose.to_html(text)}</div>')
            for at, (title, text) in enumerate(review.sections.items())
        ),
        ("resources", "Resources", "".join(page_parts.resources(review))),
        ("nag", "cdk-nag", "".join(page_parts.rules(review))),
    ]
    shown = [(f"{slug(review.name)}-{key}", title, body) for key, title, body in parts if body]
    name = f"{slug(review.name)}-verdict"
    yield f'<article aria-labelledby="{name}">{_verdict(review, name)}'
    yield from _stops(review)
    links = "".join(f'<li><a href="#{key}">{escape(title)}</a></li>' for key, title, _ in shown)
    yield f'<nav aria-label="Parts of {escape(review.name)}"><ul>{links}</ul></nav>'
    for key, title, body in shown:
        heading = f'<h3 id="{key}">{escape(title)}</h3>'
        yield f'<section aria-labelledby="{key}">{heading}{body}</section>'
    yield "".join(f'<p class="soft">{escape(each)}</p>' for each in review.left_out)
    yield "</article>"


def _verdict(review: Review, name: str) -> str:
    chips = "".join(
        f'<li class="chip {page_parts.TONES[effect]}">{number} {effect.value}</li>'
        for effect, number in review.counts.items()
    )
    tone = "stop" if review.is_stopped else page_parts.TONES[review.verdict]
    listed = f'<ul class="chips" aria-label="Changes by what they do">{chips}</ul>' if chips else ""
    return (
        f'<div class="verdict {tone}"><h2 id="{name}">{escape(verdict_title(review))}</h2>'
        f"<p>{escape(headline(review))}</p>"
        f"{listed}</div>"
    )


def _stops(review: Review) -> Iterator[str]:
    for is_accepted, title in ((False, "Stopped until it is acknowledged"), (True, "Acknowledged")):
        rows = "".join(
            f"<li><strong>{escape(stop.place)}</strong>: {escape(stop.sentence)}"
            + ("" if is_accepted else f"<pre>{escape(stop.flag)}</pre>")
            + "</li>"
            for stop in review.stops
            if stop.is_accepted is is_accepted
        )
        if rows:
            done = " done" if is_accepted else ""
            role = "" if is_accepted else ' role="note"'
            yield f'<div class="stops{done}"{role}><h3>{title}</h3><ul>{rows}</ul></div>'


def _picture(review: Review, picture: str) -> str:
    if not picture:
        return ""
    label = f"What {escape(review.name)} gets"
    # Wider than a phone, so that its letters stay readable there.
    frame = f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">{picture}</div>'
    caption = f"<figcaption>{label}</figcaption>"
    return f'<figure class="card" aria-label="{label}">{frame}{caption}</figure>'
