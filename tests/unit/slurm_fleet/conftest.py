"""A fleet of the bare backend, to change and to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trainshed import facts
from trainshed.config import Fleet, Image, ImageLock, Queue, TargetedReservation
from trainshed.slurm_fleet import (
    Group,
    Mount,
    StoredObject,
    Surroundings,
    fleet_document,
)

MakeFleet = Callable[..., Fleet]
Document = Callable[[Fleet], dict[str, Any]]

LOCK = ImageLock(
    ami_id="ami-0123456789abcdef0",
    name="Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 20261006",
    kernel="7.0.0-1014-aws",
)


@pytest.fixture(scope="session")
def make_fleet() -> MakeFleet:
    """Make a fleet of one queue of p5en.48xlarge; keywords of the record win."""

    def make(**keywords: Any) -> Fleet:
        queue = Queue(
            instance_type="p5en.48xlarge",
            capacity=TargetedReservation(reservation_id="cr-0123456789abcdef0"),
            max_nodes=4,
        )
        given: dict[str, Any] = {
            "backend": "slurm",
            "image": Image(lock=LOCK),
            "queues": {"train": queue},
        }
        return Fleet(**({"backend": "slurm"} | given | keywords))

    return make


@pytest.fixture(scope="session")
def document() -> Document:
    """Return the document of a fleet in surroundings with plain values."""

    def of(fleet: Fleet) -> dict[str, Any]:
        stored = StoredObject(bucket="assets", key="a.zip", sha256="0" * 64)
        around = Surroundings(
            cluster_name="lab",
            region="us-east-1",
            scripts=stored,
            files=stored,
            state_volume_id="vol-0123456789abcdef0",
            munge_secret_arn="arn:aws:secretsmanager:us-east-1:111122223333:secret:munge",
            mounts=(Mount(path="/fsx", dns_name="fs.example", mount_name="abc", efa=True),),
            groups={
                name: Group(asg=f"lab-{name}", launch_template="lt-1", version="3")
                for name in fleet.queues
            },
        )
        return fleet_document(fleet, around, types=facts.INSTANCE_TYPES)

    return of
