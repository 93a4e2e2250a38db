"""Checks of instance types and of the capacity that queues take."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from .. import facts
from ..config import CapacityBlock, Institution, OpenReservation, TargetedReservation
from ..facts.parallelcluster import OPERATING_SYSTEMS
from .verdict import Check, Clients, Run, Verdict, error_code, judged, not_ready, ready


def capacity_checks(institution: Institution) -> Iterator[Check]:
    """Yield the checks of instance types, then those of each queue's capacity."""
    fleet = institution.fleet
    types = [
        fleet.head_node.instance_type,
        *(pool.instance_type for pool in fleet.login_nodes.values()),
        *(queue.instance_type for queue in fleet.queues.values()),
    ]
    for name in dict.fromkeys(types):
        yield Check(
            f"{name} in the zone",
            "ec2:DescribeInstanceTypeOfferings",
            _offering(institution, name),
        )
    for name, queue in fleet.queues.items():
        match queue.capacity:
            case CapacityBlock() | TargetedReservation(reservation_id=str()):
                run, permission = (
                    _reservation(institution, name),
                    "ec2:DescribeCapacityReservations",
                )
            case TargetedReservation(resource_group_arn=str(arn)):
                run, permission = _pool(arn), "resource-groups:GetGroupConfiguration"
            case OpenReservation():
                run, permission = _open(institution, name), "ec2:DescribeCapacityReservations"
            case _:
                continue
        yield Check(f"capacity of queue {name}", permission, run)


def _offering(institution: Institution, name: str) -> Run:
    place = institution.network.place
    kind = "availability-zone" if isinstance(place, facts.ZoneName) else "availability-zone-id"

    def run(clients: Clients) -> Verdict:
        answer = clients.client("ec2").describe_instance_type_offerings(
            LocationType=kind, Filters=[{"Name": "instance-type", "Values": [name]}]
        )
        zones = sorted(offering["Location"] for offering in answer["InstanceTypeOfferings"])
        if place.value in zones:
            return ready(f"offered in {place.value}")
        if not zones:
            return not_ready(
                f"{name} is not offered in {institution.region}",
                "take another instance type, or another region",
            )
        return not_ready(
            f"{name} is not offered in {place.value}",
            f"take a zone that has it, {' or '.join(zones)}, in network",
        )

    return run


def _reservation(institution: Institution, name: str) -> Run:
    capacity = institution.fleet.queues[name].capacity

    def run(clients: Clients) -> Verdict:
        id = str(getattr(capacity, "reservation_id", ""))
        try:
            found = clients.client("ec2").describe_capacity_reservations(
                CapacityReservationIds=[id]
            )["CapacityReservations"][0]
        except ClientError as error:
            if not error_code(error).startswith("InvalidCapacityReservationId"):
                raise
            return not_ready(
                f"{id} is not in the account, in {institution.region}",
                f"aws ec2 describe-capacity-reservations --region {institution.region}",
            )
        faults = [
            *_kind_faults(found, capacity),
            *_place_faults(found, institution, name),
            *_count_faults(found, institution, name),
        ]
        if isinstance(capacity, CapacityBlock):
            faults += _end_faults(found, capacity)
        free = found.get("AvailableInstanceCount", "?")
        total = found["TotalInstanceCount"]
        return judged(faults, f"{id}, {found['State']}, {free} of {total} free")

    return run


def _kind_faults(found: Any, capacity: object) -> Iterator[tuple[str, str]]:
    block = isinstance(capacity, CapacityBlock)
    is_block = found.get("ReservationType", "default") == "capacity-block"
    if block != is_block:
        really = "a Capacity Block" if is_block else "an On-Demand Capacity Reservation"
        kind = "capacity_block" if is_block else "targeted_reservation"
        yield f"it is {really}", f"write kind: {kind}"
    # A block that was bought for later is scheduled until then.
    right = ("active", "scheduled") if block else ("active",)
    if found["State"] not in right:
        yield (
            f"it is {found['State']}, not {' or '.join(right)}",
            "reserve anew and give the new id; the EC2 console shows what became of this one",
        )
    if not is_block and found.get("InstanceMatchCriteria", "targeted") != "targeted":
        yield (
            "it is open, so that any matching launch in the account uses it up",
            f"aws ec2 modify-capacity-reservation --capacity-reservation-id "
            f"{found['CapacityReservationId']} --instance-match-criteria targeted",
        )


