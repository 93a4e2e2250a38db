"""What a record may not ask of ParallelCluster, each with the message that the person reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trainshed import facts
from trainshed.config import (
    AccountingDatabase,
    Fleet,
    HeadNode,
    Image,
    LoginPool,
    Monitoring,
    ParallelClusterOptions,
    Queue,
    RootVolume,
    Spot,
)
from trainshed.config.faults import dotted
from trainshed.pcluster import fleet_faults

MakeFleet = Callable[..., Fleet]

DATABASE = AccountingDatabase(
    host="db.example.edu",
    user="slurm",
    password_secret_arn="arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf",
)


def options(**keywords: Any) -> dict[str, Any]:
    return {"parallelcluster": ParallelClusterOptions(**keywords)}


def queue(**keywords: Any) -> Queue:
    return Queue(instance_type="p5en.48xlarge", capacity=Spot(), max_nodes=1, **keywords)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "setting of ParallelCluster's": (
        options(extra_slurm_settings={"prolog": "/x"}),
        "parallelcluster.extra_slurm_settings.prolog: is a setting that ParallelCluster keeps for "
        "itself; leave it out",
    ),
    "accounting setting beside the database": (
        {**options(extra_slurm_settings={"AccountingStorageHost": "x"}), "accounting": DATABASE},
        "parallelcluster.extra_slurm_settings.AccountingStorageHost: is a setting that "
        "ParallelCluster keeps for itself; leave it out",
    ),
    "idle time of a static fleet": (
        options(scaledown_idle_minutes=60),
        "parallelcluster.scaledown_idle_minutes: is 60, but min_nodes is max_nodes in every queue, "
        "so no node is ever stopped for idleness; leave it out",
    ),
    "two kinds of EFA interface": (
        {"queues": {"a": queue(), "b": queue(efa_interface="efa")}},
        "queues.b.efa_interface: is efa, and efa-only in queue a; ParallelCluster has one setting "
        "for all queues: write the same in each",
    ),
    "log retention": (
        {"monitoring": Monitoring(log_retention_days=1096)},
        "monitoring.log_retention_days: 1096 is not among ParallelCluster's; use 731 or 1827",
    ),
    "kept compute disks": (
        {"queue_root_volume": RootVolume(delete_on_termination=False)},
        "queues.train.root_volume.delete_on_termination: is false; ParallelCluster deletes a "
        "compute node's disk with its node: leave it out",
    ),
    "small head disk": (
        {"head_node": HeadNode(root_volume=RootVolume(gib=40))},
        "head_node.root_volume.gib: 40 is less than ParallelCluster's images; use 45 or more",
    ),
    "local disks nowhere": (
        {"queue_nvme_dir": None},
        "queues.train.nvme_dir: is null; ParallelCluster mounts the local disks in any case, at "
        "/scratch: name the directory",
    ),
    "unknown instance type": (
        {"queue_instance_type": "p9.48xlarge"},
        "queues.train.instance_type: 'p9.48xlarge' is not in the table of instance types; "
        "describe it beside them",
    ),
    "too many queues": (
        {"queues": {f"q{n}": queue() for n in range(51)}},
        "queues: 51 are above the 50 that ParallelCluster takes",
    ),
    "too many login pools": (
        {"login_nodes": {f"l{n}": LoginPool() for n in range(11)}},
        "login_nodes: 11 are above the 10 that ParallelCluster takes",
    ),
}


def messages(fleet: Fleet, cluster_name: str = "kait") -> list[str]:
    found = fleet_faults(fleet, cluster_name=cluster_name, known_types=facts.INSTANCE_TYPES)
    return [f"{dotted(fault.key_path)}: {fault.reason}" for fault in found]


@pytest.mark.parametrize("name", REFUSED)
def test_a_wish_that_parallelcluster_does_not_fulfil_is_refused(
    make_fleet: MakeFleet, name: str
) -> None:
    keywords, message = REFUSED[name]
    assert messages(make_fleet(**keywords)) == [message]


@pytest.mark.parametrize(
    ("name", "refused"), [("k" * 41, True), ("k" * 40, False), ("${Token[TOKEN.1]}" * 3, False)]
)
def test_a_cluster_with_accounting_has_a_short_name(
    make_fleet: MakeFleet, name: str, refused: bool
) -> None:
    message = (
        f"cluster_name: {name!r} has 41 characters; with accounting use 40 or fewer, since the "
        "names of its database tables begin with it"
    )
    assert messages(make_fleet(accounting=DATABASE), name) == ([message] if refused else [])


def test_a_long_name_is_fine_without_accounting(make_fleet: MakeFleet) -> None:
    assert messages(make_fleet(), "k" * 60) == []


def test_an_image_of_ones_own_may_be_small(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(
        image=Image(ami_id="ami-0123456789abcdef0"),
        head_node=HeadNode(root_volume=RootVolume(gib=40)),
    )
    assert messages(fleet) == []


def test_every_fault_is_told_at_once(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(
        **options(scaledown_idle_minutes=5, extra_slurm_settings={"Prolog": "/x"}),
        queue_nvme_dir=None,
    )
    assert len(messages(fleet)) == 3
