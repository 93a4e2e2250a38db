"""A fleet that AWS ParallelCluster runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Annotations, CustomResource, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from .. import facts
from .._given import check_all_present
from .._stacks import stack_facts
from ..config.capacity import CapacityBlock
from ..config.faults import refuse
from ..config.fleet import Fleet
from ..pcluster import (
    References,
    Surroundings,
    configuration_faults,
    has_own_boundary,
    head_metrics,
    policy_warnings,
    render,
)
from ..pcluster.render import SlurmSetting
from ..records import is_token
from .alarm_topic import AlarmTopic
from .boundary import NO_BOUNDARY, NodeBoundary, own_boundaries
from .cluster_tags import ClusterTags
from .fleet import FleetNetwork
from .node_policies import NodePolicies, session_manager_policy_arn
from .node_scripts import NodeScript
from .parallelcluster_checks import check_fleet
from .parallelcluster_nodes import FleetStorage, ParallelClusterNodes
from .provider import ParallelClusterProvider
from .standing import check_standing, is_isolated

SCHEMA_VERSION = "1"
"""Of the properties that the provider's functions read."""


class ParallelClusterFleet(Construct):
    """An AWS ParallelCluster cluster: head node, login nodes and queues on a network and a storage.

    The cluster is a CloudFormation stack of its own, made by trainshed's provider. It is retained
    when this leaves its stack, unless the record says ``removal: destroy``; a later stack of the
    same name, with this under the same id, takes it over.

    Every role of it has a permissions boundary: the record's, or else one that is made here. None
    is made where the record names policies of its own, as it would take away what they allow.

    Args:
        cluster_name: Name of the cluster. It cannot change.
        fleet: The fleet.
        network: Where nodes stand.
        storage: The shared file system; its rules let in the groups of ``network``.
        known_types: Facts of instance types by name. Default: those of ``trainshed.facts``.
        tags: Tags on everything that ParallelCluster makes, beside those that ``Tags.of`` adds to
            this or around it; these win. ``configuration`` shows these alone. Default: none.
        reservation_ids: Reservations that the app makes, by queue. Default: none.
        isolated: Nodes cannot reach the internet, hence not Route 53 either. Default: as
            ``network.internet`` says, where it has that.
        slurm_settings: Lines for slurm.conf, before those of the record.
        queue_slurm_settings: Settings of the partition that a queue is, by queue. Default: none.
        head_scripts: Scripts that the head node runs at boot and after each change of any.

    Raises:
        FaultsError: ParallelCluster would refuse it, or a node would fail of it; every fault.
        ValueError: ``cluster_name`` is a token, ``fleet`` no record, or network or storage None.

    Example::

        fleet = ParallelClusterFleet(
            stack, "Fleet", cluster_name="kait", fleet=fleet, network=network, storage=storage
        )
    """

    cluster_name: str
    """Name of the cluster."""
    head_node_instance_id: str
    """EC2 id of the head node."""
    head_node_private_ip: str
    """Address of the head node in the VPC."""
    stack_arn: str
    """ARN of the stack that ParallelCluster made."""
    status_arn: str
    """The same: its status is the cluster's."""
    security_groups: Sequence[ec2.ISecurityGroup]
    """Groups of every node. ParallelCluster adds its own, which let all traffic out (3.16.1)."""
    policies: NodePolicies
    """Policies of head, compute and login nodes; grants go to them."""
    permissions_boundary_arn: str | None
    """Boundary of every role of the cluster; None where only policies are named."""
    head_metrics: Sequence[str]
    """Metrics that the head node sends to CloudWatch itself."""
    log_group_prefix: str
    """How the name of the cluster's log group begins; ParallelCluster adds the time of creation."""
    configuration: Mapping[str, Any]
    """The cluster configuration, with CDK tokens."""
    provider: ParallelClusterProvider
    """The provider of the custom resource."""
    resource: CustomResource
    """The custom resource."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        fleet: Fleet,
        network: FleetNetwork,
        storage: FleetStorage,
        known_types: Mapping[str, facts.InstanceType] = facts.INSTANCE_TYPES,
        tags: Mapping[str, str] | None = None,
        reservation_ids: Mapping[str, str] | None = None,
        isolated: bool | None = None,
        slurm_settings: Sequence[SlurmSetting] = (),
        queue_slurm_settings: Mapping[str, SlurmSetting] | None = None,
        head_scripts: Sequence[NodeScript] = (),
    ) -> None:
        super().__init__(scope, id)
        self._stack = stack_facts(self, scope)
        check_fleet(cluster_name, fleet, known_types)
        check_all_present(slurm_settings=slurm_settings, head_scripts=head_scripts)
        check_standing(self, cluster_name, network=network, storage=storage)
        for number, warning in enumerate(policy_warnings(fleet, known_types), start=1):
            Annotations.of(self).add_warning_v2(f"trainshed:policy:{number}", warning)
        nodes = ParallelClusterNodes(
            self,
            "Nodes",
            cluster_name=cluster_name,
            fleet=fleet,
            storage=storage,
            known_types=known_types,
            head_scripts=head_scripts,
        )
        self.cluster_name = cluster_name
        self.head_metrics = head_metrics(fleet)
        self.security_groups = tuple(network.node_security_groups)
        self.policies = nodes.policies
        # Each is a call to the CDK's Node process, and they are needed in several places.
        self._group_ids = tuple(group.security_group_id for group in self.security_groups)
        self._policy_arns = (
            session_manager_policy_arn(self),
            self.policies.head.managed_policy_arn,
            self.policies.compute.managed_policy_arn,
            self.policies.login.managed_policy_arn,
        )
        self._attachable = self._attachable_policies(fleet)
        self._isolated = is_isolated(network, isolated)
        self.permissions_boundary_arn = self._boundary_arn(fleet, nodes)
        self.configuration = render(
            fleet,
            self._references(network, storage, nodes, reservation_ids or {}),
            known_types=known_types,
            tags=tags,
            slurm_settings=slurm_settings,
            queue_slurm_settings=queue_slurm_settings,
        )
        refuse(configuration_faults(self.configuration, self._surroundings(fleet, known_types)))
        self.provider = self._provider(fleet, nodes)
        self.resource = self._resource(fleet, ClusterTags(self, "Tags", given=tags or {}))
        self.resource.node.add_dependency(network.ready, storage, nodes)
        self._attributes()

    @property
    def head_grant_principal(self) -> iam.IGrantable:
        """Who to grant what the head node may do."""
        return self.policies.head

    @property
    def compute_grant_principal(self) -> iam.IGrantable:
        """Who to grant what compute nodes, and so every job with root rights, may do."""
        return self.policies.compute

    def send_alarms_to(self, topic_arn: str, *, key_arn: str | None = None) -> None:
        """Let the head node tell people what it does by itself.

        Args:
            topic_arn: Topic that it then publishes to.
            key_arn: Key of the topic. Default: it has none of its own.
        """
        AlarmTopic(
            self,
            "AlarmTopic",
            cluster_name=self.cluster_name,
            topic_arn=topic_arn,
            key_arn=key_arn,
            head=self.policies.head,
        )

    def _references(
        self,
        network: FleetNetwork,
        storage: FleetStorage,
        nodes: ParallelClusterNodes,
        reservation_ids: Mapping[str, str],
    ) -> References:
        sessions, head, compute, login = self._policy_arns
        subnet_id = network.compute_subnet.subnet_id
        return References(
            region=self._stack.region,
            head_subnet_id=subnet_id,
            compute_subnet_id=subnet_id,
            security_group_ids=self._group_ids,
            file_system_id=storage.file_system_id,
            mount_dir=storage.mount_dir,
            head_policy_arns=(sessions, head),
            compute_policy_arns=(sessions, compute),
            login_policy_arns=(sessions, login),
            head_actions=nodes.head_actions,
            login_actions=nodes.login_actions,
            queue_actions=nodes.queue_actions,
            reservation_ids=reservation_ids,
            isolated=self._isolated,
            permissions_boundary_arn=self.permissions_boundary_arn,
        )

    def _boundary_arn(self, fleet: Fleet, nodes: ParallelClusterNodes) -> str | None:
        if has_own_boundary(fleet):
            made = NodeBoundary(
                self,
                "Boundary",
                cluster_name=self.cluster_name,
                script_bucket_arns=nodes.script_bucket_arns,
                secret_arns=_secret_arns(fleet),
                policies=nodes.policies,
                managed_dns=not self._isolated,
                removal_policy=nodes.removal_policy,
            )
            return made.arn
        named = fleet.parallelcluster.permissions_boundary_arn
        if named is None:
            Annotations.of(self).add_warning_v2("trainshed:no-boundary", NO_BOUNDARY)
        return named

    def _surroundings(
        self, fleet: Fleet, known_types: Mapping[str, facts.InstanceType]
    ) -> Surroundings:
        stack_name = self._stack.stack.stack_name
        blocks = (queue.capacity for queue in fleet.queues.values())
        return Surroundings(
            cluster_name=self.cluster_name,
            stack_name=None if is_token(stack_name) else stack_name,
            capacity_block_ids=frozenset(
                block.reservation_id for block in blocks if isinstance(block, CapacityBlock)
            ),
            file_system_group_ids=frozenset(self._group_ids),
            attachable_policies=self._attachable,
            known_types=known_types,
        )

    def _attachable_policies(self, fleet: Fleet) -> tuple[str, ...]:
        sessions, *own = self._policy_arns
        # ParallelCluster adds it to every role of a cluster with CloudWatch logs.
        agent = f"arn:{self._stack.partition}:iam::aws:policy/CloudWatchAgentServerPolicy"
        return tuple(dict.fromkeys([sessions, agent, *own, *fleet.named_policies]))

    def _provider(self, fleet: Fleet, nodes: ParallelClusterNodes) -> ParallelClusterProvider:
        options = fleet.parallelcluster
        return ParallelClusterProvider(
            self,
            "Provider",
            cluster_name=self.cluster_name,
            attachable_policy_arns=self._attachable,
            script_bucket_arns=nodes.script_bucket_arns,
            script_arns=nodes.script_arns,
            secret_arns=_secret_arns(fleet),
            # Also of a former stack, whose boundary the roles have until they are taken over.
            permissions_boundary_arn=own_boundaries(self, self.cluster_name)
            if has_own_boundary(fleet)
            else options.permissions_boundary_arn,
            managed_dns=not self._isolated,
            layer_bucket=options.layer_bucket,
            layer_key=options.layer_key,
            log_retention_days=fleet.monitoring.log_retention_days,
        )

    def _resource(self, fleet: Fleet, tags: ClusterTags) -> CustomResource:
        options = fleet.parallelcluster
        configuration = {**self.configuration, "Tags": tags.rendered}
        return CustomResource(
            self,
            "Resource",
            resource_type="Custom::TrainshedParallelCluster",
            service_token=self.provider.service_token,
            service_timeout=self.provider.timeout,
            # The provider decides, by RemovalPolicy below, once CloudFormation asks it to delete.
            removal_policy=RemovalPolicy.DESTROY,
            properties={
                "SchemaVersion": SCHEMA_VERSION,
                "ClusterName": self.cluster_name,
                # One text: CloudFormation would turn numbers and booleans into texts.
                "ClusterConfiguration": self._stack.stack.to_json_string(configuration),
                "RemovalPolicy": options.removal,
                "RollbackOnFailure": "true",
                "SuppressValidators": json.dumps(list(options.suppress_validators)),
                "ValidationFailureLevel": "ERROR",
            },
        )

    def _attributes(self) -> None:
        self.head_node_instance_id = self.resource.get_att_string("HeadNodeInstanceId")
        self.head_node_private_ip = self.resource.get_att_string("HeadNodePrivateIp")
        self.stack_arn = self.status_arn = self.resource.get_att_string("StackArn")
        self.log_group_prefix = f"/aws/parallelcluster/{self.cluster_name}-"


def _secret_arns(fleet: Fleet) -> tuple[str, ...]:
    return (fleet.accounting.password_secret_arn,) if fleet.accounting else ()
