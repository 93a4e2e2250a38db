"""A review as a page: what can be said of it without a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import KAIT, changed
from tests.unit.review.test_comment import grown, shrunk, worst
from trainshed.review import (
    CapacitySpan,
    Effect,
    Finding,
    Review,
    html,
    review,
    review_many,
)
from trainshed.review.page import html_of
from trainshed.review.prose import to_html
from trainshed.review.timeline import timeline
from trainshed.review.wording import verdict_title

VOID = {"meta", "link", "br", "rect", "path"}
SPAN = CapacitySpan(
    queue="train",
    kind="Capacity Block",
    nodes=4,
    instance_type="p5en.48xlarge",
    reservation="cr-0123456789abcdef0",
    start=datetime(2027, 1, 4, 11, 30, tzinfo=UTC),
    drain=datetime(2027, 3, 1, 10, 50, tzinfo=UTC),
    end=datetime(2027, 3, 1, 11, 30, tzinfo=UTC),
)


class Page(HTMLParser):
    """The elements of a page, checked for their nesting."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def values(self, attribute: str) -> Iterator[str]:
        for _, attributes in self.elements:
            if attribute in attributes:
                yield str(attributes[attribute])


@pytest.fixture(params=["shrunk", "worst", "grown"])
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Page:
    found = {
        "shrunk": lambda: shrunk(tmp_path),
        "worst": lambda: changed(tmp_path, worst, accepted=["orphan-data"]),
        "grown": lambda: changed(tmp_path, grown),
    }[request.param]()
    full = replace(found, capacity=(SPAN,), sections={"Cost": "| a | b |\n|---|---|\n| 1 | 2 |"})
    return Page(html(full, picture='<svg role="img" aria-label="x"><rect width="1"/></svg>'))


def test_it_asks_for_nothing(page: Page) -> None:
    assert not {"script", "img", "iframe", "object", "form"} & {tag for tag, _ in page.elements}
    assert list(page.values("src")) == []
    assert {each for each in page.values("href") if not each.startswith("#")} == {"data:,"}
    (policy,) = [
        attributes["content"]
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_the_style_asks_for_nothing() -> None:
    style = html(Review("kait")).split("<style>")[1].split("</style>")[0]
    assert "url(" not in style and "@import" not in style and "http" not in style


def test_names_are_unique_and_every_link_and_label_arrives(page: Page) -> None:
    names = list(page.values("id"))
    assert len(names) == len(set(names))
    links = {each[1:] for each in page.values("href") if each.startswith("#")}
    labels = {*page.values("aria-labelledby"), *page.values("aria-describedby")}
    assert links | labels <= set(names)


def test_what_scrolls_can_be_reached_and_has_a_name(page: Page) -> None:
    reached = [attributes for _, attributes in page.elements if "tabindex" in attributes]
    assert reached
    assert all(attributes["tabindex"] == "0" for attributes in reached)
    assert all(attributes.get("aria-label") for attributes in reached)


def test_drawings_have_a_name(page: Page) -> None:
    drawings = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert len(drawings) == 3
    assert all(a.get("role") == "img" for a in drawings)
    assert all(a.get("aria-label") or a.get("aria-labelledby") for a in drawings)


def test_headings_leave_out_no_level(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_language_a_title_and_a_way_to_the_content(page: Page) -> None:
    assert ("html", {"lang": "en"}) in page.elements
    assert ("a", {"class": "skip", "href": "#main"}) in page.elements


def test_values_are_text_and_never_markup() -> None:
    evil = "<script>alert(1)</script>"
    finding = Finding(evil, evil, evil, Effect.LIVE, evil)
    text = html(Review(evil, findings=(finding,), sections={evil: evil}, left_out=(evil,)))
    assert "<script" not in text
    assert text.count("&lt;script&gt;") > 6


def test_an_unchanged_institution_is_one_line(tmp_path: Path) -> None:
    found = changed(tmp_path, lambda stacks: None)
    text = html(found)
    assert '<div class="verdict none"><p>kait: nothing changes.</p></div>' in text
    Page(text)


def test_several_institutions_are_one_page(tmp_path: Path) -> None:
    first = changed(tmp_path, grown)
    text = html_of([first, replace(first, name="other")], pictures={"other": "<svg></svg>"})
    names = list(Page(text).values("id"))
    assert len(names) == len(set(names))
    assert "<title>Review of kait, other</title>" in text
    links = re.findall(r'<nav aria-label="Institutions"><ul>(.*?)</ul>', text)
    assert re.findall(r'<a href="#([^"]+)">([^<]+)</a>', links[0]) == [
        ("kait-verdict", verdict_title(first)),
        ("other-verdict", verdict_title(replace(first, name="other"))),
    ]
    assert set(re.findall('id="([a-z]+-verdict)"', text)) == {"kait-verdict", "other-verdict"}
    assert "Institutions" not in html(first)


@pytest.mark.parametrize("width", [340, 960])
def test_a_timeline_stays_inside_its_frame(width: int) -> None:
    before = replace(SPAN, end=datetime(2027, 2, 1, tzinfo=UTC), drain=None)
    endless = replace(SPAN, queue="more", start=None, drain=None, end=None)
    drawing = timeline([SPAN, endless], [before], width=width, name="t")
    for x, span in re.findall(r'<rect [^>]*x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawing):
        assert float(x) >= 0 and float(x) + float(span) <= width
    assert "drain by 2027-03-01 10:50 UTC, ends 2027-03-01 11:30 UTC" in drawing
    assert "before: until 2027-02-01 00:00 UTC" in drawing
    assert "no end" in drawing


def test_without_an_end_there_is_no_timeline() -> None:
    endless = replace(SPAN, drain=None, end=None, start=None)
    assert timeline([endless], [], width=960, name="t") == ""


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("two\nlines", "<p>two lines</p>"),
        ("**b** and `c<d`", "<p><strong>b</strong> and <code>c&lt;d</code></p>"),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("## T\n\ntext", "<h4>T</h4><p>text</p>"),
        (
            "```\na < b\n```\nafter",
            '<pre tabindex="0" aria-label="Code">a &lt; b</pre><p>after</p>',
        ),
        ("```\nopen", '<pre tabindex="0" aria-label="Code">open</pre>'),
        ("<b>", "<p>&lt;b&gt;</p>"),
    ],
)
def test_the_markdown_of_sections_becomes_html(markdown: str, expected: str) -> None:
    assert to_html(markdown) == expected


def test_a_table_keeps_its_bars() -> None:
    made: Any = to_html("| a | b |\n|---|--:|\n| x \\| y | z |")
    assert '<th scope="col">a</th><th scope="col">b</th>' in made
    assert "<td>x | y</td><td>z</td>" in made


def test_a_page_of_one_review_has_what_a_page_of_many_has(tmp_path: Path) -> None:
    text = KAIT.read_text()
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.yaml").write_text(text.replace("capacity_gib: 230400", "capacity_gib: 268800"))
    sides = tmp_path / "a.yaml", tmp_path / "b.yaml"
    one, (many,) = review(*sides), review_many(*sides)
    assert html(one) == html_of([many])
    assert list(one.sections) == ["Cost", "Quotas"]
    assert "<svg" in html(one)
    more = review(*sides, sections={"Notes": "Read this."})
    assert list(more.sections) == ["Cost", "Quotas", "Notes"]
