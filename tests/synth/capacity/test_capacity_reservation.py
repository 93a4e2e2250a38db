"""Capacity reservations, made and imported."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Match, Template

from trainshed import facts
from trainshed.capacity import CapacityReservation, ImportedCapacityReservation
from trainshed.config import (
    Capacity,
    CapacityBlock,
    OnDemand,
    Queue,
    ReservationRequest,
    TargetedReservation,
)
from trainshed.launch import launch_options

CR = "cr-0123456789abcdef0"
ENV = cdk.Environment(account="123456789012", region="us-east-1")
KIND = "AWS::EC2::CapacityReservation"
ZONE = facts.ZoneId("use1-az4")


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Foreign", env=ENV)


def reserve(stack: cdk.Stack, **other: Any) -> CapacityReservation:
    values: dict[str, Any] = {"instance_type": "p5.48xlarge", "nodes": 8, "zone": ZONE, **other}
    return CapacityReservation(stack, "Train", **values)


def test_a_reservation_is_targeted_and_without_an_end(stack: cdk.Stack) -> None:
    reserve(stack)
    Template.from_stack(stack).has_resource_properties(
        KIND,
        {
            "InstanceType": "p5.48xlarge",
            "InstanceCount": 8,
            "InstancePlatform": "Linux/UNIX",
            "InstanceMatchCriteria": "targeted",
            "AvailabilityZoneId": "use1-az4",
            "AvailabilityZone": Match.absent(),
            "EndDateType": "unlimited",
            "EndDate": Match.absent(),
        },
    )


def test_scarce_capacity_outlives_its_stack_but_no_failed_creation(stack: cdk.Stack) -> None:
    reserve(stack)
    Template.from_stack(stack).has_resource(
        KIND, {"DeletionPolicy": "RetainExceptOnCreate", "UpdateReplacePolicy": "Retain"}
    )


def test_the_logical_id_of_a_reservation_stays(stack: cdk.Stack) -> None:
    reserve(stack)
    assert list(Template.from_stack(stack).find_resources(KIND)) == ["Train781835F2"]


def test_a_zone_name_is_written_as_one(stack: cdk.Stack) -> None:
    reserve(stack, zone=facts.ZoneName("us-east-1b"))
    Template.from_stack(stack).has_resource_properties(
        KIND, {"AvailabilityZone": "us-east-1b", "AvailabilityZoneId": Match.absent()}
    )


@pytest.mark.parametrize(
    ("end", "written"),
    [
        (datetime(2027, 3, 1, 11, 30, tzinfo=UTC), "2027-03-01T11:30:00Z"),
        (datetime(2027, 3, 1, tzinfo=timezone(timedelta(hours=9))), "2027-02-28T15:00:00Z"),
    ],
    ids=["UTC", "Seoul"],
)
def test_an_end_is_written_in_utc_and_makes_the_reservation_limited(
    stack: cdk.Stack, end: datetime, written: str
) -> None:
    reserve(stack, end=end)
    Template.from_stack(stack).has_resource_properties(
        KIND, {"EndDateType": "limited", "EndDate": written}
    )


def test_tags_of_the_stack_reach_the_reservation(stack: cdk.Stack) -> None:
    reserve(stack)
    cdk.Tags.of(stack).add("project", "llm")
    Template.from_stack(stack).has_resource_properties(
        KIND,
        {
            "TagSpecifications": [
                {
                    "ResourceType": "capacity-reservation",
                    "Tags": [
                        {"Key": "Name", "Value": "Foreign/Train"},
                        {"Key": "project", "Value": "llm"},
                    ],
                }
            ]
        },
    )


def test_a_queue_takes_the_reservation_as_its_capacity(stack: cdk.Stack) -> None:
    reservation = reserve(stack)
    queue = Queue(instance_type="p5.48xlarge", capacity=reservation.capacity, max_nodes=8)
    target = launch_options(queue.capacity).reservation_id
    assert stack.resolve(target) == {"Ref": "Train781835F2"}
    assert (reservation.capacity.nodes, reservation.capacity.zone) == (8, "use1-az4")


def test_what_an_institution_file_asks_for_is_made(stack: cdk.Stack) -> None:
    end = datetime(2027, 3, 1, tzinfo=UTC)
    made = CapacityReservation.from_capacity(
        stack,
        "Train",
        capacity=TargetedReservation(create=ReservationRequest(nodes=4, end=end)),
        instance_type="p5en.48xlarge",
        zone=ZONE,
    )
    assert made.capacity.create is None
    Template.from_stack(stack).has_resource_properties(
        KIND, {"InstanceCount": 4, "InstanceType": "p5en.48xlarge", "EndDateType": "limited"}
    )


def test_a_type_that_the_user_describes_is_taken(stack: cdk.Stack) -> None:
    new = facts.InstanceType(
        name="p7.48xlarge",
        vcpus=192,
        memory_mib=4_194_304,
        sockets=2,
        cores_per_socket=48,
        threads_per_core=2,
    )
    reserve(stack, instance_type=new)
    Template.from_stack(stack).has_resource_properties(KIND, {"InstanceType": "p7.48xlarge"})


def test_an_existing_reservation_adds_nothing_to_the_template(stack: cdk.Stack) -> None:
    imported = CapacityReservation.from_reservation_id(
        stack, "Train", reservation_id=CR, nodes=8, zone=ZONE, placement_group="near"
    )
    assert imported.reservation_id == CR
    assert imported.capacity == TargetedReservation(
        reservation_id=CR, nodes=8, zone="use1-az4", placement_group="near"
    )
    assert not Template.from_stack(stack).to_json().get("Resources")


def test_a_reservation_of_another_stack_is_taken(stack: cdk.Stack) -> None:
    reservation = reserve(stack)
    other = cdk.Stack(cdk.App.of(stack), "Other", env=ENV)
    imported = CapacityReservation.from_reservation_id(
        other, "Train", reservation_id=reservation.reservation_id
    )
    cdk.CfnOutput(other, "Id", value=imported.reservation_id)
    value = Template.from_stack(other).find_outputs("Id")["Id"]["Value"]
    assert "Fn::ImportValue" in value


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no instances": ({"nodes": 0}, "nodes is 0; a reservation takes 1 to 1000"),
    "a number that is known only later": (
        {"nodes": cdk.Token.as_number({"Ref": "Nodes"})},
        "nodes is known only at deploy time; write the number itself",
    ),
    "a zone that is a text": (
        {"zone": "us-east-1a"},
        "zone is 'us-east-1a'; use facts.ZoneName(...) or facts.ZoneId(...)",
    ),
    "too many instances": ({"nodes": 1001}, "nodes is 1001; a reservation takes 1 to 1000"),
    "an unknown instance type": (
        {"instance_type": "p5.24xlarge"},
        "instance type 'p5.24xlarge' is not in the table; did you mean 'p5.4xlarge'? "
        "describe it under instance_types if it is new",
    ),
    "C25 an end without a time zone": (
        {"end": datetime(2027, 3, 1, 11, 30)},
        "end is 2027-03-01T11:30:00 without a time zone; write 2027-03-01T11:30:00Z for UTC",
    ),
    "C28 a zone of another Region": (
        {"zone": facts.ZoneName("us-west-2a")},
        "zone 'us-west-2a' is in us-west-2, not in us-east-1",
    ),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=list(REFUSED))
def test_a_reservation_that_cannot_be_made_is_refused(
    stack: cdk.Stack, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        reserve(stack, **change)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("capacity", "message"),
    [
        pytest.param(
            CapacityBlock(reservation_id=CR, end=datetime(2027, 3, 1, tzinfo=UTC)),
            "a Capacity Block cannot be made by a stack: buy it in the EC2 console or with "
            "aws ec2 purchase-capacity-block, and give its reservation_id and end",
            id="C23 a block",
        ),
        pytest.param(
            OnDemand(),
            "capacity of kind on_demand does not ask for a reservation; "
            "use targeted_reservation with create",
            id="on demand",
        ),
        pytest.param(
            TargetedReservation(reservation_id=CR),
            "capacity of kind targeted_reservation does not ask for a reservation; "
            "use targeted_reservation with create",
            id="a reservation that is there",
        ),
    ],
)
def test_only_what_asks_for_a_reservation_makes_one(
    stack: cdk.Stack, capacity: Capacity, message: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        CapacityReservation.from_capacity(
            stack, "Train", capacity=capacity, instance_type="p5.48xlarge", zone=ZONE
        )
    assert str(refusal.value) == message


def test_a_group_of_reservations_is_not_one(stack: cdk.Stack) -> None:
    group = "arn:aws:resource-groups:us-east-1:123456789012:group/train"
    with pytest.raises(ValueError) as refusal:
        ImportedCapacityReservation(
            stack, "Train", capacity=TargetedReservation(resource_group_arn=group)
        )
    assert str(refusal.value) == ("capacity has no reservation_id; give the id of the reservation")
