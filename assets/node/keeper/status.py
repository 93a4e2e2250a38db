"""The status document: how the fleet is, in what fits a parameter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from .apply import ApplyError
from .decide import (
    REPLACEMENTS_AN_HOUR,
    SUSPECT_SECONDS,
    Budget,
    failed,
    many_silent,
)
from .document import Queue
from .first_job import FirstJob
from .leaving import leaving
from .opening import Shut
from .recovery.words import held
from .view import OURS, Row, View, rows

MOST_CHARACTERS = 4000


@dataclass(frozen=True)
class Known:
    """What is known besides the view.

    Args:
        applied: Whether the document is live on the head.
        refusal: Why it cannot be.
        first_job: The first job.
        launches: Why a group's last launch failed, by queue.
        unread: What could not be read this time.
        shut: What keeps users out.
        head: Instance id of this head node. Default: it is not told.
    """

    applied: bool
    refusal: ApplyError | None
    first_job: FirstJob
    launches: Mapping[str, str] = field(default_factory=dict)
    unread: str = ""
    shut: Sequence[Shut] = ()
    head: str = ""


@dataclass(frozen=True)
class Words:
    """What a person is told of the whole fleet."""

    phase: str
    step: str = ""
    reason: str = ""
    remedy: str = ""


def build(view: View, known: Known) -> dict[str, Any]:
    """Return the status document, without its time."""
    words = _words(view, known)
    status = {
        "schema": 1,
        "generation": view.document.generation,
        # Another head node that has not taken over yet is waited for by it.
        **({"head": known.head} if known.head else {}),
        "phase": words.phase,
        "step": words.step,
        "reason": words.reason[:900],
        "remedy": words.remedy[:300],
        "queues": {
            queue.name: _counts(view, queue)
            for queue in (*view.document.queues.values(), *leaving(view))
        },
        "first_job": known.first_job.tell(),
        "nodes": _nodes(view),
    }
    return fit(status)


def fit(status: dict[str, Any]) -> dict[str, Any]:
    """Shorten a status document: first the ends of logs, then the nodes with the least trouble."""
    nodes = [dict(node) for node in status["nodes"]]
    while _size({**status, "nodes": nodes}) > MOST_CHARACTERS - 60 and nodes:
        longest = max(nodes, key=lambda node: len(node.get("tail") or ""))
        if longest.get("tail"):
            longest["tail"] = longest["tail"][len(longest["tail"]) // 2 + 1 :].strip()
        else:
            nodes.pop()
    return {**status, "nodes": nodes}


def text(status: Mapping[str, Any]) -> str:
    """Return a status document as Parameter Store takes it: a value with ``{{`` is refused."""
    return json.dumps(status).replace("{{", "{\\u007b")


def _size(status: Mapping[str, Any]) -> int:
    return len(text(status))


def joined(view: View, queue: Queue) -> int:
    """Return how many nodes of a queue Slurm has and hears."""
    return sum(
        1
        for row in rows(view, queue)
        if row.node is not None and row.instance.state == "running" and row.silent < SUSPECT_SECONDS
    )


def missing(view: View, queue: Queue) -> int:
    """Return how many nodes of a queue are still to come."""
    group = (view.groups or {}).get(queue.group)
    if group is not None and queue.waits(view.now, group.desired):
        return 0
    return max(0, queue.ceiling(view.now) - joined(view, queue))


def _words(view: View, known: Known) -> Words:
    if view.ends_at is not None:
        return _deletion(view)
    if known.refusal is not None:
        refusal = known.refusal
        return Words("failed", refusal.step, refusal.reason, refusal.remedy)
    if not known.applied:
        return Words("applying", "head", "the head node takes over the new document")
    if not view.whole:
        return Words("waiting", "look", known.unread or "not all of the fleet can be seen")
    short = [queue for _, queue in sorted(view.document.queues.items()) if missing(view, queue)]
    if short:
        return _waiting(view, known, short)
    if known.first_job.failed:
        return Words(
            "failed",
            "first job",
            f"the first job ended as {known.first_job.state}",
            "read its output, /var/log/slurm/trainshed-first-job-*.log on the first of the "
            "nodes, then deploy again",
        )
    for first in known.shut[:1]:
        words = "; ".join(each.reason for each in known.shut)
        return Words("gate-failed" if first.failed else "gate", "gate", words, first.remedy)
    expects = any(
        queue.ceiling(view.now)
        and not queue.waits(view.now, (view.groups or {})[queue.group].desired)
        for queue in view.document.queues.values()
    )
    if expects and not known.first_job.done:
        state = known.first_job.state
        return Words("first-job", "first job", f"the first job is {state or 'not yet submitted'}")
    return Words("ready", reason=_limit(view))


def _deletion(view: View) -> Words:
    left = [name for name, node in (view.nodes or {}).items() if node.busy]
    over = view.ends_at is not None and view.now >= view.ends_at + timedelta(minutes=1)
    if view.nodes is not None and (not left or over):
        return Words("drained", "drain", "no jobs are left" if not left else "jobs did not end")
    until = view.ends_at.isoformat(timespec="seconds") if view.ends_at else ""
    return Words("waiting", "drain", f"jobs on {len(left)} nodes have until {until}")


def _waiting(view: View, known: Known, short: list[Queue]) -> Words:
    told, remedy = [], ""
    for queue in short:
        text = f"queue {queue.name} has {joined(view, queue)} of {queue.ceiling(view.now)} nodes"
        group = (view.groups or {}).get(queue.group)
        if group is None:
            text += f"; its group {queue.group} is not there"
        elif many_silent(view, queue):
            text += "; so many are silent at once that none is ended"
            remedy = "look at the network and security groups between the head node and the nodes"
        elif group.desired < queue.ceiling(view.now):
            text += f"; its group is set to {group.desired}"
        if known.launches.get(queue.name):
            text += f"; AWS: {known.launches[queue.name]}"
            remedy = "if it is capacity: a reservation or a Capacity Block, or fewer nodes"
        told.append(text)
    return Words("waiting", "nodes", "; ".join([*told, *filter(None, [_limit(view)])]), remedy)


def _limit(view: View) -> str:
    if not Budget(view).spent:
        return ""
    return (
        f"{len(view.replacements)} nodes were replaced within an hour, and no more than "
        f"{REPLACEMENTS_AN_HOUR} are: look for a common cause"
    )


def state(view: View, row: Row) -> str:
    """Return the state of an instance in a word."""
    if row.instance.state not in ("pending", "running"):
        return "ending"
    if row.node is None:
        return "failed" if failed(view, row) else "joining"
    if row.silent >= SUSPECT_SECONDS:
        return "silent"
    if row.node.drained:
        return "draining" if row.node.busy else "drained"
    return "busy" if row.node.busy else "idle"


def _counts(view: View, queue: Queue) -> dict[str, Any]:
    group = (view.groups or {}).get(queue.group)
    alive = [row for row in rows(view, queue) if row.instance.state in ("pending", "running")]
    # One that drains may still have jobs, and so may a silent one.
    busy = sum(row.node is not None and row.node.busy for row in alive)
    states = [state(view, row) for row in alive]
    desired = group.desired if group else 0
    return {
        "desired": desired,
        "idle": states.count("idle"),
        "busy": busy,
        "joining": states.count("joining"),
        "draining": states.count("draining") + states.count("drained"),
        "outdated": sum(row.outdated for row in alive),
        "failed": states.count("failed") + states.count("silent"),
        "waiting_for_block": queue.waits(view.now, desired),
    }


_WORST_FIRST = ("failed", "silent", "joining", "ending", "drained", "draining", "idle", "busy")
"""The last two are told of where a later boot, for a change of the document, did not end well."""


def _nodes(view: View) -> list[dict[str, Any]]:
    told = []
    for _, queue in sorted(view.document.queues.items()):
        for row in rows(view, queue):
            word = state(view, row)
            well = word in ("idle", "busy") and row.failure is None
            if not well and not (row.instance.state == "terminated" and not row.node):
                told.append((_WORST_FIRST.index(word), row.name, _node(view, row, word)))
    told += [(0, node["node"], node) for node in _login_nodes(view)]
    return [node for _, _, node in sorted(told, key=lambda each: each[:2])]


def _login_nodes(view: View) -> Iterator[dict[str, Any]]:
    """Return the login nodes whose boot has failed; Slurm knows nothing of them."""
    for id, record in view.failures.items():
        found = (view.instances or {}).get(id)
        if found is not None and found.role == "login" and found.state in ("pending", "running"):
            name = str(record.get("node") or f"login-{id.removeprefix('i-')}")
            yield {"node": name[:63], "instance_id": id, "state": "failed", **_why(record)}


def _why(record: Mapping[str, Any]) -> dict[str, str]:
    """Return what the record of a failed boot says, no longer than a status has room for."""
    lengths = (("step", 60), ("reason", 300), ("remedy", 300), ("tail", 1500))
    return {key: str(record.get(key) or "")[:most] for key, most in lengths}


def _node(view: View, row: Row, word: str) -> dict[str, Any]:
    node = {"node": row.name, "instance_id": row.instance.id, "state": word}
    if row.failure is not None and word in ("failed", "joining", "idle", "busy"):
        return {**node, **_why(row.failure)}
    minutes = int(row.age(view.now).total_seconds() / 60)
    step, reason, remedy = "", "", ""
    if word in ("failed", "joining"):
        step, reason = "boot", f"not in Slurm {minutes} minutes after its launch"
        remedy = f"aws ec2 get-console-output --latest --instance-id {row.instance.id}"
    elif word == "silent":
        step, reason = "slurmd", f"slurmd has not answered for {row.silent:.0f} s"
    elif word == "ending":
        step, reason = "ec2", f"the instance is {row.instance.state}"
        if row.node is not None and row.node.busy:
            reason += "; its jobs start elsewhere once it is terminated"
    elif row.node is not None:
        step, reason = "slurm", row.node.reason
        if word == "drained" and held(reason):
            step, reason = "gate", "held until its checks have passed"
            remedy = "journalctl -u trainshed-node-gate on the node, if that stays so"
        elif not reason.startswith(OURS):
            remedy = f"mend it, then: scontrol update nodename={row.name} state=resume"
    return {**node, "step": step, "reason": reason[:300], "remedy": remedy}
