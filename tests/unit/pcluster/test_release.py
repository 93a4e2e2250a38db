"""The documents that trainshed's programs on ParallelCluster nodes read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assets.node.keeper.blocks import blocks
from trainshed import facts
from trainshed.config import Fleet
from trainshed.pcluster.release import head_document

BLOCK = {
    "instance_type": "p5en.48xlarge",
    "max_nodes": 4,
    "capacity": {
        "kind": "capacity_block",
        "reservation_id": "cr-0123456789abcdef0",
        "end": "2027-03-01T11:30:00Z",
        "next_queue": "spare",
    },
}
SPARE = {"instance_type": "p5en.48xlarge", "max_nodes": 4, "capacity": {"kind": "on_demand"}}
DATABASE = {
    "host": "db.example",
    "user": "slurm",
    "database": "slurm",
    "password_secret_arn": "arn:aws:secretsmanager:us-east-2:111122223333:secret:slurm-AbCdEf",
}


def document(**over: Any) -> dict[str, Any]:
    record = {"queues": {"block": BLOCK, "spare": SPARE}, **over}
    return head_document(
        Fleet.model_validate_json(json.dumps(record)),
        cluster_name="kait",
        mount_dir="/fsx",
        known_types=facts.INSTANCE_TYPES,
    )


def test_the_head_node_knows_the_ends_of_blocks_as_its_program_reads_them() -> None:
    (block,) = blocks(document())
    assert (block.queue, block.id, block.then) == ("block", "cr-0123456789abcdef0", "spare")
    assert block.drain_from.isoformat() == "2027-03-01T10:50:00+00:00"


@pytest.mark.parametrize(
    ("partitions", "moved"), [({"long": {"queues": ["block", "spare"]}}, False), ({}, True)]
)
def test_jobs_of_a_partition_with_both_queues_are_not_moved(
    partitions: dict[str, Any], moved: bool
) -> None:
    made = document(accounting=DATABASE, policy={"partitions": partitions})
    assert ("next_queue" in made["queues"]["block"]) is moved


def test_the_head_node_sends_its_metrics_itself() -> None:
    assert document()["agent"] is False


def test_without_a_database_there_is_no_goodput_to_tell() -> None:
    assert document()["accounting"] is False
    assert document(accounting=DATABASE)["accounting"] is True


def test_the_document_names_what_is_known_only_later() -> None:
    made = document()
    assert made["alarm_topic_parameter"] == "/trainshed/kait/alarm-topic"
    assert made["mounts"] == [{"path": "/fsx"}]
    assert json.loads(json.dumps(made)) == made
