"""What becomes of each resource of a template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any

from .assembly import Stack
from .handoff import Key, answers_of, moved
from .nodes import INSTANCE, fleet_stays, has_new_version, hidden_paths, role_of
from .replacement import is_retaining, replacing_paths
from .values import Path, at, leaves, references


class Action(StrEnum):
    """What CloudFormation does with a resource."""

    ADDED = "added"
    CHANGED = "changed"
    REPLACED = "replaced"
    MAY_BE_REPLACED = "may be replaced"
    REMOVED = "removed"
    MAY_BE_REMOVED = "may be removed"
    TYPE_CHANGED = "type changed"


@dataclass(frozen=True)
class ResourceChange:
    """One resource that is not what it was."""

    stack: str
    logical_id: str
    place: str
    """Its construct path, with the stack."""
    resource_type: str
    action: Action
    causes: tuple[Path, ...] = ()
    """The properties that changed, or for a replacement those that force it."""
    before: Mapping[str, Any] | None = None
    """The resource in the base; None for a new one."""
    after: Mapping[str, Any] | None = None
    """The resource in the head; None for one that goes."""
    users: frozenset[str] = frozenset()
    """Types of what points to it in the base; with ``outside`` where a value leaves the stack."""
    role: str = ""
    """Which nodes of a bare fleet it makes: head, login or compute; empty for any other."""
    is_refusable: bool = False
    """The fleet of these nodes is updated with it, which is refused while they have jobs."""

    @property
    def is_retained(self) -> bool:
        """CloudFormation leaves the old one where it removes or replaces it.

        A removal follows the template that is deployed. For a replacement the new template says
        it, and the old one must agree: which of the two counts depends on the order of updates.
        """
        if self.is_removed:
            return is_retaining((self.before or {}).get("DeletionPolicy"))
        policies = [(side or {}).get("UpdateReplacePolicy") for side in (self.before, self.after)]
        return all(map(is_retaining, policies))

    @property
    def is_removed(self) -> bool:
        """It goes, or may."""
        return self.action in (Action.REMOVED, Action.MAY_BE_REMOVED)

    @property
    def is_replaced(self) -> bool:
        """A new one takes its place, or may."""
        return self.action in (Action.REPLACED, Action.MAY_BE_REPLACED)


class Comparison:
    """The stacks of one institution, before and after, and what follows from what."""

    def __init__(self, base: Mapping[str, Stack], head: Mapping[str, Stack]) -> None:
        """Compare two sets of stacks by their names."""
        self.base, self.head = base, head
        self.replaced: dict[Key, tuple[tuple[Path, ...], bool]] = {}
        answers = answers_of(head)
        self._sources = {key: each.source for key, each in answers.items() if each.source}
        self.moved = moved(answers_of(base), answers)
        self._suspects = {
            (name, id): resource
            for name, stack in head.items()
            if name in base
            for id, resource in stack.resources.items()
            if id in base[name].resources and base[name].resources[id]["Type"] == resource["Type"]
        }
        self._find_replaced()

    def changes(self) -> Iterator[ResourceChange]:
        """Yield every change, stack by stack.

        What a removed stack has stays deployed, unless it was inside another that is still there.
        """
        for name, head in self.head.items():
            base = self.base.get(name) or replace(head, template={})
            yield from _with_roles(base, head, self._in_stack(base, head))
        for name, base in self.base.items():
            if name not in self.head and base.parent in self.head:
                head = replace(base, template={})
                yield from _with_roles(base, head, self._in_stack(base, head))

    def becomes_new(self, stack: str, logical_id: str) -> bool:
        """Tell whether a reference from this stack points to something that is replaced."""
        key = stack, logical_id
        return key in self.moved or self._sources.get(key, key) in self.replaced

    def _in_stack(self, base: Stack, head: Stack) -> Iterator[ResourceChange]:
        for id, after in head.resources.items():
            before = base.resources.get(id)
            known = (head.name, id, head.place(id), after["Type"])
            if before is None:
                yield ResourceChange(*known, Action.ADDED, after=after)
            elif before["Type"] != after["Type"]:
                yield ResourceChange(*known, Action.TYPE_CHANGED, (), before, after)
            elif (condition := after.get("Condition")) and condition != before.get("Condition"):
                unless = ("Condition", str(condition))
                action = Action.MAY_BE_REMOVED
                yield ResourceChange(*known, action, (unless,), before, after, users(base, id))
            elif (head.name, id) in self.replaced:
                causes, maybe = self.replaced[head.name, id]
                action = Action.MAY_BE_REPLACED if maybe else Action.REPLACED
                yield ResourceChange(*known, action, causes, before, after, users(base, id))
            elif paths := self._changed_paths(head.name, before, after):
                yield ResourceChange(*known, Action.CHANGED, paths, before, after)
        for id, before in base.resources.items():
            if id not in head.resources:
                known = (base.name, id, base.place(id), before["Type"])
                yield ResourceChange(*known, Action.REMOVED, before=before, users=users(base, id))

    def _changed_paths(
        self, stack: str, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> tuple[Path, ...]:
        paths = tuple(path for path, _, _ in property_leaves(before, after))
        is_new = partial(self._points_to_replaced, stack)
        return (*paths, *_policies(before, after), *hidden_paths(before, after, is_new))

    def _find_replaced(self) -> None:
        """Find what is replaced, and what has to be replaced because it points to that."""
        for key, resource in self._suspects.items():
            is_changed = resource.get("Properties") != self._before(key).get("Properties")
            if is_changed or resource["Type"] == INSTANCE:
                self._judge(key, resource)
        pending = bool(self.replaced or self.moved)
        while pending:
            known = len(self.replaced)
            for key, resource in self._suspects.items():
                if key not in self.replaced:
                    self._judge(key, resource)
            pending = len(self.replaced) > known

    def _judge(self, key: Key, resource: Mapping[str, Any]) -> None:
        if resource["Type"] == "AWS::CDK::Metadata":
            return
        before = self._before(key).get("Properties", {})
        after = resource.get("Properties", {})
        is_new = partial(self._points_to_replaced, key[0])
        again = has_new_version(self.base[key[0]], self.head[key[0]], resource, is_new)
        if before == after and not again and not self._points_to_replaced(key[0], after):
            return
        paths = replacing_paths(resource["Type"], self.head[key[0]].region)
        hits = [
            (path, maybe)
            for path, maybe in paths
            if at(before, path) != at(after, path)
            or self._points_to_replaced(key[0], at(after, path))
            or (again and path == ("LaunchTemplate",))
        ]
        if hits:
            causes = tuple(dict.fromkeys(path for path, _ in hits))
            self.replaced[key] = causes, all(maybe for _, maybe in hits)

    def _before(self, key: Key) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.base[key[0]].resources[key[1]]
        return found

    def _points_to_replaced(self, stack: str, value: Any) -> bool:
        if not self.replaced and not self.moved:
            return False
        return any(self.becomes_new(stack, id) for id in references(value))


def _with_roles(
    base: Stack, head: Stack, changes: Iterable[ResourceChange]
) -> Iterator[ResourceChange]:
    for change in changes:
        stack = head if change.before is None else base
        id = change.logical_id
        yield replace(change, role=role_of(stack, id), is_refusable=fleet_stays(base, head, id))


def users(stack: Stack, logical_id: str) -> frozenset[str]:
    """Return the types of the resources of a stack that point to one of it.

    ``outside`` stands among them where its outputs or parameters in Parameter Store have it, which
    anybody may read.
    """
    found = {
        "outside" if resource["Type"] == "AWS::SSM::Parameter" else str(resource["Type"])
        for id, resource in stack.resources.items()
        if id != logical_id and logical_id in references(resource.get("Properties", {}))
    }
    if logical_id in references(stack.template.get("Outputs", {})):
        found.add("outside")
    return frozenset(found)


def property_leaves(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[tuple[Path, Any, Any]]:
    """Return the properties of a resource that differ."""
    return list(leaves(before.get("Properties", {}), after.get("Properties", {})))


POLICIES = ("DeletionPolicy", "UpdateReplacePolicy", "UpdatePolicy")


def _policies(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return what differs of what CloudFormation is told beside the properties."""
    return tuple((key,) for key in POLICIES if before.get(key) != after.get(key))
