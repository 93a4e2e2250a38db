"""What one stack tells another through the Parameter Store, which no template shows.

That is how a foundation tells a cluster its ids, without locking the two together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .assembly import Stack
from .effects import Effect, Finding
from .intrinsics import STORED
from .replacement import data_in
from .values import references, text

Key = tuple[str, str]
"""Stack and logical id, or the name of a parameter of its template."""


@dataclass(frozen=True)
class Answer:
    """What the Parameter Store answers to a parameter of a template."""

    name: str
    """Name in the Parameter Store."""
    value: str = ""
    """What the stacks write there, as JSON; empty where they write nothing."""
    shown: str = ""
    source: Key | None = None
    """The one resource that the value points to; None for none, or several."""
    noun: str = ""
    """What that resource has that holds data; empty for nothing."""


def answers_of(stacks: Mapping[str, Stack]) -> dict[Key, Answer]:
    """Return what each parameter that is read from the Parameter Store gets."""
    written = {answer.name: answer for answer in _written(stacks)}
    return {
        (name, id): written.get(parameter["Default"], Answer(parameter["Default"]))
        for name, stack in stacks.items()
        for id, parameter in (stack.template.get("Parameters") or {}).items()
        if str(parameter.get("Type", "")).startswith(f"{STORED}::Value")
        and isinstance(parameter.get("Default"), str)
    }


def _written(stacks: Mapping[str, Stack]) -> Iterator[Answer]:
    for name, stack in stacks.items():
        for resource in stack.resources.values():
            if resource["Type"] != STORED:
                continue
            properties = resource.get("Properties", {})
            stored, value = properties.get("Name"), properties.get("Value")
            if not isinstance(stored, str):
                continue
            ids = list(references(value))
            source = (name, ids[0]) if len(ids) == 1 else None
            noun = data_in(stack.resources[ids[0]]) if source and ids[0] in stack.resources else ""
            yield Answer(stored, json.dumps(value), text(value), source, noun or "")


Moved = dict[Key, tuple[Answer, Answer]]
"""Parameters that get another answer, with the former and the new one."""


def moved(base: Mapping[Key, Answer], head: Mapping[Key, Answer]) -> Moved:
    """Return the parameters that get another answer, with both."""
    return {
        key: (base[key], after)
        for key, after in head.items()
        if key in base and _differs(base[key], after)
    }


def _differs(before: Answer, after: Answer) -> bool:
    if before.value and after.value:
        return (before.value, before.source) != (after.value, after.source)
    return before.name != after.name


def handoff_findings(found: Moved, stacks: Mapping[str, Stack]) -> Iterator[Finding]:
    """Yield what it means that a stack is told another thing.

    Args:
        found: What it is told.
        stacks: The stacks of the head: of what goes from them, all is said already.
    """
    told: set[Key | None] = set()
    for (stack, id), (before, after) in found.items():
        source = before.source
        if source and (source[0] not in stacks or source[1] not in stacks[source[0]].resources):
            continue
        effect, words = Effect.LIVE, "The stack is told another one from now on."
        if before.noun:
            if source in told:
                # Its names and addresses are told as well as its id.
                continue
            told.add(source)
            effect = Effect.REPLACES_DATA
            words = (
                f"The cluster goes on with another {before.noun}, and nothing uses the one that "
                "is there."
            )
        was, now = (each.shown or each.name for each in (before, after))
        yield Finding(f"{stack} parameter {id}", was, now, effect, words)
