"""What a record may not ask of ParallelCluster, each with the message that the person reads."""

from __future__ import annotations

import re
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
from trainshed.pcluster import fleet_faults, has_own_boundary, unknown_types

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
    "setting whose name is two": (
        options(extra_slurm_settings={"MaxJobCount=1 Prolog": "/x"}),
        "parallelcluster.extra_slurm_settings.MaxJobCount=1 Prolog: 'MaxJobCount=1 Prolog' is no "
        "name of a setting; use one such as MaxJobCount, and give each setting a key of its own",
    ),
    "setting without a name": (
        options(extra_slurm_settings={"": ""}),
        "parallelcluster.extra_slurm_settings.: '' is no name of a setting; use one such as "
        "MaxJobCount, and give each setting a key of its own",
    ),
    "setting on two lines": (
        options(extra_slurm_settings={"MaxJobCount": "1\nProlog=/x"}),
        "parallelcluster.extra_slurm_settings.MaxJobCount: '1\\nProlog=/x' has a character that "
        "does not print; write it on one line",
    ),
    "setting that takes in the next line": (
        options(extra_slurm_settings={"MaxJobCount": "1 \\"}),
        "parallelcluster.extra_slurm_settings.MaxJobCount: '1 \\\\' ends in a backslash, which "
        "takes in the next line; remove it",
    ),
    "setting that holds another": (
        options(extra_slurm_settings={"MaxJobCount": "1 Prolog = /x"}),
        "parallelcluster.extra_slurm_settings.MaxJobCount: '1 Prolog = /x' holds a setting of its "
        "own, Prolog; give that one a key of its own",
    ),
    "file of settings": (
        options(extra_slurm_settings={"include": "/etc/x"}),
        "parallelcluster.extra_slurm_settings.include: reads a file that no check sees; write its "
        "lines as settings here",
    ),
    "partition among the settings": (
        options(extra_slurm_settings={"PartitionName": "x"}),
        "parallelcluster.extra_slurm_settings.PartitionName: begins a line of several settings, "
        "and each of these is a line of its own; leave it out: nodes and partitions follow from "
        "the queues",
    ),
    "setting in two spellings": (
        options(extra_slurm_settings={"MaxJobCount": 1, "maxjobcount": 2}),
        "parallelcluster.extra_slurm_settings.maxjobcount: is MaxJobCount once more, since case "
        "does not count; keep one of them",
    ),
    "misspelt validator": (
        options(suppress_validators=("ALL", "type:KeypairValidator")),
        "parallelcluster.suppress_validators[1]: 'type:KeypairValidator' is no validator of "
        "ParallelCluster 3.16.1; did you mean 'type:KeyPairValidator'?",
    ),
    "no validator at all": (
        options(suppress_validators=("type:junk",)),
        "parallelcluster.suppress_validators[0]: 'type:junk' is no validator of ParallelCluster "
        "3.16.1; use one such as 'type:EfaValidator'",
    ),
    "layer without its bucket": (
        options(layer_key="pcluster.zip"),
        "parallelcluster.layer_key: is pcluster.zip, without layer_bucket; name the bucket of your "
        "mirror too, or leave the key out",
    ),
    "layer of another version": (
        options(layer_bucket="mirror", layer_key="parallelcluster/3.9.0/lambda-layer.zip"),
        "parallelcluster.layer_key: parallelcluster/3.9.0/lambda-layer.zip is of version 3.9.0; "
        "the cluster is made with 3.16.1: use the layer of that version",
    ),
    "EFA interfaces of a type without EFA": (
        {"queue_instance_type": "m7i.4xlarge", "queue_efa_interface": "efa"},
        "queues.train.efa_interface: is efa, and m7i.4xlarge has no EFA; leave it out",
    ),
    "EFA interfaces of a queue without EFA": (
        {"queue_efa": False, "queue_efa_interface": "efa"},
        "queues.train.efa_interface: is efa, and p5en.48xlarge is without EFA here; leave it out",
    ),
    "health check without a GPU": (
        {"queue_instance_type": "m7i.4xlarge", "queue_gpu_health_check": True},
        "queues.train.gpu_health_check: is true, and m7i.4xlarge has no GPU that DCGM checks; "
        "leave it out",
    ),
    "health check of Trainium": (
        {"queue_instance_type": "trn2.48xlarge", "queue_gpu_health_check": True},
        "queues.train.gpu_health_check: is true, and trn2.48xlarge has no GPU that DCGM checks; "
        "leave it out",
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
    "a head node too small for its nodes": (
        {"head_node": HeadNode(instance_type="m7i.large"), "queue_max_nodes": 200},
        "head_node.instance_type: m7i.large has 8 GiB of memory, and ParallelCluster asks for 8.6 "
        "to manage 200 nodes; take a larger one, such as m7i.xlarge",
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


@pytest.mark.parametrize(
    ("name", "refused"),
    [("st-1", True), ("x-dy-y", True), ("st", False), ("x-st", False), ("fast-1", False)],
)
def test_a_nodes_name_tells_its_queue(make_fleet: MakeFleet, name: str, refused: bool) -> None:
    message = (
        f"queues.train.resource_name: is {name}; in a node's name, train-st-{name}-1, "
        "ParallelCluster takes what stands before its last -st- or -dy- for the queue, and no node "
        "would come: leave st- and dy- out"
    )
    # How ParallelCluster's own daemon reads it.
    read = re.match(r"^([a-z0-9\-]+)-(st|dy)-([a-z0-9\-]+)-\d+$", f"train-st-{name}-1")
    assert read and (read[1] != "train") == refused
    assert messages(make_fleet(queue_resource_name=name)) == ([message] if refused else [])


def test_a_long_name_is_fine_without_accounting(make_fleet: MakeFleet) -> None:
    assert messages(make_fleet(), "k" * 60) == []


def test_an_image_of_ones_own_may_be_small(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(
        image=Image(ami_id="ami-0123456789abcdef0"),
        head_node=HeadNode(root_volume=RootVolume(gib=40)),
    )
    assert messages(fleet) == []


@pytest.mark.parametrize(
    "given",
    [
        {"layer_bucket": "mirror", "layer_key": "parallelcluster/3.16.1/lambda-layer.zip"},
        {"layer_bucket": "mirror", "layer_key": "lambda-layer-7.zip"},
        {"suppress_validators": ("ALL", "type:EfaValidator")},
        {"extra_slurm_settings": {"SchedulerParameters": "bf_window=1440,bf_continue"}},
        {"extra_slurm_settings": {"Comment": "not now: later"}},
    ],
    ids=["layer", "layer without a version", "validators", "parameters", "words"],
)
def test_what_is_meant_so_is_no_fault(make_fleet: MakeFleet, given: dict[str, Any]) -> None:
    assert messages(make_fleet(**options(**given))) == []


def test_an_unknown_type_is_told_apart_from_the_rules_of_a_file(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(queue_instance_type="p9.48xlarge")
    assert messages(fleet) == []
    (fault,) = unknown_types(fleet, facts.INSTANCE_TYPES)
    assert f"{dotted(fault.key_path)}: {fault.reason}" == (
        "queues.train.instance_type: 'p9.48xlarge' is not in the table of instance types; describe "
        "it under known_types"
    )


@pytest.mark.parametrize(
    ("keywords", "own"),
    [
        ({}, True),
        (options(permissions_boundary_arn="arn:aws:iam::111122223333:policy/b"), False),
        ({"head_node": HeadNode(policies=("arn:aws:iam::aws:policy/X",))}, False),
        ({"queue_policies": ("arn:aws:iam::aws:policy/X",)}, False),
        ({"login_nodes": {"web": LoginPool(policies=("arn:aws:iam::aws:policy/X",))}}, False),
    ],
    ids=["neither", "boundary", "head policies", "queue policies", "login policies"],
)
def test_a_boundary_is_made_unless_it_would_take_away_what_was_named(
    make_fleet: MakeFleet, keywords: dict[str, Any], own: bool
) -> None:
    assert has_own_boundary(make_fleet(**keywords)) is own


def test_every_fault_is_told_at_once(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(
        **options(scaledown_idle_minutes=5, extra_slurm_settings={"Prolog": "/x"}),
        queue_nvme_dir=None,
    )
    assert len(messages(fleet)) == 3
