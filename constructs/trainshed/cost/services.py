"""Shared storage, network and monitoring."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from .. import facts
from ..config import ExistingVpc, Institution, Lustre
from ..config.accounting import NewDatabase
from ..quotas.needs import ISOLATED_INTERFACE_ENDPOINTS
from .amounts import NOTHING, Range
from .estimate import HOURS_A_MONTH, Item
from .market import Market, unknown
from .own_prices import Assumptions

# CloudWatch pricing page, "detailed monitoring": EC2 sends seven metrics an instance, at the
# price of custom ones.
METRICS_AN_INSTANCE = 7

# ParallelCluster 3.16.1 watches head and login nodes; trainshed.alerts makes 13 and more with
# events of the account.
ALARMS_OF_CLUSTER = Range.of(4, 8)
ALARMS_OF_ALERTS = Range.of(13, 20)

# CloudWatch Logs keeps what it takes in compressed; how far depends on the logs.
STORED_SHARE = Range.of("0.1", 1)
DAYS_A_MONTH = Decimal(365) / 12


def storage_items(
    institution: Institution, market: Market, assumptions: Assumptions
) -> Iterator[Item]:
    """Yield the file system and what lies in S3."""
    storage = institution.storage
    if storage.lustre:
        yield from _lustre(storage.lustre, market)
    else:
        yield unknown(
            "Storage", "Existing file system", "it is on the bill already, whatever is done here"
        )
    if not storage.links:
        return
    if assumptions.bucket_gib is not None:
        volume, assumed = assumptions.bucket_gib, "volume as given"
    elif storage.lustre:
        volume = Range.of(storage.lustre.capacity_gib)
        assumed = "assumed to hold as much as the file system"
    else:
        volume, assumed = None, ""
    if volume is None:
        yield unknown("Storage", "S3 Standard", "its volume is not in the file; give bucket_gib")
    else:
        yield market.item("Storage", "S3 Standard", volume, "s3:standard", assumed=assumed)
    yield unknown(
        "Storage", "S3 requests and overwritten versions", "they depend on the jobs", idle=False
    )


def _lustre(lustre: Lustre, market: Market) -> Iterator[Item]:
    scratch = lustre.deployment_type.startswith("scratch")
    deployment = "scratch" if scratch else lustre.deployment_type
    tier = lustre.throughput_mb_s_per_tib or "*"
    speed = "" if scratch else f", {tier} MB/s per TiB"
    yield market.item(
        "Storage",
        f"FSx for Lustre, {deployment} {lustre.storage_type}{speed}",
        Range.of(lustre.capacity_gib),
        f"fsx:{deployment}:{lustre.storage_type}:{tier}",
    )
    if lustre.metadata_iops:
        included = facts.lustre.minimum_metadata_iops(lustre.capacity_gib)
        if lustre.metadata_iops > included:
            yield market.item(
                "Storage",
                "FSx metadata IOPS above the included ones",
                Range.of(lustre.metadata_iops - included),
                "fsx:metadata-iops",
            )
    if lustre.hdd_read_cache:
        yield unknown("Storage", "FSx read cache", "the table has no price of it")
    if lustre.backups:
        yield unknown("Storage", "FSx backups", "they hold what is in use, which changes")


def network_items(
    institution: Institution, market: Market, assumptions: Assumptions
) -> Iterator[Item]:
    """Yield the way out, the endpoints and the addresses."""
    network = institution.network.source
    if isinstance(network, ExistingVpc):
        yield unknown(
            "Network",
            "NAT gateway or endpoints of the existing VPC",
            "they are on the bill already",
        )
    elif network.internet == "nat":
        yield market.hours("Network", "NAT gateway", 1, "nat:hour")
        yield market.item(
            "Network",
            "Traffic through the NAT gateway",
            assumptions.nat_gb,
            "nat:gb",
            assumed="volume assumed",
        )
        yield market.hours("Network", "Public IPv4 address of the NAT gateway", 1, "ipv4:hour")
    else:
        yield market.hours(
            "Network", "Interface endpoints", ISOLATED_INTERFACE_ENDPOINTS, "endpoint:hour"
        )
        yield market.item(
            "Network",
            "Traffic through interface endpoints",
            assumptions.endpoint_gb,
            "endpoint:gb",
            assumed="volume assumed",
        )
    is_bare = institution.fleet.backend == "slurm"
    if institution.fleet.login_nodes and not is_bare:
        pools = len(institution.fleet.login_nodes)
        yield market.hours("Network", "Load balancers of login nodes", pools, "nlb:hour")
        yield unknown(
            "Network", "Load balancer capacity units", "they depend on the logins", idle=False
        )
    if network.internet == "nat" or is_bare:
        yield market.item("Network", "Private DNS zone of the cluster", Range.of(1), "route53:zone")
    yield unknown(
        "Network", "Traffic out to the internet", "it depends on what users fetch", idle=False
    )


def monitoring_items(
    institution: Institution, market: Market, assumptions: Assumptions
) -> Iterator[Item]:
    """Yield logs, metrics, alarms, keys and secrets."""
    fleet = institution.fleet
    outside = 1 + sum(pool.count for pool in fleet.login_nodes.values())
    always = outside + sum(queue.least_nodes for queue in fleet.queues.values())
    nodes = Range.of(always, outside + sum(queue.max_nodes for queue in fleet.queues.values()))
    yield from _logs(institution, market, nodes * assumptions.logs_gb_per_node, assumptions)
    if fleet.monitoring.detailed:
        yield market.item(
            "Monitoring",
            "Metrics each minute of every instance",
            nodes * Range.of(METRICS_AN_INSTANCE),
            "cloudwatch:metric",
        )
    alarms = ALARMS_OF_CLUSTER + (ALARMS_OF_ALERTS if institution.alerts else NOTHING)
    yield market.item(
        "Monitoring",
        "Alarms",
        assumptions.alarms or alarms,
        "cloudwatch:alarm",
        assumed="number assumed",
    )
    if fleet.backend == "slurm":
        yield market.item("Monitoring", "Secret of munge", Range.of(1), "secret")
    elif fleet.monitoring.dashboard:
        yield market.item("Monitoring", "Dashboard", Range.of(1), "cloudwatch:dashboard")
    if fleet.accounting:
        yield market.item("Monitoring", "Secret of the Slurm database", Range.of(1), "secret")
        if fleet.accounting.create:
            yield from _database(fleet.accounting.create, market)
        else:
            yield unknown("Monitoring", "Slurm database", "it is not made here")
    if institution.alerts:
        yield market.item("Monitoring", "Key of the alert topic", Range.of(1), "kms:key")
        yield market.item("Monitoring", "Secret of Slack", Range.of(1), "secret")
        if institution.alerts.budget_usd_per_month:
            yield market.item("Monitoring", "Budget", Range.of(1), "budget")
    yield unknown(
        "Monitoring",
        "Calls of Lambda, SNS, SQS and DynamoDB",
        "they depend on events; usually below 5 USD",
        idle=False,
    )


def _database(new: NewDatabase, market: Market) -> Iterator[Item]:
    least = Decimal(str(new.min_capacity_units))
    most = Decimal(str(new.max_capacity_units))
    yield market.hours(
        "Monitoring", "Slurm database, what always runs", Range(least, least), "aurora:acu"
    )
    yield market.item(
        "Monitoring",
        "Slurm database under load",
        Range(Decimal(0), (most - least) * HOURS_A_MONTH),
        "aurora:acu",
        idle=False,
        assumed="load assumed",
    )
    yield unknown(
        "Monitoring",
        "Storage, I/O and backups of the Slurm database",
        "they depend on jobs; usually below 5 USD",
    )


def _logs(
    institution: Institution, market: Market, node_logs: Range, assumptions: Assumptions
) -> Iterator[Item]:
    monitoring = institution.fleet.monitoring
    network = institution.network.source
    kept = [(node_logs, monitoring.log_retention_days)]
    if not isinstance(network, ExistingVpc):
        kept.append((assumptions.flow_logs_gb, network.flow_log_retention_days))
    volume = sum((gb for gb, _ in kept), Range.of(0))
    yield market.item("Monitoring", "Logs taken in", volume, "logs:gb", assumed="volume assumed")
    stored = Range.of(0)
    for gb, days in kept:
        months = Decimal(days) / DAYS_A_MONTH
        stored += gb * Range(months, months) * STORED_SHARE
    yield market.item(
        "Monitoring",
        "Logs kept, once retention is reached",
        stored,
        "logs:stored",
        assumed="volume assumed",
    )
