"""``trainshed review``: what a change will do, before anything is deployed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from ..config import ConfigError
from ..review import MissingSchemasError, Review, html_of, markdown_of, review_many
from ..review.guards import RULES
from ..review.wording import headline, unchanged_line

STOPPED = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    what = "a synthesised assembly such as cdk.out, or an institution file"
    rules = "; ".join(f"{rule} {meaning}" for rule, meaning in RULES.items())
    parser.add_argument("base", type=Path, metavar="BASE", help=f"what is deployed: {what}")
    parser.add_argument("head", type=Path, metavar="HEAD", help="what is asked for, of that kind")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the comment here")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the page here")
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="RULE[:PLACE]",
        help=f"acknowledge what stops the review, everywhere or at one place: {rules}",
    )
    parser.add_argument(
        "--section",
        action="append",
        default=[],
        metavar="[NAME:]TITLE=FILE",
        help="show a Markdown file under a title: Cost=cost.md; for institution NAME, or all",
    )
    parser.add_argument(
        "--picture",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="show an SVG in the page, for institution NAME or all",
    )


def run(options: argparse.Namespace) -> int:
    """Review, write and print. Return 0, 1 for what cannot be read, 2 for what is stopped."""
    try:
        reviews = review_many(options.base, options.head, accepted=frozenset(options.accept))
        reviews = [_with_sections(review, options.section) for review in reviews]
        found = {review.name: _picture(review.name, options.picture) for review in reviews}
        pictures = {name: picture for name, picture in found.items() if picture}
        comment = markdown_of(reviews)
        if options.markdown:
            options.markdown.write_text(comment, encoding="utf-8")
        if options.html:
            options.html.write_text(html_of(reviews, pictures=pictures), encoding="utf-8")
    except (ConfigError, MissingSchemasError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    if options.markdown or options.html:
        print("\n".join(_verdict(review) for review in reviews))
    else:
        print(comment, end="")
    return _stop(reviews, options.accept)


def _verdict(review: Review) -> str:
    if review.is_unchanged:
        return unchanged_line(review)
    return f"{review.name}: {review.verdict.value}. {headline(review)}"


def _stop(reviews: Sequence[Review], accepted: Sequence[str]) -> int:
    """Say what stops, and which acknowledgement nothing needed."""
    found = [stop for review in reviews for stop in review.stops]
    for stop in found:
        if not stop.is_accepted:
            print(f"stopped: {stop.place}: {stop.sentence}", file=sys.stderr)
            print(f"  if it is meant: {stop.flag}", file=sys.stderr)
    used = {name for stop in found for name in (stop.rule, f"{stop.rule}:{stop.place}")}
    for name in accepted:
        if name not in used:
            print(f"--accept {name}: nothing here needs it", file=sys.stderr)
    return STOPPED if any(review.is_stopped for review in reviews) else 0


def _with_sections(review: Review, given: Sequence[str]) -> Review:
    sections = dict(review.sections)
    for each in given:
        label, _, file = each.partition("=")
        name, _, title = label.rpartition(":")
        if not title or not file:
            raise ValueError(f"--section is {each!r}; write Cost=cost.md or kait:Cost=cost.md")
        if name in ("", review.name):
            sections[title] = _text(file)
    return replace(review, sections=MappingProxyType(sections))


def _picture(name: str, given: Sequence[str]) -> str:
    for each in given:
        institution, _, file = each.rpartition("=")
        if institution in ("", name):
            text = _text(file)
            # A page cannot hold the declaration of a file of its own.
            return text[text.index("<svg") :] if "<svg" in text else text
    return ""


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is no text: {error}; use another") from None
