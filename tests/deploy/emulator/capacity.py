"""DescribeCapacityReservations, of the reservations that templates made and of bought ones."""

from __future__ import annotations

import os
from typing import Any
from xml.sax.saxutils import escape

from ministack.core.responses import get_region
from ministack.services import ec2

from tests.deploy.emulator import recorder


def install() -> None:
    """Make ministack's EC2 answer with what there is, instead of none always."""
    ec2._ACTION_MAP["DescribeCapacityReservations"] = _describe


def _describe(request: dict[str, list[str]]) -> Any:
    asked = [request[key][0] for key in sorted(request) if key.startswith("CapacityReservationId.")]
    made = {
        id: {
            "instanceType": str(each.properties["InstanceType"]),
            "totalInstanceCount": str(each.properties["InstanceCount"]),
            "availabilityZone": str(each.properties.get("AvailabilityZone", "")),
        }
        for id, each in recorder.of_type("AWS::EC2::CapacityReservation", get_region()).items()
    }
    # Ids of Capacity Blocks, which are bought outside CloudFormation.
    bought = os.environ.get("TRAINSHED_BOUGHT_RESERVATIONS", "").split()
    known: dict[str, dict[str, str]] = {**{id: {} for id in bought}, **made}
    if missing := [id for id in asked if id not in known]:
        message = f"The capacity reservation ID '{missing[0]}' does not exist"
        return ec2._error("InvalidCapacityReservationId.NotFound", message, 400)
    rows = [
        {"capacityReservationId": id, "state": "active", **known[id]} for id in (asked or known)
    ]
    items = "".join(
        "<item>"
        + "".join(f"<{key}>{escape(value)}</{key}>" for key, value in row.items())
        + "</item>"
        for row in rows
    )
    return ec2._xml(
        200,
        "DescribeCapacityReservationsResponse",
        f"<capacityReservationSet>{items}</capacityReservationSet>",
    )
