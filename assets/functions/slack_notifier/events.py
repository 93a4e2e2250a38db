"""What EventBridge's events say, as one table: detail type to title, severity, key and fields.

Detail types are those of the EventBridge reference and the services' guides, read 2026-11-29.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from . import console

_PLACE = re.compile(r"\{([^}]+)\}")
# A call without an error code succeeded; anything else that is missing is a question.
_UNSAID = {"errorCode": ""}
_ENDING = "Instances start to end 10 minutes from now (UltraServers earlier): checkpoint and drain."
_RETIRED = "Drain the node, then stop and start it, or let the fleet replace it, before that time."


@dataclass(frozen=True)
class Shape:
    """How one detail type is shown."""

    title: str
    """Names in braces stand for fields of the flattened detail."""
    severity: str | Callable[[dict[str, str]], str]
    subject: str = ""
    """The field that names the resource; events of one resource are one story."""
    advice: str = ""
    ends: tuple[str, ...] = ()
    """States that mean that all is well again."""
    fields: tuple[str, ...] = ()
    """The fields to show. Empty: all."""
    link: str = ""
    """Page of the console, with names in braces."""


def _instance_severity(detail: dict[str, str]) -> str:
    return "info" if detail.get("state") in ("pending", "running") else "warning"


def _health_severity(detail: dict[str, str]) -> str:
    code = detail.get("eventTypeCode", "")
    if detail.get("statusCode") == "closed":
        return "info"
    if "RETIREMENT" in code or detail.get("eventTypeCategory") == "issue":
        return "critical"
    return "warning" if detail.get("eventTypeCategory") == "scheduledChange" else "info"


def _stack_severity(detail: dict[str, str]) -> str:
    status = detail.get("status-details.status", "")
    if "FAILED" in status:
        return "critical"
    return "warning" if "ROLLBACK" in status else "info"


def _notice_severity(detail: dict[str, str]) -> str:
    severity = detail.get("severity", "")
    return severity if severity in ("critical", "warning", "info") else "warning"


def _api_severity(detail: dict[str, str]) -> str:
    return "warning" if detail.get("errorCode") else "info"


_INSTANCE = "ec2/home?region={region}#InstanceDetails:instanceId={instance-id}"
_RESERVATION = "ec2/home?region={region}#CapacityReservationDetails:crId={capacity-reservation-id}"
_GROUP = "ec2/home?region={region}#AutoScalingGroupDetails:id={AutoScalingGroupName};view=activity"
_HEALTH = Shape(
    "{service}: {happening}",
    _health_severity,
    "eventArn",
    ends=("closed",),
    fields=("affected", "startTime", "endTime", "statusCode", "eventRegion"),
    link="health/home?region={region}#/account/event-log?eventID={eventArn}",
)
_BLOCK_DELIVERED = Shape(
    "Capacity Block {capacity-reservation-id} is ready until {end-date}",
    "info",
    "capacity-reservation-id",
    link=_RESERVATION,
)
_BLOCK_ENDING = Shape(
    "Capacity Block {capacity-reservation-id} ends at {end-date}",
    "critical",
    "capacity-reservation-id",
    _ENDING,
    link=_RESERVATION,
)
_INTERRUPTION = Shape(
    "Instance {instance-id} will be ended at {instance-termination-time}",
    "critical",
    "instance-id",
    "Its Capacity Block or reservation is ending: checkpoint its job now.",
    link=_INSTANCE,
)

SHAPES: dict[str, Shape] = {
    "EC2 Instance State-change Notification": Shape(
        "EC2 instance {instance-id} is {state}", _instance_severity, "instance-id", link=_INSTANCE
    ),
    "EC2 Spot Instance Interruption Warning": Shape(
        "Spot instance {instance-id} will {instance-action} in two minutes",
        "critical",
        "instance-id",
        "Its job is requeued from the last checkpoint.",
        link=_INSTANCE,
    ),
    # The user guide has had both spellings, with and without "Reservation" (EC2 user guide,
    # "Monitor Capacity Blocks using EventBridge", two editions, read 2026-11-29).
    "Capacity Block Delivered": _BLOCK_DELIVERED,
    "Capacity Block Reservation Delivered": _BLOCK_DELIVERED,
    "Capacity Block Expiration Warning": _BLOCK_ENDING,
    "Capacity Block Reservation Expiration Warning": _BLOCK_ENDING,
    # Sent by our schedules: trainshed.alerts.capacity_alarms.
    "Capacity Block Notice": Shape(
        "Capacity Block {capacity-reservation-id} {notice}",
        _notice_severity,
        "capacity-reservation-id",
        # With what to do in it.
        fields=("capacity-reservation-id", "end-date"),
        link=_RESERVATION,
    ),
    "EC2 Capacity Block Instance Interruption Warning": _INTERRUPTION,
    "EC2 Capacity Reservation Instance Interruption Warning": _INTERRUPTION,
    "AWS Health Event": _HEALTH,
    "AWS Health Abuse Event": replace(_HEALTH, severity="critical"),
    "EC2 Instance Launch Unsuccessful": Shape(
        "Auto Scaling group {AutoScalingGroupName} could not launch an instance",
        "warning",
        "AutoScalingGroupName",
        "Read the status message: capacity, quota, subnet addresses or the launch template.",
        link=_GROUP,
    ),
    "EC2 Instance Terminate Unsuccessful": Shape(
        "Auto Scaling group {AutoScalingGroupName} could not end instance {EC2InstanceId}",
        "warning",
        "AutoScalingGroupName",
        link=_GROUP,
    ),
    "EC2 Instance Launch Successful": Shape(
        "Auto Scaling group {AutoScalingGroupName} launched {EC2InstanceId}",
        "info",
        "AutoScalingGroupName",
    ),
    "EC2 Instance Terminate Successful": Shape(
        "Auto Scaling group {AutoScalingGroupName} ended {EC2InstanceId}",
        "info",
        "AutoScalingGroupName",
    ),
    "CloudFormation Stack Status Change": Shape(
        "Stack {stack-name}: {status-details.status}",
        _stack_severity,
        "stack-id",
        ends=("CREATE_COMPLETE", "UPDATE_COMPLETE", "DELETE_COMPLETE", "IMPORT_COMPLETE"),
        link="cloudformation/home?region={region}#/stacks/events?stackId={stack-id}",
    ),
    "AWS API Call via CloudTrail": Shape("{eventSource} {eventName} {errorCode}", _api_severity),
}


def event_alert(event: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the alert for an EventBridge event, known kind or not."""
    # The Capacity Block pages print "detail_type" for "detail-type".
    kind = str(event.get("detail-type") or event.get("detail_type"))
    raw = event.get("detail")
    detail = _flat(raw if isinstance(raw, dict) else {"detail": raw})
    detail |= _derived(detail)
    shape = SHAPES.get(kind, Shape(kind, "info"))
    severity = shape.severity if isinstance(shape.severity, str) else shape.severity(detail)
    subject = detail.get(shape.subject, "") if shape.subject else ""
    states = (detail.get(name) for name in ("state", "statusCode", "status-details.status"))
    key = {"key": f"{event['source']}:{subject}"} if subject else {}
    return key | {
        "kind": kind,
        "title": _title(shape.title, detail),
        "state": "ok" if any(state in shape.ends for state in states) else "event",
        "severity": severity,
        "time": utc(str(event.get("time"))),
        "what": _what(detail),
        "advice": _advice(event, detail, shape),
        "account": str(event.get("account") or ""),
        "region": str(event.get("region") or ""),
        "institution": detail.get("institution", "") if event["source"] == "trainshed" else "",
        "fields": _fields(event, detail, shape),
        "links": _links(event, detail, shape),
    }


