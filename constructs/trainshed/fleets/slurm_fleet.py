"""A fleet under Slurm alone, on the Deep Learning AMI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from aws_cdk import Annotations, CfnResource, CustomResource, RemovalPolicy, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_ssm as ssm
from constructs import Construct, IDependable

from .. import facts
from .._assets import asset
from ..alerts.agent import NodeAgent, NodeRole
from ..config.fleet import Fleet
from ..slurm_fleet import (
    Mount,
    Surroundings,
    archive,
    archive_of_folder,
    cluster_files,
    fleet_document,
    names,
    written,
)
from ..slurm_fleet.files import node_agent
from ..slurm_fleet.policy import policy_warnings
from .cluster_tags import PRIORITY_OF_GIVEN
from .rights import alarm_rights
from .slurm_archives import ArchiveAsset
from .slurm_checks import check_fleet
from .slurm_head import FleetState, SlurmFleetNetwork
from .slurm_members import SlurmNodes
from .slurm_provider import SlurmFleetProvider
from .slurm_rights import Place
from .slurm_roles import NodeRoles
from .standing import check_standing, is_isolated

SCHEMA_VERSION = "1"
"""Of the properties that the provider's functions read."""
LATEST = (
    "image.latest takes the newest Deep Learning AMI at each deployment: one that is deployed for "
    "something else may then replace the head node and every node; prefer a lock"
)


class MountedStorage(IDependable, Protocol):
    """What a fleet needs of its file system; :class:`trainshed.storage.LustreStorage` has it."""

    @property
    def dns_name(self) -> str:
        """Host that nodes mount."""

    @property
    def mount_name(self) -> str:
        """Name of the file system on it."""

    @property
    def mount_dir(self) -> str:
        """Where every node mounts it."""

    @property
    def efa(self) -> bool:
        """Nodes can reach it over EFA."""


