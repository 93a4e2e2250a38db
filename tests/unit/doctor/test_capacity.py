from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from trainshed.config import Institution
from trainshed.doctor import Status, Verdict

Make = Callable[..., Institution]
Run = Callable[[Institution, str, Any], Verdict]

ID = "cr-0123456789abcdef0"
END = datetime(2027, 3, 1, 11, 30, tzinfo=UTC)
BLOCK = f"""
train: {{instance_type: p5.48xlarge, max_nodes: 4, capacity:
    {{kind: capacity_block, reservation_id: {ID}, end: '2027-03-01T11:30:00Z'}}}}
"""
TARGETED = f"""
train: {{instance_type: p5.48xlarge, max_nodes: 4, capacity:
    {{kind: targeted_reservation, reservation_id: {ID}}}}}
"""
FOUND = {
    "CapacityReservationId": ID,
    "InstanceType": "p5.48xlarge",
    "InstancePlatform": "Linux/UNIX",
    "AvailabilityZone": "us-east-1a",
    "AvailabilityZoneId": "use1-az6",
    "TotalInstanceCount": 4,
    "AvailableInstanceCount": 4,
    "State": "active",
    "InstanceMatchCriteria": "targeted",
    "ReservationType": "default",
}
AS_BLOCK = {"ReservationType": "capacity-block", "EndDate": END}


def _of(queues: str, institution: Make, verdict: Run, aws: Any, **found: Any) -> Verdict:
    aws.answer(
        "ec2",
        "describe_capacity_reservations",
        {"CapacityReservations": [{**FOUND, **found}]},
        CapacityReservationIds=[ID],
    )
    return verdict(institution(queues=queues), "capacity of queue train", aws)


@pytest.mark.parametrize(
    ("queues", "found"),
    [
        (TARGETED, {}),
        (TARGETED, {"AvailableInstanceCount": 0}),
        (BLOCK, AS_BLOCK),
        (BLOCK, {**AS_BLOCK, "State": "scheduled"}),
    ],
    ids=["reservation", "in use", "block", "block of later"],
)
def test_a_reservation_that_fits_is_ready(
    queues: str, found: dict[str, Any], institution: Make, verdict: Run, aws: Any
) -> None:
    answer = _of(queues, institution, verdict, aws, **found)
    assert answer.status is Status.READY, answer


@pytest.mark.parametrize(
    ("queues", "found", "detail", "fix"),
    [
        (
            TARGETED,
            AS_BLOCK,
            "it is a Capacity Block",
            "write kind: capacity_block",
        ),
        (
            BLOCK,
            {"EndDate": END},
            "it is an On-Demand Capacity Reservation",
            "write kind: targeted_reservation",
        ),
        (TARGETED, {"State": "expired"}, "it is expired, not active", "reserve anew"),
        (
            BLOCK,
            {**AS_BLOCK, "State": "payment-failed"},
            "it is payment-failed, not active or scheduled",
            "reserve anew",
        ),
        (
            TARGETED,
            {"InstanceMatchCriteria": "open"},
            "it is open, so that any matching launch in the account uses it up",
            "--instance-match-criteria targeted",
        ),
        (
            TARGETED,
            {"InstanceType": "p5en.48xlarge"},
            "it is for p5en.48xlarge, and the queue for p5.48xlarge",
            "write instance_type: p5en.48xlarge",
        ),
        (
            TARGETED,
            {"AvailabilityZone": "us-east-1b"},
            "it is in us-east-1b, and the network in us-east-1a",
            "make the network in us-east-1b",
        ),
        (
            TARGETED,
            {"InstancePlatform": "Windows"},
            "it is for Windows, and the image is Linux/UNIX",
            "reserve for Linux/UNIX",
        ),
        (
            TARGETED,
            {"TotalInstanceCount": 3},
            "it holds 3, and the queues ask for 4",
            f"aws ec2 modify-capacity-reservation --capacity-reservation-id {ID} "
            "--instance-count 4",
        ),
        (
            BLOCK,
            {**AS_BLOCK, "TotalInstanceCount": 2},
            "it holds 2, and the queues ask for 4",
            "lower max_nodes to 2",
        ),
        (
            BLOCK,
            {**AS_BLOCK, "EndDate": datetime(2027, 2, 1, 11, 30, tzinfo=UTC)},
            "it ends at 2027-02-01T11:30:00Z, and end is 2027-03-01T11:30:00Z",
            "end: 2027-02-01T11:30:00Z",
        ),
    ],
)
def test_a_reservation_that_does_not_fit_is_not_ready(
    queues: str,
    found: dict[str, Any],
    detail: str,
    fix: str,
    institution: Make,
    verdict: Run,
    aws: Any,
) -> None:
    answer = _of(queues, institution, verdict, aws, **found)
    assert answer.status is Status.NOT_READY
    assert answer.detail == detail
    assert fix in answer.fix


