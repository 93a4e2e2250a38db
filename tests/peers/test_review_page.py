"""The page of a review in headless Chromium: phone and desktop, light and dark, by keyboard.

Needs Debian's package ``chromium``. The browser is driven through a pipe, so there is no port.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import changed
from tests.unit.review.test_comment import shrunk, worst
from tests.unit.review.test_page import SPAN
from trainshed.review import html

pytestmark = [pytest.mark.slow, pytest.mark.browser]

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
]
PICTURE = (
    '<svg role="img" aria-label="KAIT" viewBox="0 0 40 10"><rect width="40" height="10"/></svg>'
)
COST = "| Item | USD a month |\n|---|---|\n| FSx for Lustre | 31,000 |\n\n- **one** Region"

# The contrast of every visible text with what is behind it (WCAG 2.2, success criterion 1.4.3).
CONTRAST = """
(() => {
  const channels = color => color.match(/[\\d.]+/g).map(Number);
  const luminance = rgb => rgb.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    for (let at = node; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const node of document.querySelectorAll('main *, header *, footer *')) {
    const own = [...node.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !node.checkVisibility() || node instanceof SVGElement) continue;
    const [a, b] = [channels(getComputedStyle(node).color), behind(node)].map(luminance);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push(`${node.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return weak;
})()
"""
# What sticks out of the window, apart from what scrolls by itself.
OVERFLOW = """
[...document.querySelectorAll('main *, header *')]
  .filter(node => !node.closest('.scroll, pre, .facts ul') && node.checkVisibility())
  .filter(node => node.getBoundingClientRect().right > innerWidth + 1)
  .map(node => `${node.tagName}.${node.className.baseVal ?? node.className}`)
"""
FOCUSED = "document.activeElement.textContent.trim().slice(0, 40)"
OUTLINED = "getComputedStyle(document.activeElement).outlineStyle"


@dataclass
class Browser:
    """Chromium, one page at a time, and everything it said."""

    profile: Path
    events: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> Browser:
        executable = shutil.which("chromium")
        assert executable, "chromium is not installed: apt-get install chromium"
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        # Chromium reads from descriptor 3 and writes to 4.
        command = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "-", executable, *FLAGS, f"--user-data-dir={self.profile}"],
            pass_fds=(to_browser, from_browser),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._sent, self._rest, self._session = 0, b"", ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._session = ""
        self.call("Browser.close")
        self._process.wait(timeout=30)
        os.close(self._to)
        os.close(self._from)

    def call(self, method: str, **parameters: Any) -> Any:
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._sent:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._from, 1 << 16)
            assert part, "chromium has gone"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def show(self, page: Path, width: int, scheme: str) -> None:
        """Open a page in a window of a width, with the colours that its user wants."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        preference = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[preference])
        self.call("Page.navigate", url=page.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def ask(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def complaints(self) -> list[dict[str, Any]]:
        """Return what reached the console, and what was thrown."""
        told = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
        return [event for event in self.events if event.get("method") in told]

    def requests(self) -> list[str]:
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def screenshot(self, path: Path) -> bytes:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        picture = base64.b64decode(shot["data"])
        path.write_bytes(picture)
        return picture


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all, with a new and empty profile."""
    with Browser(tmp_path_factory.mktemp("profile")) as chromium:
        yield chromium


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages with every part that a page can have, all of them unfolded."""
    folder = tmp_path_factory.mktemp("pages")
    before = replace(SPAN, end=SPAN.start, start=None, drain=None)
    reviews = {
        "worst": changed(folder / "worst", worst, accepted=["orphan-data"]),
        "shrunk": shrunk(folder / "shrunk"),
        "same": changed(folder / "same", lambda stacks: None),
    }
    written = {}
    for name, found in reviews.items():
        full = (
            found
            if name == "same"
            else replace(
                found,
                capacity=(SPAN,),
                capacity_before=(before,),
                sections={**found.sections, "More cost": COST},
            )
        )
        text = html(full, picture=PICTURE)
        for kind, page in (("folded", text), ("open", text.replace("<details>", "<details open>"))):
            written[f"{name}-{kind}"] = folder / f"{name}-{kind}.html"
            written[f"{name}-{kind}"].write_text(page)
    return written


NAMES = [f"{name}-{kind}" for name in ("worst", "shrunk", "same") for kind in ("folded", "open")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_quiet_readable_and_inside_its_window(
    browser: Browser, pages: dict[str, Path], tmp_path: Path, name: str, width: int, scheme: str
) -> None:
    browser.show(pages[name], width, scheme)
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith("data:")] == [
        pages[name].as_uri()
    ]
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask(OVERFLOW) == []
    assert browser.ask(CONTRAST) == []
    dark = browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert dark == (scheme == "dark")
    assert browser.screenshot(tmp_path / "page.png").startswith(b"\x89PNG")


def test_letters_of_the_timeline_are_as_large_on_a_phone(
    browser: Browser, pages: dict[str, Path]
) -> None:
    size = """[...document.querySelectorAll('.timeline text')].filter(t => t.checkVisibility())
      .map(t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a)"""
    browser.show(pages["worst-folded"], 390, "light")
    phone: Sequence[float] = browser.ask(size)
    assert phone and min(phone) >= 10.5


def test_everything_is_reached_by_keyboard_and_shows_where_it_is(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.show(pages["worst-folded"], 1280, "light")
    reached, outlines = [], set()
    for _ in range(40):
        browser.press("Tab", 9)
        reached.append(browser.ask(FOCUSED))
        outlines.add(browser.ask(OUTLINED))
        if browser.ask("document.activeElement === document.body"):
            break
    assert reached[0] == "To the review"
    assert {"What happens", "Security", "Resources"} <= set(reached)
    assert any("more change" in text for text in reached), "folded parts can be reached"
    assert outlines <= {"solid", "auto", "none"} and "solid" in outlines


def test_a_folded_part_opens_with_the_enter_key(browser: Browser, pages: dict[str, Path]) -> None:
    browser.show(pages["worst-folded"], 1280, "light")
    browser.ask("document.querySelector('summary').focus()")
    assert browser.ask("document.querySelector('details').open") is False
    browser.call(
        "Input.dispatchKeyEvent",
        type="keyDown",
        key="Enter",
        windowsVirtualKeyCode=13,
        text="\r",
    )
    browser.call("Input.dispatchKeyEvent", type="keyUp", key="Enter", windowsVirtualKeyCode=13)
    assert browser.ask("document.querySelector('details').open") is True


def test_a_screen_reader_finds_names_for_what_it_meets(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.show(pages["worst-open"], 1280, "light")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    seen = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored")
    ]

    def roles(wanted: str) -> list[str]:
        return [name for role, name in seen if role == wanted]

    assert roles("main") and roles("navigation") == ["Parts of kait"]
    assert "kait: would lose data, stopped" in roles("heading")
    assert "Capacity over time" in roles("image")
    for role in ("image", "link", "region", "navigation", "figure"):
        assert all(roles(role)), role


def test_the_tests_see_what_they_look_for(
    browser: Browser, tmp_path: Path, pages: dict[str, Path]
) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><main style='background:#fff'><p style='color:#ccc'>pale</p>"
        "<div style='width:3000px'>wide</div><img src='https://example.invalid/x.png'>"
        "<script>console.error('loud')</script></main>"
    )
    browser.show(bad, 390, "light")
    assert browser.complaints()
    assert any("example.invalid" in url for url in browser.requests())
    assert browser.ask(CONTRAST) == ["pale: 1.61"]
    assert "DIV." in browser.ask(OVERFLOW)
