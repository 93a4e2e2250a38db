"""The database of Slurm's accounting, outside the head node."""

from __future__ import annotations

from collections.abc import Sequence

import jsii
from aws_cdk import Annotations, CfnTag, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_rds as rds
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from . import facts
from ._acknowledge import acknowledge
from ._given import check_all_present, check_present, check_record
from .config import AccountingDatabase, Institution, NewDatabase
from .config.accounting import MADE_USER
from .network import TrainingNetwork
from .subnets import subnet_plan

PORT = 3306
# Aurora MySQL release notes, read 2026-11-29: 3.10 is a long-term support version, which gets
# fixes and no new features; of those, minor upgrades by AWS's own choice are advised against.
ENGINE_VERSION = "8.0.mysql_aurora.3.10.3"
PARAMETERS = {
    # Slurm's accounting page "MySQL Configuration", read 2026-11-29: a roll-up may wait that long.
    "innodb_lock_wait_timeout": "900",
    "require_secure_transport": "ON",
}
LOGS = ("error", "slowquery")

_LOGS_LEFT_OUT = "It would hold every statement of slurmdbd, and so every job of every user."
_READ_SELDOM = (
    "ParallelCluster reads the secret when the head node is made and at an update: a rotation "
    "between them would cut slurmdbd off, and its role has no right to a key of ours."
)
_REASONS = {
    "AwsSolutions-RDS6": "Slurm has no IAM authentication; its password is in a secret.",
    "AwsSolutions-RDS11": "Only the head node's group reaches the port, whatever its number.",
    "AwsSolutions-RDS14": "Backups bring every second of their days back.",
    "AwsSolutions-SMG4": _READ_SELDOM,
    "NIST.800.53.R5-RDSEnhancedMonitoringEnabled": "slurmdbd asks a few queries a minute.",
    "NIST.800.53.R5-RDSInBackupPlan": "The database has continuous backups of its own.",
    "NIST.800.53.R5-RDSLoggingEnabled[LogExport::audit]": _LOGS_LEFT_OUT,
    "NIST.800.53.R5-RDSLoggingEnabled[LogExport::general]": _LOGS_LEFT_OUT,
    "NIST.800.53.R5-SecretsManagerRotationEnabled": _READ_SELDOM,
    "NIST.800.53.R5-SecretsManagerUsingKMSKey": _READ_SELDOM,
}


