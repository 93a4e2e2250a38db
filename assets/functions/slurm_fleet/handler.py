"""The provider of ``Custom::TrainshedSlurmFleet``: fills, awaits and empties a fleet's groups.

CDK's provider framework calls ``on_event`` once and ``is_complete`` until it is done. The keeper on
the head node does what needs Slurm, and tells it in a status document. Capacity is only ever raised
here, but for what is deleted: a smaller fleet is the keeper's work, which waits for jobs.
CloudFormation deletes the group of a queue that was removed after the update of this resource, and
waits for ever while its instances are protected: so an update empties it, once it has no jobs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, HTTPClientError

Event = Mapping[str, Any]
Answer = dict[str, Any]

SCHEMA_VERSION = "1"
# CloudFormation takes a response of 4096 bytes, and CDK's framework fills up to 1300 of them with
# ids and a stack trace (measured in tests/peers/pcluster/test_framework.py).
REASON_BYTES = 2400
# CloudFormation waits an hour. Telling why beats being cut off with "timed out".
OUT_OF_TIME = timedelta(minutes=56)
# Phases in which an update that adds no node may end: the fleet is what it was.
SERVING = {"waiting", "first-job", "gate", "gate-failed"}
# Auto Scaling tries again by itself; a reservation may free a place meanwhile.
CAPACITY_PATIENCE = timedelta(minutes=10)
GRACE_SECONDS = 600
DRAIN_PATIENCE = timedelta(seconds=GRACE_SECONDS, minutes=2)

TEXTS = {
    f"{name}ParameterName" if name != "NodesPath" else name
    for name in ("Fleet", "Status", "Command", "NodesPath")
}
PROPERTIES = {
    *TEXTS,
    *("SchemaVersion", "ClusterName", "FleetDocument", "HeadInstanceId", "BootTimeoutMinutes"),
}
FROM_CLOUDFORMATION = {"ServiceToken", "ServiceTimeout"}
# EC2 API reference, CapacityReservation, "State", read 2026-11-29.
OVER = {"expired", "cancelled", "failed", "payment-failed", "unsupported", "not there"}
SHORT_OF_CAPACITY = {
    "ReservationCapacityExceeded": "the reservation has fewer instances than the queue has nodes: "
    "lower nodes, or raise the reservation",
    "UnfulfillableCapacity": "instance type, zone and reservation do not fit together: compare "
    "them with the reservation's",
    "Capacity ?(Block|Reservation).*(not|n't).*active": "set start of the queue's capacity to when "
    "the block begins; it fills itself then",
    "InsufficientInstanceCapacity|not have sufficient": "buy a Capacity Block or a reservation, "
    "lower nodes, or use another zone",
}
PASSING = re.compile(
    "Throttl|RequestLimitExceeded|TooManyRequests|Unavailable|Internal|^5|"
    # Auto Scaling API reference, SetDesiredCapacity, "Errors", read 2026-11-30.
    "ResourceContention|ScalingActivityInProgress"
)


class FleetError(Exception):
    """A refusal or a failure, told to the person who deploys."""


class Context(Protocol):
    """What is used of Lambda's context."""

    log_stream_name: str


@dataclass(frozen=True)
class Queue:
    """What the fleet document says of one queue's group."""

    name: str
    group: str
    nodes: int
    instance_type: str
    reservation_id: str | None
    start: datetime | None
    drain: datetime | None
    """When its block is left; nothing is started any more."""


@dataclass(frozen=True)
class Wanted:
    """The properties of the resource, with the types that CloudFormation takes away."""

    cluster: str
    status: str
    command: str
    nodes_path: str
    generation: str
    queues: tuple[Queue, ...]
    head: str
    patience: timedelta


def on_event(event: Event, context: Context) -> Answer:
    """Start what CloudFormation asks for."""
    return _guarded(_delete if event["RequestType"] == "Delete" else _fill, event, context)


def is_complete(event: Event, context: Context) -> Answer:
    """Tell whether what ``on_event`` started has ended well; raise if it has ended badly."""
    return _guarded(
        _look_for_the_end if event["RequestType"] == "Delete" else _look, event, context
    )


def _guarded(action: Callable[[Event], Answer], event: Event, context: Context) -> Answer:
    try:
        return action(event)
    except Exception as error:
        if "Started" in event and _passes(error) and _age(event) < OUT_OF_TIME:
            _log(event, "asking again", reason=str(error))
            return {"IsComplete": False}
        told = isinstance(error, FleetError)
        reason = str(error) if told else f"{type(error).__name__}: {error}"
        _log(event, "failed", reason=reason)
        raise FleetError(fit(reason, context.log_stream_name)) from (None if told else error)


