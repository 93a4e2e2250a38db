"""Changes of a cluster's configuration, key by key, by ParallelCluster's own update policies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from .effects import Effect, Finding
from .resource_findings import CLUSTER
from .resources import Action, Comparison, ResourceChange
from .update_changes import Change
from .update_policy import Judge
from .values import leaves, references, text

Config = dict[str, Any]

CONFIGURATION = "ClusterConfiguration"
# A prefix that no other place has; the rest is the key as ParallelCluster writes it.
PLACE = "cluster-config"


def clusters(comparison: Comparison) -> Iterator[tuple[str, Config, Config]]:
    """Yield each cluster that is there before and after: its name and both configurations.

    What a configuration points to stands as ``${Name}``; where that is replaced the new
    configuration has ``${Name, new}``, since another id will stand there.
    """
    for name, stack in comparison.head.items():
        if name not in comparison.base:
            continue
        for id, after in stack.resources.items():
            before = comparison.base[name].resources.get(id)
            if before is not None and after["Type"] == before["Type"] == CLUSTER:
                yield (
                    text(properties_of(after).get("ClusterName")),
                    configuration(properties_of(before).get(CONFIGURATION)),
                    configuration(
                        properties_of(after).get(CONFIGURATION),
                        partial(comparison.becomes_new, name),
                    ),
                )


def configurations(stacks: Mapping[str, Any]) -> dict[str, Config]:
    """Return the configuration of each cluster that the stacks make, by the cluster's name."""
    return {
        text(properties_of(resource).get("ClusterName")): configuration(
            properties_of(resource).get(CONFIGURATION)
        )
        for stack in stacks.values()
        for resource in stack.resources.values()
        if resource["Type"] == CLUSTER
    }


