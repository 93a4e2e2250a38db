"""What the foundation stack tells the cluster stack, by way of Parameter Store.

CloudFormation exports would lock the two together: a value that another stack imports can neither
change nor go ("export in use"). Parameters are read at each deploy and lock nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from trainshed import LustreStorage, TrainingNetwork
from trainshed.cluster import has_bucket
from trainshed.config import AccountingDatabase, Institution

if TYPE_CHECKING:
    from trainshed import SlurmAccountingDatabase


class Handoff(Construct):
    """Parameters ``/trainshed/NAME/…`` with the ids of a foundation."""

    values: dict[str, str]
    """What the parameters hold, by the last part of their names."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        institution: Institution,
        network: TrainingNetwork,
        storage: LustreStorage,
        accounting: SlurmAccountingDatabase | None = None,
    ) -> None:
        super().__init__(scope, id)
        values = self.values = {
            "VpcId": network.vpc.vpc_id,
            "ComputeSubnetId": network.compute_subnet.subnet_id,
            "EfaSecurityGroupId": network.efa_security_group.security_group_id,
            "EgressSecurityGroupId": network.egress_security_group.security_group_id,
            "FileSystemId": storage.file_system_id,
            "FileSystemDnsName": storage.dns_name,
            "FileSystemMountName": storage.mount_name,
            "FileSystemSecurityGroupId": storage.security_group.security_group_id,
        }
        if storage.bucket is not None:
            values["BucketName"] = storage.bucket.bucket_name
        if network.nat_gateway_id is not None:
            values["NatGatewayId"] = network.nat_gateway_id
        if accounting is not None:
            values["AccountingHost"] = accounting.host
            values["AccountingPasswordArn"] = accounting.secret.secret_arn
            client = accounting.client_security_group
            values["AccountingClientSecurityGroupId"] = client.security_group_id
        for key, value in values.items():
            ssm.StringParameter(
                self,
                key,
                parameter_name=_path(institution, key),
                string_value=value,
                description=f"{key} of the foundation of {institution.name}",
            )


def acknowledge_unread(stack: cdk.Stack) -> None:
    """Say why the stack has parameters that nothing in it refers to."""
    cdk.Validations.of(stack).acknowledge(
        cdk.Acknowledgment(
            id="CloudFormation-Validate::W2001",
            reason="The whole foundation is read, whatever of it this fleet needs.",
        )
    )


def read_network(scope: Construct, id: str, institution: Institution) -> TrainingNetwork:
    """Return the network that a foundation made, as an import."""
    zone = institution.network.place
    vpc = ec2.Vpc.from_vpc_attributes(
        scope,
        f"{id}Vpc",
        vpc_id=_read(scope, institution, "VpcId"),
        availability_zones=[zone.value],
    )
    subnet = ec2.Subnet.from_subnet_id(
        scope, f"{id}ComputeSubnet", _read(scope, institution, "ComputeSubnetId")
    )
    cdk.Annotations.of(subnet).acknowledge_warning(
        "@aws-cdk/aws-ec2:noSubnetRouteTableId", "nothing here reads its routes"
    )
    return TrainingNetwork.from_attributes(
        scope,
        id,
        zone=zone,
        internet=institution.network.source.internet,
        vpc=vpc,
        compute_subnet=subnet,
        efa_security_group=_group(scope, id, institution, "Efa"),
        egress_security_group=_group(scope, id, institution, "Egress"),
    )


def read_nat_gateway_id(scope: Construct, institution: Institution) -> str | None:
    """Return the NAT gateway that a foundation made; None where it makes none."""
    new = institution.network.vpc
    return _read(scope, institution, "NatGatewayId") if new and new.internet == "nat" else None


def read_storage(scope: Construct, id: str, institution: Institution) -> LustreStorage:
    """Return the file system that a foundation made, as an import."""
    return LustreStorage.from_attributes(
        scope,
        id,
        file_system_id=_read(scope, institution, "FileSystemId"),
        dns_name=_read(scope, institution, "FileSystemDnsName"),
        mount_name=_read(scope, institution, "FileSystemMountName"),
        security_group=_group(scope, id, institution, "FileSystem"),
        mount_dir=institution.storage.mount_dir,
        efa=institution.storage.source.efa,
        capacity_gib=institution.storage.source.capacity_gib,
        bucket=s3.Bucket.from_bucket_name(
            scope, f"{id}Bucket", _read(scope, institution, "BucketName")
        )
        if has_bucket(institution.storage)
        else None,
    )


def read_accounting(scope: Construct, institution: Institution) -> AccountingDatabase | None:
    """Return the accounting database that a foundation made; None where it makes none."""
    given = institution.fleet.accounting
    if given is None or given.create is None:
        return None
    cdk.Validations.of(scope).acknowledge(
        cdk.Acknowledgment(
            id="cdk-preflight::pf-iam-policy-resource-format",
            reason="The parameter holds the ARN of a secret; the name of the parameter is none.",
        )
    )
    return given.made(
        host=_read(scope, institution, "AccountingHost"),
        password_secret_arn=_read(scope, institution, "AccountingPasswordArn"),
        client_security_group_id=_read(scope, institution, "AccountingClientSecurityGroupId"),
    )


def _group(scope: Construct, id: str, institution: Institution, name: str) -> ec2.ISecurityGroup:
    return ec2.SecurityGroup.from_security_group_id(
        scope,
        f"{id}{name}SecurityGroup",
        _read(scope, institution, f"{name}SecurityGroupId"),
        mutable=False,
    )


def _read(scope: Construct, institution: Institution, key: str) -> str:
    parameter = cdk.CfnParameter(
        scope,
        f"Foundation{key}",
        type="AWS::SSM::Parameter::Value<String>",
        default=_path(institution, key),
        description=f"Name of the parameter that holds the {key} of the foundation",
    )
    return parameter.value_as_string


def _path(institution: Institution, key: str) -> str:
    return f"/trainshed/{institution.name}/{key}"