@jsii.implements(ec2.IConnectable)
class SlurmAccountingDatabase(Construct):
    """Aurora MySQL Serverless v2 for slurmdbd: encrypted, backed up, kept when the stack goes.

    Only members of ``client_security_group`` reach it, and over TLS alone. The password is a
    secret of plain text, as ParallelCluster takes it.

    Args:
        vpc: VPC of the head node.
        subnets: Private subnets in two zones or more.
        database: Capacity and backups. Default: those of the record.
        removal_policy: What becomes of it all when it is deleted or replaced. Default: it is kept.

    Raises:
        ValueError: There are fewer than two subnets, or what it stands on is None.

    Example::

        database = SlurmAccountingDatabase(stack, "Accounting", vpc=vpc, subnets=two_subnets)
        fleet = Fleet(accounting=database.record(), ...)
    """

    cluster: rds.CfnDBCluster
    """The database cluster."""
    host: str
    """Host name of its writer."""
    secret: secretsmanager.ISecret
    """The password, plain text."""
    security_group: ec2.ISecurityGroup
    """Group of the database."""
    client_security_group: ec2.ISecurityGroup
    """Group that it lets in; for the head node alone."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        subnets: Sequence[ec2.ISubnet],
        database: NewDatabase | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(scope, id)
        given = database or NewDatabase()
        check_record("database", given, NewDatabase)
        check_present(vpc=vpc)
        check_all_present(subnets=subnets)
        if len(subnets) < 2:
            raise ValueError(
                f"subnets has {len(subnets)}; RDS takes subnets in two zones or more: give another"
            )
        self._removal_policy = removal_policy
        self.secret = self._password()
        self.security_group, self.client_security_group = self._groups(vpc)
        self.cluster = self._cluster(given, subnets)
        self._instance()
        self.host = self.cluster.attr_endpoint_address
        acknowledge(self, _REASONS)

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """Connections of the database, to let in others than the head node."""
        return ec2.Connections(
            security_groups=[self.security_group], default_port=ec2.Port.tcp(PORT)
        )

    def record(self, given: AccountingDatabase | None = None) -> AccountingDatabase:
        """Return the record that a fleet takes.

        Args:
            given: A record whose other values are kept.
        """
        record = given or AccountingDatabase(create=NewDatabase())
        check_record("given", record, AccountingDatabase)
        return record.made(
            host=self.host,
            password_secret_arn=self.secret.secret_arn,
            client_security_group_id=self.client_security_group.security_group_id,
        )

    def _password(self) -> secretsmanager.ISecret:
        secret = secretsmanager.Secret(
            self,
            "Password",
            description="Password of Slurm's accounting database",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                # slurmdbd.conf has no way to quote one.
                exclude_punctuation=True,
                password_length=40,
            ),
        )
        secret.apply_removal_policy(self._removal_policy)
        return secret

    def _groups(self, vpc: ec2.IVpc) -> tuple[ec2.ISecurityGroup, ec2.ISecurityGroup]:
        groups = [
            ec2.SecurityGroup(self, id, vpc=vpc, description=what, allow_all_outbound=False)
            for id, what in (
                ("SecurityGroup", "Slurm accounting database: from its clients alone"),
                ("ClientSecurityGroup", "Clients of the Slurm accounting database: the head node"),
            )
        ]
        database, client = groups
        rules: list[ec2.CfnSecurityGroupIngress | ec2.CfnSecurityGroupEgress] = [
            ec2.CfnSecurityGroupIngress(
                database,
                "FromClients",
                group_id=database.security_group_id,
                source_security_group_id=client.security_group_id,
                ip_protocol="tcp",
                from_port=PORT,
                to_port=PORT,
                description="slurmdbd",
            ),
            ec2.CfnSecurityGroupEgress(
                client,
                "ToDatabase",
                group_id=client.security_group_id,
                destination_security_group_id=database.security_group_id,
                ip_protocol="tcp",
                from_port=PORT,
                to_port=PORT,
                description="Slurm accounting database",
            ),
        ]
        for kept in (*groups, *rules):
            kept.apply_removal_policy(self._removal_policy)
        return database, client

    def _cluster(self, given: NewDatabase, subnets: Sequence[ec2.ISubnet]) -> rds.CfnDBCluster:
        placed = rds.CfnDBSubnetGroup(
            self,
            "Subnets",
            db_subnet_group_description="Slurm accounting database",
            subnet_ids=[subnet.subnet_id for subnet in subnets],
        )
        parameters = rds.CfnDBClusterParameterGroup(
            self,
            "Parameters",
            description="Slurm accounting database",
            family="aurora-mysql8.0",
            parameters=PARAMETERS,
        )
        cluster = rds.CfnDBCluster(
            self,
            "Resource",
            engine="aurora-mysql",
            engine_version=ENGINE_VERSION,
            serverless_v2_scaling_configuration=rds.CfnDBCluster.ServerlessV2ScalingConfigurationProperty(
                min_capacity=given.min_capacity_units, max_capacity=given.max_capacity_units
            ),
            master_username=MADE_USER,
            master_user_password=self.secret.secret_value.unsafe_unwrap(),
            db_subnet_group_name=placed.ref,
            db_cluster_parameter_group_name=parameters.ref,
            vpc_security_group_ids=[self.security_group.security_group_id],
            port=PORT,
            storage_encrypted=True,
            backup_retention_period=given.backup_retention_days,
            copy_tags_to_snapshot=True,
            deletion_protection=self._removal_policy != RemovalPolicy.DESTROY,
            enable_cloudwatch_logs_exports=list(LOGS),
        )
        for kept in (placed, parameters, cluster):
            kept.apply_removal_policy(self._removal_policy)
        return cluster

    def _instance(self) -> None:
        instance = rds.CfnDBInstance(
            self,
            "Writer",
            engine="aurora-mysql",
            db_cluster_identifier=self.cluster.ref,
            db_instance_class="db.serverless",
            publicly_accessible=False,
            auto_minor_version_upgrade=False,
        )
        instance.apply_removal_policy(self._removal_policy)


class DatabaseSubnets(Construct):
    """Two small private subnets in two zones of a new VPC, without a way out.

    Args:
        vpc_id: The VPC.
        cidr: Address range of the VPC; ``trainshed.subnets`` says which part of it they take.
        zones: Two zones.
    """

    subnets: Sequence[ec2.ISubnet]
    """The subnets. Retained."""

    def __init__(
        self, scope: Construct, id: str, *, vpc_id: str, cidr: str, zones: Sequence[facts.Zone]
    ) -> None:
        super().__init__(scope, id)
        made = []
        for name, zone, place in zip(
            ("First", "Second"), zones, subnet_plan(cidr).databases, strict=True
        ):
            by_name = isinstance(zone, facts.ZoneName)
            subnet = ec2.CfnSubnet(
                self,
                name,
                vpc_id=vpc_id,
                cidr_block=str(place),
                availability_zone=zone.value if by_name else None,
                availability_zone_id=None if by_name else zone.value,
                map_public_ip_on_launch=False,
                tags=[CfnTag(key="Name", value=f"{self.node.path}/{name}")],
            )
            subnet.apply_removal_policy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
            made.append(_reference(self, f"{name}Reference", subnet.ref))
        self.subnets = tuple(made)
        acknowledge(
            self,
            {"CloudFormation-Validate::W3010": "A database stands in two zones that are named."},
        )


def _reference(scope: Construct, id: str, subnet_id: str) -> ec2.ISubnet:
    subnet = ec2.Subnet.from_subnet_id(scope, id, subnet_id)
    Annotations.of(subnet).acknowledge_warning(
        "@aws-cdk/aws-ec2:noSubnetRouteTableId", "nothing here reads its routes"
    )
    return subnet


def accounting_of(
    scope: Construct, id: str, institution: Institution, *, network: TrainingNetwork
) -> SlurmAccountingDatabase | None:
    """Make the accounting database that an institution's file asks for; None where it does not."""
    check_record("institution", institution, Institution)
    check_present(network=network)
    given = institution.fleet.accounting
    if given is None or given.create is None:
        return None
    new, zone = institution.network.vpc, institution.network.place
    if new and given.create.second_zone:
        subnets = DatabaseSubnets(
            scope,
            f"{id}Subnets",
            vpc_id=network.vpc.vpc_id,
            cidr=new.cidr,
            zones=(zone, type(zone)(given.create.second_zone)),
        ).subnets
    else:
        subnets = [
            _reference(scope, f"{id}Subnet{number}", subnet_id)
            for number, subnet_id in enumerate(given.create.subnet_ids, start=1)
        ]
    return SlurmAccountingDatabase(
        scope, id, vpc=network.vpc, subnets=subnets, database=given.create
    )


def accounting_record_of(
    scope: Construct, id: str, institution: Institution, *, network: TrainingNetwork
) -> AccountingDatabase | None:
    """Make the same, and return the record of it that a fleet takes."""
    made = accounting_of(scope, id, institution, network=network)
    return made.record(institution.fleet.accounting) if made else None