def properties_of(resource: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of a resource; none where the template gives it none."""
    found: Mapping[str, Any] = resource.get("Properties", {})
    return found


def configuration(value: Any, becomes_new: Callable[[str], bool] = lambda id: False) -> Config:
    """Return a configuration that a template holds as JSON text, with names for references.

    Raises:
        ValueError: It is not the text of one.
    """
    parts: list[Any] = [value or "{}"]
    if isinstance(value, Mapping):
        match value:
            case {"Fn::Join": [_, [*joined]]}:
                parts = joined
            case _:
                parts = []
    written = ""
    inside = False
    for part in parts:
        if isinstance(part, str):
            written += part
            # Whether what follows stands inside quotes: a number is given without.
            inside ^= part.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 1
        else:
            name = _name(part, becomes_new)
            written += name if inside else json.dumps(name)
    try:
        read = json.loads(written)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise ValueError(
            f"{CONFIGURATION} of a cluster is {text(value)}, which is not the text that trainshed "
            "writes; run cdk synth again"
        )
    return read


def _name(reference: Any, becomes_new: Callable[[str], bool]) -> str:
    ids = list(references(reference))
    shown = text(reference).strip("${}").removeprefix("Foundation")
    new = ", new" if any(becomes_new(id) for id in ids) else ""
    return f"${{{shown}{new}}}".replace('"', "'")


def cluster_findings(base: Config, head: Config) -> Iterator[Finding]:
    """Yield what each changed key does to a cluster that runs."""
    judge = Judge(base, head)
    for change in judge.changes:
        effect = judge.judge(change)
        place, before, after = _leaf(change)
        yield Finding(
            f"{PLACE} {place}", text(before), text(after), effect, _sentence(change, effect, judge)
        )


def _leaf(change: Change) -> tuple[str, Any, Any]:
    """Return the one leaf that a changed section differs in; the section where it is several."""
    place, before, after = change.place, change.before, change.after
    found = list(leaves(before, after))
    if len(found) == 1:
        path, before, after = found[0]
        place = ".".join((place, *path))
    if isinstance(before, list) and isinstance(after, list):
        return (
            place,
            [item for item in before if item not in after],
            [item for item in after if item not in before],
        )
    return place, before, after


def _sentence(change: Change, effect: Effect, judge: Judge) -> str:
    if change.policy == "RESIZE_UPDATE_STRATEGY_ON_REMOVE":
        return _resized(change, effect)
    if change.key == "QueueUpdateStrategy":
        return "Counts from this update on."
    if change.key in KEYS and effect is Effect.REFUSED:
        return KEYS[change.key]
    if effect is Effect.STOPS_FLEET and judge.strategy != "COMPUTE_FLEET_STOP":
        return (
            f"Not even {judge.strategy} does this while nodes run: stop the compute fleet, deploy, "
            "start it again."
        )
    return SENTENCES[effect]


def _resized(change: Change, effect: Effect) -> str:
    what = {"SlurmQueues": "queue", "ComputeResources": "compute resource"}.get(change.key)
    if effect is Effect.LIVE:
        if what:
            return f"The new {what} comes up beside the others."
        more = (change.after or 0) > (change.before or 0)
        return f"{'More' if more else 'Fewer'} nodes {NODES[change.key]}."
    taken = f"a {what} away" if what else "nodes away"
    if effect is Effect.REPLACES_NODES:
        return f"TERMINATE takes {taken} at once: the jobs on them end."
    return (
        f"ParallelCluster takes {taken} only from a stopped fleet, or under TERMINATE, which ends "
        "the jobs there; DRAIN does not."
    )


NODES = {"MaxCount": "may run", "MinCount": "run even when idle"}
KEYS = {
    "FileSystemId": "The cluster cannot move to another file system in place: it needs a new one.",
    "ClusterName": "A cluster keeps its name: another name is another cluster.",
}
SENTENCES = {
    Effect.UNTOUCHED: "Nothing happens.",
    Effect.LIVE: "Applied while jobs run.",
    Effect.DRAINS_NODES: "Nodes of this queue finish their jobs, then are replaced; jobs go on.",
    Effect.STOPS_LOGIN_NODES: "Set the login pool's count to 0 and deploy that first; jobs go on.",
    Effect.STOPS_FLEET: "Stop the compute fleet, deploy, start it again: running jobs end.",
    Effect.REPLACES_NODES: "Nodes of this queue are terminated at once, with their jobs.",
    Effect.REFUSED: "ParallelCluster never changes this in place: it takes a new cluster, on the "
    "same data.",
}


def property_findings(
    before: Mapping[str, Any], after: Mapping[str, Any], place: str
) -> Iterator[Finding]:
    """Yield what the resource of a cluster says beside its configuration."""
    for path, was, now in leaves(before, after):
        if path[0] == CONFIGURATION:
            continue
        effect, sentence = PROPERTIES.get(path[0], (Effect.LIVE, "Counts from this update on."))
        yield Finding(f"{place} {'.'.join(path)}", text(was), text(now), effect, sentence)


def moved_findings(changes: Iterable[ResourceChange]) -> Iterator[Finding]:
    """Yield what becomes of a cluster that another construct is to make under the same name."""
    found = [change for change in changes if change.resource_type == CLUSTER]
    gone = {_cluster_name(change.before) for change in found if change.action is Action.REMOVED}
    for change in found:
        name = _cluster_name(change.after)
        if change.action is Action.ADDED and name in gone:
            yield Finding(change.place, "", name, Effect.REFUSED, TAKEN)


def _cluster_name(resource: Mapping[str, Any] | None) -> str:
    return text((resource or {}).get("Properties", {}).get("ClusterName"))


TAKEN = (
    "The name is taken by the cluster of the construct that goes: keep the construct's id, or give "
    "the new cluster another name."
)
PROPERTIES = {
    "ClusterName": (Effect.REFUSED, KEYS["ClusterName"]),
    "RemovalPolicy": (Effect.LIVE, "What deleting the stack will do to the cluster."),
}
