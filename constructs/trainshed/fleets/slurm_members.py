"""Head node, compute nodes and login nodes of a bare Slurm fleet."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Stack
from constructs import Construct

from .._names import construct_words
from ..config.fleet import Fleet, RootVolume
from ..facts import InstanceType
from ..launch import PRIMARY_INTERFACE, LaunchOptions
from ..slurm_fleet import Group
from ..slurm_fleet.document import reservation_id_of
from .slurm_head import HeadInstance, SlurmFleetNetwork
from .slurm_image import image_id
from .slurm_nodes import NodeGroup, NodeSettings, QueueNodes
from .slurm_roles import NodeRoles


class SlurmNodes(Construct):
    """Every instance of a fleet.

    Args:
        cluster_name: Name of the cluster.
        fleet: The fleet.
        network: Where nodes stand.
        roles: What they may do.
        types: Facts of instance types by name.
        reservation_ids: Reservations that the app makes, by queue.
    """

    head: HeadInstance
    """The head node and its name."""
    queues: Mapping[str, QueueNodes]
    """Compute nodes by queue."""
    login_pools: Mapping[str, NodeGroup]
    """Login nodes by pool."""
    groups: Mapping[str, Group]
    """Auto Scaling groups as the fleet document has them, by queue."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        fleet: Fleet,
        network: SlurmFleetNetwork,
        roles: NodeRoles,
        types: Mapping[str, InstanceType],
        reservation_ids: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id)
        architecture = types[fleet.head_node.instance_type].architecture
        settings = NodeSettings(
            cluster_name=cluster_name,
            region=Stack.of(self).region,
            image_id=image_id(self, fleet.image, architecture),
            subnet_id=network.compute_subnet.subnet_id,
            security_group_ids=[g.security_group_id for g in network.node_security_groups],
            detailed_monitoring=fleet.monitoring.detailed,
        )
        self.head = HeadInstance(
            self,
            "Head",
            head_node=fleet.head_node,
            settings=settings,
            network=network,
            profile=roles.head_profile,
            database_group_id=fleet.accounting.client_security_group_id
            if fleet.accounting
            else None,
        )
        self.queues = {
            name: QueueNodes(
                self,
                f"{construct_words(name)}Queue",
                name=name,
                queue=queue,
                kind=types[queue.instance_type],
                settings=settings,
                profile_arn=roles.queue_profiles[name].attr_arn,
                reservation_id=reservation_ids.get(name),
            )
            for name, queue in fleet.queues.items()
        }
        self.login_pools = self._login_pools(fleet, settings, roles)
        self.groups = {
            name: Group(
                asg=made.nodes.group.ref,
                launch_template=made.nodes.launch_template.ref,
                version=made.nodes.launch_template.attr_latest_version_number,
                reservation_id=reservation_id_of(fleet.queues[name], reservation_ids, name),
            )
            for name, made in self.queues.items()
        }
        # A node that boots before there is a way out fails.
        for pool in self.login_pools.values():
            pool.node.add_dependency(network.ready)

    def _login_pools(
        self, fleet: Fleet, settings: NodeSettings, roles: NodeRoles
    ) -> Mapping[str, NodeGroup]:
        lock = fleet.image.lock
        disk_gib = max(RootVolume().gib, (lock and lock.root_gib) or 0)
        return {
            name: NodeGroup(
                self,
                f"{construct_words(name)}Login",
                settings=settings,
                role="login",
                queue=None,
                instance_type=pool.instance_type,
                profile_arn=roles.login_profiles[name].attr_arn,
                root_volume=RootVolume(gib=disk_gib),
                options=LaunchOptions(preference="none"),
                interfaces=(PRIMARY_INTERFACE,),
                size=pool.count,
            )
            for name, pool in fleet.login_nodes.items()
        }
