from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from trainshed import facts
from trainshed.config import (
    Capacity,
    CapacityBlock,
    OnDemand,
    OpenReservation,
    ReservationRequest,
    Spot,
    TargetedReservation,
)
from trainshed.launch import (
    LaunchOptions,
    NetworkInterface,
    efa_interfaces,
    launch_options,
    launch_template_data,
)

CR = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/train"
BLOCK = CapacityBlock(reservation_id=CR, end=datetime(2027, 3, 1, 11, 30, tzinfo=UTC))
PRIMARY = (NetworkInterface(0, 0),)


@pytest.mark.parametrize(
    ("capacity", "placement_group", "data"),
    [
        pytest.param(
            BLOCK,
            None,
            {
                "InstanceMarketOptions": {"MarketType": "capacity-block"},
                "CapacityReservationSpecification": {
                    "CapacityReservationTarget": {"CapacityReservationId": CR}
                },
            },
            id="block: market and target together",
        ),
        pytest.param(
            TargetedReservation(reservation_id=CR),
            None,
            {
                "CapacityReservationSpecification": {
                    "CapacityReservationTarget": {"CapacityReservationId": CR}
                }
            },
            id="targeted by id",
        ),
        pytest.param(
            TargetedReservation(reservation_id=CR, placement_group="near"),
            None,
            {
                "CapacityReservationSpecification": {
                    "CapacityReservationTarget": {"CapacityReservationId": CR}
                },
                "Placement": {"GroupName": "near"},
            },
            id="targeted, in the group it was made in",
        ),
        pytest.param(
            TargetedReservation(resource_group_arn=GROUP),
            None,
            {
                "CapacityReservationSpecification": {
                    "CapacityReservationPreference": "capacity-reservations-only",
                    "CapacityReservationTarget": {"CapacityReservationResourceGroupArn": GROUP},
                }
            },
            id="targeted by group: never On-Demand beside it",
        ),
        pytest.param(
            OpenReservation(),
            None,
            {"CapacityReservationSpecification": {"CapacityReservationPreference": "open"}},
            id="open",
        ),
        pytest.param(
            OnDemand(),
            None,
            {"CapacityReservationSpecification": {"CapacityReservationPreference": "none"}},
            id="on demand: leaves open reservations alone",
        ),
        pytest.param(
            OnDemand(placement_group=True),
            "near",
            {
                "CapacityReservationSpecification": {"CapacityReservationPreference": "none"},
                "Placement": {"GroupName": "near"},
            },
            id="on demand in a placement group",
        ),
        pytest.param(
            Spot(),
            None,
            {
                "InstanceMarketOptions": {
                    "MarketType": "spot",
                    "SpotOptions": {"SpotInstanceType": "one-time"},
                }
            },
            id="spot",
        ),
        pytest.param(
            Spot(max_price_usd_per_hour=40.5),
            None,
            {
                "InstanceMarketOptions": {
                    "MarketType": "spot",
                    "SpotOptions": {"SpotInstanceType": "one-time", "MaxPrice": "40.5"},
                }
            },
            id="spot with a highest price",
        ),
    ],
)
def test_a_launch_template_says_where_the_instance_comes_from(
    capacity: Capacity, placement_group: str | None, data: dict[str, Any]
) -> None:
    options = launch_options(capacity, placement_group=placement_group)
    made = launch_template_data(options, PRIMARY, security_group_ids=["sg-1"])
    made.pop("NetworkInterfaces")
    assert made == data


def test_security_groups_and_no_public_address_stand_in_each_interface() -> None:
    made = launch_template_data(
        launch_options(OnDemand()),
        efa_interfaces(facts.instance_type("g6.12xlarge")),
        security_group_ids=["sg-1", "sg-2"],
        subnet_id="subnet-1",
    )
    common = {"Groups": ["sg-1", "sg-2"], "SubnetId": "subnet-1", "DeleteOnTermination": True}
    primary = {"NetworkCardIndex": 0, "DeviceIndex": 0, "InterfaceType": "interface", **common}
    efa = {"NetworkCardIndex": 0, "DeviceIndex": 1, "InterfaceType": "efa-only", **common}
    assert made["NetworkInterfaces"] == [primary, efa]
    assert "SecurityGroupIds" not in made


