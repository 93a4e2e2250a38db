"""The VPC endpoints that a cluster needs where its network is isolated."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