def _passes(error: Exception) -> bool:
    """Tell whether a call failed for a reason that may be gone at the next one."""
    if isinstance(error, ClientError):
        return PASSING.search(error.response["Error"]["Code"]) is not None
    return isinstance(error, HTTPClientError)


def parse(properties: Mapping[str, Any]) -> Wanted:
    """Read the properties, strictly.

    Args:
        properties: As CloudFormation hands them over.

    Raises:
        FleetError: properties are missing, unknown or malformed; all faults at once.
    """
    faults = [f"{key} is missing" for key in sorted(PROPERTIES - properties.keys())]
    unknown = properties.keys() - PROPERTIES - FROM_CLOUDFORMATION
    faults += [f"{key} is not a property" for key in sorted(unknown)]
    version = properties.get("SchemaVersion", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        faults.append(f"SchemaVersion is {version!r}; use the string {SCHEMA_VERSION!r}")
    minutes = str(properties.get("BootTimeoutMinutes", "1"))
    if not re.fullmatch("[1-9][0-9]?", minutes):
        faults.append(f"BootTimeoutMinutes is {minutes!r}; use the text of 1 to 99")
    queues: tuple[Queue, ...] = ()
    document = str(properties.get("FleetDocument", "{}"))
    try:
        queues = _queues(document)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        faults.append(f"FleetDocument is no fleet document: {error!r}")
    if faults:
        raise FleetError("the properties of this resource are wrong: " + "; ".join(faults))
    return Wanted(
        cluster=properties["ClusterName"],
        status=properties["StatusParameterName"],
        command=properties["CommandParameterName"],
        nodes_path=properties["NodesPath"].rstrip("/"),
        generation=hashlib.sha256(document.encode()).hexdigest()[:16],
        queues=queues,
        head=properties["HeadInstanceId"],
        patience=min(timedelta(minutes=int(minutes) + 15 + _gate_minutes(document)), OUT_OF_TIME),
    )


def _queues(document: str) -> tuple[Queue, ...]:
    return tuple(
        Queue(
            name=name,
            group=queue["asg"],
            nodes=int(queue["nodes"]),
            instance_type=queue.get("instance_type", ""),
            reservation_id=queue.get("reservation_id"),
            start=_time(queue["start"]) if queue.get("start") else None,
            drain=_time(queue["end"]) - timedelta(minutes=int(queue["drain_minutes"]))
            if queue.get("end")
            else None,
        )
        for name, queue in sorted(json.loads(document).get("queues", {}).items())
    )


def _gate_minutes(document: str) -> int:
    """Return how long nodes and queues may be kept from users once the nodes have booted."""
    return int((json.loads(document).get("gate") or {}).get("minutes", 0))


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _fill(event: Event) -> Answer:
    """Start a creation or an update: ask for the nodes that are missing."""
    wanted, create = parse(event["ResourceProperties"]), event["RequestType"] == "Create"
    id = _id(wanted.cluster)
    if event.get("PhysicalResourceId", id) != id:
        raise FleetError(
            f"ClusterName cannot change to {wanted.cluster}; this resource is "
            f"{event['PhysicalResourceId']}: keep the name, or make a new cluster beside this one"
        )
    _refuse_if_busy(_leaving(event), _status(wanted))
    started = _answer(event, id, "filling")
    _forget(wanted.command)
    _head_runs(wanted)
    # Every queue is looked at before a group is raised: CDK's framework forgets the id of a
    # creation that fails here, so its rollback would not empty what was raised, and hang.
    lacking, short = _lacking(wanted, create)
    started |= {"Short": "yes"} if short else {}
    started |= {"Raised": " ".join(queue.name for queue in lacking)} if lacking else {}
    try:
        for queue in lacking:
            _raise(event, queue)
    except (ClientError, HTTPClientError) as error:
        if not _passes(error):  # else it is raised by a look
            return {**started, "Refused": f"queue {queue.name}: {type(error).__name__}: {error}"}
    return started


def _lowered(event: Event, wanted: Wanted, groups: Mapping[str, Any]) -> Iterator[Queue]:
    """Find queues that the request asked nodes for, and whose groups are not that large.

    A group may have been in the middle of a change, and a keeper that had read the document of
    before, and was slow, may have lowered it since.
    """
    for queue in wanted.queues:
        asked = queue.name in event.get("Raised", "").split()
        left = queue.drain is not None and datetime.now(UTC) >= queue.drain
        group = groups.get(queue.group)
        if asked and not left and group and group["DesiredCapacity"] < queue.nodes:
            yield queue


def _raise(event: Event, queue: Queue) -> None:
    _log(event, "raising", queue=queue.name, nodes=str(queue.nodes))
    _client("autoscaling").set_desired_capacity(
        AutoScalingGroupName=queue.group, DesiredCapacity=queue.nodes, HonorCooldown=False
    )


def _lacking(wanted: Wanted, create: bool) -> tuple[list[Queue], bool]:
    """Return the queues whose groups are to be raised now, and whether any has too few nodes."""
    groups, now = _groups(wanted.queues), datetime.now(UTC)
    lacking, short = [], False
    for queue in wanted.queues:
        if queue.group not in groups:
            raise FleetError(f"queue {queue.name}: its group {queue.group} is not there")
        state = _reservation_state(queue)
        if create and state in OVER:
            raise FleetError(
                f"queue {queue.name}: {queue.reservation_id} is {state}; "
                "put the id of a reservation that is still to come, or active, in its place"
            )
        begun = (queue.start or now) <= now < (queue.drain or datetime.max.replace(tzinfo=UTC))
        if begun and state == "active" and groups[queue.group]["DesiredCapacity"] < queue.nodes:
            lacking.append(queue)
        short |= len(groups[queue.group]["Instances"]) < queue.nodes
    return lacking, bool(lacking) or short


def _reservation_state(queue: Queue) -> str:
    if queue.reservation_id is None:
        return "active"
    try:
        found = _client("ec2").describe_capacity_reservations(
            CapacityReservationIds=[queue.reservation_id]
        )
    except ClientError as error:
        if error.response["Error"]["Code"] == "InvalidCapacityReservationId.NotFound":
            return "not there"
        raise
    return str(found["CapacityReservations"][0]["State"])


def _look(event: Event) -> Answer:
    if event.get("Refused"):
        raise FleetError(event["Refused"])
    wanted, grows = parse(event["ResourceProperties"]), _grows(event)
    status = _status(wanted)
    groups = _groups(wanted.queues)
    if not _head_runs(wanted):
        return _unless_late(event, wanted, status, groups)
    for record in _failures(event, wanted, groups, grows):
        raise FleetError(_of_node(record))
    for queue in _lowered(event, wanted, groups):
        _raise(event, queue)
    if grows:
        _refuse_if_short(event, wanted, groups)
    # A head node that is about to be replaced applies the same document: its word is not that of
    # the new one, which nobody has seen yet. CloudFormation ends the old one after this.
    if (status.get("generation"), status.get("head", wanted.head)) != (
        wanted.generation,
        wanted.head,
    ):
        return _unless_late(event, wanted, {}, groups)
    if status["phase"] == "failed" or (grows and status["phase"] == "gate-failed"):
        raise FleetError(_of_status(wanted, status))
    if status["phase"] == "ready" or (not grows and status["phase"] in SERVING):
        if left := _empty_leaving(event, status):
            return _unless_left(event, wanted, left)
        _log(event, "complete", phase=status["phase"])
        return {
            "IsComplete": True,
            "Data": {
                "HeadInstanceId": wanted.head,
                "Generation": wanted.generation,
                "Nodes": str(sum(queue.nodes for queue in wanted.queues)),
                "FirstJobId": str((status.get("first_job") or {}).get("id", "")),
            },
        }
    return _unless_late(event, wanted, status, groups)


def _grows(event: Event) -> bool:
    """Tell whether there are nodes to wait for: an update without any may finish without one.

    A rollback that brings a queue back which was not emptied has none, and its nodes may just have
    written that their queue is gone.
    """
    if event["RequestType"] == "Create":
        return True
    if "Short" not in event:
        return False
    had = {queue.group: queue.nodes for queue in _before(event)}
    new = _queues(event["ResourceProperties"]["FleetDocument"])
    return any(queue.nodes > had.get(queue.group, 0) for queue in new)


def _before(event: Event) -> tuple[Queue, ...]:
    return _queues(event.get("OldResourceProperties", {}).get("FleetDocument", "{}"))


def _leaving(event: Event) -> list[Queue]:
    """Return the queues whose groups CloudFormation deletes once this update has succeeded."""
    kept = {queue.group for queue in _queues(event["ResourceProperties"]["FleetDocument"])}
    return [queue for queue in _before(event) if queue.group not in kept]


def _refuse_if_busy(leaving: Iterable[Queue], status: Mapping[str, Any]) -> None:
    """Raise if a queue that leaves has jobs: an update ends none."""
    counts = status.get("queues") or {}
    busy = {queue.name: counts.get(queue.name, {}).get("busy", 0) for queue in leaving}
    faults = [
        f"queue {name} is removed while {count} of its nodes have jobs: drain them "
        f"(scontrol update nodename={name}-… state=drain reason=removal), wait until they are "
        "idle, then deploy again"
        for name, count in busy.items()
        if count
    ]
    if faults:
        raise FleetError("\n".join(faults))


def _empty_leaving(event: Event, status: Mapping[str, Any]) -> list[Any]:
    """Empty the groups of queues that leave, and return the instances that are left."""
    leaving, left = _leaving(event), []
    groups = _groups(leaving)
    _refuse_if_busy(leaving, status)
    for queue in leaving:
        group, counts = groups.get(queue.group), (status.get("queues") or {}).get(queue.name)
        if group is None:
            continue
        # A node that is not drained, or not told of, could get a job at this moment.
        if group["Instances"] and (counts is None or counts["idle"]):
            left += group["Instances"]
        else:
            left += _empty(group)
    return left


def _unless_left(event: Event, wanted: Wanted, left: list[Any]) -> Answer:
    if _age(event) > wanted.patience:
        minutes = int(_age(event).total_seconds() / 60)
        raise FleetError(
            f"the queue is removed, and after {minutes} minutes these are still there: "
            f"{_names(left)}; deploy again once they are gone"
        )
    _log(event, "emptying", instances=str(len(left)))
    return {"IsComplete": False}


def _names(instances: list[Any]) -> str:
    return ", ".join(f"{each['InstanceId']} ({each['LifecycleState']})" for each in instances[:20])


def _unless_late(
    event: Event, wanted: Wanted, status: Mapping[str, Any], groups: Mapping[str, Any]
) -> Answer:
    if _age(event) <= wanted.patience:
        _log(event, "waiting", phase=status.get("phase", "no status"))
        return {"IsComplete": False}
    minutes = int(_age(event).total_seconds() / 60)
    counts = ", ".join(
        f"queue {queue.name} has {len(groups[queue.group]['Instances'])} of {queue.nodes} instances"
        for queue in wanted.queues
        if queue.group in groups
    )
    told = (
        _of_status(wanted, status)
        if status
        else "the keeper on the head node has written no status of this change; read "
        f"/var/log/trainshed there: aws ssm start-session --target {wanted.head}"
    )
    raise FleetError(f"not ready after {minutes} minutes; {counts}\n{told}")


def _of_status(wanted: Wanted, status: Mapping[str, Any]) -> str:
    """Tell a status: what the fleet waits for, and its worst node."""
    what = f"cluster {wanted.cluster} is {status.get('phase')}"
    lines = [": ".join(filter(None, (what, status.get("step"), status.get("reason"))))]
    lines += filter(None, [status.get("remedy")])
    return "\n".join(lines + [_of_node(node) for node in status.get("nodes", [])[:1]])


def _of_node(node: Mapping[str, Any]) -> str:
    """Tell a node: its name, its step and what a person does."""
    name = node.get("node") or node.get("role") or "node"
    state = node.get("state") or "failed"
    lines = [f"{name} ({node.get('instance_id')}) {state} at step {node.get('step')}"]
    lines[0] += f": {node.get('reason')}"
    return "\n".join(filter(None, [*lines, node.get("remedy"), node.get("tail")]))


def _failures(
    event: Event, wanted: Wanted, groups: Mapping[str, Any], grows: bool
) -> Iterator[Mapping[str, Any]]:
    """Find what nodes wrote that gave up booting, the head's first."""
    members = {each["InstanceId"] for group in groups.values() for each in group["Instances"]}
    alive = {wanted.head} | (members if grows else set())
    create = event["RequestType"] == "Create"
    records = [
        record
        for record in _records(wanted)
        if record.get("instance_id") in alive or (create and _of_login_node(record))
    ]
    for record in sorted(records, key=lambda record: record["instance_id"] != wanted.head):
        at = _time(record["at"]) if record.get("at") else None
        of_head = record["instance_id"] == wanted.head
        since = _head_since(event, wanted) if of_head else _time(event["Started"])
        if create or (at and at >= since):
            yield record


def _of_login_node(record: Mapping[str, Any]) -> bool:
    """Tell whether a login node wrote a record: its group is of no queue, so EC2 is asked."""
    if record.get("role") != "login":
        return False
    return bool(_instance(str(record.get("instance_id"))).get("State", {}).get("Name") == "running")


def _head_since(event: Event, wanted: Wanted) -> datetime:
    """Return from when on a record of the head node is of this change.

    A new head node has booted before CloudFormation gets to this resource. One that a rollback
    brings back may have told of the change that is taken back.
    """
    started = _time(event["Started"])
    before = event.get("OldResourceProperties", {}).get("HeadInstanceId", wanted.head)
    if before == wanted.head:
        return started
    launched, earlier = (_instance(id).get("LaunchTime") for id in (wanted.head, before))
    return min(started, launched) if launched and earlier and launched > earlier else started


def _records(wanted: Wanted) -> Iterator[dict[str, Any]]:
    for name, value in _node_parameters(wanted):
        try:
            yield dict(json.loads(value))
        except (ValueError, TypeError):
            yield {"instance_id": name.rpartition("/")[2], "reason": value}


def _refuse_if_short(event: Event, wanted: Wanted, groups: Mapping[str, Any]) -> None:
    """Raise if a group cannot get its instances."""
    for queue in wanted.queues:
        group = groups.get(queue.group)
        if group is None or len(group["Instances"]) >= group["DesiredCapacity"]:
            continue
        message = _failed_launch(queue.group, _time(event["Started"]))
        remedy = next(
            (SHORT_OF_CAPACITY[p] for p in SHORT_OF_CAPACITY if re.search(p, message)), ""
        )
        if message and (not remedy or _age(event) > CAPACITY_PATIENCE):
            raise FleetError(
                f"queue {queue.name} has {len(group['Instances'])} of {queue.nodes} instances of "
                f"{queue.instance_type}: {message}\n"
                + (remedy or f"mend that; the group's activity history has more: {queue.group}")
            )


def _failed_launch(group: str, since: datetime) -> str:
    found = _client("autoscaling").describe_scaling_activities(
        AutoScalingGroupName=group, MaxRecords=20
    )
    for activity in found["Activities"]:  # newest first
        if activity["StartTime"] >= since and activity["StatusCode"] == "Failed":
            return str(activity.get("StatusMessage") or activity.get("Cause") or "a launch failed")
    return ""


def _delete(event: Event) -> Answer:
    """Ask the keeper to end the jobs, if there is one.

    What has malformed properties was never made, and must not block a deletion.
    """
    properties, id = event["ResourceProperties"], event["PhysicalResourceId"]
    try:
        wanted = parse(properties)
    except FleetError:
        return _answer(event, id, "gone")
    if id != _id(wanted.cluster):
        return _answer(event, id, "not ours")
    if not _status(wanted) or _head_state(wanted) != "running":
        return _answer(event, id, "emptying")
    command = {"schema": 1, "drain": True, "grace_seconds": GRACE_SECONDS}
    try:
        _client("ssm").put_parameter(
            Name=wanted.command, Type="String", Value=json.dumps(command), Overwrite=False
        )
    except ClientError as error:
        # Its age is what jobs are given time by: a second run of this request must not renew it.
        if error.response["Error"]["Code"] != "ParameterAlreadyExists":
            raise
    return _answer(event, id, "draining")


def _look_for_the_end(event: Event) -> Answer:
    if event["Outcome"] in {"gone", "not ours"}:
        return {"IsComplete": True}
    wanted = parse(event["ResourceProperties"])
    drains = event["Outcome"] == "draining" and _age(event) < DRAIN_PATIENCE
    if drains and _status(wanted).get("phase") != "drained" and _head_state(wanted) == "running":
        _log(event, "draining")
        return {"IsComplete": False}
    left = [each for group in _groups(wanted.queues).values() for each in _empty(group)]
    if left and _age(event) > OUT_OF_TIME:
        raise FleetError(
            f"still there after 56 minutes: {_names(left)}; delete again once they are gone"
        )
    if not left:
        names = [name for name, _ in _node_parameters(wanted)]
        for some in (names[start : start + 10] for start in range(0, len(names), 10)):
            _client("ssm").delete_parameters(Names=some)
        _forget(wanted.status)
        _forget(wanted.command)
    _log(event, "waiting" if left else "complete", instances=str(len(left)))
    return {"IsComplete": not left}


def _empty(group: Mapping[str, Any]) -> list[Any]:
    """Let a group terminate its instances, and return those that are left."""
    name, autoscaling = group["AutoScalingGroupName"], _client("autoscaling")
    instances: list[Any] = group["Instances"]
    # A starting instance cannot be unprotected; it is once it is in service.
    protected = [
        each["InstanceId"]
        for each in instances
        if each["ProtectedFromScaleIn"] and each["LifecycleState"] == "InService"
    ]
    for some in (protected[start : start + 50] for start in range(0, len(protected), 50)):
        try:
            autoscaling.set_instance_protection(
                AutoScalingGroupName=name, InstanceIds=some, ProtectedFromScaleIn=False
            )
        except ClientError as error:
            # One of them has left the service since it was listed; the next look leaves it out.
            if error.response["Error"]["Code"] != "ValidationError":
                raise
    if group["DesiredCapacity"] or protected:
        autoscaling.set_desired_capacity(
            AutoScalingGroupName=name, DesiredCapacity=0, HonorCooldown=False
        )
    return instances


def fit(reason: str, log_stream: str) -> str:
    """Cut a reason between characters to what fits a response, and say where the whole of it is."""
    reason = reason.encode("utf-8", "replace").decode()
    if _size(reason) <= REASON_BYTES:
        return reason
    pointer = f"\n[cut; the whole text is in log stream {log_stream}]"
    room, end = REASON_BYTES - _size(pointer), 0
    while (room := room - _size(reason[end])) >= 0:
        end += 1
    return reason[:end] + pointer


def _size(text: str) -> int:
    """Return the bytes that a text takes within the JSON of a response."""
    return len(json.dumps(text, ensure_ascii=False).encode()) - len('""')


@cache
def _client(service: str) -> Any:
    config = Config(
        connect_timeout=5, read_timeout=20, retries={"mode": "standard", "max_attempts": 8}
    )
    return boto3.client(service, config=config)


def _groups(queues: Iterable[Queue]) -> dict[str, Any]:
    names = [queue.group for queue in queues]
    if not names:
        return {}
    pages = _client("autoscaling").get_paginator("describe_auto_scaling_groups")
    found = pages.paginate(AutoScalingGroupNames=names)
    return {
        group["AutoScalingGroupName"]: group
        for page in found
        for group in page["AutoScalingGroups"]
    }


def _head_state(wanted: Wanted) -> str:
    found = _instance(wanted.head)
    return str(found["State"]["Name"]) if found else "terminated"


def _instance(id: str) -> dict[str, Any]:
    """Return an instance; empty where EC2 does not know it any more."""
    try:
        found = _client("ec2").describe_instances(InstanceIds=[id])
    except ClientError as error:
        if error.response["Error"]["Code"] == "InvalidInstanceID.NotFound":
            return {}
        raise
    return dict(found["Reservations"][0]["Instances"][0])


def _head_runs(wanted: Wanted) -> bool:
    """Tell whether the head node runs; start it if a newer one had stopped it."""
    state = _head_state(wanted)
    if state in {"terminated", "shutting-down"}:
        raise FleetError(f"the head node {wanted.head} is {state}: replace it, or remake the stack")
    if state == "stopped":
        _client("ec2").start_instances(InstanceIds=[wanted.head])
    return state == "running"


def _status(wanted: Wanted) -> dict[str, Any]:
    try:
        found = _client("ssm").get_parameter(Name=wanted.status)
        return dict(json.loads(found["Parameter"]["Value"]))
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            return {}
        raise


def _node_parameters(wanted: Wanted) -> Iterator[tuple[str, str]]:
    pages = _client("ssm").get_paginator("get_parameters_by_path")
    for page in pages.paginate(Path=wanted.nodes_path):
        for parameter in page["Parameters"]:
            yield parameter["Name"], parameter["Value"]


def _forget(parameter: str) -> None:
    try:
        _client("ssm").delete_parameter(Name=parameter)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ParameterNotFound":
            raise


def _id(cluster: str) -> str:
    return f"trainshed-slurm-fleet/{cluster}"


def _age(event: Event) -> timedelta:
    return datetime.now(UTC) - _time(event["Started"])


def _answer(event: Event, physical_id: str, outcome: str) -> Answer:
    _log(event, outcome)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    return {"PhysicalResourceId": physical_id, "Outcome": outcome, "Started": started}


def _log(event: Event, decision: str, **more: str) -> None:
    name = event["ResourceProperties"].get("ClusterName")
    print(
        json.dumps({"request": event["RequestType"], "cluster": name, "decision": decision, **more})
    )
