"""What a bare fleet refuses, each with the words that a person reads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from trainshed import facts
from trainshed.config import (
    CapacityBlock,
    Fleet,
    HeadNode,
    Image,
    ImageLock,
    LoginPool,
    Monitoring,
    OnDemand,
    PackageCache,
    ParallelClusterOptions,
    Queue,
    SlurmOptions,
    TargetedReservation,
)
from trainshed.config.backend_rules import backend_faults
from trainshed.config.faults import Fault, dotted
from trainshed.slurm import Partition, Scheduler, SlurmPolicy
from trainshed.slurm_fleet.policy import policy_warnings
from trainshed.slurm_fleet.rules import fleet_faults, package_faults

MakeFleet = Callable[..., Fleet]

AMI = "ami-0123456789abcdef0"
RESERVED = TargetedReservation(reservation_id="cr-0123456789abcdef0")


def queue(**keywords: Any) -> Queue:
    given: dict[str, Any] = {"instance_type": "p5en.48xlarge", "capacity": RESERVED, "max_nodes": 4}
    return Queue(**(given | keywords))


def lock(name: str) -> Image:
    return Image(lock=ImageLock(ami_id=AMI, name=name))


def told(faults: list[Fault]) -> list[str]:
    return [f"{dotted(fault.key_path)}: {fault.reason}" for fault in faults]


def faults_of(fleet: Fleet, cluster_name: str = "lab") -> list[str]:
    return told(fleet_faults(fleet, cluster_name=cluster_name, types=facts.INSTANCE_TYPES))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "os": (
        {"image": Image(os="ubuntu2204", ami_id=AMI)},
        "image.os: is ubuntu2204; the bare fleet runs Ubuntu 24.04 and its Slurm: write ubuntu2404",
    ),
    "no image": (
        {"image": Image()},
        "image: needs exactly one of lock, ami_id and latest with backend slurm, got none; "
        "trainshed image prints a lock",
    ),
    "two images": (
        {"image": Image(ami_id=AMI, latest=True)},
        "image: needs exactly one of lock, ami_id and latest with backend slurm, got ami_id and "
        "latest; trainshed image prints a lock",
    ),
    "image of arm": (
        {"image": lock("Deep Learning ARM64 Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 1")},
        "image.lock.name: Deep Learning ARM64 Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 1 is "
        "for arm64, and m7i.2xlarge is x86_64; trainshed image prints the one for it",
    ),
    "image of another Ubuntu": (
        {"image": lock("Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) 1")},
        "image.lock.name: Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) 1 is not of "
        "Ubuntu 24.04, whose Slurm the bare fleet runs; trainshed image prints one that is",
    ),
    "scale to zero": (
        {"queues": {"train": queue(capacity=OnDemand())}},
        "queues.train.min_nodes: is 0, which asks for nodes that come with jobs and go when idle, "
        "which slurm has not; backend parallelcluster has it; or write min_nodes: 4, and all of "
        "them always run",
    ),
    "resource name": (
        {"queues": {"train": queue(resource_name="gpu")}},
        "queues.train.resource_name: is gpu; nodes are called train and their instance id: "
        "leave it out",
    ),
    "DCGM check": (
        {"queues": {"train": queue(gpu_health_check=True)}},
        "queues.train.gpu_health_check: is ParallelCluster's; the bare fleet checks nodes itself: "
        "leave it out",
    ),
    "whole node beside a policy": (
        {
            "queues": {"train": queue(whole_node=True)},
            "policy": SlurmPolicy(preset="kait-hardened"),
        },
        "queues.train.whole_node: is true beside a policy, which says it of its partitions: leave "
        "it out, and write whole_node there",
    ),
    "efa style without EFA": (
        {"queues": {"train": queue(efa=False, efa_interface="efa")}},
        "queues.train.efa_interface: is efa, and p5en.48xlarge is without EFA here; leave it out",
    ),
    "two kinds of GPU": (
        {"queues": {"train": queue(), "debug": queue(instance_type="g6.12xlarge")}},
        "queues.debug.instance_type: has 4 l4, and queue train has 8 h200; nodes that join under "
        "any name share one gres.conf: use one kind of GPU a cluster",
    ),
    "queue of a reserved name": (
        {"queues": {"trainshed": queue()}},
        "queues.trainshed: is the name of trainshed's own partition; take another name",
    ),
    "queues alike": (
        {"queues": {"a-b": queue(), "a--b": queue()}},
        "queues.a--b: differs from a-b in its hyphens alone, and both name a group of instances; "
        "take another name",
    ),
    "login grace": (
        {"login_nodes": {"login": LoginPool(grace_minutes=30)}},
        "login_nodes.login.grace_minutes: is ParallelCluster's; the bare fleet ends a login node "
        "at once: leave it out",
    ),
    "dashboard": (
        {"monitoring": Monitoring(dashboard=True)},
        "monitoring.dashboard: is true, and it is ParallelCluster that makes it; leave it out",
    ),
    "partition of a reserved name": (
        {"policy": SlurmPolicy(partitions={"trainshed": Partition()})},
        "policy.partitions.trainshed: is the name of trainshed's own partition; take another name",
    ),
    "nodes by name": (
        {"policy": SlurmPolicy(partitions={"every": Partition(node_names="train-[1-4]")})},
        "policy.partitions.every.node_names: is train-[1-4]; nodes of the bare fleet come and go "
        "under new names: use queues",
    ),
    "an unfinished order": (
        {"policy": SlurmPolicy(scheduler=Scheduler(accounting_first=False))},
        "policy.scheduler.accounting_first: is false, and the bare fleet knows no other way than "
        "true; leave it out",
    ),
    "a setting that is written": (
        {"slurm": SlurmOptions(extra_slurm_settings={"selecttype": "select/linear"})},
        "slurm.extra_slurm_settings.selecttype: is written by trainshed or the policy already; "
        "change it there, or leave it out",
    ),
    "a health check": (
        {"slurm": SlurmOptions(extra_slurm_settings={"HealthCheckProgram": "/own.sh"})},
        "slurm.extra_slurm_settings.HealthCheckProgram: is written by trainshed or the policy "
        "already; change it there, or leave it out",
    ),
    "parameters that would lose trainshed's": (
        {
            "slurm": SlurmOptions(
                extra_slurm_settings={"Prolog": "/own.sh", "SchedulerParameters": "bf_continue"}
            )
        },
        "slurm.extra_slurm_settings.SchedulerParameters: is written by trainshed, whose "
        "nohold_on_prolog_fail yours would lose; give yours in policy.scheduler.parameters, which "
        "go beside it",
    ),
    "a port": (
        {"slurm": SlurmOptions(extra_slurm_settings={"SlurmctldPort": 7000})},
        "slurm.extra_slurm_settings.SlurmctldPort: is what the scripts of the nodes rely on; "
        "leave it out",
    ),
    "a node": (
        {"slurm": SlurmOptions(extra_slurm_settings={"NodeName": "x"})},
        "slurm.extra_slurm_settings.NodeName: begins a line of several settings, and each of these "
        "is a line of its own; leave it out: nodes and partitions follow from queues and policy",
    ),
    "two settings in one": (
        {"slurm": SlurmOptions(extra_slurm_settings={"Epilog": "/a Prolog=/b"})},
        "slurm.extra_slurm_settings.Epilog: '/a Prolog=/b' holds a setting of its own, Prolog; "
        "give that one a key of its own",
    ),
    "too many queues": (
        {"queues": {f"q{letter}": queue() for letter in "abcdefghijklmnop"}},
        "queues: 16 queues may take 9801 bytes of the fleet's parameter, above 8192; "
        "use fewer queues",
    ),
}


@pytest.mark.parametrize(("keywords", "message"), REFUSED.values(), ids=list(REFUSED))
def test_it_is_refused(keywords: dict[str, Any], message: str, make_fleet: MakeFleet) -> None:
    assert message in faults_of(make_fleet(**keywords))


CLUSTER_NAMES = {
    "capitals": (
        "Lab",
        "cluster_name: 'Lab' has capital letters, which slurmdbd keeps in lower case; write lab",
    ),
    "long": (
        "l" * 41,
        f"cluster_name: '{'l' * 41}' has 41 characters; use 40 or fewer, since the names of "
        "slurmdbd's tables begin with it",
    ),
    "hyphen": (
        "lab-",
        "cluster_name: 'lab-' ends in a hyphen, as no host name may; leave it out",
    ),
}


@pytest.mark.parametrize(("name", "message"), CLUSTER_NAMES.values(), ids=list(CLUSTER_NAMES))
def test_a_cluster_name_is_refused(name: str, message: str, make_fleet: MakeFleet) -> None:
    assert faults_of(make_fleet(), cluster_name=name) == [message]


ACCEPTED: dict[str, dict[str, Any]] = {
    "lock": {},
    "ami": {"image": Image(ami_id=AMI)},
    "latest": {"image": Image(latest=True)},
    "own image": {"image": lock("our-image-7")},
    "all nodes on demand": {"queues": {"train": queue(capacity=OnDemand(), min_nodes=4)}},
    "GPUs and none": {
        "queues": {"train": queue(), "prep": queue(instance_type="m7i.4xlarge", min_nodes=4)}
    },
    "login": {"login_nodes": {"login": LoginPool(count=2)}},
    "policy": {"policy": SlurmPolicy(preset="kait-hardened")},
    "settings": {
        "slurm": SlurmOptions(extra_slurm_settings={"Epilog": "/a.sh", "Prolog": "/b.sh"})
    },
    "arm": {
        "head_node": HeadNode(instance_type="m7g.2xlarge"),
        "image": lock("Deep Learning ARM64 Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 1"),
        "queues": {"train": queue(instance_type="p6e-gb200.36xlarge")},
    },
}


@pytest.mark.parametrize("keywords", ACCEPTED.values(), ids=list(ACCEPTED))
def test_it_is_accepted(keywords: dict[str, Any], make_fleet: MakeFleet) -> None:
    assert faults_of(make_fleet(**keywords)) == []


def test_every_fault_is_told_at_once(make_fleet: MakeFleet) -> None:
    fleet = make_fleet(
        image=Image(os="rhel9"),
        queues={"train": queue(resource_name="gpu", capacity=OnDemand(), max_nodes=2)},
        monitoring=Monitoring(dashboard=True),
    )
    keys = [line.split(": ", 1)[0] for line in faults_of(fleet, cluster_name="Lab")]
    assert keys == [
        "cluster_name",
        "image.os",
        "image",
        "queues.train.resource_name",
        "queues.train.min_nodes",
        "monitoring.dashboard",
    ]


def test_a_block_that_waits_for_jobs_is_the_fault_of_the_block_alone(
    make_fleet: MakeFleet,
) -> None:
    block = CapacityBlock(
        reservation_id="cr-0123456789abcdef0", end=datetime(2027, 3, 1, tzinfo=UTC)
    )
    fleet = make_fleet(queues={"train": queue(capacity=block, min_nodes=0)})
    assert faults_of(fleet) == []


def test_isolated_nodes_need_packages(make_fleet: MakeFleet) -> None:
    assert told(list(package_faults(make_fleet(), isolated=True))) == [
        "slurm.packages: is missing, and nodes without internet have nowhere to install Slurm "
        "from; build a package cache and name it here"
    ]
    cache = SlurmOptions(packages=PackageCache(bucket="ours", key="c.tar", sha256="1" * 64))
    assert not list(package_faults(make_fleet(slurm=cache), isolated=True))
    assert not list(package_faults(make_fleet(), isolated=False))


def test_warnings_of_a_policy_are_shown(make_fleet: MakeFleet) -> None:
    policy = SlurmPolicy(partitions={"every": Partition(max_time="UNLIMITED", default=True)})
    warnings = policy_warnings(make_fleet(policy=policy), facts.INSTANCE_TYPES)
    assert warnings
    assert all(line.startswith("fleet.policy.") for line in warnings)
    assert policy_warnings(make_fleet(), facts.INSTANCE_TYPES) == []


def test_keys_of_the_other_backend_are_refused(make_fleet: MakeFleet) -> None:
    options = ParallelClusterOptions(removal="retain", scaledown_idle_minutes=5)
    assert told(list(backend_faults(make_fleet(parallelcluster=options)))) == [
        f"parallelcluster.{key}: is for backend parallelcluster, and backend is slurm; leave it "
        "out, or change backend"
        for key in ("removal", "scaledown_idle_minutes")
    ]
    other = make_fleet(
        backend="parallelcluster",
        image=Image(lock=ImageLock(ami_id=AMI, name="x"), latest=True),
        slurm=SlurmOptions(containers=True),
    )
    assert told(list(backend_faults(other))) == [
        "slurm.containers: is for backend slurm, and backend is parallelcluster; leave it out, or "
        "change backend",
        "image.lock: is for backend slurm; ParallelCluster has images of its own: leave it out, or "
        "give ami_id",
        "image.latest: is for backend slurm; ParallelCluster's image follows from its version: "
        "leave it out",
    ]


def test_a_cache_without_a_hash_is_refused() -> None:
    with pytest.raises(ValueError, match="'ABC' is not a SHA-256, 64 hexadecimal digits"):
        PackageCache(bucket="ours", key="c.tar", sha256="ABC")
