"""Reading a YAML file with the place of every key, and without YAML 1.1's surprises.

``yes``, ``on`` and ``12:30`` stay texts, a date stays a text, and a repeated key is a fault: PyYAML
by itself turns the first into booleans and numbers and keeps the last of the repeated keys.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from .faults import Fault, KeyPath

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _PlainLoader(_Loader):  # type: ignore[misc]  # libyaml's loader where PyYAML has it
    """YAML 1.2's core types alone."""


_CORE = "tag:yaml.org,2002:"
_FORMS = {
    "bool": re.compile(r"(?:true|false)\Z"),
    "null": re.compile(r"(?:null|~|)\Z"),
    "int": re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z"),
    "float": re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z"),
}
_FIRST = {"bool": "tf", "null": ["n", "~", ""], "int": "-+0123456789", "float": "-+0123456789"}
_PlainLoader.yaml_implicit_resolvers = {}
for _kind, _form in _FORMS.items():
    _PlainLoader.add_implicit_resolver(_CORE + _kind, _form, list(_FIRST[_kind]))

# A longer number is none of ours, and Python refuses to read one of more than 4,300 digits.
MOST_DIGITS = 30

# An institution has a few hundred keys, six deep; aliases can be made to grow without end.
MOST_DEPTH = 32
MOST_KEYS = 20_000


class YamlError(Exception):
    """A file that is not YAML at all."""


@dataclass
class YamlSource:
    """The data of a YAML file, and where each key stands."""

    path: Path
    data: Any
    lines: dict[KeyPath, int]
    faults: list[Fault] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> YamlSource:
        """Read one file.

        Raises:
            YamlError: It cannot be read, or is not YAML; with file, line and reason.
        """
        text = _text_of(path)
        loader = _PlainLoader(text)
        try:
            node = _only_document(loader, path)
            source = cls(path, None, {(): 1})
            source.data = source._value(node, ()) if node else None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise YamlError(f"{path}:{line}: {_in_words(error)}") from None
        except yaml.YAMLError as error:
            raise YamlError(f"{path}:1: not YAML: {error}") from None
        finally:
            loader.dispose()
        return source

    def line(self, key_path: KeyPath) -> int:
        """Return the line of a key, or of the nearest key above it that the file has."""
        while key_path not in self.lines:
            key_path = key_path[:-1]
        return self.lines[key_path]

    def _value(self, node: yaml.Node, at: KeyPath) -> Any:
        if len(at) > MOST_DEPTH or len(self.lines) > MOST_KEYS:
            raise YamlError(
                f"{self.path}:{node.start_mark.line + 1}: nested deeper than {MOST_DEPTH} keys, or "
                f"more than {MOST_KEYS} of them; an alias that holds itself does this"
            )
        if node.tag.removeprefix(_CORE) not in ("str", "map", "seq", *_FORMS):
            self.faults.append(
                Fault.at(*at, reason=f"has the tag {node.tag!r}; write the plain value")
            )
        if isinstance(node, yaml.MappingNode):
            return dict(self._items(node, at))
        if isinstance(node, yaml.SequenceNode):
            values = []
            for index, item in enumerate(node.value):
                self.lines[(*at, index)] = item.start_mark.line + 1
                values.append(self._value(item, (*at, index)))
            return values
        return self._scalar(node, at)

    def _items(self, node: yaml.MappingNode, at: KeyPath) -> Iterator[tuple[str, Any]]:
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse_key((*at, "?"), line, "a key is text, and not a list or keys itself")
                continue
            key = str(key_node.value)
            if key == "<<":
                self._refuse_key((*at, key), line, "merges are not supported; write the keys out")
                continue
            if key in seen:
                self.faults.append(
                    Fault.at(
                        *at, key, reason=f"given twice, in lines {seen[key]} and {line}; keep one"
                    )
                )
                continue
            seen[key] = line
            self.lines[(*at, key)] = line
            yield key, self._value(value_node, (*at, key))

    def _refuse_key(self, at: KeyPath, line: int, reason: str) -> None:
        """Refuse a key that does not become data."""
        self.lines[at] = line
        self.faults.append(Fault(at, reason))

    def _scalar(self, node: yaml.Node, at: KeyPath) -> Any:
        kind = node.tag.rsplit(":", 1)[-1]
        text = str(node.value)
        if kind in _FORMS and not _FORMS[kind].match(text):
            reason = f"has the tag '!!{kind}' and is {text!r}; write the plain value"
            self.faults.append(Fault(at, reason))
            return text
        match kind:
            case "null":
                return None
            case "bool":
                return text == "true"
            case "int" | "float":
                return self._number(kind, text, at)
        if "${" in text:
            self.faults.append(
                Fault.at(
                    *at,
                    reason=f"{text!r} holds '${{'; this file has no substitution: "
                    "write the value itself",
                )
            )
        return text

    def _number(self, kind: str, text: str, at: KeyPath) -> int | float | str:
        if len(text) > MOST_DIGITS:
            reason = (
                f"{text[:6]}… has {len(text)} characters; a number here has {MOST_DIGITS} at most"
            )
            self.faults.append(Fault(at, reason))
            return text
        if kind == "int":
            return int(text)
        if math.isfinite(float(text)):
            return float(text)
        self.faults.append(Fault(at, f"{text} is too large for a number; write a smaller one"))
        return text


def _only_document(loader: Any, path: Path) -> yaml.Node | None:
    """Return the one document that says anything: after a last ``---`` there may be nothing."""
    found: yaml.Node | None = None
    while loader.check_node():
        node = loader.get_node()
        if node.start_mark.index == node.end_mark.index:
            continue
        if found is not None:
            raise YamlError(
                f"{path}:{node.start_mark.line + 1}: two documents, and the second begins here, "
                "after a '---'; one file has one institution: put the second into a file of its own"
            )
        found = node
    return found


def _in_words(error: yaml.MarkedYAMLError) -> str:
    return (
        f"not YAML: {error.problem or error.context}; "
        "mind the indentation and put special characters in quotes"
    )


def _text_of(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise YamlError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise YamlError(
            f"{path}:{line}: not UTF-8: it has the byte {data[error.start]:#04x}; "
            "save the file as UTF-8"
        ) from None
    # libyaml finds one too, and says neither where nor in one line.
    if odd := yaml.reader.Reader.NON_PRINTABLE.search(text):
        line = text.count("\n", 0, odd.start()) + 1
        raise YamlError(
            f"{path}:{line}: not YAML: {odd[0]!r} is a character that no YAML file holds; delete it"
        )
    return text
