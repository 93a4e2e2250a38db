"""What an institution's cluster needs of each quota."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

from .. import facts
from ..config import CapacityBlock, Institution, NewVpc, Queue, Spot
from ..config.capacity import reserved_nodes
from ..config.fleet_rules import addresses_needed
from ..config.lustre_rules import deployment, storage_kind
from ..launch import efa_interfaces
from ..records import is_token
from ..subnets import ADDRESSES_KEPT_BY_AWS, subnet_plan
from . import quota as quotas
from .quota import Quota

# What trainshed.network makes for an isolated network; tests compare it.
ISOLATED_INTERFACE_ENDPOINTS = 15
ISOLATED_GATEWAY_ENDPOINTS = 2
# The EFA and the egress group; beside them ParallelCluster's own, or that of the database's client.
GROUPS_OF_A_NODE = 3
# Nothing in the file sets it: as much as the cost counts at most.
LOGIN_DISK_GIB = 100
# Lambda developer guide, "Configuring reserved concurrency", read 2026-11-29: what no reservation
# may take from the other functions of an account.
UNRESERVED_CONCURRENCY = 100


@dataclass(frozen=True, slots=True)
class Need:
    """How much of one quota a cluster takes.

    Args:
        quota: The quota.
        needed: What this cluster takes; whatever else is in the account comes on top.
        note: What it is for.
    """

    quota: Quota
    needed: int
    note: str

    @property
    def above_default(self) -> bool:
        """Whether a new account has too little."""
        return self.quota.default is not None and self.needed > self.quota.default


def quota_needs(institution: Institution) -> tuple[Need, ...]:
    """Return every quota that a cluster takes of, at its largest.

    Capacity Blocks do not count against the quotas of running vCPUs; they have limits of their own.
    """
    needs = (
        *_vcpus(institution),
        *_blocks(institution),
        *_storage(institution),
        *_network(institution),
        *_groups(institution),
        *_functions(institution),
    )
    return tuple(need for need in needs if need.needed)


def _vcpus(institution: Institution) -> Iterator[Need]:
    types, fleet = institution.known_types, institution.fleet
    running: dict[str, Counter[str]] = {"on demand": Counter(), "spot": Counter()}

    def count(market: str, name: str, instances: int) -> None:
        if instances:
            running[market][name] += instances

    count("on demand", fleet.head_node.instance_type, 1)
    for pool in fleet.login_nodes.values():
        count("on demand", pool.instance_type, pool.count)
    for queue in fleet.queues.values():
        if isinstance(queue.capacity, Spot):
            count("spot", queue.instance_type, queue.max_nodes)
    for name, instances in _on_demand_of_queues(institution).items():
        count("on demand", name, instances)
    for market, table in (("on demand", quotas.ON_DEMAND), ("spot", quotas.SPOT)):
        for key, quota in table.items():
            mine = {
                name: instances
                for name, instances in running[market].items()
                if quotas.vcpu_class(types[name].family) == key
            }
            vcpus = sum(types[name].vcpus * instances for name, instances in mine.items())
            note = ", ".join(f"{instances} x {name}" for name, instances in mine.items())
            yield Need(quota, vcpus, note)


def _on_demand_of_queues(institution: Institution) -> Counter[str]:
    """Count instances by type: of a reservation all that it holds, once for all its queues."""
    found: Counter[str] = Counter()
    shared: dict[str, list[Queue]] = {}
    for name, queue in institution.fleet.queues.items():
        capacity = queue.capacity
        if isinstance(capacity, CapacityBlock | Spot):
            continue
        place = getattr(capacity, "reservation_id", None) or getattr(
            capacity, "resource_group_arn", None
        )
        shared.setdefault(place or name, []).append(queue)
    for queues_of_one in shared.values():
        used = sum(queue.max_nodes for queue in queues_of_one)
        sizes = [size for queue in queues_of_one if (size := reserved_nodes(queue.capacity))]
        found[queues_of_one[0].instance_type] += max([used, *sizes])
    return found


def _blocks(institution: Institution) -> Iterator[Need]:
    blocks: dict[str, int] = {}
    for queue in institution.fleet.queues.values():
        if isinstance(queue.capacity, CapacityBlock):
            key = queue.capacity.reservation_id
            known = queue.capacity.nodes or 0
            blocks[key] = max(known, blocks.get(key, 0) + (0 if known else queue.max_nodes))
    yield Need(quotas.BLOCK_INSTANCES, max(blocks.values(), default=0), "the largest block")
    yield Need(quotas.ALL_BLOCK_INSTANCES, sum(blocks.values()), f"{len(blocks)} block(s)")


def _storage(institution: Institution) -> Iterator[Need]:
    storage, fleet = institution.storage, institution.fleet
    if storage.lustre:
        kind = facts.lustre.capacity_quota(deployment(storage.lustre), storage_kind(storage.lustre))
        lustre = Quota(kind.name, "fsx", kind.code, kind.default_gib, "GiB")
        yield Need(lustre, storage.lustre.capacity_gib, "the shared file system")
    links = Quota("Links to S3 of one file system", "", "", facts.lustre.MAX_ASSOCIATIONS)
    yield Need(links, len(storage.links), ", ".join(storage.links))
    disks = fleet.head_node.root_volume.gib + sum(
        queue.max_nodes * queue.root_volume.gib for queue in fleet.queues.values()
    )
    disks += LOGIN_DISK_GIB * sum(pool.count for pool in fleet.login_nodes.values())
    what = "root disks"
    if fleet.backend == "slurm":
        disks, what = disks + fleet.slurm.state_volume_gib, "root disks and that of Slurm's state"
    yield Need(quotas.GP3_STORAGE, math.ceil(disks / 1024), f"{what}, {disks:,} GiB")


def _network(institution: Institution) -> Iterator[Need]:
    source = institution.network.source
    if isinstance(source, NewVpc):
        yield Need(quotas.VPCS, 1, "the cluster's VPC")
        if source.internet == "nat":
            yield Need(quotas.ELASTIC_IPS, 1, "address of the NAT gateway")
            yield Need(quotas.NAT_GATEWAYS, 1, institution.network.place.value)
            yield Need(quotas.GATEWAY_ENDPOINTS, 1, "S3")
        else:
            endpoints = ISOLATED_INTERFACE_ENDPOINTS
            yield Need(quotas.INTERFACE_ENDPOINTS, endpoints, "the isolated network")
            yield Need(quotas.GATEWAY_ENDPOINTS, ISOLATED_GATEWAY_ENDPOINTS, "S3 and DynamoDB")
    yield _addresses(institution)
    yield Need(
        quotas.NETWORK_INTERFACES, _interfaces(institution), "nodes; file system and others on top"
    )


def _addresses(institution: Institution) -> Need:
    source = institution.network.source
    needed = addresses_needed(institution.fleet, institution.known_types)
    if isinstance(source, NewVpc):
        cidr: str | None = str(subnet_plan(source.cidr).compute)
        needed += ISOLATED_INTERFACE_ENDPOINTS if source.internet == "isolated" else 0
    else:
        cidr = source.compute_subnet_cidr
    available = None
    if cidr and not is_token(cidr):
        available = IPv4Network(cidr).num_addresses - ADDRESSES_KEPT_BY_AWS
    subnet = Quota(f"Addresses in the compute subnet {cidr or ''}".strip(), "", "", available)
    return Need(subnet, needed, "nodes and endpoints; one more for each file server")


def _interfaces(institution: Institution) -> int:
    fleet = institution.fleet
    total = 1 + sum(pool.count for pool in fleet.login_nodes.values())
    for queue in fleet.queues.values():
        kind = institution.known_types[queue.instance_type]
        each = len(efa_interfaces(kind, style=queue.efa_interface)) if queue.uses_efa(kind) else 1
        total += queue.max_nodes * each
    return total


def _groups(institution: Institution) -> Iterator[Need]:
    lustre = institution.storage.source
    # Of the file system's group: its ports from itself and from the nodes' group.
    rules = 2 * (1 if lustre.efa else len(facts.lustre.PORTS))
    yield Need(quotas.GROUP_RULES, rules, "group of the file system, each direction")
    third = "ParallelCluster's own"
    if institution.fleet.backend == "slurm":
        third = "on the head node that of the database's client"
    yield Need(quotas.INTERFACE_GROUPS, GROUPS_OF_A_NODE, f"EFA, egress and {third}")


def _functions(institution: Institution) -> Iterator[Need]:
    if institution.alerts and institution.alerts.reserve_concurrency:
        note = (
            f"1 for the Slack notifier, {UNRESERVED_CONCURRENCY} stay for other functions; "
            "a new account may have 10"
        )
        yield Need(quotas.LAMBDA_CONCURRENCY, 1 + UNRESERVED_CONCURRENCY, note)