def test_the_auto_scaling_group_may_choose_the_subnet() -> None:
    made = launch_template_data(launch_options(OnDemand()), PRIMARY, security_group_ids=["sg-1"])
    assert "SubnetId" not in made["NetworkInterfaces"][0]


REFUSED_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "C21 the market of a block without the block": (
        {"market": "capacity-block"},
        "market is capacity-block without reservation_id; give the id of the block",
    ),
    "C22 a block in a placement group": (
        {"market": "capacity-block", "reservation_id": CR, "placement_group": "near"},
        "placement_group is near with a Capacity Block; remove it, a block is already placed",
    ),
    "C24 a target beside preference open": (
        {"reservation_id": CR, "preference": "open"},
        f"preference is open beside a target, {CR}; leave it out or use capacity-reservations-only",
    ),
    "C24 a group beside preference none": (
        {"resource_group_arn": GROUP, "preference": "none"},
        f"preference is none beside a target, {GROUP}; "
        "leave it out or use capacity-reservations-only",
    ),
    "two targets": (
        {"reservation_id": CR, "resource_group_arn": GROUP},
        "reservation_id and resource_group_arn are both given; a launch targets one of them",
    ),
    "A9 spot in a reservation": (
        {"market": "spot", "reservation_id": CR},
        f"market is spot with {CR}; Spot instances never run in a reservation",
    ),
    "spot that asks for open reservations": (
        {"market": "spot", "preference": "open"},
        "market is spot with preference open; Spot instances never run in a reservation",
    ),
    "a highest price without spot": (
        {"max_price_usd_per_hour": 3.0},
        "max_price_usd_per_hour is 3 with market on-demand; only spot has a highest price",
    ),
    "two faults at once": (
        {"market": "capacity-block", "placement_group": "near"},
        "market is capacity-block without reservation_id; give the id of the block\n"
        "placement_group is near with a Capacity Block; remove it, a block is already placed",
    ),
}


@pytest.mark.parametrize(
    ("options", "message"), REFUSED_OPTIONS.values(), ids=list(REFUSED_OPTIONS)
)
def test_an_invalid_combination_cannot_be_made(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        LaunchOptions(**options)
    assert str(refusal.value) == message


REFUSED_CAPACITY: dict[str, tuple[Capacity, str | None, str]] = {
    "C22 a block in a placement group": (
        BLOCK,
        "near",
        "placement_group is near with a Capacity Block; remove it, a block is already placed",
    ),
    "C34 another group than the reservation's": (
        TargetedReservation(reservation_id=CR, placement_group="near"),
        "far",
        "placement_group is far and the reservation was made in near; "
        "its instances run nowhere else: use near",
    ),
    "a placement group that nobody made": (
        OnDemand(placement_group=True),
        None,
        "placement_group is true and no group is given; "
        "make an ec2.PlacementGroup with strategy CLUSTER and give its name",
    ),
    "a reservation that is not made yet": (
        TargetedReservation(create=ReservationRequest(nodes=4)),
        None,
        "the reservation is still to be made; make a trainshed.capacity.CapacityReservation "
        "and use its attribute capacity",
    ),
}


@pytest.mark.parametrize(
    ("capacity", "placement_group", "message"),
    REFUSED_CAPACITY.values(),
    ids=list(REFUSED_CAPACITY),
)
def test_a_capacity_that_cannot_launch_is_refused(
    capacity: Capacity, placement_group: str | None, message: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        launch_options(capacity, placement_group=placement_group)
    assert str(refusal.value) == message
