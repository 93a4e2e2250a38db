"""The nodes of a bare Slurm fleet: which a resource makes, and what becomes of them.

The head node stands on a state volume of its own, and a queue's nodes drain before they go, so
neither goes as an instance or a group of anybody else does. Their tags tell them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..slurm_fleet.names import CLUSTER_TAG, ROLE_TAG
from .assembly import Stack
from .effects import Effect
from .values import Path, at, listed, references, text

Verdict = tuple[Effect, str]

HEAD, LOGIN, COMPUTE = "head", "login", "compute"
INSTANCE = "AWS::EC2::Instance"
GROUP = "AWS::AutoScaling::AutoScalingGroup"
LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"
FLEET = "Custom::TrainshedSlurmFleet"
_DATA, _DESCRIPTION = "LaunchTemplateData", "VersionDescription"

HEAD_REPLACED = (
    "The head node is replaced on the same state volume: running jobs go on, and none starts for "
    "some minutes."
)
HEAD_RESTARTS = "the head node stops and starts again: jobs run on, and none starts meanwhile."
LOGIN_LATER = "Login nodes have it once they are replaced: terminate them one by one. Jobs run on."
LOGIN_MORE = "More login nodes; jobs run on."
LOGIN_GONE = "Login nodes are terminated at once: sessions on them end."
LOGIN_FEWER = f"{LOGIN_GONE} Jobs run on."
QUEUE_GOES = (
    "The nodes of its queue go. While one has jobs the deployment is refused, and nothing is "
    "changed: drain them before."
)
# GRACE_SECONDS of the handler (assets/functions/slurm_fleet).
FLEET_GOES = (
    "The fleet goes, and nothing is refused: its jobs have 10 minutes, then they end with their "
    "nodes."
)
FLEET_STAYS = "The fleet is retained: no job is asked to end, and this stack no longer manages it."


def role_of(stack: Stack, logical_id: str) -> str:
    """Return which nodes a resource makes: head, login or compute; empty for any other."""
    resource = stack.resources[logical_id]
    found = next(_roles(resource), "")
    if found or resource["Type"] != LAUNCH_TEMPLATE:
        return found
    # The disks of the head node are a template without tags.
    users = (
        each
        for each in stack.resources.values()
        if each["Type"] in (INSTANCE, GROUP)
        and logical_id in references(at(each, ("Properties", "LaunchTemplate")))
    )
    return next((role for each in users for role in _roles(each)), "")


def _roles(resource: Mapping[str, Any]) -> Iterator[str]:
    if resource["Type"] not in (INSTANCE, GROUP, LAUNCH_TEMPLATE):
        return
    yield from _tags(resource, ROLE_TAG)


def _tags(resource: Mapping[str, Any], key: str) -> Iterator[str]:
    properties = resource.get("Properties", {})
    tagged = [properties, *listed(at(properties, (_DATA, "TagSpecifications")))]
    for tags in (each.get("Tags") for each in tagged if isinstance(each, Mapping)):
        for tag in listed(tags):
            if isinstance(tag, Mapping) and tag.get("Key") == key:
                yield text(tag.get("Value"))


def fleet_stays(base: Stack, head: Stack, logical_id: str) -> bool:
    """Tell whether the fleet of a group is updated: an update alone refuses, a deletion does not.

    Args:
        base: The stack as it is deployed.
        head: The stack as it will be.
        logical_id: The group.
    """
    clusters = set(_tags(base.resources.get(logical_id, {}), CLUSTER_TAG))
    return any(
        before["Type"] == FLEET
        and (not clusters or text(at(before, ("Properties", "ClusterName"))) in clusters)
        and at(head.resources.get(id), ("Type",)) == FLEET
        and before.get("Condition") == head.resources[id].get("Condition")
        for id, before in base.resources.items()
    )


def has_new_version(
    base: Stack, head: Stack, resource: Mapping[str, Any], is_new: Callable[[Any], bool]
) -> bool:
    """Tell whether an instance is made of a launch template that gets another version.

    Args:
        base: The stack as it is deployed.
        head: The stack as it will be.
        resource: The instance; False for any other.
        is_new: Tells whether a value points to what is replaced, so that it is another one then.
    """
    if resource["Type"] != INSTANCE:
        return False
    return any(
        at(base.resources[id], path) != at(head.resources[id], path)
        or is_new(at(head.resources[id], path))
        for id in references(at(resource, ("Properties", "LaunchTemplate", "Version")))
        if id in base.resources and id in head.resources
        for path in (("Properties", _DATA), ("Properties", _DESCRIPTION))
    )


def hidden_paths(
    before: Mapping[str, Any], after: Mapping[str, Any], is_new: Callable[[Any], bool]
) -> Iterator[Path]:
    """Yield what a launch template has another value of though its text is the same.

    Args:
        before: The resource as it is deployed.
        after: The resource as it will be; nothing is hidden in what is no template.
        is_new: Tells whether a value points to what is replaced.
    """
    if after["Type"] != LAUNCH_TEMPLATE:
        return
    was, now = (at(side, ("Properties", _DATA)) for side in (before, after))
    for key, value in now.items() if isinstance(now, Mapping) else ():
        if value == at(was, (key,)) and is_new(value):
            yield (_DATA, key)


def removed(role: str, resource_type: str, *, is_refusable: bool) -> Verdict | None:
    """Return what it is for a node that its group leaves the stack; None for any other.

    Args:
        role: Its role.
        resource_type: Type of what leaves.
        is_refusable: The fleet stays (`fleet_stays`).
    """
    if (role, resource_type) == (LOGIN, GROUP):
        return Effect.ENDS_SESSIONS, LOGIN_FEWER if is_refusable else LOGIN_GONE
    if (role, resource_type) == (COMPUTE, GROUP) and is_refusable:
        return Effect.NEEDS_IDLE_NODES, QUEUE_GOES
    return None


def replaced(role: str, resource_type: str) -> Verdict | None:
    """Return what it is for nodes that CloudFormation makes their resource anew."""
    if (role, resource_type) == (HEAD, INSTANCE):
        return Effect.PAUSES_NEW_JOBS, HEAD_REPLACED
    if (role, resource_type) == (LOGIN, GROUP):
        return Effect.ENDS_SESSIONS, LOGIN_FEWER
    return None


def in_place(role: str, resource_type: str, causes: Sequence[Path]) -> Verdict | None:
    """Return what it is for nodes that what might make them anew changes them in place."""
    # A running instance of a VPC takes other groups (EC2 API, ModifyInstanceAttribute, GroupId).
    if (role, *causes) == (HEAD, ("SecurityGroupIds",)):
        return Effect.LIVE, "the head node has the other groups at once. Jobs run on."
    if (role, resource_type) == (HEAD, INSTANCE):
        return Effect.PAUSES_NEW_JOBS, HEAD_RESTARTS
    if (role, resource_type) == (LOGIN, GROUP):
        return Effect.LIVE, LOGIN_LATER
    return None


def changed(role: str, path: Path, verdict: Verdict) -> Verdict | None:
    """Return what a changed property does to nodes of this role; None where another row tells.

    Args:
        role: Their role.
        path: The property.
        verdict: What it would do to nodes that drain.
    """
    if role == HEAD and path[0] in (_DATA, _DESCRIPTION):
        return None
    if role == LOGIN and verdict[0] is Effect.DRAINS_NODES:
        fewer = path[0] != _DATA and path[0].endswith(("Size", "Capacity"))
        return (Effect.ENDS_SESSIONS, LOGIN_FEWER) if fewer else (Effect.LIVE, LOGIN_LATER)
    return verdict
