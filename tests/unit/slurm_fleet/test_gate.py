"""What the gate of a bare fleet judges by, refuses and warns of."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from trainshed import facts
from trainshed.config import Fleet, Gate, OnDemand, Queue, SlurmOptions
from trainshed.config.faults import dotted
from trainshed.slurm_fleet import cluster_files
from trainshed.slurm_fleet.gate import gate_document
from trainshed.slurm_fleet.policy import policy_warnings
from trainshed.slurm_fleet.rules import fleet_faults

MakeFleet = Callable[..., Fleet]


def options(boot: int = 30, **gate: Any) -> SlurmOptions:
    return SlurmOptions(boot_timeout_minutes=boot, gate=Gate(**gate))


def faults(fleet: Fleet) -> list[str]:
    found = fleet_faults(fleet, cluster_name="lab", types=facts.INSTANCE_TYPES)
    return [f"{dotted(fault.key_path)}: {fault.reason}" for fault in found]


def rows(fleet: Fleet) -> list[dict[str, Any]]:
    files = cluster_files(fleet, cluster_name="lab", mount_dir="/fsx", types=facts.INSTANCE_TYPES)
    (name,) = (name for name in files if name.startswith("expect/"))
    return list(json.loads(files[name])["nccl"])


def test_a_fleet_has_a_gate_unless_it_says_otherwise(make_fleet: MakeFleet) -> None:
    assert gate_document(make_fleet()) == {"minutes": 25, "strict": False}
    assert policy_warnings(make_fleet(), facts.INSTANCE_TYPES) == []
    without = make_fleet(slurm=options(enabled=False))
    assert gate_document(without) is None
    assert policy_warnings(without, facts.INSTANCE_TYPES) == [
        "fleet.slurm.gate.enabled is false: users get nodes before their checks have passed, and "
        "no all-reduce over the fleet"
    ]


def test_thresholds_are_the_tables_or_the_institutions(make_fleet: MakeFleet) -> None:
    (four,) = (row for row in rows(make_fleet()) if row["nodes_from"] == 2)
    assert (four["measured_gb_s"], four["least_gb_s"]) == (369.86, 258.9)
    (four,) = (
        row for row in rows(make_fleet(slurm=options(tolerance=0.9))) if row["nodes_from"] == 2
    )
    assert four["least_gb_s"] == 332.9
    (own,) = rows(make_fleet(slurm=options(least_bus_gb_s=300)))
    assert (own["nodes_from"], own["nodes_to"], own["gpus_per_node"]) == (1, 0, 8)
    assert (own["least_gb_s"], own["size_bytes"]) == (300, 16 * 2**30)
    assert own["source"] == "fleet.slurm.gate.least_bus_gb_s"


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        (
            {"slurm": options(tolerance=0.9, least_bus_gb_s=300)},
            "slurm.gate.tolerance: is 0.9 beside least_bus_gb_s, which no measurement is behind; "
            "leave one of them out",
        ),
        (
            {"slurm": options(boot=40, minutes=25)},
            "slurm.gate.minutes: is 25, and with boot_timeout_minutes, 40, above the 55 that "
            "CloudFormation's hour leaves: use 30 or less there, or 15 or less here",
        ),
        (
            {
                "slurm": options(strict=True),
                "queues": {
                    "train": Queue(
                        instance_type="g6.xlarge", capacity=OnDemand(), max_nodes=2, min_nodes=2
                    )
                },
            },
            "queues.train.instance_type: nobody has measured an all-reduce over 2 x 1 GPUs of "
            "g6.xlarge, and slurm.gate.strict lets in nothing that is not judged: give "
            "slurm.gate.least_bus_gb_s, or leave strict out",
        ),
    ],
    ids=["two thresholds", "no time for it", "strict without a row"],
)
def test_a_gate_that_cannot_be_passed_is_refused(
    make_fleet: MakeFleet, keywords: dict[str, Any], expected: str
) -> None:
    assert faults(make_fleet(**keywords)) == [expected]


def test_without_a_gate_a_long_boot_is_allowed(make_fleet: MakeFleet) -> None:
    assert faults(make_fleet(slurm=options(boot=50, enabled=False))) == []


@pytest.mark.parametrize(
    ("instance_type", "warning"),
    [
        (
            "g5.12xlarge",
            "fleet.queues.q: nobody has measured an all-reduce over 2 x 4 GPUs of g5.12xlarge; "
            "its gate judges the rest, and says so",
        ),
        (
            "trn1.32xlarge",
            "fleet.queues.q: no all-reduce runs over trn1.32xlarge, whose devices are no GPUs; "
            "its gate judges the rest, and says so",
        ),
        ("m7i.large", None),
        ("p5.48xlarge", None),
    ],
)
def test_what_is_not_judged_is_told(
    make_fleet: MakeFleet, instance_type: str, warning: str | None
) -> None:
    queue = Queue(instance_type=instance_type, capacity=OnDemand(), max_nodes=2, min_nodes=2)
    found = policy_warnings(make_fleet(queues={"q": queue}), facts.INSTANCE_TYPES)
    assert found == ([warning] if warning else [])


def test_an_own_threshold_is_judged_on_every_type(make_fleet: MakeFleet) -> None:
    queue = Queue(instance_type="g5.12xlarge", capacity=OnDemand(), max_nodes=2, min_nodes=2)
    fleet = make_fleet(queues={"q": queue}, slurm=options(least_bus_gb_s=4, strict=True))
    assert faults(fleet) == []
    assert policy_warnings(fleet, facts.INSTANCE_TYPES) == []