def _place_faults(found: Any, institution: Institution, name: str) -> Iterator[tuple[str, str]]:
    queue = institution.fleet.queues[name]
    place = institution.network.place
    if found["InstanceType"] != queue.instance_type:
        yield (
            f"it is for {found['InstanceType']}, and the queue for {queue.instance_type}",
            f"write instance_type: {found['InstanceType']} for the queue, or reserve another",
        )
    key = "AvailabilityZone" if isinstance(place, facts.ZoneName) else "AvailabilityZoneId"
    where = found.get(key)
    if where not in (None, place.value):
        yield (
            f"it is in {where}, and the network in {place.value}",
            f"make the network in {where}, or reserve in {place.value}",
        )
    platform = OPERATING_SYSTEMS[institution.fleet.image.os].reservation_platform
    if found.get("InstancePlatform", platform) != platform:
        yield (
            f"it is for {found['InstancePlatform']}, and the image is {platform}",
            f"reserve for {platform}, or take an image of the other",
        )


def _count_faults(found: Any, institution: Institution, name: str) -> Iterator[tuple[str, str]]:
    queues = institution.fleet.queues
    mine = getattr(queues[name].capacity, "reservation_id", None)
    needed = sum(
        queue.max_nodes
        for queue in queues.values()
        if getattr(queue.capacity, "reservation_id", None) == mine
    )
    total = found["TotalInstanceCount"]
    if total >= needed:
        return
    id = found["CapacityReservationId"]
    fix = f"aws ec2 modify-capacity-reservation --capacity-reservation-id {id} "
    if found.get("ReservationType") == "capacity-block":
        fix = f"lower max_nodes to {total}: the size of a block cannot change"
    else:
        fix += f"--instance-count {needed}"
    yield f"it holds {total}, and the queues ask for {needed}", fix


def _end_faults(found: Any, capacity: CapacityBlock) -> list[tuple[str, str]]:
    end = found.get("EndDate")
    if not isinstance(end, datetime) or end == capacity.end:
        return []
    right = end.strftime("%Y-%m-%dT%H:%M:%SZ")
    return [(f"it ends at {right}, and end is {capacity.end:%Y-%m-%dT%H:%M:%SZ}", f"end: {right}")]


def _pool(arn: str) -> Run:
    def run(clients: Clients) -> Verdict:
        answer = clients.client("resource-groups").get_group_configuration(Group=arn)
        found = answer["GroupConfiguration"].get("Configuration", [])
        kinds = {configuration["Type"] for configuration in found}
        if "AWS::EC2::CapacityReservationPool" not in kinds:
            return not_ready(
                f"{arn} is a resource group, but no pool of reservations",
                "make one with: aws resource-groups create-group --configuration "
                '"Type=AWS::EC2::CapacityReservationPool"; the console cannot',
            )
        return ready(arn)

    return run


def _open(institution: Institution, name: str) -> Run:
    queue = institution.fleet.queues[name]
    place = institution.network.place
    by_name = isinstance(place, facts.ZoneName)

    def run(clients: Clients) -> Verdict:
        answer = clients.client("ec2").describe_capacity_reservations(
            Filters=[
                {"Name": "instance-type", "Values": [queue.instance_type]},
                {"Name": "state", "Values": ["active"]},
                {"Name": "instance-match-criteria", "Values": ["open"]},
            ]
        )
        key = "AvailabilityZone" if by_name else "AvailabilityZoneId"
        free = sum(
            found["AvailableInstanceCount"]
            for found in answer["CapacityReservations"]
            if found.get(key) == place.value
        )
        detail = f"{free} free in open reservations of {queue.instance_type} in {place.value}"
        if free < queue.max_nodes:
            return not_ready(
                f"{detail}, and the queue asks for {queue.max_nodes}",
                f"aws ec2 create-capacity-reservation --region {institution.region} "
                f"--instance-type {queue.instance_type} --instance-platform Linux/UNIX "
                f"--instance-count {queue.max_nodes - free} "
                f"--{'availability-zone' if by_name else 'availability-zone-id'} {place.value}",
            )
        return ready(detail)

    return run
