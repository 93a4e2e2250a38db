"""The VPC endpoints of a network: S3 always, and all that a cluster calls where it is isolated."""

from __future__ import annotations

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from ..facts.endpoints import GATEWAY_ENDPOINTS, INTERFACE_ENDPOINTS

__all__ = ["GATEWAY_ENDPOINTS", "INTERFACE_ENDPOINTS", "isolated_endpoints", "s3_endpoint"]

# Read once: each time is a call to the CDK's Node process.
_S3 = ec2.GatewayVpcEndpointAwsService.S3


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
        service=_S3,
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