def test_all_faults_of_a_reservation_are_told_at_once(
    institution: Make, verdict: Run, aws: Any
) -> None:
    answer = _of(TARGETED, institution, verdict, aws, State="cancelled", TotalInstanceCount=1)
    assert answer.detail.count("; ") == 1
    assert len(answer.fix.splitlines()) == 2


def test_a_reservation_that_is_not_there_is_not_ready(
    institution: Make, verdict: Run, aws: Any
) -> None:
    aws.refuse("ec2", "describe_capacity_reservations", "InvalidCapacityReservationId.NotFound")
    answer = verdict(institution(queues=TARGETED), "capacity of queue train", aws)
    assert answer.detail == f"{ID} is not in the account, in us-east-1"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("AWS::EC2::CapacityReservationPool", Status.READY),
        ("AWS::ResourceGroups::Generic", Status.NOT_READY),
    ],
)
def test_a_group_has_to_be_a_pool(
    kind: str, status: Status, institution: Make, verdict: Run, aws: Any
) -> None:
    arn = "arn:aws:resource-groups:us-east-1:111122223333:group/p5"
    queues = f"""
    train: {{instance_type: p5.48xlarge, max_nodes: 4, capacity:
        {{kind: targeted_reservation, resource_group_arn: '{arn}'}}}}
    """
    aws.answer(
        "resource-groups",
        "get_group_configuration",
        {"GroupConfiguration": {"Configuration": [{"Type": kind}]}},
        Group=arn,
    )
    assert verdict(institution(queues=queues), "capacity of queue train", aws).status is status


@pytest.mark.parametrize(
    ("zone", "free", "status"),
    [
        ("us-east-1a", 4, Status.READY),
        ("us-east-1a", 3, Status.NOT_READY),
        ("us-east-1b", 4, Status.NOT_READY),
    ],
)
def test_open_reservations_have_to_have_room_in_the_zone(
    zone: str, free: int, status: Status, institution: Make, verdict: Run, aws: Any
) -> None:
    queues = """
    train: {instance_type: p4d.24xlarge, max_nodes: 4, capacity: {kind: open_reservation}}
    """
    found = {**FOUND, "AvailabilityZone": zone, "AvailableInstanceCount": free}
    aws.answer("ec2", "describe_capacity_reservations", {"CapacityReservations": [found]})
    answer = verdict(institution(queues=queues), "capacity of queue train", aws)
    assert answer.status is status
    if status is Status.NOT_READY:
        missing = 4 if zone == "us-east-1b" else 1
        assert f"--instance-count {missing} --availability-zone us-east-1a" in answer.fix


@pytest.mark.parametrize(
    ("zones", "status", "fix"),
    [
        (["us-east-1b", "us-east-1a"], Status.READY, ""),
        (
            ["us-east-1c", "us-east-1b"],
            Status.NOT_READY,
            "take a zone that has it, us-east-1b or us-east-1c, in network",
        ),
        ([], Status.NOT_READY, "take another instance type, or another region"),
    ],
    ids=["here", "elsewhere", "nowhere"],
)
def test_an_instance_type_has_to_be_offered_in_the_zone(
    zones: list[str], status: Status, fix: str, institution: Make, verdict: Run, aws: Any
) -> None:
    aws.answer(
        "ec2",
        "describe_instance_type_offerings",
        {"InstanceTypeOfferings": [{"Location": zone} for zone in zones]},
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": ["g6.12xlarge"]}],
    )
    answer = verdict(institution(), "g6.12xlarge in the zone", aws)
    assert (answer.status, answer.fix) == (status, fix)


def test_a_zone_id_is_looked_for_as_an_id(institution: Make, verdict: Run, aws: Any) -> None:
    aws.answer(
        "ec2",
        "describe_instance_type_offerings",
        {"InstanceTypeOfferings": [{"Location": "use1-az4"}]},
        LocationType="availability-zone-id",
        Filters=[{"Name": "instance-type", "Values": ["g6.12xlarge"]}],
    )
    by_id = institution(network="{zone_id: use1-az4, vpc: {}}")
    assert verdict(by_id, "g6.12xlarge in the zone", aws).status is Status.READY
