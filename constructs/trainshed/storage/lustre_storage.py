"""The shared file system of a cluster, FSx for Lustre, and its data bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from .._given import check_present, check_record
from ..config.lustre_rules import storage_kind
from ..config.storage import Lustre, S3Link
from . import bucket_grants
from .checks import check_given, warn
from .data_bucket import DataBucket
from .links import LustreLinks
from .metrics import LustreMetrics
from .properties import (
    check_dns,
    lustre_configuration,
    lustre_key,
    lustre_log_group,
    lustre_security_group,
)
from .root_squash import RootSquashSetting
from .traffic import LustreTraffic

# The newest version that every deployment type takes (facts.lustre.lustre_versions).
_LUSTRE_VERSION = "2.15"
_NO_LINKS: Mapping[str, S3Link] = {}
_NO_BUCKETS: Mapping[str, s3.IBucket] = {}


@jsii.implements(ec2.IConnectable)
class LustreStorage(LustreMetrics, Construct):
    """A Lustre file system for a cluster, its traffic rules, log, and links to S3.

    File system, its group, the rules for its clients and bucket are retained when they are deleted
    or replaced. For a file system that is there already: :meth:`from_attributes`.

    Args:
        scope: Where it belongs.
        id: Its id there.
        vpc: VPC of the file system, with DNS on: nodes find the file system by its name.
        subnet: Its subnet, in the zone of the nodes.
        client_security_group: Security group of the nodes that mount it. Rules are added to this
            group as well as to the file system's, also when it is imported.
        lustre: Size and kind.
        mount_dir: Where nodes mount it.
        links: Folders linked to S3, by a name of your own; at most eight.
        bucket: Bucket of the links that name no other. None: one is made when such a link is
            there. It must not have event notifications.
        link_buckets: Buckets of this app that links name as ``bucket``, by that name. Others are
            taken to exist.
        encryption_key: Key of the file system. None: ``lustre.kms_key_arn``, or ``aws/fsx``.
        security_group: Group of the file system, for nothing else. None: one is made.
        removal_policy: What becomes of file system, group, rules, log and bucket when they are
            deleted or replaced. Default: they are kept; only a stack whose first creation fails
            takes back what nobody has used yet, so that no forgotten file system is paid for. The
            client's group cannot be deleted while a rule that is kept names it: keep it as well.

    Raises:
        ValueError: FSx would refuse it, every fault of links at once; or what it stands on is None.
    """

    vpc: ec2.IVpc | None
    """Its VPC; None of one that was there already."""
    dns_name: str
    """DNS name that nodes mount."""
    mount_name: str
    """Mount name; it is not always ``fsx``."""
    mount_dir: str
    """Where nodes mount it."""
    security_group: ec2.ISecurityGroup
    """Group of the file system."""
    bucket: s3.IBucket | None
    """Bucket of the links that name no other; None where there is none."""
    log_group: logs.ILogGroup | None
    """Warnings and errors of links; None where they are not logged, or logged elsewhere."""
    efa: bool
    """Nodes can reach it over EFA."""
    associations: Mapping[str, fsx.CfnDataRepositoryAssociation]
    """Links to S3, by name."""

    _resource: fsx.CfnFileSystem | None

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        subnet: ec2.ISubnet,
        client_security_group: ec2.ISecurityGroup,
        lustre: Lustre,
        mount_dir: str = "/fsx",
        links: Mapping[str, S3Link] = _NO_LINKS,
        bucket: s3.IBucket | None = None,
        link_buckets: Mapping[str, s3.IBucket] = _NO_BUCKETS,
        encryption_key: kms.IKey | None = None,
        security_group: ec2.ISecurityGroup | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        super().__init__(scope, id)
        check_record("lustre", lustre, Lustre)
        check_present(vpc=vpc, subnet=subnet, client_security_group=client_security_group)
        check_given(mount_dir, links, link_buckets, lustre)
        check_dns(vpc)
        self.security_group = security_group or lustre_security_group(self, vpc, removal_policy)
        self.efa, self._removal_policy_of_rules = lustre.efa, removal_policy
        self.log_group = lustre_log_group(self, lustre, removal_policy)
        key = lustre_key(self, lustre, encryption_key)
        self._resource = resource = fsx.CfnFileSystem(
            self,
            "Resource",
            file_system_type="LUSTRE",
            file_system_type_version=_LUSTRE_VERSION,
            storage_capacity=lustre.capacity_gib,
            storage_type=storage_kind(lustre),
            subnet_ids=[subnet.subnet_id],
            security_group_ids=[self.security_group.security_group_id],
            kms_key_id=key.key_arn if key else None,
            lustre_configuration=lustre_configuration(self, lustre, self.log_group),
        )
        resource.apply_removal_policy(removal_policy)
        self.vpc = vpc
        self.file_system_id = resource.ref
        self.dns_name = resource.attr_dns_name
        self.mount_name = resource.attr_lustre_mount_name
        self.mount_dir = mount_dir
        self.capacity_gib = lustre.capacity_gib
        # A file system that is kept falls apart, and its clients hang, without their rules.
        within = self._traffic.within()
        self._wait_for([*within, *self._traffic.with_client("Client", client_security_group)])
        self._link(links, bucket, link_buckets, removal_policy)
        if lustre.root_squash:
            setting = RootSquashSetting(
                self, "RootSquash", file_system=resource, root_squash=lustre.root_squash
            )
            # FSx makes links only while it changes nothing else.
            setting.node.add_dependency(*self.associations.values())
        warn(self, lustre, links)

    @staticmethod
    def from_attributes(
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        dns_name: str,
        mount_name: str,
        security_group: ec2.ISecurityGroup,
        mount_dir: str = "/fsx",
        efa: bool = False,
        capacity_gib: int | None = None,
        links: Mapping[str, S3Link] = _NO_LINKS,
        bucket: s3.IBucket | None = None,
        link_buckets: Mapping[str, s3.IBucket] = _NO_BUCKETS,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.DESTROY,
    ) -> LustreStorage:
        """Take a file system that is there already. It is never changed and never deleted.

        No rule is added to its group before :meth:`add_client` is called. Links are added to it;
        it must have fewer than eight with them.

        Args:
            scope: Where it belongs.
            id: Its id there.
            file_system_id: Id, ``fs-0123456789abcdef0``.
            dns_name: DNS name that nodes mount.
            mount_name: Mount name, as the FSx console shows it.
            security_group: Group of the file system's interfaces.
            mount_dir: Where nodes mount it.
            efa: It was made with EFA.
            capacity_gib: Its size in GiB. None: not known.
            links: Folders to link to S3, by a name of your own.
            bucket: Bucket of the links that name no other. None: one is made when such a link is
                there.
            link_buckets: Buckets of this app that links name as ``bucket``, by that name.
            removal_policy: What becomes of rules that :meth:`add_client` adds. Keep them beside
                groups of nodes that are kept; EC2 refuses to make a rule again that was kept
                between two groups that are there. Default: they are deleted.

        Raises:
            ValueError: FSx would refuse the links, nodes the mount directory, or an id is None.
        """
        check_present(
            file_system_id=file_system_id,
            dns_name=dns_name,
            mount_name=mount_name,
            security_group=security_group,
        )
        storage = _ExistingLustre(scope, id)
        check_given(mount_dir, links, link_buckets, None)
        storage.file_system_id = file_system_id
        storage.dns_name = dns_name
        storage.mount_name = mount_name
        storage.mount_dir = mount_dir
        storage.capacity_gib = capacity_gib
        storage.security_group, storage.efa = security_group, efa
        storage._removal_policy_of_rules = removal_policy
        keep = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
        storage._link(links, bucket, link_buckets, keep)
        warn(storage, None, links)
        return storage

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """Security group and ports, for CDK's ``allow_…``; nodes: rather :meth:`add_client`."""
        return self._connections

    @property
    def mount_source(self) -> str:
        """What nodes mount: ``DNS_NAME@tcp:/MOUNT_NAME``. Over EFA it begins in the same way."""
        return f"{self.dns_name}@tcp:/{self.mount_name}"

    def add_client(self, name: str, security_group: ec2.ISecurityGroup) -> None:
        """Let one more group of nodes mount the file system.

        EC2 refuses a rule that a group has already: for groups that were imported with these rules
        in place there is nothing to call.

        Args:
            name: Name of the nodes, part of construct ids: ``Login``.
            security_group: Their group; rules are added to it as well.
        """
        self._wait_for(self._traffic.with_client(name, security_group))

    def grant_read(self, grantee: iam.IGrantable, prefix: str = "") -> iam.Grant:
        """Let somebody list and read objects of the bucket.

        Args:
            grantee: Who.
            prefix: Prefix with its final slash, ``datasets/``. Empty: the whole bucket.

        Raises:
            ValueError: There is no bucket.
        """
        return bucket_grants.read(self._bucket_to_grant(), grantee, prefix)

    def grant_read_write(self, grantee: iam.IGrantable, prefix: str = "") -> iam.Grant:
        """Let somebody list, read, write and delete objects; deleted ones stay as versions.

        Args:
            grantee: Who.
            prefix: Prefix with its final slash, ``checkpoints/``. Empty: the whole bucket.

        Raises:
            ValueError: There is no bucket.
        """
        return bucket_grants.read_write(self._bucket_to_grant(), grantee, prefix)

    def _bucket_to_grant(self) -> s3.IBucket:
        if self.bucket is None:
            raise ValueError("the storage has no bucket; pass bucket, or add a link")
        return self.bucket

    # Made when they are first asked for: an existing file system mostly has no use of them.
    @cached_property
    def _traffic(self) -> LustreTraffic:
        return LustreTraffic(
            self,
            "Traffic",
            security_group=self.security_group,
            efa=self.efa,
            removal_policy=self._removal_policy_of_rules,
        )

    @cached_property
    def _connections(self) -> ec2.Connections:
        return ec2.Connections(
            security_groups=[self.security_group],
            default_port=ec2.Port.all_traffic() if self.efa else ec2.Port.tcp_range(988, 1023),
        )

    def _wait_for(self, rules: Sequence[cdk.CfnResource]) -> None:
        """Let the file system be made after its rules; FSx looks at them when it is made."""
        if self._resource is not None:
            self._resource.node.add_dependency(*rules)

    def _link(
        self,
        links: Mapping[str, S3Link],
        bucket: s3.IBucket | None,
        link_buckets: Mapping[str, s3.IBucket],
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        if bucket is None and any(link.bucket is None for link in links.values()):
            bucket = DataBucket(self, "Bucket", removal_policy=removal_policy).bucket
        self.bucket = bucket
        self.associations = {}
        if links or link_buckets:
            self.associations = LustreLinks(
                self,
                "Links",
                file_system_id=self.file_system_id,
                links=links,
                bucket=bucket,
                link_buckets=link_buckets,
            ).associations


class _ExistingLustre(LustreStorage):
    """A file system that is not made here."""

    def __init__(self, scope: Construct, id: str) -> None:
        Construct.__init__(self, scope, id)
        self._resource = None
        self.vpc = None
        self.log_group = None
