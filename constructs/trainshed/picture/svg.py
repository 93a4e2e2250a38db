"""The few shapes that the picture is made of, as SVG text."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

# Share of the font size that a character takes on average, in the fonts of style.FONTS; wide
# enough that a text set in the widest of them still fits.
CHARACTER_WIDTH = 0.56

CODE_SIZE = 14.8
"""Font size of code for :func:`fitted`: 13.5, and its characters are wider."""


def element(tag: str, content: str = "", **attributes: object) -> str:
    """Write one element; ``_`` in an attribute's name becomes ``-``, ``class_`` is ``class``."""
    pairs = "".join(
        f" {name.rstrip('_').replace('_', '-')}={quoteattr(_value(value))}"
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{pairs}>{content}</{tag}>" if content else f"<{tag}{pairs}/>"


def box(x: float, y: float, width: float, height: float, style: str, radius: float = 10) -> str:
    """Draw a rectangle with round corners."""
    return element("rect", x=x, y=y, width=width, height=height, rx=radius, class_=style)


def words(x: float, y: float, text: str, style: str, *, anchor: str | None = None) -> str:
    """Write a line of text; ``y`` is its base line."""
    return element("text", escape(text), x=x, y=y, class_=style, text_anchor=anchor)


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """Draw a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=style)


def arrow(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """Draw a line with a head at its second end, along one axis."""
    size = 9
    across, down = (x2 > x1) - (x2 < x1), (y2 > y1) - (y2 < y1)
    back_x, back_y = x2 - across * size, y2 - down * size
    side_x, side_y = down * size * 0.6, across * size * 0.6
    head = (
        f"M{_value(x2)} {_value(y2)}"
        f"L{_value(back_x - side_x)} {_value(back_y - side_y)}"
        f"L{_value(back_x + side_x)} {_value(back_y + side_y)}Z"
    )
    shaft = line(x1, y1, back_x, back_y, f"wire {style}")
    return shaft + element("path", d=head, class_=f"head {style}")


def group(parts: Iterable[str], *, label: str | None = None) -> str:
    """Put shapes together; a labelled group is one thing to a screen reader."""
    content = "".join(parts)
    if label is None:
        return element("g", content)
    return element("g", element("title", escape(label)) + content)


def width_of(text: str, size: float) -> float:
    """Return about how wide a text is."""
    return len(text) * size * CHARACTER_WIDTH


def fitted(text: str, width: float, size: float) -> str:
    """Shorten a text to a width, with an ellipsis at its end."""
    most = int(width / (size * CHARACTER_WIDTH))
    return text if len(text) <= most else f"{text[: max(most - 1, 1)]}\N{HORIZONTAL ELLIPSIS}"


def _value(value: object) -> str:
    return f"{round(value, 1):g}" if isinstance(value, int | float) else str(value)
