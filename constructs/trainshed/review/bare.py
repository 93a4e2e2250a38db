"""What a changed key of the file does to a bare Slurm fleet, where its record tells it of another.

The keeper on the head node drains what is outdated or too many, and waits for its jobs. Other keys
do what their ``on_change`` says.
"""

from __future__ import annotations

from typing import Any

from .effects import Effect
from .nodes import HEAD_REPLACED, LOGIN_FEWER, LOGIN_LATER, LOGIN_MORE

Verdict = tuple[Effect, str]

_DRAINS = (
    Effect.DRAINS_NODES,
    "Each node finishes its jobs, then another one with the new setting takes its place.",
)
_FEWER = (Effect.DRAINS_NODES, "The nodes that are too many finish their jobs, then go.")
_MORE = (Effect.LIVE, "More nodes join while jobs run.")
_NEW_QUEUE = (Effect.LIVE, "A new queue; the others run on.")
_NO_QUEUE = (
    Effect.NEEDS_IDLE_NODES,
    "Its nodes go. While one has jobs the deployment is refused, and nothing is changed: drain "
    "them before. Jobs that wait in its own partition end with it.",
)
_HEAD_STARTS = (
    Effect.PAUSES_NEW_JOBS,
    "The head node stops and starts as the new type: jobs run on, and none starts meanwhile.",
)
_NEW_HEAD = (Effect.PAUSES_NEW_JOBS, HEAD_REPLACED)
_SMALLER = (Effect.REFUSED, "EBS volumes only grow: the disk of the state cannot shrink.")
_RIGHTS = (Effect.LIVE, "Nodes have the new rights within minutes.")
_GATE_ON = (
    Effect.LIVE,
    "What is in use stays so; nodes that join are held until their checks have passed, and a queue "
    "of new nodes until its all-reduce has.",
)
_GATE_OFF = (
    Effect.LIVE,
    "Users get in within seconds, also where checks or all-reduce have failed.",
)
_GATE = (Effect.LIVE, "It counts from the next all-reduce on; nothing that is open closes.")
_LOGIN = (Effect.LIVE, LOGIN_LATER)
_MORE_LOGIN = (Effect.LIVE, LOGIN_MORE)
_FEWER_LOGIN = (Effect.ENDS_SESSIONS, LOGIN_FEWER)
_SSH = (Effect.LIVE, "The port opens or closes while jobs run; the head node stays.")
_COMPARED = (Effect.LIVE, "Compared whenever a node boots.")
_NOT_ON_NODES = (Effect.LIVE, "trainshed alone reads it: nothing happens to nodes.")

# Below fleet; the name of a queue or pool is left out.
_OF_KEY: dict[tuple[str, ...], Verdict] = {
    ("queues", "instance_type"): _DRAINS,
    ("queues", "capacity", "placement_group"): _DRAINS,
    ("queues", "policies"): _RIGHTS,
    ("head_node", "instance_type"): _HEAD_STARTS,
    ("head_node", "root_volume"): _NEW_HEAD,
    ("head_node", "ssh", "key_name"): _NEW_HEAD,
    ("image",): _DRAINS,
    ("image", "lock", "name"): _NOT_ON_NODES,
    ("image", "lock", "root_gib"): _NOT_ON_NODES,
    ("image", "lock", "kernel"): _COMPARED,
    ("image", "lock", "nvidia_driver"): _COMPARED,
    ("image", "lock", "efa_installer"): _COMPARED,
    ("login_nodes", "instance_type"): _LOGIN,
    ("login_nodes", "policies"): _RIGHTS,
    ("monitoring", "detailed"): _DRAINS,
    ("slurm", "gate"): _GATE,
}


def verdict(path: tuple[str, ...], before: Any, after: Any) -> Verdict | None:
    """Return what a changed key does and how; None where its record says it.

    Args:
        path: The key, from the top of the file.
        before: Its value in the base; None where it had none.
        after: Its value in the head; None where it goes.
    """
    if path[0] != "fleet":
        return None
    key = path[1:]
    if key[0] == "queues" and len(key) == 2:
        return _NEW_QUEUE if before is None else _NO_QUEUE if after is None else None
    if key[0] == "queues" and key[2:] == ("max_nodes",):
        return _MORE if after > before else _FEWER
    if key[0] == "login_nodes" and (len(key) == 2 or key[2] == "count"):
        return _MORE_LOGIN if _nodes(after) > _nodes(before) else _FEWER_LOGIN
    if key == ("head_node", "ssh"):
        has_key = any(each and each.key_name for each in (before, after))
        return _NEW_HEAD if has_key else _SSH
    if key == ("slurm", "state_volume_gib") and after < before:
        return _SMALLER
    if key == ("slurm", "gate", "enabled"):
        # Without a word it is on.
        return _GATE_OFF if after is False else _GATE_ON
    if key[0] in ("queues", "login_nodes"):
        key = (key[0], *key[2:])
    return next(
        (_OF_KEY[key[:end]] for end in range(len(key), 0, -1) if key[:end] in _OF_KEY), None
    )


def verdict_for_head(path: tuple[str, ...], before: Any, after: Any) -> Verdict | None:
    """Return what a changed key does to the head node, where `verdict` tells of other nodes."""
    if path[:2] == ("fleet", "image") and verdict(path, before, after) == _DRAINS:
        return _NEW_HEAD
    return None


def _nodes(pool: Any) -> int:
    """Return the nodes of a pool, which is there, is not, or is their number."""
    return int(getattr(pool, "count", pool) or 0)
