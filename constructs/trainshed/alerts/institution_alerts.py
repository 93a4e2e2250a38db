"""The alarms of one institution: what its file and its cluster give to watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from ..config.capacity import CapacityBlock, TargetedReservation
from .budget import InstitutionBudget
from .slack import SlackAlerts

if TYPE_CHECKING:
    from ..cluster import TrainingCluster
    from ..config.alerts import Alerts
    from ..config.institution import Institution


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
    )
    links = institution.storage.links.values()
    if cluster.storage.capacity_gib is not None:
        directions: list[Literal["import", "export"]] = []
        if any(link.imports for link in links):
            directions.append("import")
        if any(link.exports for link in links):
            directions.append("export")
        alerts.watch_file_system(cluster.storage, directions=directions)
    alerts.watch_fleet(cluster.fleet)
    _watch_capacity(alerts, institution, cluster)
    alerts.watch_stack("ClusterStack", cluster.fleet.stack_arn)
    alerts.watch_function(cluster.fleet.provider.on_event, prefix="Provider")
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


def _watch_capacity(
    alerts: SlackAlerts, institution: Institution, cluster: TrainingCluster
) -> None:
    seen = set()
    for name, queue in institution.fleet.queues.items():
        prefix = "".join(word.capitalize() for word in name.split("-"))
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
            alerts.watch_capacity(capacity, ultraserver=ultraserver, prefix=prefix)
