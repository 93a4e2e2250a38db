"""A fleet that AWS ParallelCluster runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from aws_cdk import CustomResource, Duration, RemovalPolicy, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct, IDependable

from .. import facts
from ..config.faults import refuse
from ..config.fleet import Fleet
from ..pcluster import (
    References,
    Surroundings,
    configuration_faults,
    fleet_faults,
    render,
)
from ..pcluster.render import SlurmSetting
from .node_policies import session_manager_policy_arn
from .node_scripts import NodeScript
from .parallelcluster_nodes import ParallelClusterNodes
from .provider import ParallelClusterProvider


class FleetNetwork(Protocol):
    """What a fleet needs of its network; :class:`trainshed.network.TrainingNetwork` has it."""

    @property
    def compute_subnet(self) -> ec2.ISubnet:
        """Private subnet of the nodes."""

    @property
    def node_security_groups(self) -> Sequence[ec2.ISecurityGroup]:
        """Groups of every node."""

    @property
    def ready(self) -> IDependable:
        """What has to be there before a node starts, and to go after the last one."""
