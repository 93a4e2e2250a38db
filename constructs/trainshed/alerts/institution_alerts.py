"""The alarms of one institution: what its file and its cluster give to watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from .._given import check_present, check_record
from .._names import construct_words
from ..config.capacity import CapacityBlock, TargetedReservation
from ..config.institution import Institution
from .budget import InstitutionBudget
from .file_system_alarms import ProvisionedLimits
from .slack import SlackAlerts

if TYPE_CHECKING:
    from ..cluster import TrainingCluster
    from ..config.alerts import Alerts
    from ..fleets import SlurmFleet


def alerts_of(
    scope: Construct,
    id: str,
    institution: Institution,
    settings: Alerts,
    *,
    cluster: TrainingCluster,
    nat_gateway_id: str | None = None,
) -> SlackAlerts:
    """Make the way to Slack that an institution's file describes, and all alarms of its cluster.

    Args:
        scope: Where it belongs.
        id: Its id there.
        institution: The file.
        settings: Its section ``alerts``.
        cluster: What is watched.
        nat_gateway_id: The NAT gateway of its network. None: none is watched.
    """
    check_record("institution", institution, Institution)
    check_present(settings=settings, cluster=cluster)
    alerts = SlackAlerts(
        scope,
        id,
        secret=secretsmanager.Secret.from_secret_complete_arn(
            scope, f"{id}Secret", settings.slack_secret_arn
        ),
        routes=settings.routes,
        operators=settings.operators,
        institution=institution.name,
        reserved_concurrency=1 if settings.reserve_concurrency else None,
        runbook_url=settings.runbook_url,
        dashboard_url=settings.dashboard_url,
    )
    _watch_storage(alerts, institution, cluster)
    alerts.watch_fleet(
        cluster.fleet,
        # ParallelCluster's nodes run no agent of trainshed; its head node sends some metrics.
        agents=getattr(cluster.fleet, "agents", ()),
        head_metrics=getattr(cluster.fleet, "head_metrics", ()),
    )
    _watch_capacity(alerts, institution, cluster)
    _watch_backend(alerts, institution, cluster)
    alerts.watch_function(cluster.fleet.provider.on_event, prefix="Provider")
    if cluster.block_events:
        alerts.watch_function(cluster.block_events.function, prefix="BlockEvents")
    if nat_gateway_id:
        alerts.watch_nat_gateway(nat_gateway_id)
    if settings.watch_account:
        alerts.watch_account()
    if settings.budget_usd_per_month:
        InstitutionBudget(
            scope,
            f"{id}Budget",
            institution=institution.name,
            usd_per_month=settings.budget_usd_per_month,
            topic=alerts.topic,
        )
    return alerts


def _watch_storage(alerts: SlackAlerts, institution: Institution, cluster: TrainingCluster) -> None:
    links = institution.storage.links.values()
    directions: list[Literal["import", "export"]] = []
    if any(link.imports for link in links):
        directions.append("import")
    if any(link.exports for link in links):
        directions.append("export")
    alerts.watch_file_system(
        cluster.storage,
        directions=directions,
        limits=ProvisionedLimits.of(institution.storage.source),
        space=cluster.storage.capacity_gib is not None,
    )


def _watch_backend(alerts: SlackAlerts, institution: Institution, cluster: TrainingCluster) -> None:
    """Watch what launches the nodes: the stack of ParallelCluster, or a group a queue.

    The head node also tells what it does by itself.
    """
    key_arn = alerts.key.key_arn if alerts.key else None
    cluster.fleet.send_alarms_to(alerts.topic.topic_arn, key_arn=key_arn)
    if institution.fleet.backend == "parallelcluster":
        alerts.watch_stack("ClusterStack", cluster.fleet.status_arn)
        for name in institution.fleet.login_nodes:
            # ParallelCluster 3.16.1, templates/login_nodes_stack.py: the group of a pool.
            group = f"{cluster.fleet.cluster_name}-{name}-AutoScalingGroup"
            alerts.watch_login_pool(group, prefix=construct_words(name))
    else:
        _watch_groups(alerts, cast("SlurmFleet", cluster.fleet))


def _watch_groups(alerts: SlackAlerts, fleet: SlurmFleet) -> None:
    """Watch the groups of a fleet of its own."""
    for name, group_name in fleet.group_names.items():
        alerts.watch_group(f"{construct_words(name)}Group", group_name)
    for name, group_name in fleet.login_group_names.items():
        alerts.watch_login_pool(group_name, prefix=construct_words(name))


def _watch_capacity(
    alerts: SlackAlerts, institution: Institution, cluster: TrainingCluster
) -> None:
    seen = set()
    for name, queue in institution.fleet.queues.items():
        prefix = construct_words(name)
        capacity = queue.capacity
        if name in cluster.reservations:
            alerts.watch_capacity(cluster.reservations[name], prefix=prefix)
            continue
        if not isinstance(capacity, CapacityBlock | TargetedReservation):
            continue
        # Queues may share a reservation, which is watched once.
        if capacity.reservation_id and capacity.reservation_id not in seen:
            seen.add(capacity.reservation_id)
            ultraserver = institution.known_types[queue.instance_type].ultraserver
            alerts.watch_capacity(capacity, ultraserver=ultraserver, drains=True, prefix=prefix)