class SlurmFleet(Construct):
    """A Slurm cluster on EC2 alone: head node, login nodes, and a self-healing group a queue.

    Nodes boot from the Deep Learning AMI with the scripts of ``assets/node``. They learn all else
    from one document, the parameter ``/trainshed/NAME/slurm/fleet``; a change of it is live. Every
    node of a queue always runs. The state volume of the head node outlives it and the stack.

    Args:
        cluster_name: Name of the cluster. It cannot change.
        fleet: The fleet.
        network: Where nodes stand.
        storage: The shared file system; its rules let in the groups of ``network``.
        known_types: Facts of instance types by name. Default: those of ``trainshed.facts``.
        tags: Tags on everything, beside those that ``Tags.of`` adds around it; these win.
            Default: none.
        reservation_ids: Reservations that the app makes, by queue. Default: none.
        isolated: Nodes cannot reach the internet. Default: as ``network.internet`` says, where it
            has that.

    Raises:
        FaultsError: The bare fleet cannot do what the record asks for; every fault.
        ValueError: ``cluster_name`` is a token, ``fleet`` no record, or network or storage None.

    Example::

        fleet = SlurmFleet(
            stack, "Fleet", cluster_name="lab", fleet=fleet, network=network, storage=storage
        )
    """

    cluster_name: str
    """Name of the cluster."""
    head_node_instance_id: str
    """EC2 id of the head node."""
    head_node_private_ip: str
    """Address of the head node in the VPC."""
    security_groups: Sequence[ec2.ISecurityGroup]
    """Groups of every node."""
    state: FleetState
    """State volume, munge key and log."""
    roles: NodeRoles
    """Roles and policies of the nodes."""
    nodes: SlurmNodes
    """Head node, compute nodes by queue, login nodes by pool."""
    document: Mapping[str, Any]
    """The fleet document, with CDK tokens."""
    log_group_prefix: str
    """Name of the log group of every node."""
    status_arn: str
    """ARN of the parameter that says how the fleet is."""
    provider: SlurmFleetProvider
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
        network: SlurmFleetNetwork,
        storage: MountedStorage,
        known_types: Mapping[str, facts.InstanceType] = facts.INSTANCE_TYPES,
        tags: Mapping[str, str] | None = None,
        reservation_ids: Mapping[str, str] | None = None,
        isolated: bool | None = None,
    ) -> None:
        super().__init__(scope, id)
        check_fleet(cluster_name, fleet, known_types, isolated=is_isolated(network, isolated))
        check_standing(self, cluster_name, network=network, storage=storage)
        self._warn(fleet, known_types)
        self.cluster_name = cluster_name
        self._fleet, self._types = fleet, known_types
        self._place = Place(Stack.of(self), cluster_name)
        self.security_groups = tuple(network.node_security_groups)
        self.state = FleetState(
            self,
            "State",
            cluster_name=cluster_name,
            zone=network.zone,
            volume_gib=fleet.slurm.state_volume_gib,
            log_retention_days=fleet.monitoring.log_retention_days,
        )
        scripts, files = self._archives(storage.mount_dir)
        self.roles = NodeRoles(
            self,
            "Roles",
            fleet=fleet,
            place=self._place,
            objects=self._objects(scripts, files),
            munge_secret_arn=self.state.munge_key.ref,
            state_volume_id=self.state.volume.ref,
        )
        self.nodes = SlurmNodes(
            self,
            "Nodes",
            cluster_name=cluster_name,
            fleet=fleet,
            network=network,
            roles=self.roles,
            types=known_types,
            reservation_ids=reservation_ids or {},
        )
        self.head_node_instance_id = self.nodes.head.instance.ref
        self.head_node_private_ip = self.nodes.head.instance.attr_private_ip
        self.log_group_prefix = names.log_group_name(cluster_name)
        self.status_arn = self._place.parameter(names.status_parameter(cluster_name))
        self.document = fleet_document(
            fleet,
            Surroundings(
                cluster_name=cluster_name,
                region=Stack.of(self).region,
                scripts=scripts.stored,
                files=files.stored,
                state_volume_id=self.state.volume.ref,
                munge_secret_arn=self.state.munge_key.ref,
                mounts=(_mount(storage),),
                groups=self.nodes.groups,
            ),
            types=known_types,
        )
        self._make_resource(network, storage)
        for key, value in (tags or {}).items():
            Tags.of(self).add(key, value, priority=PRIORITY_OF_GIVEN)

    def send_alarms_to(self, topic_arn: str, *, key_arn: str | None = None) -> None:
        """Let the head node tell people what it does by itself.

        Args:
            topic_arn: Topic that it then publishes to.
            key_arn: Key of the topic. Default: it has none of its own.
        """
        self.document = {**self.document, "alarm_topic_arn": topic_arn}
        text = written(self.document)
        self._parameter.value = text
        resource = cast(CfnResource, self.resource.node.default_child)
        resource.add_property_override("FleetDocument", text)
        for right in alarm_rights(topic_arn, key_arn):
            statement = iam.PolicyStatement.from_json(right.statement)
            self.roles.head_policy.add_statements(statement)

    @property
    def group_names(self) -> Mapping[str, str]:
        """Names of the Auto Scaling groups by queue."""
        return {name: group.asg for name, group in self.nodes.groups.items()}

    @property
    def login_group_names(self) -> Mapping[str, str]:
        """Names of the Auto Scaling groups by pool of login nodes."""
        return {name: pool.group.ref for name, pool in self.nodes.login_pools.items()}

    @property
    def agents(self) -> Sequence[NodeAgent]:
        """The CloudWatch agents that its nodes run, one a role."""
        roles = [NodeRole.HEAD, NodeRole.COMPUTE]
        if self._fleet.login_nodes:
            roles.append(NodeRole.LOGIN)
        return [node_agent(self.cluster_name, role) for role in roles]

    @property
    def head_grant_principal(self) -> iam.IGrantable:
        """Who to grant what the head node may do."""
        return self.roles.head_policy

    @property
    def compute_grant_principal(self) -> iam.IGrantable:
        """Who to grant what compute nodes, and so every job with root rights, may do."""
        return self.roles.compute_policy

    def _warn(self, fleet: Fleet, types: Mapping[str, facts.InstanceType]) -> None:
        notes = Annotations.of(self)
        if fleet.image.latest:
            notes.add_warning_v2("trainshed:latest-image", LATEST)
        for number, warning in enumerate(policy_warnings(fleet, types), start=1):
            notes.add_warning_v2(f"trainshed:policy:{number}", warning)

    def _archives(self, mount_dir: str) -> tuple[ArchiveAsset, ArchiveAsset]:
        files = cluster_files(
            self._fleet,
            cluster_name=self.cluster_name,
            mount_dir=mount_dir,
            types=self._types,
        )
        return (
            ArchiveAsset(self, "Scripts", archive=archive_of_folder(Path(asset("node")))),
            ArchiveAsset(
                self,
                "Files",
                archive=archive({name: text.encode() for name, text in files.items()}),
            ),
        )

    def _objects(self, *archives: ArchiveAsset) -> list[str]:
        places = [(made.stored.bucket, made.stored.key) for made in archives]
        packages = self._fleet.slurm.packages
        if packages:
            places.append((packages.bucket, packages.key))
        return [self._place.object_arn(bucket, key) for bucket, key in places]

    def _make_resource(self, network: SlurmFleetNetwork, storage: MountedStorage) -> None:
        cluster, text = self.cluster_name, written(self.document)
        self._parameter = parameter = ssm.CfnParameter(
            self,
            "Parameter",
            name=names.fleet_parameter(cluster),
            type="String",
            # A fleet of several queues takes more than the 4 KB of a standard one.
            tier="Intelligent-Tiering",
            description=f"What nodes and head node of {cluster} know of it",
            value=text,
        )
        parameter.node.add_dependency(self.roles)
        self.provider = SlurmFleetProvider(
            self,
            "Provider",
            place=self._place,
            log_retention_days=self._fleet.monitoring.log_retention_days,
        )
        self.resource = CustomResource(
            self,
            "Resource",
            resource_type="Custom::TrainshedSlurmFleet",
            service_token=self.provider.service_token,
            service_timeout=self.provider.timeout,
            removal_policy=RemovalPolicy.DESTROY,
            properties={
                "SchemaVersion": SCHEMA_VERSION,
                "ClusterName": cluster,
                "FleetParameterName": parameter.name,
                "StatusParameterName": names.status_parameter(cluster),
                "NodesPath": names.nodes_path(cluster),
                "CommandParameterName": names.command_parameter(cluster),
                "FleetDocument": text,
                "HeadInstanceId": self.head_node_instance_id,
                "BootTimeoutMinutes": str(self._fleet.slurm.boot_timeout_minutes),
            },
        )
        self.resource.node.add_dependency(
            parameter, self.nodes, self.state, self.roles, network.ready, storage
        )


def _mount(storage: MountedStorage) -> Mount:
    return Mount(
        path=storage.mount_dir,
        dns_name=storage.dns_name,
        mount_name=storage.mount_name,
        efa=storage.efa,
    )
