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
    Spot,
    TargetedReservation,
)
from trainshed.facts import Zone, ZoneId, ZoneName
from trainshed.launch import capacity_warnings, check_capacity, check_kinds

CR = "cr-0123456789abcdef0"
END = datetime(2027, 3, 1, 11, 30, tzinfo=UTC)
HERE = ZoneName("us-east-1a")


def block(**more: Any) -> CapacityBlock:
    return CapacityBlock(reservation_id=CR, end=END, **more)


def reservation(**more: Any) -> TargetedReservation:
    return TargetedReservation(reservation_id=CR, **more)


REFUSED: dict[str, tuple[Capacity, Zone, dict[str, int], str]] = {
    "C27 a block with fewer least than most nodes": (
        block(),
        HERE,
        {"min_nodes": 0, "max_nodes": 4},
        "min_nodes is 0 and max_nodes 4; a Capacity Block is paid for as a whole, "
        "so both are its number of instances",
    ),
    "C27 more nodes than the block has": (
        block(nodes=4),
        HERE,
        {"min_nodes": 8, "max_nodes": 8},
        "max_nodes is 8 and the reservation holds 4",
    ),
    "C27 more nodes than the reservation has": (
        reservation(nodes=4),
        HERE,
        {"max_nodes": 5},
        "max_nodes is 5 and the reservation holds 4",
    ),
    "C28 a reservation of another type": (
        reservation(instance_type="p5e.48xlarge"),
        HERE,
        {"max_nodes": 4},
        "the reservation is of p5e.48xlarge and the queue of p5.48xlarge; they have to be the same",
    ),
    "C28 a reservation in another zone": (
        reservation(zone="us-east-1b"),
        HERE,
        {"max_nodes": 4},
        "the reservation is in us-east-1b and the compute subnet in us-east-1a; "
        "a cluster stands in the zone of its capacity",
    ),
    "C28 a block in another zone by id": (
        block(zone="use1-az4"),
        ZoneId("use1-az6"),
        {"max_nodes": 4},
        "the reservation is in use1-az4 and the compute subnet in use1-az6; "
        "a cluster stands in the zone of its capacity",
    ),
    "all at once": (
        block(nodes=2, zone="us-east-1b", instance_type="p5en.48xlarge"),
        HERE,
        {"min_nodes": 1, "max_nodes": 4},
        "the reservation is of p5en.48xlarge and the queue of p5.48xlarge; "
        "they have to be the same\n"
        "the reservation is in us-east-1b and the compute subnet in us-east-1a; "
        "a cluster stands in the zone of its capacity\n"
        "max_nodes is 4 and the reservation holds 2\n"
        "min_nodes is 1 and max_nodes 4; a Capacity Block is paid for as a whole, "
        "so both are its number of instances",
    ),
}


@pytest.mark.parametrize(
    ("capacity", "zone", "nodes", "message"), REFUSED.values(), ids=list(REFUSED)
)
def test_a_queue_that_its_reservation_cannot_serve_is_refused(
    capacity: Capacity, zone: Zone, nodes: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        check_capacity(capacity, instance_type="p5.48xlarge", zone=zone, **nodes)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("capacity", "zone"),
    [
        pytest.param(block(nodes=4, zone="use1-az4"), ZoneId("use1-az4"), id="block that fits"),
        pytest.param(reservation(zone="use1-az4"), HERE, id="name and id are not compared"),
        pytest.param(reservation(zone="${Token[AZ.1]}"), HERE, id="token is not compared"),
        pytest.param(reservation(), ZoneName("${Token[AZ.1]}"), id="unknown zone"),
        pytest.param(OnDemand(), HERE, id="on demand"),
        pytest.param(Spot(), HERE, id="spot"),
    ],
)
def test_a_queue_that_fits_is_taken(capacity: Capacity, zone: Zone) -> None:
    check_capacity(capacity, instance_type="p5.48xlarge", zone=zone, min_nodes=4, max_nodes=4)


def test_one_id_is_not_a_block_and_a_reservation() -> None:
    capacities: dict[str, Capacity] = {"train": block(), "dev": reservation(), "spare": OnDemand()}
    with pytest.raises(ValueError) as refusal:
        check_kinds(capacities)
    assert str(refusal.value) == (
        f"{CR} is a capacity_block in train and a targeted_reservation in dev; "
        "it is one of them: its page in the EC2 console says which"
    )


def test_two_queues_may_share_a_reservation() -> None:
    check_kinds({"train": reservation(), "dev": reservation()})


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
