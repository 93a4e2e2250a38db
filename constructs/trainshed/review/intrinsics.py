"""What the functions of a template come to, as far as that is known before the deployment.

A parameter has its default, a mapping its entry, and a condition on nothing but what is written is
decided. Whatever else stays as it stands.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

STORED = "AWS::SSM::Parameter"
"""How the type of a parameter begins whose value the Parameter Store answers."""
NO_VALUE = {"Ref": "AWS::NoValue"}
_VARIABLE = re.compile(r"\$\{([^!}][^}]*)\}")


def resolved(template: Mapping[str, Any], region: str) -> dict[str, Any]:
    """Return a template with what is known in it put in place.

    A resource whose condition is false is left out. One whose condition only the deployment decides
    keeps it, named after what it says, so that another condition of the same name shows.

    Args:
        template: The template.
        region: The Region that it is for; empty where it is not known.
    """
    known = _Known(template, region)
    resources = {
        id: found
        for id, resource in (template.get("Resources") or {}).items()
        if isinstance(resource, Mapping) and isinstance(resource.get("Type"), str)
        if (found := _resource(resource, known)) is not None
    }
    outputs = known.value(template.get("Outputs") or {})
    return {**template, "Resources": resources, "Outputs": outputs}


def _resource(resource: Mapping[str, Any], known: _Known) -> dict[str, Any] | None:
    """Return a resource with what is known in it; None where its condition is false."""
    found = {
        key: part if key in _UNCHANGED else known.value(part)
        for key, part in resource.items()
        if key != "Condition"
        and part is not None
        # A text is none, whatever it says.
        and (key != "Properties" or isinstance(part, Mapping))
    }
    if "Condition" in resource:
        truth = known.is_true(resource["Condition"], with_defaults=True)
        if truth is False:
            return None
        if truth is None:
            found["Condition"] = known.named(resource["Condition"])
    return found


# What names resources, or says nothing to CloudFormation.
_UNCHANGED = ("Type", "DependsOn", "Metadata")


class _Known:
    """Parameters, mappings and conditions of one template."""

    def __init__(self, template: Mapping[str, Any], region: str) -> None:
        self._mappings = template.get("Mappings") or {}
        self._conditions = template.get("Conditions") or {}
        self._defaults = _defaults(template)
        self._pseudo = {"AWS::Region": region} if region else {}

    @cached_property
    def _written(self) -> _Known:
        """What is known without the parameters, which a deployment may set."""
        other = _Known({}, "")
        other._mappings, other._conditions = self._mappings, self._conditions
        other._pseudo = self._pseudo
        return other

    def value(self, node: Any) -> Any:
        """Return a value with what is known in it put in place."""
        if isinstance(node, list):
            return [found for found in map(self.value, node) if found != NO_VALUE]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            ((function, argument),) = node.items()
            if function == "Ref":
                return self._defaults.get(str(argument), node)
            if function in _FUNCTIONS:
                try:
                    return _FUNCTIONS[function](self, argument)
                except (AttributeError, IndexError, TypeError, ValueError):
                    # Not written as CloudFormation wants it, which is not ours to say.
                    return node
        found = {key: self.value(part) for key, part in node.items()}
        return {key: part for key, part in found.items() if part != NO_VALUE}

    def is_true(self, name: Any, *, with_defaults: bool) -> bool | None:
        """Tell whether a condition holds; None where only the deployment decides."""
        known = self if with_defaults else self._written
        return known._truth({"Condition": name}, frozenset())

    def named(self, name: Any) -> str:
        """Return a condition's name with a mark of what it says."""
        if name not in self._conditions:
            return str(name)
        said = json.dumps([self._expression(name, frozenset()), self._defaults], sort_keys=True)
        return f"{name} ({hashlib.sha256(said.encode()).hexdigest()[:6]})"

    def _expression(self, node: Any, seen: frozenset[str]) -> Any:
        """Return a condition with those that it is made of."""
        if isinstance(node, str) and node in self._conditions and node not in seen:
            return self._expression(self._conditions[node], seen | {node})
        if isinstance(node, Mapping):
            return {key: self._expression(part, seen) for key, part in node.items()}
        if isinstance(node, list):
            return [self._expression(part, seen) for part in node]
        return node

    def _truth(self, node: Any, seen: frozenset[str]) -> bool | None:
        if not isinstance(node, Mapping) or len(node) != 1:
            return None
        ((function, argument),) = node.items()
        if function == "Condition":
            if argument in seen or argument not in self._conditions:
                return None
            return self._truth(self._conditions[argument], seen | {argument})
        if not isinstance(argument, list):
            return None
        if function == "Fn::Equals":
            sides = [self._plain(each) for each in argument]
            return None if None in sides else sides[0] == sides[-1]
        truths = [self._truth(each, seen) for each in argument]
        if function == "Fn::Not":
            return None if truths[0] is None else not truths[0]
        if function in ("Fn::And", "Fn::Or"):
            decisive = function == "Fn::Or"
            return decisive if decisive in truths else None if None in truths else not decisive
        return None

    def _plain(self, node: Any) -> str | None:
        """Return a value as text where it is known."""
        if isinstance(node, Mapping) and node.get("Ref") in self._pseudo:
            return self._pseudo[node["Ref"]]
        found = self.value(node)
        if isinstance(found, bool):
            return str(found).lower()
        return str(found) if isinstance(found, str | int | float) else None

    def _if(self, argument: Any) -> Any:
        if not isinstance(argument, list) or len(argument) != 3:
            return {"Fn::If": argument}
        name, yes, no = argument
        truth = self.is_true(name, with_defaults=False)
        if truth is None:
            return {"Fn::If": [self.named(name), self.value(yes), self.value(no)]}
        return self.value(yes if truth else no)

    def _join(self, argument: Any) -> Any:
        separator, parts = argument
        parts = self.value(parts)
        if isinstance(parts, list) and all(isinstance(part, str | int) for part in parts):
            return str(separator).join(map(str, parts))
        return {"Fn::Join": [separator, parts]}

    def _sub(self, argument: Any) -> Any:
        text, more = argument if isinstance(argument, list) else (argument, {})
        given = {name: self.value(each) for name, each in more.items()}
        variables = {**self._defaults, **given}

        def put(found: re.Match[str]) -> str:
            value = variables.get(found[1].strip())
            return str(value) if isinstance(value, str | int) else found[0]

        text = _VARIABLE.sub(put, text)
        if "${" not in text:
            return text
        left = {name: each for name, each in given.items() if f"${{{name}}}" in text}
        return {"Fn::Sub": [text, left] if left else text}

    def _select(self, argument: Any) -> Any:
        index, items = argument[0], self.value(argument[1])
        plain = self._plain(index)
        if isinstance(items, list) and plain and plain.isdigit() and int(plain) < len(items):
            return items[int(plain)]
        return {"Fn::Select": [index, items]}

    def _split(self, argument: Any) -> Any:
        separator, text = argument[0], self.value(argument[1])
        if isinstance(text, str):
            return text.split(separator)
        return {"Fn::Split": [separator, text]}

    def _find_in_map(self, argument: Any) -> Any:
        found: Any = self._mappings
        for key in argument[:3]:
            found = found.get(self._plain(key)) if isinstance(found, Mapping) else None
        return {"Fn::FindInMap": argument} if found is None else found


def _defaults(template: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of parameters, but for those that the Parameter Store answers."""
    found = {}
    for name, parameter in (template.get("Parameters") or {}).items():
        kind = str(parameter.get("Type", ""))
        if "Default" in parameter and not kind.startswith(STORED):
            default = parameter["Default"]
            is_list = kind.startswith(("List<", "CommaDelimitedList"))
            found[name] = str(default).split(",") if is_list else default
    return found


_FUNCTIONS = {
    "Fn::If": _Known._if,
    "Fn::Join": _Known._join,
    "Fn::Sub": _Known._sub,
    "Fn::Select": _Known._select,
    "Fn::Split": _Known._split,
    "Fn::FindInMap": _Known._find_in_map,
}
