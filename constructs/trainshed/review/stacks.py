"""Changes of a stack as a whole: it comes, goes, moves, or has other tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from .assembly import Stack
from .effects import Effect, Finding
from .replacement import data_in
from .values import leaves, text

STAYS = "What is deployed stays until somebody runs cdk destroy."


def stack_findings(base: Mapping[str, Stack], head: Mapping[str, Stack]) -> Iterator[Finding]:
    """Yield what changes of the stacks themselves."""
    for name, stack in base.items():
        if name not in head:
            # What was inside another stack that is still there is removed piece by piece.
            if stack.parent not in head:
                yield gone(name, data_of([stack]))
        else:
            yield from _moved(stack, head[name])
            yield from _tagged(stack, head[name])
    for name, stack in head.items():
        if base and name not in base:
            count = len(stack.resources)
            yield Finding(name, "", "", Effect.LIVE, f"A new stack with {count} resources.")


def gone(name: str, data: list[str] | None = None) -> Finding:
    """Return what it means that a stack, or an institution, is no longer in the app."""
    if not data:
        return Finding(name, "", "", Effect.UNTOUCHED, f"It is no longer in the app. {STAYS}")
    nouns = " and ".join(filter(None, (", ".join(data[:-1]), data[-1])))
    sentence = f"It is no longer in the app, and with it the {nouns}. {STAYS}"
    return Finding(name, "", "", Effect.REPLACES_DATA, sentence)


def data_of(stacks: Iterable[Stack]) -> list[str]:
    """Return what stacks have that holds data, as nouns."""
    nouns = {data_in(resource) for stack in stacks for resource in stack.resources.values()}
    return sorted(noun for noun in nouns if noun)


def _moved(base: Stack, head: Stack) -> Iterator[Finding]:
    if base.environment == head.environment:
        return
    effect = Effect.REPLACES_DATA if data_of([base]) else Effect.REFUSED
    sentence = f"Everything is made anew in the other place, empty. {STAYS}"
    before, after = (each.environment.removeprefix("aws://") for each in (base, head))
    yield Finding(base.name, before, after, effect, sentence)


def _tagged(base: Stack, head: Stack) -> Iterator[Finding]:
    for path, before, after in leaves(base.tags, head.tags):
        place = f"{base.name} tag {'.'.join(path)}"
        sentence = "CloudFormation tags every resource of the stack anew."
        yield Finding(place, text(before), text(after), Effect.LIVE, sentence)
