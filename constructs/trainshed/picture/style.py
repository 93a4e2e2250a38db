"""Fonts and colours, for light and dark pages. Every rule is below the picture's own class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

FONTS = (
    'system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Helvetica Neue",'
    '"Liberation Sans",Arial,sans-serif'
)

# Text on its ground has a contrast of 4.5 to 1 or more in both (WCAG 2.2, 1.4.3).
LIGHT: Mapping[str, str] = {
    "page": "#ffffff",
    "region": "#f6f8fb",
    "vpc": "#eef2f8",
    "subnet": "#ffffff",
    "card": "#ffffff",
    "edge": "#d5dce8",
    "strong-edge": "#9aa8bd",
    "ink": "#101828",
    "quiet": "#526079",
    "compute": "#4338ca",
    "compute-ground": "#eceafd",
    "storage": "#0f766e",
    "storage-ground": "#e3f4f1",
    "alert": "#b4430c",
    "alert-ground": "#fdeee4",
}
DARK: Mapping[str, str] = {
    "page": "#0c111d",
    "region": "#111827",
    "vpc": "#162033",
    "subnet": "#111a2c",
    "card": "#1b2740",
    "edge": "#31405e",
    "strong-edge": "#5f7195",
    "ink": "#f1f4fa",
    "quiet": "#a9b6cf",
    "compute": "#a5a2ff",
    "compute-ground": "#2a2b57",
    "storage": "#5eead4",
    "storage-ground": "#143b3c",
    "alert": "#fdba8c",
    "alert-ground": "#47260f",
}

_SHAPES = """\
text{font-family:%(fonts)s}
.name{font-size:44px;font-weight:700;letter-spacing:-.5px}
.headline{font-size:21px}
.title{font-size:18px;font-weight:650}
.big{font-size:23px;font-weight:700;letter-spacing:-.2px}
.middle{font-size:20px;font-weight:700}
.body{font-size:15px}
.small{font-size:13px}
.frame-label{font-size:13px;font-weight:600;letter-spacing:.2px}
.pill-text{font-size:12.5px;font-weight:650}
.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;\
font-size:13.5px}
.wire{stroke-width:2;fill:none}
.dashed{stroke-dasharray:6 5}
.fine-dashed{stroke-dasharray:3 3}
"""


def style_sheet(scope: str) -> str:
    """Return the rules of one picture.

    Args:
        scope: Class of its outermost element, so that no rule reaches the page around it.
    """
    shapes = [_scoped(scope, rule) for rule in (_SHAPES % {"fonts": FONTS}).splitlines()]
    light = [_scoped(scope, rule) for rule in _colours(LIGHT)]
    dark = "".join(_scoped(scope, rule) for rule in _colours(DARK))
    return "\n".join((*shapes, *light, f"@media (prefers-color-scheme:dark){{{dark}}}"))


def _scoped(scope: str, rule: str) -> str:
    selector, _, declarations = rule.partition("{")
    return ",".join(f".{scope} {part}" for part in selector.split(",")) + "{" + declarations


def _colours(palette: Mapping[str, str]) -> Iterator[str]:
    yield f".page{{fill:{palette['page']}}}"
    for name in ("region", "vpc", "subnet", "card"):
        edge = "strong-edge" if name == "vpc" else "edge"
        yield f".{name}{{fill:{palette[name]};stroke:{palette[edge]}}}"
    yield f".zone{{fill:none;stroke:{palette['strong-edge']}}}"
    for name in ("ink", "quiet"):
        yield f".{name}{{fill:{palette[name]}}}"
    yield f".quiet-wire{{stroke:{palette['strong-edge']}}}"
    yield f".head.quiet-wire{{fill:{palette['strong-edge']};stroke:none}}"
    for name in ("compute", "storage", "alert"):
        yield f".{name}{{fill:{palette[name]}}}"
        yield f".{name}-ground{{fill:{palette[f'{name}-ground']}}}"
        yield f".{name}-edge{{fill:{palette['card']};stroke:{palette[name]}}}"
        yield f".{name}-open{{fill:none;stroke:{palette[name]}}}"
        yield f".wire.{name}{{stroke:{palette[name]};fill:none}}"
        yield f".head.{name}{{fill:{palette[name]};stroke:none}}"
