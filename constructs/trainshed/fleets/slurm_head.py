"""The head node of a bare Slurm fleet, and what outlives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from aws_cdk import CfnTag, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_route53 as route53
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from .. import facts
from .._acknowledge import acknowledge
from ..config.fleet import HeadNode, Ssh
from ..slurm_fleet import names
from .fleet import FleetNetwork
from .slurm_acknowledgments import OF_HEAD, OF_LOG, OF_MUNGE_KEY, OF_STATE_VOLUME
from .slurm_metadata import metadata_tags
from .slurm_nodes import NodeSettings, root_disk
from .slurm_user_data import user_data

RECORD_SECONDS = 10
"""Nodes find another head node within it."""
MUNGE_KEY_CHARACTERS = 128
"""munge takes 32 to 1,024 bytes (munge(7), 0.5.15, read 2026-11-29)."""


class SlurmFleetNetwork(FleetNetwork, Protocol):
    """What a bare Slurm fleet needs of its network; ``TrainingNetwork`` has it."""

    @property
    def vpc(self) -> ec2.IVpc:
        """VPC of the nodes, in which their names are known."""

    @property
    def zone(self) -> facts.Zone:
        """Availability Zone of the compute subnet."""


class FleetState(Construct):
    """What outlives a head node: its state volume, the munge key, the log.

    Args:
        cluster_name: Name of the cluster.
        zone: Availability Zone of the volume.
        volume_gib: Its size.
        log_retention_days: How long logs are kept.
    """

    volume: ec2.CfnVolume
    """Scheduler's state and accounting database. Retained."""
    munge_key: secretsmanager.CfnSecret
    """Secret whose text is the munge key, made once."""
    log_group: logs.LogGroup
    """Log of every node."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        zone: facts.Zone,
        volume_gib: int,
        log_retention_days: int,
    ) -> None:
        super().__init__(scope, id)
        by_name = isinstance(zone, facts.ZoneName)
        self.volume = ec2.CfnVolume(
            self,
            "Volume",
            availability_zone=zone.value if by_name else None,
            availability_zone_id=None if by_name else zone.value,
            size=volume_gib,
            volume_type="gp3",
            encrypted=True,
            tags=[
                CfnTag(key="Name", value=f"{cluster_name}-state"),
                CfnTag(key=names.CLUSTER_TAG, value=cluster_name),
            ],
        )
        self.volume.apply_removal_policy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
        self.munge_key = secretsmanager.CfnSecret(
            self,
            "MungeKey",
            description=f"munge key of cluster {cluster_name}",
            generate_secret_string=secretsmanager.CfnSecret.GenerateSecretStringProperty(
                password_length=MUNGE_KEY_CHARACTERS, exclude_punctuation=True
            ),
        )
        # Its name is known to nodes before the stack, so one that stayed would be in the way.
        self.log_group = logs.LogGroup(
            self,
            "Log",
            log_group_name=names.log_group_name(cluster_name),
            removal_policy=RemovalPolicy.DESTROY,
        )
        log = cast(logs.CfnLogGroup, self.log_group.node.default_child)
        log.retention_in_days = log_retention_days
        acknowledge(self.volume, OF_STATE_VOLUME)
        acknowledge(self.munge_key, OF_MUNGE_KEY)
        acknowledge(self.log_group, OF_LOG)


class HeadInstance(Construct):
    """The instance that runs slurmctld, and the name under which nodes find it.

    Another type stops and starts it; another image, disk or subnet replaces it, and the new one
    takes the state volume over.

    Args:
        head_node: The record.
        settings: What all nodes of the fleet have in common.
        network: Where it stands.
        profile: Instance profile.
        database_group_id: Group that the accounting database lets in. Default: none.
    """

    instance: ec2.CfnInstance
    """The instance."""
    record: route53.CfnRecordSet
    """Its name."""
    zone: route53.CfnHostedZone
    """The private zone of the cluster."""
    ssh_security_group: ec2.ISecurityGroup | None
    """Group that lets SSH in; None where nobody asked for it."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        head_node: HeadNode,
        settings: NodeSettings,
        network: SlurmFleetNetwork,
        profile: iam.CfnInstanceProfile,
        database_group_id: str | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.ssh_security_group = self._ssh(head_node.ssh, network.vpc)
        more = [self.ssh_security_group.security_group_id] if self.ssh_security_group else []
        if database_group_id:
            more.append(database_group_id)
        self.instance = self._instance(head_node, settings, profile, more)
        self.instance.add_property_override(
            "MetadataOptions.InstanceMetadataTags", metadata_tags(self.instance.tags)
        )
        self.instance.node.add_dependency(network.ready)
        cluster = settings.cluster_name
        self.zone = route53.CfnHostedZone(
            self,
            "Zone",
            name=names.zone_name(cluster),
            hosted_zone_config=route53.CfnHostedZone.HostedZoneConfigProperty(
                comment=f"Nodes of cluster {cluster}"
            ),
            vpcs=[
                route53.CfnHostedZone.VPCProperty(
                    vpc_id=network.vpc.vpc_id, vpc_region=Stack.of(self).region
                )
            ],
        )
        self.record = route53.CfnRecordSet(
            self,
            "Record",
            hosted_zone_id=self.zone.attr_id,
            name=f"{names.head_host(cluster)}.",
            type="A",
            ttl=str(RECORD_SECONDS),
            resource_records=[self.instance.attr_private_ip],
        )
        acknowledge(self.instance, OF_HEAD)

    def _ssh(self, ssh: Ssh | None, vpc: ec2.IVpc) -> ec2.ISecurityGroup | None:
        if ssh is None:
            return None
        group = ec2.SecurityGroup(
            self,
            "SshSecurityGroup",
            vpc=vpc,
            description="SSH to the head node",
            allow_all_outbound=False,
        )
        group.add_ingress_rule(ec2.Peer.ipv4(ssh.allowed_cidr), ec2.Port.tcp(22), "SSH")
        return group

    def _instance(
        self,
        head_node: HeadNode,
        settings: NodeSettings,
        profile: iam.CfnInstanceProfile,
        more_groups: Sequence[str],
    ) -> ec2.CfnInstance:
        # An instance has no property for the throughput of a disk; a launch template has.
        disks = ec2.CfnLaunchTemplate(self, "Disks", launch_template_data={})
        disks.add_property_override(
            "LaunchTemplateData", {"BlockDeviceMappings": [root_disk(head_node.root_volume)]}
        )
        return ec2.CfnInstance(
            self,
            "Instance",
            image_id=settings.image_id,
            instance_type=head_node.instance_type,
            launch_template=ec2.CfnInstance.LaunchTemplateSpecificationProperty(
                launch_template_id=disks.ref, version=disks.attr_latest_version_number
            ),
            iam_instance_profile=profile.ref,
            subnet_id=settings.subnet_id,
            security_group_ids=[*settings.security_group_ids, *more_groups],
            key_name=head_node.ssh.key_name if head_node.ssh else None,
            ebs_optimized=True,
            monitoring=settings.detailed_monitoring,
            propagate_tags_to_volume_on_creation=True,
            metadata_options=ec2.CfnInstance.MetadataOptionsProperty(
                http_tokens="required",
                http_put_response_hop_limit=1,
            ),
            user_data=user_data(cluster=settings.cluster_name, region=settings.region, role="head"),
            tags=[
                CfnTag(key=key, value=value) for key, value in sorted(settings.tags("head").items())
            ],
        )
