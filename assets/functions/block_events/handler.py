"""Notes that EC2 is about to take a Capacity Block away.

EventBridge brings the warning of a block, or of an instance in one, through a queue. The time of
the first goes into the block's parameter in Parameter Store, where the head node looks: it then
leaves the block, even if the file with the block's end says something else.

Environment: ``PARAMETERS``, JSON, the name of the parameter of each block.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any

import boto3
from botocore.exceptions import ClientError

NOTHING = "none"
"""Value of a parameter before there is a warning; the template has it so."""


@cache
def client(service: str) -> Any:
    """Return a client, made when it is first needed."""
    return boto3.client(service)


def handler(event: dict[str, Any], context: object) -> list[dict[str, str]]:
    """Note the warnings that a queue brings; what fails comes again."""
    return [note(json.loads(record["body"])) for record in event["Records"]]


def note(event: dict[str, Any]) -> dict[str, str]:
    """Note a warning, unless the block has one already or is another cluster's."""
    detail = event.get("detail") or {}
    block = detail.get("capacity-reservation-id") or block_of(str(detail.get("instance-id") or ""))
    name = json.loads(os.environ["PARAMETERS"]).get(block)
    if name is None:
        return {"noted": "nothing", "block": str(block)}
    ssm = client("ssm")
    if ssm.get_parameter(Name=name)["Parameter"]["Value"] != NOTHING:
        return {"noted": "before", "block": block}
    ssm.put_parameter(Name=name, Type="String", Value=event["time"], Overwrite=True)
    return {"noted": event["time"], "block": block}


def block_of(instance: str) -> str | None:
    """Return the reservation that an instance runs in."""
    if not instance:
        return None
    try:
        found = client("ec2").describe_instances(InstanceIds=[instance])
    except ClientError as error:
        if error.response["Error"]["Code"] == "InvalidInstanceID.NotFound":
            return None
        raise
    for reservation in found["Reservations"]:
        for each in reservation["Instances"]:
            return each.get("CapacityReservationId")
    return None
