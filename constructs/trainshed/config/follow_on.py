"""Which faults may come of others: rules see what is right of a file, and cannot know the rest."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..slurm import PRESETS, Scheduler, SlurmPolicy
from ..slurm.records import Account, Partition, Qos, User
from .faults import Fault, KeyPath

# Patterns of key paths below ``fleet``: ``*`` is any name, ``=`` that of the entry that the fault
# is at, ``^`` that of this account or of one above it. A pattern is met by what is at or below
# it, and by what is above, whose loss takes it along; a queue goes with each key that it must have.
_QUEUE = "queues.*.max_nodes"
_TIERS = "policy.partitions.*.priority_tier policy.scheduler.preempt_by"
_MODES = "policy.partitions.*.preempt_mode policy.scheduler.preempt_mode"
# By the linter's rule, what it judges by besides the key that it tells of.
_BY_RULE = {
    "qos-must-be-typed": "policy.partitions.=.qos policy.accounts",
    "limits-of-two-qos": "policy.partitions.=.allow_accounts policy.accounts",
    "built-in-qos": "policy.accounts.^ policy.qos.normal",
    "no-default-qos": "policy.accounts.^",
    "partition-nobody-may-use": "policy.partitions.= policy.accounts",
    "tier-open-to-all": f"policy.partitions.=.allow_qos {_TIERS} {_MODES}",
    "interactive-preempted": f"policy.partitions.=.max_time {_TIERS} {_MODES}",
    "limit-stops-all": f"policy.qos.= policy.partitions {_QUEUE} instance_types",
    "no-gpu-cap": "policy.qos.= policy.partitions policy.accounts",
    "unreachable-nodes": "policy.partitions.*.queues policy.partitions.*.root_only",
    "gpu-defaults-do-not-fit": "instance_types",
}
# The same of all other rules, by where they tell of a fault.
_BY_PLACE = {
    "policy": "accounting",
    "policy.partitions.*.queues": _QUEUE,
    "policy.partitions.*.nodes": f"{_QUEUE} policy.partitions.=.queues",
    "policy.qos.*.cpus_follow_gpus": f"{_QUEUE} policy.partitions instance_types",
    "policy.scheduler.select": "parallelcluster.memory_scheduling",
    "image": "image",
    "queues.*.capacity.next_queue": _QUEUE,
    "parallelcluster.gate": f"queues.*.min_nodes {_QUEUE} instance_types",
    "parallelcluster.layer_key": "parallelcluster.layer_bucket",
}
_OF_A_BACKEND = frozenset({"slurm", "parallelcluster", "image", "cluster_name"})
_RECORDS = {"partitions": Partition, "qos": Qos, "accounts": Account, "users": User}


def may_follow(fault: Fault, left_out: Iterable[KeyPath], data: Mapping[str, Any]) -> bool:
    """Tell whether a rule might not find a fault, were what is faulty itself not left out.

    Args:
        fault: The fault that the rule found.
        left_out: Key paths of what was left out of the file.
        data: What the file holds.
    """
    types = set(_types_above(fault.key_path, data))
    patterns = [] if _names_what_is_nowhere(fault, data) else list(_judged_by(fault, data))
    return any(
        (path[0] == "instance_types" and not types.isdisjoint(path))
        or (path == ("fleet", "backend") and _is_of_a_backend(fault))
        or any(_meets(meant, pattern) for meant in _meant(path, data) for pattern in patterns)
        for path in left_out
    )


def _judged_by(fault: Fault, data: Mapping[str, Any]) -> Iterator[KeyPath]:
    """Yield the patterns of what a rule judges by, with names for ``=`` and ``^``."""
    rule = re.search(r"\[([a-z-]+)\]$", fault.reason)
    at = fault.key_path
    if at[:2] == ("fleet", "policy") and len(at) > 2:
        yield at
    texts = _BY_RULE.get(rule[1], "") if rule else ""
    for place, judged_by in () if rule else _BY_PLACE.items():
        if len(at) == len(place.split(".")) + 1 and _meets(at, _pattern(place)):
            texts = judged_by
    for text in texts.split():
        if text.endswith("^"):
            above = _accounts_above(str(at[3]), data["fleet"]["policy"])
            yield from ((*_pattern(text)[:-1], name) for name in above)
        else:
            yield tuple(at[3] if key == "=" else key for key in _pattern(text))


def _pattern(text: str) -> KeyPath:
    return (text,) if text == "instance_types" else ("fleet", *text.split("."))


def _meets(path: KeyPath, pattern: KeyPath) -> bool:
    return all(name in ("*", key) for key, name in zip(path, pattern, strict=False))


def _meant(path: KeyPath, data: Mapping[str, Any]) -> Iterator[KeyPath]:
    """Yield what a key of a policy may be meant as: itself, or if there is none such, another."""
    record = _record_at(path[2:-1]) if path[:2] == ("fleet", "policy") and path[2:] else None
    known = record.model_fields if record else {}
    if not record or path[-1] in known:
        yield path
        return
    holder: Any = data
    for key in path[:-1]:
        holder = holder[key]
    lacking = [key for key in known if key not in holder]
    for key in difflib.get_close_matches(str(path[-1]), lacking, 1) or lacking:
        # All that refers to anything may refer to what the preset has.
        yield path[:-1] if key == "preset" else (*path[:-1], key)


def _record_at(key_path: KeyPath) -> Any:
    """Return the record at a path below a policy; None for what is none."""
    match key_path:
        case ():
            return SlurmPolicy
        case ("scheduler",):
            return Scheduler
        case (str() as section, _):
            return _RECORDS.get(section)
    return None


def _accounts_above(name: str, policy: Mapping[str, Any]) -> Iterator[str]:
    """Yield an account and those above it, as the file and its preset have them."""
    preset = PRESETS.get(str(policy.get("preset")), {}).get("accounts", {})
    own = policy.get("accounts")
    at, seen = name, set[str]()
    while at and at not in seen:
        seen.add(at)
        yield at
        entries = [e[at] for e in (own, preset) if isinstance(e, Mapping) and at in e]
        given = [e["parent"] for e in entries if isinstance(e, Mapping) and "parent" in e]
        at = str(given[0]) if given and given[0] else ""


def _names_what_is_nowhere(fault: Fault, data: Mapping[str, Any]) -> bool:
    """Tell whether it is that of a name of a queue, and no such queue is in the file at all."""
    if fault.key_path[-1:] not in (("queues",), ("next_queue",)):
        return False
    queues = data["fleet"].get("queues")
    value: Any = data
    for key in fault.key_path:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    names = value if isinstance(value, list) else [value]
    return isinstance(queues, Mapping) and not all(str(name) in queues for name in names)


def _is_of_a_backend(fault: Fault) -> bool:
    """Tell whether only one backend has the rule: what it needs, or how it is called, says so."""
    at = fault.key_path
    return at[0] == "fleet" and (
        at[1:] == ("policy",)
        or at[1:] == ("policy", "scheduler", "close_native_partitions")
        or at[1] in _OF_A_BACKEND
        or re.search("ParallelCluster|backend", fault.reason) is not None
    )


def _types_above(key_path: KeyPath, data: Any) -> Iterator[str]:
    """Yield the instance types that the records on the way to a key are of."""
    for key in key_path:
        if isinstance(data, Mapping) and isinstance(name := data.get("instance_type"), str):
            yield name
        if not isinstance(data, Mapping) or key not in data:
            return
        data = data[key]
