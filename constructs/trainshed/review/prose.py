"""The little Markdown that sections are written in, as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

_CODE = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_RULE = re.compile(r"\|?[\s:|-]+\|?")
_HEADING = re.compile(r"(#{1,6})\s+(.*)")


def to_html(markdown: str) -> str:
    """Return paragraphs, headings, lists, tables and code; whatever else stays as text."""
    return "".join(_blocks(markdown.strip().splitlines()))


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        block = [line]
        if line.startswith("```"):
            end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("```")), None)
            block = list(lines[at : end + 1 if end else len(lines)])
            code = escape("\n".join(block[1 : -1 if end else None]))
            yield f'<pre tabindex="0" aria-label="Code">{code}</pre>'
        elif heading := _HEADING.match(line):
            # Sections stand below a heading of level 3.
            yield f"<h4>{_inline(heading[2])}</h4>"
        elif line.lstrip().startswith("|"):
            block = _while(lines, at, "|")
            yield _table(block)
        elif line.lstrip().startswith(("- ", "* ")):
            block = _while(lines, at, ("- ", "* "))
            yield f"<ul>{''.join(f'<li>{_inline(each.lstrip()[2:])}</li>' for each in block)}</ul>"
        elif line.strip():
            block = _paragraph(lines, at)
            yield f"<p>{_inline(' '.join(each.lstrip('> ') for each in block))}</p>"
        at += len(block)


def _while(lines: Sequence[str], at: int, starts: str | tuple[str, ...]) -> list[str]:
    found = []
    for line in lines[at:]:
        if not line.lstrip().startswith(starts):
            break
        found.append(line)
    return found


def _paragraph(lines: Sequence[str], at: int) -> list[str]:
    found: list[str] = []
    for line in lines[at:]:
        if not line.strip() or (found and line.lstrip().startswith(("|", "- ", "* ", "```", "#"))):
            break
        found.append(line)
    return found


def _table(rows: Sequence[str]) -> str:
    cells = [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip()[1:-1])]
        for row in rows
        if not _RULE.fullmatch(row.strip())
    ]
    head = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in cells[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{_inline(cell)}</td>' for cell in row)}</tr>" for row in cells[1:]
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="region" aria-label="Table">{table}</div>'


def _inline(text: str) -> str:
    safe = escape(text, quote=False)
    return _BOLD.sub(r"<strong>\1</strong>", _CODE.sub(r"<code>\1</code>", safe))
