"""What can be destroyed and made again on the same data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
from constructs import Construct

import trainshed
from trainshed import TrainingCluster
from trainshed.config import Institution
from trainshed.slurm_fleet.names import status_parameter

from .handoff import (
    acknowledge_unread,
    read_accounting,
    read_nat_gateway_id,
    read_network,
    read_storage,
)
from .institution_stack import InstitutionStack

if TYPE_CHECKING:
    from trainshed import SlackAlerts


class ClusterStack(InstitutionStack):
    """Capacity, fleet and scheduler of one institution, on the foundation of the same name."""

    cluster: TrainingCluster
    """The cluster."""
    alerts: SlackAlerts | None = None
    """Alarms and their way to Slack; None where the file has no section for them."""

    def __init__(
        self, scope: Construct, id: str, *, institution: Institution, **kwargs: Any
    ) -> None:
        super().__init__(scope, id, institution=institution, holds="GPU cluster", **kwargs)
        acknowledge_unread(self)
        self.cluster = TrainingCluster.from_institution(
            self,
            "Cluster",
            institution,
            network=read_network(self, "Network", institution),
            storage=read_storage(self, "Storage", institution),
            accounting=read_accounting(self, institution),
        )
        nat_gateway_id = read_nat_gateway_id(self, institution)
        if institution.alerts:
            # Found by its name when it is needed: what it imports is a tenth of a synthesis.
            self.alerts = trainshed.alerts_of(
                self,
                "Alerts",
                institution,
                institution.alerts,
                cluster=self.cluster,
                nat_gateway_id=nat_gateway_id,
            )
            cdk.CfnOutput(self, "AlertTopicArn", value=self.alerts.topic.topic_arn)
        cdk.CfnOutput(self, "HeadNodeInstanceId", value=self.cluster.fleet.head_node_instance_id)
        if institution.fleet.backend == "slurm":
            cdk.CfnOutput(
                self,
                "StatusCommand",
                value=f"aws ssm get-parameter --region {institution.region} "
                f"--name {status_parameter(institution.cluster_name)} "
                "--query Parameter.Value --output text",
            )
        cdk.CfnOutput(
            self,
            "ConnectCommand",
            value=f"aws ssm start-session --region {institution.region} "
            f"--target {self.cluster.fleet.head_node_instance_id}",
        )
