"""What a fleet's record asks for and the bare Slurm fleet has not, or would do otherwise. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .._names import construct_words
from ..config.faults import Fault
from ..fleets.fleet import Backend, Capability, require
from ..records import is_token
from . import names
from .document import Group, Mount, StoredObject, Surroundings, fleet_document, written
from .gate import gate_faults
from .policy import partition_faults, policy_faults
from .settings import setting_faults
from .shapes import Types

if TYPE_CHECKING:
    from ..config.fleet import Fleet

# slurmdbd's tables are called CLUSTER_assoc_usage_month_table and the like, and MySQL takes 64
# characters (reference manual "Identifier Length Limits", read 2026-11-29).
MOST_CLUSTER_NAME = 40
# Systems Manager user guide "Parameter tiers", read 2026-11-29: an advanced parameter holds 8 KB.
MOST_DOCUMENT_BYTES = 8192


def fleet_faults(fleet: Fleet, *, cluster_name: str, types: Types) -> list[Fault]:
    """Return where a fleet does not fit the bare fleet; key paths are those of the record.

    Args:
        fleet: The fleet.
        cluster_name: Name of the cluster.
        types: Facts of instance types by name; queues of unknown types are judged elsewhere.
    """
    faults = [*_cluster_name_faults(cluster_name), *(f for rule in RULES for f in rule(fleet))]
    if all(queue.instance_type in types for queue in fleet.queues.values()):
        faults += [
            *_image_architecture_faults(fleet, types),
            *_gpu_faults(fleet, types),
            *_efa_faults(fleet, types),
            *_size_faults(fleet, types),
            *gate_faults(fleet, types),
            *(policy_faults(fleet, types) or setting_faults(fleet, types)),
        ]
    return faults


def package_faults(fleet: Fleet, *, isolated: bool) -> Iterator[Fault]:
    """Yield that nodes have nowhere to install from.

    Args:
        fleet: The fleet.
        isolated: Nodes cannot reach the internet.
    """
    if isolated and fleet.slurm.packages is None:
        yield Fault.at(
            "slurm",
            "packages",
            reason="is missing, and nodes without internet have nowhere to install Slurm from; "
            "build a package cache and name it here",
        )


def _cluster_name_faults(name: str) -> Iterator[Fault]:
    if is_token(name):
        return
    if name != name.lower():
        yield Fault.at(
            "cluster_name",
            reason=f"{name!r} has capital letters, which slurmdbd keeps in lower case; "
            f"write {name.lower()}",
        )
    if len(name) > MOST_CLUSTER_NAME:
        yield Fault.at(
            "cluster_name",
            reason=f"{name!r} has {len(name)} characters; use {MOST_CLUSTER_NAME} or fewer, since "
            "the names of slurmdbd's tables begin with it",
        )
    if name.endswith("-"):
        yield Fault.at(
            "cluster_name",
            reason=f"{name!r} ends in a hyphen, as no host name may; leave it out",
        )


def _image_faults(fleet: Fleet) -> Iterator[Fault]:
    image = fleet.image
    if image.os != "ubuntu2404":
        yield Fault.at(
            "image",
            "os",
            reason=f"is {image.os}; the bare fleet runs Ubuntu 24.04 and its Slurm: "
            "write ubuntu2404",
        )
    given = [
        key
        for key, value in (("lock", image.lock), ("ami_id", image.ami_id), ("latest", image.latest))
        if value
    ]
    if len(given) != 1:
        yield Fault.at(
            "image",
            reason="needs exactly one of lock, ami_id and latest with backend slurm, got "
            f"{' and '.join(given) or 'none'}; trainshed image prints a lock",
        )


def _name_faults(fleet: Fleet) -> Iterator[Fault]:
    ids: dict[str, str] = {}
    for key, pool in (("queues", fleet.queues), ("login_nodes", fleet.login_nodes)):
        ids.clear()
        for name in pool:
            if name in names.RESERVED_NAMES:
                yield Fault.at(
                    key, name, reason="is the name of trainshed's own partition; take another name"
                )
            first = ids.setdefault(construct_words(name), name)
            if first != name:
                yield Fault.at(
                    key,
                    name,
                    reason=f"differs from {first} in its hyphens alone, and both name a group of "
                    "instances; take another name",
                )


def _queue_faults(fleet: Fleet) -> Iterator[Fault]:
    for name, queue in fleet.queues.items():
        at = ("queues", name)
        if queue.resource_name is not None:
            yield Fault(
                (*at, "resource_name"),
                f"is {queue.resource_name}; nodes are called {name} and their instance id: "
                "leave it out",
            )
        if queue.least_nodes != queue.max_nodes and queue.capacity.kind != "capacity_block":
            key = f"queues.{name}.min_nodes"
            try:
                require(Backend.SLURM, Capability.SCALE_TO_ZERO, key=key)
            except ValueError as error:
                reason = str(error).removeprefix(f"{key} ").removesuffix(", or leave the key out")
                yield Fault(
                    (*at, "min_nodes"),
                    f"is {queue.least_nodes}, which {reason}; or write min_nodes: "
                    f"{queue.max_nodes}, and all of them always run",
                )
        if queue.gpu_health_check:
            yield Fault(
                (*at, "gpu_health_check"),
                "is ParallelCluster's; the bare fleet checks nodes itself: leave it out",
            )
        if queue.whole_node and fleet.policy is not None:
            yield Fault(
                (*at, "whole_node"),
                "is true beside a policy, which says it of its partitions: leave it out, and write "
                "whole_node there",
            )


def _unheard_faults(fleet: Fleet) -> Iterator[Fault]:
    """Keys that would change nothing."""
    for name, pool in fleet.login_nodes.items():
        if "grace_minutes" in pool.model_fields_set:
            yield Fault.at(
                "login_nodes",
                name,
                "grace_minutes",
                reason="is ParallelCluster's; the bare fleet ends a login node at once: "
                "leave it out",
            )
    if "dashboard" in fleet.monitoring.model_fields_set and fleet.monitoring.dashboard:
        yield Fault.at(
            "monitoring",
            "dashboard",
            reason="is true, and it is ParallelCluster that makes it; leave it out",
        )


def _image_architecture_faults(fleet: Fleet, types: Types) -> Iterator[Fault]:
    lock, head = fleet.image.lock, types.get(fleet.head_node.instance_type)
    if lock is None or head is None or not lock.name.startswith("Deep Learning "):
        return
    architecture = "arm64" if "ARM64" in lock.name else "x86_64"
    if architecture != head.architecture:
        yield Fault.at(
            "image",
            "lock",
            "name",
            reason=f"{lock.name} is for {architecture}, and {head.name} is {head.architecture}; "
            "trainshed image prints the one for it",
        )
    if "Ubuntu 24.04" not in lock.name:
        yield Fault.at(
            "image",
            "lock",
            "name",
            reason=f"{lock.name} is not of Ubuntu 24.04, whose Slurm the bare fleet runs; "
            "trainshed image prints one that is",
        )


def _gpu_faults(fleet: Fleet, types: Types) -> Iterator[Fault]:
    kinds: dict[tuple[int, str], str] = {}
    for name, queue in fleet.queues.items():
        kind = types[queue.instance_type]
        if kind.gpus:
            kinds.setdefault((kind.gpus, kind.gpu_name), name)
    for (gpus, gpu_name), name in list(kinds.items())[1:]:
        (first_gpus, first_name), first = next(iter(kinds.items()))
        yield Fault.at(
            "queues",
            name,
            "instance_type",
            reason=f"has {gpus} {gpu_name}, and queue {first} has {first_gpus} {first_name}; nodes "
            "that join under any name share one gres.conf: use one kind of GPU a cluster",
        )


def _efa_faults(fleet: Fleet, types: Types) -> Iterator[Fault]:
    for name, queue in fleet.queues.items():
        kind = types[queue.instance_type]
        if queue.efa_interface == "efa" and not queue.uses_efa(kind):
            why = "is without EFA here" if kind.has_efa else "has no EFA"
            yield Fault.at(
                "queues",
                name,
                "efa_interface",
                reason=f"is efa, and {kind.name} {why}; leave it out",
            )


def _size_faults(fleet: Fleet, types: Types) -> Iterator[Fault]:
    size = len(written(fleet_document(fleet, _longest(fleet), types=types)).encode())
    if size > MOST_DOCUMENT_BYTES:
        yield Fault.at(
            "queues",
            reason=f"{len(fleet.queues)} queues may take {size} bytes of the fleet's parameter, "
            f"above {MOST_DOCUMENT_BYTES}; use fewer queues",
        )


def _longest(fleet: Fleet) -> Surroundings:
    """Return surroundings as long as AWS may make them."""
    stored = StoredObject(bucket="b" * 63, key="k" * 68, sha256="0" * 64)
    # A name that CloudFormation gives has the stack's first 100 characters and 40 more at most.
    group = Group(
        asg="g" * 140,
        launch_template=f"lt-{'0' * 17}",
        version="1000",
        reservation_id=f"cr-{'0' * 17}",
    )
    mount = Mount(path="/" + "p" * 30, dns_name="d" * 80, mount_name="m" * 8, efa=False)
    return Surroundings(
        cluster_name="c" * MOST_CLUSTER_NAME,
        region="ap-southeast-99",
        scripts=stored,
        files=stored,
        state_volume_id=f"vol-{'0' * 17}",
        munge_secret_arn="a" * 150,
        mounts=(mount,),
        groups=dict.fromkeys(fleet.queues, group),
        alarm_topic_arn="t" * 150,
    )


RULES: tuple[Callable[[Fleet], Iterator[Fault]], ...] = (
    _image_faults,
    _name_faults,
    _queue_faults,
    _unheard_faults,
    partition_faults,
)
