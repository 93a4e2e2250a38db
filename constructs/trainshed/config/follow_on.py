"""Which faults may come of others: rules see what is right of a file, and cannot know the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .faults import Fault, KeyPath, dotted

# Where a rule's fault is, and of what it says something besides.
_JUDGED_BY = (
    (r"fleet\..+", r"fleet\.backend"),
    (r"fleet\.image", r"fleet\.image\..+"),
    (
        r"fleet\.policy\b.*",
        r"fleet\.queues\.[^.]+|fleet\.accounting|fleet\.policy\..+|instance_types\..+",
    ),
    (r"fleet\.queues\.[^.]+\.capacity\.next_queue", r"fleet\.queues\.[^.]+"),
    (
        r"fleet\.parallelcluster\.gate",
        r"fleet\.queues\.[^.]+(\.min_nodes)?|instance_types\..+",
    ),
    (r"fleet\.parallelcluster\.layer_key", r"fleet\.parallelcluster\.layer_bucket"),
)


def may_follow(fault: Fault, left_out: Iterable[KeyPath], data: Mapping[str, Any]) -> bool:
    """Tell whether a rule might not find a fault, were what is faulty itself not left out.

    Args:
        fault: The fault that the rule found.
        left_out: Key paths of what was left out of the file.
        data: What the file holds.
    """
    at, types = dotted(fault.key_path), set(_types_above(fault.key_path, data))
    return any(
        (path[0] == "instance_types" and not types.isdisjoint(path))
        or any(
            re.fullmatch(about, at) and re.fullmatch(judged_by, dotted(path))
            for about, judged_by in _JUDGED_BY
        )
        for path in left_out
    )


def _types_above(key_path: KeyPath, data: Any) -> Iterator[str]:
    """Yield the instance types that the records on the way to a key are of."""
    for key in key_path:
        if isinstance(data, Mapping) and isinstance(name := data.get("instance_type"), str):
            yield name
        if not isinstance(data, Mapping) or key not in data:
            return
        data = data[key]
