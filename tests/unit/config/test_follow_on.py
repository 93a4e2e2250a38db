"""One fault is told once: rules do not judge by what is faulty itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import examples
from trainshed.cli.checked import load_checked
from trainshed.config import ConfigError

NO_NUMBER = "must be a whole number, got 'x'; write it without quotes or unit"
HOST = "    host: slurm.cluster-abc.us-east-1.rds.amazonaws.com:3306\n"
NEXT = "# next_queue: reserved    #", "next_queue: reserved  #"
ALONE = {
    "a queue that the policy and another queue name": (
        "full",
        [NEXT, ("max_nodes: 2\n      capacity:", "max_nodes: x\n      capacity:")],
        [f"fleet.queues.reserved.max_nodes: {NO_NUMBER}"],
    ),
    "the end of a block that the gate and a partition are for": (
        "full",
        [("        end: 2027-03-01T11:30:00Z\n", "")],
        ["fleet.queues.block.capacity.end: required, but not given"],
    ),
    "a database that a policy needs": (
        "full",
        [(HOST, "")],
        ["fleet.accounting.host: required, but not given; or write create: {}"],
    ),
    "what a partition may preempt": (
        "full",
        [("priority_tier: 250 ", "priority_tier: x ")],
        [f"fleet.policy.partitions.train.priority_tier: {NO_NUMBER}"],
    ),
    "an instance type of its own": (
        "full",
        [("    vcpus: 192\n", "    vcpus: x\n")],
        [f"instance_types.p9.48xlarge.vcpus: {NO_NUMBER}"],
    ),
    "the backend": (
        "bare",
        [("backend: slurm", "backend: slrum")],
        [
            "fleet.backend: 'slrum' is not one of parallelcluster, slurm; did you mean 'slurm'?",
        ],
    ),
    "a lock": (
        "bare",
        [("      ami_id: ami-0123456789abcdef0\n", "")],
        ["fleet.image.lock.ami_id: required, but not given"],
    ),
    "the instance type of all queues": (
        "kait",
        [("instance_type: p5en.48xlarge", "instance_type: p5en.48xlrge")],
        [
            "fleet.queues.compute.instance_type: 'p5en.48xlrge' is not in the table of instance "
            "types; did you mean 'p5en.48xlarge' or 'p5e.48xlarge' or 'p5.48xlarge'? a new type "
            "can be described under instance_types",
        ],
    ),
}


@pytest.mark.parametrize(("name", "edits", "faults"), ALONE.values(), ids=list(ALONE))
def test_a_fault_brings_no_other(
    tmp_path: Path, name: str, edits: list[tuple[str, str]], faults: list[str]
) -> None:
    assert told(tmp_path, name, edits) == faults


def told(folder: Path, name: str, edits: list[tuple[str, str]]) -> list[str]:
    text = (examples.FOLDER / f"{name}.yaml").read_text()
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_checked(path)
    return [line.split(": ", 1)[1] for line in str(refused.value).splitlines()]


def test_what_does_not_hang_on_a_fault_is_told_beside_it(tmp_path: Path) -> None:
    edits = [
        ("max_nodes: 2\n      capacity:", "max_nodes: x\n      capacity:"),
        ("instance_type: g6.12xlarge", "instance_type: g6.12xlrge"),
        ("    layer_bucket: full-mirror\n", ""),
    ]
    assert [line.split(": ", 1)[0] for line in told(tmp_path, "full", edits)] == [
        "fleet.queues.reserved.max_nodes",
        "fleet.queues.spot.instance_type",
        "fleet.parallelcluster.layer_key",
    ]