def _advice(event: dict[str, Any], detail: dict[str, str], shape: Shape) -> str:
    if "RETIREMENT" in detail.get("eventTypeCode", ""):
        return _RETIRED
    own = detail.get("do", "") if event["source"] == "trainshed" else ""
    return own or shape.advice


def _derived(detail: dict[str, str]) -> dict[str, str]:
    """Return what people call things that the event names by ARN, code or list."""
    derived = {}
    if arn := detail.get("stack-id", ""):
        derived["stack-name"] = arn.split("/")[1] if arn.count("/") >= 2 else arn
    if code := detail.get("eventTypeCode", ""):
        service = detail.get("service", "")
        words = code.removeprefix("AWS_").removeprefix(f"{service}_")
        derived["happening"] = words.replace("_", " ").lower()
    if entities := detail.get("affectedEntities", ""):
        derived["affected"] = _entities(entities)
    return derived


def _entities(text: str) -> str:
    try:
        return ", ".join(str(entity["entityValue"]) for entity in json.loads(text))
    except (ValueError, TypeError, KeyError):
        return text


def _title(template: str, detail: dict[str, str]) -> str:
    return _PLACE.sub(
        lambda place: detail.get(place[1], _UNSAID.get(place[1], "?")), template
    ).strip()


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, part in value.items():
        if isinstance(part, dict):
            flat |= _flat(part, f"{prefix}{key}.")
        elif isinstance(part, str | int | float):
            flat[f"{prefix}{key}"] = str(part)
        elif part:
            flat[f"{prefix}{key}"] = json.dumps(part, ensure_ascii=False)
    return flat


_PROSE = ("StatusMessage", "Cause", "status-details.status-reason", "errorMessage", "message")


def _what(detail: dict[str, str]) -> str:
    said = [detail[name] for name in _PROSE if detail.get(name)]
    return "\n".join([*said, *_health_text(detail)])


def _health_text(detail: dict[str, str]) -> list[str]:
    """Take the sentence out of ``eventDescription``, a list of language and text."""
    try:
        entries = json.loads(detail.get("eventDescription", "[]"))
        return [str(entry["latestDescription"]).strip() for entry in entries]
    except (ValueError, TypeError, KeyError):
        return []


def _fields(
    event: dict[str, Any], detail: dict[str, str], shape: Shape
) -> tuple[tuple[str, str], ...]:
    if shape.fields:
        return tuple((name, detail[name]) for name in shape.fields if detail.get(name))
    hidden = {*_PROSE, "eventDescription", "stack-name"}
    fields = [(name, text) for name, text in detail.items() if name not in hidden]
    resources = event.get("resources") or []
    listed = resources if isinstance(resources, list) else [resources]
    return (*fields, *(("resource", str(resource)) for resource in listed))


def _links(
    event: dict[str, Any], detail: dict[str, str], shape: Shape
) -> tuple[tuple[str, str], ...]:
    region = str(event.get("region") or "")
    if not shape.link or not region:
        return ()
    values = {**detail, "region": region}
    path = _PLACE.sub(lambda place: console.quoted(values.get(place[1], "")), shape.link)
    own = ("runbook", "dashboard") if event["source"] == "trainshed" else ()
    ours = ((name.capitalize(), detail[name]) for name in own if detail.get(name))
    return (("Console", console.page(region, path)), *ours)


def utc(text: str) -> str:
    """Normalise AWS's several spellings of a time, so that texts sort as times do."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
