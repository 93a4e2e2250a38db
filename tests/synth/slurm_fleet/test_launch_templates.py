"""What the nodes of a queue are launched with: interfaces, capacity, disks, metadata."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import aws_cdk as cdk
import pytest

from trainshed.config import (
    CapacityBlock,
    Fleet,
    OnDemand,
    OpenReservation,
    RootVolume,
    Spot,
    TargetedReservation,
)
from trainshed.config.capacity import Capacity, ReservationRequest

Record = Callable[..., Fleet]
Build = Callable[..., Any]

NODES = "TrainQueueNodes"
END = datetime(2027, 3, 15, 11, 30, tzinfo=UTC)

# EC2 user guide "Maximize network bandwidth on instances with multiple network cards", read
# 2026-11-29: cards that there are, and those that carry EFA.
CARDS: dict[str, tuple[int, list[int]]] = {
    "p4d.24xlarge": (4, list(range(4))),
    "p5.48xlarge": (32, list(range(32))),
    "p5e.48xlarge": (32, list(range(32))),
    "p5en.48xlarge": (16, list(range(16))),
    "p6-b200.48xlarge": (8, list(range(8))),
    "p6-b300.48xlarge": (17, list(range(1, 17))),
    "g6.12xlarge": (1, [0]),
    "g6.xlarge": (1, []),
}


def interfaces(made: Any) -> list[tuple[int, int, str]]:
    """Return card, device and type of each interface, checked for what they have in common."""
    listed = made.template_data(NODES)["NetworkInterfaces"]
    for each in listed:
        assert each["Groups"] == ["sg-0123456789abcdef0"]
        assert each["DeleteOnTermination"] is True
        assert not {"AssociatePublicIpAddress", "SubnetId", "NetworkInterfaceId"} & each.keys()
    assert not {"SecurityGroupIds", "SecurityGroups"} & made.template_data(NODES).keys()
    return [(i["NetworkCardIndex"], i["DeviceIndex"], i["InterfaceType"]) for i in listed]


@pytest.mark.parametrize("name", CARDS)
def test_a_node_has_one_address_and_efa_on_every_card_that_carries_it(
    name: str, build: Build, record: Record
) -> None:
    cards, efa_cards = CARDS[name]
    found = interfaces(build(record(queue={"instance_type": name})))
    extra = [(0, 1)] if 0 in efa_cards else []
    rest = [*extra, *((card, 0) for card in efa_cards if card)]
    assert found == [(0, 0, "interface"), *((*at, "efa-only") for at in rest)]
    assert max(card for card, _, _ in found) < cards


OLDER = {
    "p4d.24xlarge": [(0, 0, "efa"), (1, 1, "efa"), (2, 1, "efa"), (3, 1, "efa")],
    "p5.48xlarge": [(0, 0, "efa"), *((card, 1, "efa") for card in range(1, 32))],
    "p6-b300.48xlarge": [(0, 0, "interface"), *((card, 0, "efa") for card in range(1, 17))],
}


@pytest.mark.parametrize("name", OLDER)
def test_the_older_style_gives_every_interface_an_address(
    name: str, build: Build, record: Record
) -> None:
    made = build(record(queue={"instance_type": name, "efa_interface": "efa"}))
    assert interfaces(made) == OLDER[name]


def test_a_queue_without_efa_has_one_interface(build: Build, record: Record) -> None:
    assert interfaces(build(record(queue={"efa": False}))) == [(0, 0, "interface")]


GROUP_ARN = "arn:aws:resource-groups:us-east-2:111122223333:group/pool"
TARGET = "CapacityReservationTarget"
CAPACITIES: dict[str, tuple[Capacity, dict[str, Any]]] = {
    "block": (
        CapacityBlock(reservation_id="cr-0123456789abcdef0", end=END),
        {
            "InstanceMarketOptions": {"MarketType": "capacity-block"},
            "CapacityReservationSpecification": {
                TARGET: {"CapacityReservationId": "cr-0123456789abcdef0"}
            },
        },
    ),
    "targeted": (
        TargetedReservation(reservation_id="cr-0123456789abcdef0"),
        {
            "CapacityReservationSpecification": {
                TARGET: {"CapacityReservationId": "cr-0123456789abcdef0"}
            }
        },
    ),
    "in a placement group": (
        TargetedReservation(reservation_id="cr-0123456789abcdef0", placement_group="near"),
        {
            "CapacityReservationSpecification": {
                TARGET: {"CapacityReservationId": "cr-0123456789abcdef0"}
            },
            "Placement": {"GroupName": "near"},
        },
    ),
    "group": (
        TargetedReservation(resource_group_arn=GROUP_ARN),
        {
            "CapacityReservationSpecification": {
                "CapacityReservationPreference": "capacity-reservations-only",
                TARGET: {"CapacityReservationResourceGroupArn": GROUP_ARN},
            }
        },
    ),
    "made": (
        TargetedReservation(create=ReservationRequest(nodes=4)),
        {
            "CapacityReservationSpecification": {
                TARGET: {"CapacityReservationId": "cr-11111111111111111"}
            }
        },
    ),
    "open": (
        OpenReservation(),
        {"CapacityReservationSpecification": {"CapacityReservationPreference": "open"}},
    ),
    "on demand": (
        OnDemand(),
        {"CapacityReservationSpecification": {"CapacityReservationPreference": "none"}},
    ),
    "spot": (
        Spot(max_price_usd_per_hour=12.5),
        {
            "InstanceMarketOptions": {
                "MarketType": "spot",
                "SpotOptions": {"SpotInstanceType": "one-time", "MaxPrice": "12.5"},
            }
        },
    ),
}


@pytest.mark.parametrize(("capacity", "options"), CAPACITIES.values(), ids=list(CAPACITIES))
def test_capacity_becomes_launch_options(
    capacity: Capacity, options: dict[str, Any], build: Build, record: Record
) -> None:
    made = build(
        record(queue={"capacity": capacity, "min_nodes": 4}),
        reservation_ids={"train": "cr-11111111111111111"},
    )
    data = made.template_data(NODES)
    keys = "InstanceMarketOptions", "CapacityReservationSpecification", "Placement"
    assert {key: data[key] for key in keys if key in data} == options
    assert not made.of_type("AWS::EC2::PlacementGroup")


def test_nodes_on_demand_can_stand_together(build: Build, record: Record) -> None:
    made = build(record(queue={"capacity": OnDemand(placement_group=True), "min_nodes": 4}))
    ((id, group),) = made.of_type("AWS::EC2::PlacementGroup").items()
    assert group["Properties"] == {"Strategy": "cluster"}
    assert made.template_data(NODES)["Placement"] == {"GroupName": {"Ref": id}}


def test_metadata_need_a_token_and_tell_the_tags(plain: Any) -> None:
    options = {
        "HttpTokens": "required",
        "HttpPutResponseHopLimit": 1,
        "InstanceMetadataTags": "enabled",
    }
    assert plain.template_data(NODES)["MetadataOptions"] == options
    assert plain.properties("AWS::EC2::Instance")["MetadataOptions"] == options


@pytest.mark.parametrize("key", ["Cost Center", "cost/center", "_index"])
def test_a_tag_that_metadata_cannot_tell_is_none_that_stops_a_launch(
    key: str, build: Build, record: Record
) -> None:
    made = build(record(), tags={key: "physics"})
    nodes = made.template_data(NODES)["MetadataOptions"]
    head = made.properties("AWS::EC2::Instance")["MetadataOptions"]
    assert nodes["InstanceMetadataTags"] == head["InstanceMetadataTags"] == "disabled"
    assert nodes["HttpTokens"] == head["HttpTokens"] == "required"


def test_tags_of_the_whole_app_count_for_metadata_too(build: Build, record: Record) -> None:
    app = cdk.App()
    cdk.Tags.of(app).add("Cost Center", "physics")
    made = build(record(), app=app)
    assert made.template_data(NODES)["MetadataOptions"]["InstanceMetadataTags"] == "disabled"


def test_the_root_disk_is_encrypted_and_as_the_record_says(build: Build, record: Record) -> None:
    disk = RootVolume(gib=500, iops=6000, throughput_mib_s=500, delete_on_termination=False)
    made = build(record(queue={"root_volume": disk}))
    assert made.template_data(NODES)["BlockDeviceMappings"] == [
        {
            "DeviceName": "/dev/sda1",
            "Ebs": {
                "VolumeType": "gp3",
                "VolumeSize": 500,
                "Iops": 6000,
                "Throughput": 500,
                "Encrypted": True,
                "DeleteOnTermination": False,
            },
        }
    ]


def test_image_type_and_profile_are_those_of_the_queue(plain: Any) -> None:
    data = plain.template_data(NODES)
    assert (data["ImageId"], data["InstanceType"]) == ("ami-0123456789abcdef0", "p5en.48xlarge")
    profile = data["IamInstanceProfile"]["Arn"]["Fn::GetAtt"][0]
    assert "TrainQueueProfile" in profile
    assert profile in plain.of_type("AWS::IAM::InstanceProfile")


def test_tags_of_the_app_make_no_new_version(build: Build) -> None:
    """A new version would drain every node for a word in a report."""
    tagged = build(tags={"Grafana": "true"})
    assert tagged.template_data(NODES) == build().template_data(NODES)
    group = tagged.properties("AWS::AutoScaling::AutoScalingGroup")
    assert {"Key": "Grafana", "Value": "true", "PropagateAtLaunch": True} in group["Tags"]
