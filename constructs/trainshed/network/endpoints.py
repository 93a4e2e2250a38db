"""The VPC endpoints of a network: S3 always, and all that a cluster calls where it is isolated."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

# ParallelCluster user guide "AWS ParallelCluster in a single subnet with no internet access", read
# 2026-11-29: logs, cloudformation, ec2, secretsmanager (directory service, database password),
# elasticloadbalancing and autoscaling (login nodes); S3 and DynamoDB as gateways. Beside them:
# Session Manager (ssm, ssmmessages, ec2messages), CloudWatch metrics, container images (ecr.*),
# keys of secrets and buckets (kms), alerts from nodes (sns) and role sessions (sts). A file system
# is mounted without a call to FSx. Each costs an hourly price and one address of the subnet.
INTERFACE_ENDPOINTS: Mapping[str, str] = MappingProxyType(
    {
        "AutoScaling": "autoscaling",
        "CloudFormation": "cloudformation",
        "CloudWatch": "monitoring",
        "CloudWatchLogs": "logs",
        "Ec2": "ec2",
        "Ec2Messages": "ec2messages",
        "EcrApi": "ecr.api",
        "EcrDocker": "ecr.dkr",
        "ElasticLoadBalancing": "elasticloadbalancing",
        "Kms": "kms",
        "SecretsManager": "secretsmanager",
        "Sns": "sns",
        "Ssm": "ssm",
        "SsmMessages": "ssmmessages",
        "Sts": "sts",
    }
)
"""Service of each interface endpoint of an isolated network, by construct id."""

GATEWAY_ENDPOINTS = ("s3", "dynamodb")
"""Services of the gateway endpoints of an isolated network. They are free."""


def s3_endpoint(scope: Construct, id: str, *, vpc: ec2.IVpc, subnet: ec2.ISubnet) -> Construct:
    """Make the gateway endpoint through which a subnet reaches S3 without NAT charges.

    Its policy is AWS's default, which allows everything: nodes also read AWS's own buckets
    (packages of Amazon Linux, layers of ECR images, ParallelCluster, Systems Manager), whose names
    are many and change. What a node may do is in its role and in the buckets' policies.
    """
    return ec2.GatewayVpcEndpoint(
        scope,
        id,
        vpc=vpc,
        service=ec2.GatewayVpcEndpointAwsService.S3,
        subnets=[ec2.SubnetSelection(subnets=[subnet])],
    )


def isolated_endpoints(
    scope: Construct, *, vpc: ec2.IVpc, subnet: ec2.ISubnet, group: ec2.ISecurityGroup
) -> list[Construct]:
    """Make the endpoints, beside S3's, through which an isolated subnet reaches AWS.

    The default endpoint policy stays, for the reason that S3's has.
    """
    place = ec2.SubnetSelection(subnets=[subnet])
    interfaces = [
        ec2.InterfaceVpcEndpoint(
            scope,
            f"{name}Endpoint",
            vpc=vpc,
            service=ec2.InterfaceVpcEndpointAwsService(service),
            subnets=place,
            security_groups=[group],
            open=False,
        )
        for name, service in INTERFACE_ENDPOINTS.items()
    ]
    dynamodb = ec2.GatewayVpcEndpoint(
        scope,
        "DynamoDbEndpoint",
        vpc=vpc,
        service=ec2.GatewayVpcEndpointAwsService.DYNAMODB,
        subnets=[place],
    )
    return [*interfaces, dynamodb]
