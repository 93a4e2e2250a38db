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
    named = str(detail.get("capacity-reservation-id") or "")
    block = named or block_of(str(detail.get("instance-id") or ""))
    names: dict[str, str] = json.loads(os.environ["PARAMETERS"])
    if block not in names:
        return {"noted": "nothing", "block": block}
    name = names[block]
    ssm = client("ssm")
    if ssm.get_parameter(Name=name)["Parameter"]["Value"] != NOTHING:
        return {"noted": "before", "block": block}
    ssm.put_parameter(Name=name, Type="String", Value=event["time"], Overwrite=True)
    return {"noted": event["time"], "block": block}


def block_of(instance: str) -> str:
    """Return the reservation that an instance runs in; empty if there is none."""
    if not instance:
        return ""
    try:
        found = client("ec2").describe_instances(InstanceIds=[instance])
    except ClientError as error:
        if error.response["Error"]["Code"] == "InvalidInstanceID.NotFound":
            return ""
        raise
    instances = [each for some in found["Reservations"] for each in some["Instances"]]
    return str(instances[0].get("CapacityReservationId") or "") if instances else ""
