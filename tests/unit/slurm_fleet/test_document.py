"""The fleet document, which nodes, head node and custom resource read."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from trainshed.config import (
    AccountingDatabase,
    CapacityBlock,
    Fleet,
    Image,
    OnDemand,
    PackageCache,
    Queue,
    SlurmOptions,
    TargetedReservation,
)
from trainshed.config.capacity import Capacity, ReservationRequest
from trainshed.slurm_fleet import names, written
from trainshed.slurm_fleet.document import reservation_id_of
from trainshed.slurm_fleet.placeholders import placeholders

MakeFleet = Callable[..., Fleet]
Document = Callable[[Fleet], dict[str, Any]]

END = datetime(2027, 3, 15, 11, 30, tzinfo=UTC)
SECRET = "arn:aws:secretsmanager:us-east-1:111122223333:secret:slurm-AbCdEf"


def test_a_document_is_the_one_of_the_contract(make_fleet: MakeFleet, document: Document) -> None:
    stored = {"bucket": "assets", "key": "a.zip", "sha256": "0" * 64}
    assert document(make_fleet()) == {
        "schema": 1,
        "cluster": "lab",
        "region": "us-east-1",
        "scripts": stored,
        "files": stored,
        "packages": None,
        "slurm_version": "23.11",
        "containers": True,
        "gate": {"minutes": 25, "strict": False},
        "image": {"kernel": "7.0.0-1014-aws", "nvidia_driver": None, "efa_installer": None},
        "head": {
            "host": "head.lab.trainshed.internal",
            "state_volume_gib": 100,
            "state_volume_id": "vol-0123456789abcdef0",
        },
        "munge_secret_arn": "arn:aws:secretsmanager:us-east-1:111122223333:secret:munge",
        "accounting": None,
        "mounts": [{"path": "/fsx", "dns_name": "fs.example", "mount_name": "abc", "efa": True}],
        "queues": {
            "train": {
                "asg": "lab-train",
                "launch_template": "lt-1",
                "version": "3",
                "nodes": 4,
                "instance_type": "p5en.48xlarge",
                "node_conf": "CPUs=192 Sockets=2 CoresPerSocket=48 ThreadsPerCore=2 "
                "RealMemory=1992294 Gres=gpu:h200:8 Feature=train",
                "gpus": 8,
                "efa": True,
                "nvme_dir": "/opt/dlami/nvme",
                "nvlink": True,
                "reservation_id": None,
                "start": None,
                "end": None,
                "drain_minutes": 40,
            }
        },
        "boot_timeout_minutes": 30,
        "log_group": "/trainshed/lab/slurm",
        "alarm_topic_arn": None,
    }


def test_its_text_has_sorted_keys_and_no_blanks(make_fleet: MakeFleet, document: Document) -> None:
    made = document(make_fleet())
    text = written(made)
    assert json.loads(text) == made
    assert text.startswith('{"accounting":null,"alarm_topic_arn":null,"boot_timeout_minutes":30')


def test_a_block_has_its_times(make_fleet: MakeFleet, document: Document) -> None:
    block = CapacityBlock(
        reservation_id="cr-0123456789abcdef0",
        start=datetime(2027, 3, 1, 11, 30, tzinfo=UTC),
        end=END,
    )
    queue = Queue(instance_type="p6e-gb200.36xlarge", capacity=block, max_nodes=9)
    made = document(make_fleet(queues={"train": queue}))["queues"]["train"]
    assert made["start"] == "2027-03-01T11:30:00Z"
    assert made["end"] == "2027-03-15T11:30:00Z"
    assert made["drain_minutes"] == 70


@pytest.mark.parametrize(
    ("host", "port"), [("db.example.edu", 3306), ("db.example.edu:3307", 3307)], ids=["none", "own"]
)
def test_a_database_has_host_and_port(
    host: str, port: int, make_fleet: MakeFleet, document: Document
) -> None:
    database = AccountingDatabase(host=host, user="slurm", password_secret_arn=SECRET)
    assert document(make_fleet(accounting=database))["accounting"] == {
        "host": "db.example.edu",
        "port": port,
        "user": "slurm",
        "password_secret_arn": SECRET,
        "database": "slurm_acct",
    }


def test_nodes_without_gpus_efa_and_disks_say_so(make_fleet: MakeFleet, document: Document) -> None:
    queue = Queue(instance_type="m7i.large", capacity=OnDemand(), max_nodes=2, min_nodes=2)
    made = document(make_fleet(queues={"prep": queue}))["queues"]["prep"]
    assert (made["gpus"], made["efa"], made["nvme_dir"], made["nvlink"]) == (0, False, None, False)
    assert "Gres" not in made["node_conf"]


def test_options_of_the_record_are_in_it(make_fleet: MakeFleet, document: Document) -> None:
    cache = PackageCache(bucket="ours", key="cache.tar", sha256="1" * 64)
    options = SlurmOptions(containers=False, boot_timeout_minutes=45, packages=cache)
    made = document(make_fleet(slurm=options, image=Image(ami_id="ami-0123456789abcdef0")))
    assert made["packages"] == {"bucket": "ours", "key": "cache.tar", "sha256": "1" * 64}
    assert (made["containers"], made["boot_timeout_minutes"]) == (False, 45)
    assert made["image"] is None


@pytest.mark.parametrize(
    ("capacity", "id"),
    [
        (
            CapacityBlock(reservation_id="cr-11111111", end=datetime(2027, 3, 1, tzinfo=UTC)),
            "block",
        ),
        (TargetedReservation(reservation_id="cr-22222222"), "targeted"),
        (TargetedReservation(create=ReservationRequest(nodes=4)), "made"),
        (OnDemand(), "none"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_queue_knows_its_reservation(capacity: Capacity, id: str) -> None:
    queue = Queue(instance_type="p5en.48xlarge", capacity=capacity, max_nodes=4)
    expected = {"block": "cr-11111111", "targeted": "cr-22222222", "made": "cr-33333333"}
    assert reservation_id_of(queue, {"train": "cr-33333333"}, "train") == expected.get(id)


def test_placeholders_name_what_only_aws_knows(make_fleet: MakeFleet) -> None:
    around = placeholders(
        make_fleet(), cluster_name="lab", region="us-east-1", mount_dir="/fsx", file_system_efa=True
    )
    assert around.state_volume_id == "${StateVolume}"
    assert around.groups["train"].asg == "${Group-train}"


def test_names_are_those_of_the_contract() -> None:
    assert names.fleet_parameter("lab") == "/trainshed/lab/slurm/fleet"
    assert names.status_parameter("lab") == "/trainshed/lab/slurm/status"
    assert names.command_parameter("lab") == "/trainshed/lab/slurm/command"
    assert names.nodes_path("lab") == "/trainshed/lab/slurm/nodes"
    assert names.log_group_name("lab") == "/trainshed/lab/slurm"
    assert names.head_host("lab") == "head.lab.trainshed.internal"
