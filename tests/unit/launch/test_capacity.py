from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from trainshed.config import (
    Capacity,
    CapacityBlock,
    OnDemand,
    OpenReservation,
    TargetedReservation,
)
from trainshed.facts import ZoneName
from trainshed.launch import capacity_warnings

CR = "cr-0123456789abcdef0"
END = datetime(2027, 3, 1, 11, 30, tzinfo=UTC)
HERE = ZoneName("us-east-1a")


def block(**more: Any) -> CapacityBlock:
    return CapacityBlock(reservation_id=CR, end=END, **more)


def reservation(**more: Any) -> TargetedReservation:
    return TargetedReservation(reservation_id=CR, **more)


@pytest.mark.parametrize(
    ("capacity", "max_nodes", "warnings"),
    [
        pytest.param(
            OpenReservation(),
            1,
            [
                "open reservations are used up by any matching instance in the account, so nodes "
                "may find none left; prefer targeted_reservation"
            ],
            id="C31 open",
        ),
        pytest.param(
            OnDemand(placement_group=True),
            9,
            [
                "9 On-Demand nodes in one placement group without a reservation often end in "
                "InsufficientInstanceCapacity; reserve them, or leave the placement group out"
            ],
            id="C35 many placed together",
        ),
        pytest.param(OnDemand(placement_group=True), 8, [], id="few placed together"),
        pytest.param(reservation(), 100, [], id="targeted"),
    ],
)
def test_what_often_goes_wrong_is_warned_of(
    capacity: Capacity, max_nodes: int, warnings: list[str]
) -> None:
    assert capacity_warnings(capacity, max_nodes=max_nodes) == warnings


# Faults that the records find by themselves, in Python as in an institution file.
REFUSED_RECORDS: dict[str, tuple[type[Any], dict[str, Any], str]] = {
    "C23 a block without its end is no block": (
        CapacityBlock,
        {"reservation_id": CR},
        "Field required",
    ),
    "C25 an end without a time zone": (
        CapacityBlock,
        {"reservation_id": CR, "end": datetime(2027, 3, 1)},
        "Input should have timezone info",
    ),
    "C33 a group that is no resource group": (
        TargetedReservation,
        {"resource_group_arn": "my-group"},
        "Value error, 'my-group' is not the ARN of a resource group, "
        "arn:aws:resource-groups:REGION:ACCOUNT:group/NAME",
    ),
    "an id of another thing": (
        TargetedReservation,
        {"reservation_id": "cr-train"},
        "Value error, 'cr-train' is not a Capacity Reservation id, "
        "cr- and 8 or 17 hexadecimal digits",
    ),
    "C23 an id and a group": (
        TargetedReservation,
        {
            "reservation_id": CR,
            "resource_group_arn": "arn:aws:resource-groups:us-east-1:123456789012:group/g",
        },
        "Value error, needs exactly one of reservation_id, resource_group_arn and create, "
        "got reservation_id and resource_group_arn",
    ),
    "C22 a block has no placement group": (
        CapacityBlock,
        {"reservation_id": CR, "end": END, "placement_group": "near"},
        "Extra inputs are not permitted",
    ),
    "C36 a block cannot be made": (
        CapacityBlock,
        {"reservation_id": CR, "end": END, "create": {"nodes": 4}},
        "Extra inputs are not permitted",
    ),
}


@pytest.mark.parametrize(
    ("record", "values", "message"), REFUSED_RECORDS.values(), ids=list(REFUSED_RECORDS)
)
def test_a_record_of_capacity_refuses_what_makes_no_sense(
    record: type[Any], values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        record(**values)
    assert [error["msg"] for error in refusal.value.errors()] == [message]
