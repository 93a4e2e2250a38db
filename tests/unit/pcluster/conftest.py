"""A fleet that differs from test to test, and its configuration with ids of the right form."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from trainshed import facts
from trainshed.config import (
    CapacityBlock,
    Fleet,
    OnDemand,
    OpenReservation,
    Queue,
    Spot,
    TargetedReservation,
)
from trainshed.config.capacity import Capacity
from trainshed.pcluster import NodeActions, References, Script, render

SUBNET = "subnet-0123456789abcdef1"
RESERVATION = "cr-0123456789abcdef0"
BLOCK = "cr-0123456789abcdefb"
GROUP_ARN = "arn:aws:resource-groups:us-east-2:111122223333:group/h200"

CAPACITIES: dict[str, Capacity] = {
    "block": CapacityBlock(reservation_id=BLOCK, end=datetime(2027, 3, 1, 11, 30, tzinfo=UTC)),
    "reservation": TargetedReservation(reservation_id=RESERVATION),
    "reservation in a group": TargetedReservation(resource_group_arn=GROUP_ARN),
    "reservation in a placement group": TargetedReservation(
        reservation_id=RESERVATION, placement_group="near"
    ),
    "open reservation": OpenReservation(),
    "on demand": OnDemand(),
    "on demand together": OnDemand(placement_group=True),
    "spot": Spot(),
    "spot with a price": Spot(max_price_usd_per_hour=21.5),
}

MakeFleet = Callable[..., Fleet]
Render = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def capacities() -> dict[str, Capacity]:
    return CAPACITIES


@pytest.fixture(scope="session")
def make_fleet() -> MakeFleet:
    """Make a fleet of one queue ``train``; keywords of the queue begin with ``queue_``."""

    def make(**keywords: Any) -> Fleet:
        queue: dict[str, Any] = {
            "instance_type": "p5en.48xlarge",
            "capacity": CAPACITIES["reservation"],
            "max_nodes": 4,
        }
        for key in [key for key in keywords if key.startswith("queue_")]:
            queue[key.removeprefix("queue_")] = keywords.pop(key)
        fleet: dict[str, Any] = {"queues": {"train": Queue(**queue)}, **keywords}
        return Fleet(**fleet)

    return make


@pytest.fixture(scope="session")
def references() -> References:
    boot = Script("scripts", "boot.sh", ("/fsx",))
    ssm = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
    actions = NodeActions(on_start=(boot,), on_configured=(Script("scripts", "ready.sh"),))
    fixed = NodeActions(
        on_configured=(Script("scripts", "actions.sh", ("/list",)),),
        on_updated=(Script("scripts", "actions.sh", ("/list", "hash")),),
        fetched=(boot,),
    )
    return References(
        region="us-east-2",
        head_subnet_id=SUBNET,
        compute_subnet_id=SUBNET,
        security_group_ids=("sg-0123456789abcdef0", "sg-0123456789abcdef1"),
        file_system_id="fs-0123456789abcdef0",
        mount_dir="/fsx",
        head_policy_arns=(ssm,),
        compute_policy_arns=(ssm,),
        login_policy_arns=(ssm,),
        head_actions=fixed,
        login_actions=fixed,
        queue_actions={"train": actions},
    )


@pytest.fixture(scope="session")
def rendered(make_fleet: MakeFleet, references: References) -> Render:
    """Render a fleet made of the given keywords."""

    def configuration(**keywords: Any) -> dict[str, Any]:
        return render(make_fleet(**keywords), references, known_types=facts.INSTANCE_TYPES)

    return configuration
