"""The events of a drill: one of each kind that EventBridge and ParallelCluster send. Pure.

What is named in each headline begins with DRILL, since headlines are made of what events name.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

INSTANCE = "DRILL-i-0123456789abcdef0"
BLOCK = "DRILL-cr-0123456789abcdef0"
Event = dict[str, Any]


def events(
    institution: str, account: str, region: str, now: datetime, partition: str
) -> Iterator[Event]:
    """Yield the events of a drill.

    Args:
        institution: Whose channels they go to.
        account: AWS account, shown in the messages.
        region: AWS Region, shown in the messages.
        now: The time of the drill, with a time zone.
        partition: AWS partition of the Region.
    """
    common = {
        "id": f"drill-{now:%Y%m%d%H%M%S}",
        "account": account,
        "region": region,
        "time": now.isoformat(),
        "resources": [],
    }
    arn = f"arn:{partition}:cloudformation:{region}:{account}:stack/DRILL-{institution}/1"
    for source, kind, detail in (*_of_ec2(now), *_of_services(institution, arn)):
        yield {**common, "source": source, "detail-type": kind, "detail": detail}
    yield {
        "datetime": now.isoformat(),
        "cluster-name": f"DRILL-{institution}",
        "event-type": "node-launch-failure-count",
        "level": "WARNING",
        "message": "Nothing failed; this is a drill.",
    }


def _of_ec2(now: datetime) -> Iterator[tuple[str, str, Event]]:
    state = {"instance-id": INSTANCE, "state": "stopped"}
    yield "aws.ec2", "EC2 Instance State-change Notification", state
    block = {"capacity-reservation-id": BLOCK, "end-date": now.isoformat()}
    yield "aws.ec2", "Capacity Block Reservation Expiration Warning", block
    for number, what in enumerate(("Block", "Reservation")):
        kind = f"EC2 Capacity {what} Instance Interruption Warning"
        ends = {"instance-termination-time": now.isoformat(), "instance-action": "terminate"}
        yield "aws.ec2", kind, {"instance-id": f"{INSTANCE[:-1]}{number + 1}", **ends}


def _of_services(institution: str, stack: str) -> Iterator[tuple[str, str, Event]]:
    for service, code, category in (
        ("EC2", "DRILL_OF_AN_INSTANCE_RETIREMENT", "scheduledChange"),
        ("FSX", "DRILL_OF_MAINTENANCE", "scheduledChange"),
    ):
        health = {"eventArn": f"DRILL-{service}-{institution}", "service": service}
        more = {"eventTypeCode": f"AWS_{service}_{code}", "eventTypeCategory": category}
        yield "aws.health", "AWS Health Event", {**health, **more, "statusCode": "upcoming"}
    group = {"AutoScalingGroupName": f"DRILL-{institution}", "StatusMessage": "This is a drill."}
    yield "aws.autoscaling", "EC2 Instance Launch Unsuccessful", group
    status = {"status": "UPDATE_FAILED", "status-reason": "Nothing failed; this is a drill."}
    changed = {"stack-id": stack, "status-details": status}
    yield "aws.cloudformation", "CloudFormation Stack Status Change", changed
    notice = {
        "capacity-reservation-id": BLOCK,
        "severity": "warning",
        "notice": "ends in 24 hours",
        "do": "Nothing; this is a drill.",
        "institution": institution,
    }
    yield "trainshed", "Capacity Block Notice", notice
    yield "trainshed", "DRILL: an event of an unknown kind", {"institution": institution}
