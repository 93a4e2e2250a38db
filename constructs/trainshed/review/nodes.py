"""The nodes of a bare Slurm fleet: which a resource makes, and what becomes of them.

The head node stands on a state volume of its own, and a queue's nodes drain before they go, so
neither goes as an instance or a group of anybody else does. Their tags tell them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..slurm_fleet.names import ROLE_TAG
from .assembly import Stack
from .effects import Effect
from .values import Path, at, listed, references

Verdict = tuple[Effect, str]

HEAD, LOGIN, COMPUTE = "head", "login", "compute"
INSTANCE = "AWS::EC2::Instance"
GROUP = "AWS::AutoScaling::AutoScalingGroup"
LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"
_DATA = "LaunchTemplateData"

HEAD_REPLACED = (
    "The head node is replaced on the same state volume: running jobs go on, and none starts for "
    "some minutes."
)
HEAD_RESTARTS = "the head node stops and starts again: jobs run on, and none starts meanwhile."
LOGIN_LATER = "Login nodes have it once they are replaced: terminate them one by one. Jobs run on."
LOGIN_MORE = "More login nodes; jobs run on."
LOGIN_FEWER = "Login nodes are terminated at once: sessions on them end. Jobs run on."
QUEUE_GOES = (
    "The nodes of its queue go. While one has jobs the deployment is refused, and nothing is "
    "changed: drain them before."
)


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
    properties = resource.get("Properties", {})
    tagged = [properties, *listed(at(properties, (_DATA, "TagSpecifications")))]
    for tags in (each.get("Tags") for each in tagged if isinstance(each, Mapping)):
        for tag in listed(tags):
            if isinstance(tag, Mapping) and tag.get("Key") == ROLE_TAG:
                yield str(tag.get("Value"))


def version_differs(base: Stack, head: Stack, resource: Mapping[str, Any]) -> bool:
    """Tell whether an instance is made of a launch template that has another version now."""
    if resource["Type"] != INSTANCE:
        return False
    data = ("Properties", _DATA)
    return any(
        at(base.resources.get(id), data) != at(head.resources.get(id), data)
        for id in references(at(resource, ("Properties", "LaunchTemplate", "Version")))
        if id in base.resources and id in head.resources
    )


def removed(role: str, resource_type: str) -> Verdict | None:
    """Return what it is for a node that its group leaves the stack; None for any other."""
    if resource_type != GROUP:
        return None
    goes = {
        LOGIN: (Effect.ENDS_SESSIONS, LOGIN_FEWER),
        COMPUTE: (Effect.NEEDS_IDLE_NODES, QUEUE_GOES),
    }
    return goes.get(role)


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
    if role == HEAD and path[0] == _DATA:
        return None
    if role == LOGIN and verdict[0] is Effect.DRAINS_NODES:
        fewer = path[0] != _DATA and path[0].endswith(("Size", "Capacity"))
        return (Effect.ENDS_SESSIONS, LOGIN_FEWER) if fewer else (Effect.LIVE, LOGIN_LATER)
    return verdict
