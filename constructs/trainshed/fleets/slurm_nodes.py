"""Launch templates and Auto Scaling groups of a bare Slurm fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from .._acknowledge import acknowledge
from ..config.capacity import Capacity, CapacityBlock, OnDemand, TargetedReservation
from ..config.fleet import Queue, RootVolume
from ..facts import InstanceType
from ..launch import (
    PRIMARY_INTERFACE,
    LaunchOptions,
    NetworkInterface,
    efa_interfaces,
    launch_options,
    launch_template_data,
)
from ..slurm_fleet import names
from .slurm_acknowledgments import OF_GROUP
from .slurm_metadata import metadata_tags
from .slurm_schedule import BlockSchedule
from .slurm_user_data import user_data

ROOT_DEVICE = "/dev/sda1"
"""Root device of Ubuntu's images."""
MOST_NODES = 1000
"""Ceiling of a group. Auto Scaling would lower a desired capacity above it at once, before the head
node has drained anything, so it is that of ``max_nodes`` and never follows the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """What the nodes of a fleet have in common.

    Args:
        cluster_name: Name of the cluster.
        region: AWS Region.
        image_id: Image of every node.
        subnet_id: Subnet of every node.
        security_group_ids: Groups of every interface.
        detailed_monitoring: EC2 metrics each minute.
    """

    cluster_name: str
    region: str
    image_id: str
    subnet_id: str
    security_group_ids: Sequence[str]
    detailed_monitoring: bool

    def tags(self, role: str, queue: str | None = None) -> dict[str, str]:
        """Return the tags of the nodes of a role."""
        name = f"{self.cluster_name}-{queue or role}"
        tags = {"Name": name, names.CLUSTER_TAG: self.cluster_name, names.ROLE_TAG: role}
        return tags | ({names.QUEUE_TAG: queue} if queue else {})


def root_disk(volume: RootVolume) -> dict[str, Any]:
    """Return the block device mapping of a root disk, in CloudFormation's casing."""
    return {
        "DeviceName": ROOT_DEVICE,
        "Ebs": {
            "VolumeType": "gp3",
            "VolumeSize": volume.gib,
            "Iops": volume.iops,
            "Throughput": volume.throughput_mib_s,
            "Encrypted": True,
            "DeleteOnTermination": volume.delete_on_termination,
        },
    }


class NodeGroup(Construct):
    """Nodes of one kind: a launch template and a group in one subnet.

    Args:
        settings: What all nodes of the fleet have in common.
        role: ``compute`` or ``login``.
        queue: Queue of compute nodes.
        instance_type: Name of the instance type.
        profile_arn: Instance profile.
        root_volume: Root disk.
        options: Where EC2 takes the instances from.
        interfaces: Network interfaces.
        size: Instances that the group keeps; None: none until somebody asks for them.
    """

    launch_template: ec2.CfnLaunchTemplate
    """The launch template."""
    group: autoscaling.CfnAutoScalingGroup
    """The group."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: NodeSettings,
        role: str,
        queue: str | None,
        instance_type: str,
        profile_arn: str,
        root_volume: RootVolume,
        options: LaunchOptions,
        interfaces: Sequence[NetworkInterface],
        size: int | None,
    ) -> None:
        super().__init__(scope, id)
        tags = settings.tags(role, queue)
        self.launch_template = ec2.CfnLaunchTemplate(
            self, "LaunchTemplate", launch_template_data={}
        )
        self.group = self._group(settings.subnet_id, tags, size)
        acknowledge(self.group, OF_GROUP)
        data = {
            "ImageId": settings.image_id,
            "InstanceType": instance_type,
            "IamInstanceProfile": {"Arn": profile_arn},
            "EbsOptimized": True,
            "BlockDeviceMappings": [root_disk(root_volume)],
            "Monitoring": {"Enabled": settings.detailed_monitoring},
            "MetadataOptions": {
                "HttpTokens": "required",
                "HttpPutResponseHopLimit": 1,
                "InstanceMetadataTags": metadata_tags(self.group.tags),
            },
            "UserData": user_data(
                cluster=settings.cluster_name, region=settings.region, role=role, queue=queue or ""
            ),
            # The group tags instances; tags that change there make no new version of this.
            "TagSpecifications": [
                {
                    "ResourceType": kind,
                    "Tags": [{"Key": key, "Value": value} for key, value in sorted(tags.items())],
                }
                for kind in ("network-interface", "volume")
            ],
            **launch_template_data(
                options, interfaces, security_group_ids=settings.security_group_ids
            ),
        }
        self.launch_template.add_property_override("LaunchTemplateData", data)

    def _group(
        self, subnet_id: str, tags: dict[str, str], size: int | None
    ) -> autoscaling.CfnAutoScalingGroup:
        return autoscaling.CfnAutoScalingGroup(
            self,
            "Group",
            min_size=str(size or 0),
            max_size=str(MOST_NODES if size is None else size),
            # Whoever takes nodes away drains them first.
            new_instances_protected_from_scale_in=True if size is None else None,
            vpc_zone_identifier=[subnet_id],
            launch_template=autoscaling.CfnAutoScalingGroup.LaunchTemplateSpecificationProperty(
                launch_template_id=self.launch_template.ref,
                version=self.launch_template.attr_latest_version_number,
            ),
            tags=[
                autoscaling.CfnAutoScalingGroup.TagPropertyProperty(
                    key=key, value=value, propagate_at_launch=True
                )
                for key, value in sorted(tags.items())
            ],
        )


class QueueNodes(Construct):
    """The compute nodes of a queue, with a placement group and a schedule where it has them.

    Args:
        name: Name of the queue.
        queue: The queue.
        kind: Facts of its instance type.
        settings: What all nodes of the fleet have in common.
        profile_arn: Instance profile.
        reservation_id: Reservation that the app makes for it. Default: none.
    """

    nodes: NodeGroup
    """Launch template and group."""
    placement_group: ec2.CfnPlacementGroup | None
    """Cluster placement group; None where the queue asks for none."""
    schedule: BlockSchedule | None
    """What fills the group when its Capacity Block starts; None where nothing is waited for."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        queue: Queue,
        kind: InstanceType,
        settings: NodeSettings,
        profile_arn: str,
        reservation_id: str | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.placement_group = None
        capacity = _with_id(queue.capacity, reservation_id)
        if isinstance(capacity, OnDemand) and capacity.placement_group:
            self.placement_group = ec2.CfnPlacementGroup(self, "PlacementGroup", strategy="cluster")
        group = self.placement_group
        self.nodes = NodeGroup(
            self,
            "Nodes",
            settings=settings,
            role="compute",
            queue=name,
            instance_type=queue.instance_type,
            profile_arn=profile_arn,
            root_volume=queue.root_volume,
            options=launch_options(capacity, placement_group=group.ref if group else None),
            interfaces=efa_interfaces(kind, style=queue.efa_interface)
            if queue.uses_efa(kind)
            else (PRIMARY_INTERFACE,),
            size=None,
        )
        start = _start(capacity)
        self.schedule = (
            BlockSchedule(
                self,
                "Schedule",
                start=start,
                group_name=self.nodes.group.ref,
                nodes=queue.max_nodes,
                queue=name,
            )
            if start
            else None
        )


def _with_id(capacity: Capacity, reservation_id: str | None) -> Capacity:
    if isinstance(capacity, TargetedReservation) and capacity.create and reservation_id:
        return TargetedReservation(reservation_id=reservation_id)
    return capacity


def _start(capacity: Capacity) -> datetime | None:
    if isinstance(capacity, CapacityBlock) and capacity.start:
        return capacity.start.astimezone(UTC)
    return None
