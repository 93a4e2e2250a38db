"""The JSON schema of a cluster configuration, derived from ParallelCluster's own classes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.faults import Fault
from ..facts.parallelcluster import VERSION
from .conformance import conforms
from .references import is_settled

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError


@cache
def schema() -> dict[str, Any]:
    """Return the schema; ``x-update-policy`` beside a key says what a change of it takes."""
    text = Path(__file__).with_name(f"schema-{VERSION}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def schema_faults(config: Mapping[str, Any]) -> list[Fault]:
    """Return where a configuration breaks the schema; tokens and placeholders pass."""
    # jsonschema takes a sixth of `trainshed validate` to import, and most files are right.
    if conforms(config, schema()):
        return []
    found = _validator().iter_errors(config)
    faults = {fault for error in found for fault in _faults(error)}
    return sorted(faults, key=lambda fault: [str(key) for key in fault.key_path])


@cache
def _validator() -> Draft202012Validator:
    # Imported here: a reader of facts, and a right file, do without it.
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema())


def _faults(error: ValidationError) -> Iterator[Fault]:
    if isinstance(error.instance, str) and not is_settled(error.instance):
        return
    if error.context:
        branches: dict[Any, list[Fault]] = {}
        for nested in error.context:
            branches.setdefault(nested.schema_path[0], []).extend(_faults(nested))
        if all(branches.values()):
            yield from min(branches.values(), key=len)
        return
    yield Fault(tuple(error.absolute_path), error.message)
