"""Changes of resources, in the words of those who have to live with them.

Only what somebody has to know makes a finding: every change is in the list of resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from . import nodes
from .effects import Effect, Finding
from .property_rules import property_verdict
from .replacement import DATA, is_retaining, passing, state_in
from .resources import Action, ResourceChange, property_leaves
from .values import at, text

CLUSTER = "Custom::TrainshedParallelCluster"


def resource_findings(changes: Iterable[ResourceChange]) -> Iterator[Finding]:
    """Yield what each change of a resource does; clusters are judged key by key elsewhere."""
    for change in changes:
        if change.resource_type == CLUSTER:
            yield from _cluster(change)
            continue
        if change.resource_type == nodes.FLEET and change.is_replaced:
            yield _finding(change, Effect.REFUSED, OTHER_PROVIDER)
            continue
        match change.action:
            case Action.ADDED:
                continue
            case Action.REMOVED | Action.MAY_BE_REMOVED:
                yield from _removed(change)
            case Action.REPLACED | Action.MAY_BE_REPLACED:
                yield from _replaced(change)
            case Action.TYPE_CHANGED:
                yield _finding(
                    change,
                    Effect.REFUSED,
                    "CloudFormation does not change the type of a resource: give the new one "
                    "another construct id.",
                )
            case Action.CHANGED:
                yield from _changed(change)


def _finding(
    change: ResourceChange, effect: Effect, sentence: str, before: Any = None, after: Any = None
) -> Finding:
    return Finding(change.place, text(before), text(after), effect, sentence)


def _cluster(change: ResourceChange) -> Iterator[Finding]:
    before = (change.before or {}).get("Properties", {})
    if change.is_removed:
        destroyed = before.get("RemovalPolicy") == "destroy"
        yield _finding(
            change,
            Effect.LOSES_DATA if destroyed else Effect.LIVE,
            "The cluster is deleted, with its head node's disk and every job."
            if destroyed
            else "The cluster is retained: it runs on, and this stack no longer manages it.",
        )
    elif change.is_replaced:
        yield _finding(change, Effect.REFUSED, OTHER_PROVIDER)


OTHER_PROVIDER = "CloudFormation cannot move a custom resource to another provider."


def _removed(change: ResourceChange) -> Iterator[Finding]:
    for effect, sentence in _end(change):
        if change.action is Action.MAY_BE_REMOVED:
            (_, condition) = change.causes[0]
            sentence = f"Unless {condition} holds, which the deployment decides: {sentence}"
        yield _finding(change, effect, sentence)


def _end(change: ResourceChange) -> Iterator[tuple[Effect, str]]:
    """Yield what becomes of what a resource has, once it leaves the stack."""
    noun = state_in(change.before or {})
    if noun is None:
        own = nodes.removed(change.role, change.resource_type, is_refusable=change.is_refusable)
        if own:
            yield own
        elif change.resource_type == nodes.FLEET and change.is_retained:
            yield Effect.LIVE, nodes.FLEET_STAYS
        elif change.resource_type in ENDED:
            yield Effect.REPLACES_NODES, ENDED[change.resource_type]
        elif change.resource_type in REMOVED:
            yield Effect.LIVE, REMOVED[change.resource_type]
        return
    little = passing(change.resource_type, change.users)
    if little and not change.is_retained:
        yield Effect.LIVE, little
    elif not change.is_retained:
        yield Effect.LOSES_DATA, f"The {noun} is deleted: {_loss(change.resource_type)}"
    else:
        sentence = (
            f"The {noun} leaves the stack. It is retained, costs on, and nothing here manages or "
            "uses it any more."
        )
        yield _orphaned(change.resource_type), sentence


def _replaced(change: ResourceChange) -> Iterator[Finding]:
    noun = state_in(change.before or {})
    before, after = _single(change)
    why = ", ".join(".".join(path) for path in change.causes)
    may = "may make" if change.action is Action.MAY_BE_REPLACED else "makes"
    cause = f"CloudFormation {may} a new one, since {why} cannot change in place."
    if noun is None:
        if change.action is Action.MAY_BE_REPLACED and _stays(change):
            own = nodes.in_place(change.role, change.resource_type, change.causes)
            effect, words = own or IN_PLACE[change.resource_type]
            yield _finding(change, effect, f"{why}: {words}", before, after)
        elif change.resource_type in REPLACED:
            own = nodes.replaced(change.role, change.resource_type)
            effect, words = own or REPLACED[change.resource_type]
            yield _finding(change, effect, f"{cause} {words}", before, after)
        return
    little = passing(change.resource_type, change.users)
    if little and not change.is_retained:
        effect, sentence = Effect.LIVE, f"{cause} {little}"
    elif change.is_retained:
        effect = _orphaned(change.resource_type)
        sentence = f"{cause} The new {noun} is empty; the old one is retained and nothing uses it."
    else:
        effect = Effect.LOSES_DATA
        sentence = f"{cause} The old {noun} is deleted: {_loss(change.resource_type)}"
    if THROUGHPUT in change.causes:
        sentence += f" {THROUGHPUT_ADVICE}"
    yield _finding(change, effect, sentence, before, after)


THROUGHPUT = ("LustreConfiguration", "PerUnitStorageThroughput")
THROUGHPUT_ADVICE = (
    "FSx itself changes the throughput in place: call aws fsx update-file-system, then deploy."
)


def _single(change: ResourceChange) -> tuple[Any, Any]:
    """Return the values of the first cause that has two."""
    for cause in change.causes:
        sides = (change.before or {}, change.after or {})
        values = [at(side.get("Properties", {}), cause) for side in sides]
        if values[0] != values[1]:
            before, after = (value and f"{cause[-1]} {text(value)}" for value in values)
            return before, after
    return None, None


def _orphaned(resource_type: str) -> Effect:
    return Effect.REPLACES_DATA if resource_type in DATA else Effect.LIVE


def _loss(resource_type: str) -> str:
    return LOSSES.get(resource_type, "what it holds is lost.")


LOSSES = {
    "AWS::EC2::CapacityReservation": "AWS may not have these instances again.",
    "AWS::KMS::Key": "what is encrypted with it can never be read again.",
}
IN_USE = "What runs in the old one cannot move, and AWS deletes it only when it is empty."
ENDED = {
    nodes.FLEET: nodes.FLEET_GOES,
    "AWS::AutoScaling::AutoScalingGroup": "Its nodes are terminated, with what runs on them.",
    "AWS::EC2::Instance": "The instance is terminated, with its disks but those that are retained.",
}
REMOVED = {
    "AWS::CloudWatch::Alarm": "Nobody hears of this any more.",
    "AWS::EC2::NatGateway": "Nodes lose their way to the internet.",
    "AWS::EC2::VPCEndpoint": "Nodes lose the private way to this service.",
    "AWS::RDS::DBInstance": "Nothing answers for the database; its cluster keeps the data.",
    "AWS::FSx::DataRepositoryAssociation": "Files and objects stay, no longer in step.",
    "AWS::SNS::Topic": "Its subscribers hear nothing more.",
    "AWS::SQS::Queue": "Messages that wait in it are lost.",
}


def _stays(change: ResourceChange) -> bool:
    """Tell whether what CloudFormation may replace stays.

    CloudFormation's documentation of the two, read 2026-11-29: an instance stops and starts where
    its root disk is an EBS volume, as of every image since EC2's first years; a group is replaced
    where its update policy says so.
    """
    return change.resource_type in IN_PLACE and "UpdatePolicy" not in (change.after or {})


IN_PLACE: dict[str, tuple[Effect, str]] = {
    "AWS::EC2::Instance": (
        Effect.LIVE,
        "the instance stops and starts again. Jobs run on; on a head node none starts.",
    ),
    "AWS::AutoScaling::AutoScalingGroup": (
        Effect.DRAINS_NODES,
        "Nodes have it once they are replaced: each drains first.",
    ),
}
REPLACED: dict[str, tuple[Effect, str]] = {
    "AWS::EC2::VPC": (Effect.REFUSED, IN_USE),
    "AWS::EC2::Subnet": (Effect.REFUSED, IN_USE),
    "AWS::EC2::Instance": (Effect.REPLACES_NODES, "The old instance goes with its disks."),
    "AWS::EC2::NatGateway": (Effect.LIVE, "Open connections to the internet break once."),
    "AWS::EC2::EIP": (Effect.LIVE, "The public address changes: firewalls elsewhere may know it."),
    "AWS::EC2::VPCEndpoint": (Effect.LIVE, "Calls to this service fail until the new one is up."),
    "AWS::RDS::DBInstance": (Effect.LIVE, "The database is away meanwhile; its data stays."),
    "AWS::SNS::Topic": (Effect.LIVE, "Subscriptions made by hand, such as e-mail, are lost."),
    "AWS::SQS::Queue": (Effect.LIVE, "Messages that wait in the old one are lost."),
    "AWS::AutoScaling::AutoScalingGroup": (Effect.REPLACES_NODES, "All of its nodes go."),
}


def _changed(change: ResourceChange) -> Iterator[Finding]:
    for path, before, after in property_leaves(change.before or {}, change.after or {}):
        verdict = property_verdict(change.resource_type, path, before, after)
        verdict = verdict and nodes.changed(change.role, path, verdict)
        if verdict:
            place = f"{change.place} {'.'.join(path)}"
            yield Finding(place, text(before), text(after), *verdict)
    yield from _hidden(change)
    yield from _less_protected(change)
    before, after = ((side or {}).get("UpdatePolicy") for side in (change.before, change.after))
    if before != after and after:
        sentence = "From the next change on CloudFormation itself replaces nodes, with their jobs."
        place = f"{change.place} UpdatePolicy"
        yield Finding(place, text(before), text(after), Effect.LIVE, sentence)


def _hidden(change: ResourceChange) -> Iterator[Finding]:
    """Yield what properties do that read the same, and point to what is replaced."""
    for path in change.causes:
        was, now = (
            at((side or {}).get("Properties"), path) for side in (change.before, change.after)
        )
        if now is None or was != now:
            continue
        verdict = property_verdict(change.resource_type, path, was, now)
        verdict = verdict and nodes.changed(change.role, path, verdict)
        if verdict:
            place = f"{change.place} {'.'.join(path)}"
            yield Finding(place, text(was), f"{text(now)}, new", *verdict)


def _less_protected(change: ResourceChange) -> Iterator[Finding]:
    noun = state_in(change.before or {})
    for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
        before, after = ((side or {}).get(policy) for side in (change.before, change.after))
        if noun and is_retaining(before) and not is_retaining(after):
            sentence = f"The {noun} is no longer protected: a later change could delete it."
            place = f"{change.place} {policy}"
            yield Finding(place, text(before), text(after or "Delete"), Effect.LIVE, sentence)
