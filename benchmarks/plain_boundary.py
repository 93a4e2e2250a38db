"""The permissions boundary of a cluster's roles, in plain aws-cdk-lib."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk

from benchmarks.plain_policies import actions


def boundary_statements(stack: cdk.Stack, name: str) -> list[dict[str, Any]]:
    """Return the most that any role of a cluster may do."""
    partition, region, account = stack.partition, stack.region, stack.account
    tagged = {"StringEquals": {"ec2:ResourceTag/parallelcluster:cluster-name": name}}
    return [
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "cloudwatch",
                    """
                    PutMetricData
                    """,
                ),
                *actions(
                    "ec2",
                    """
                    DescribeCapacityReservations
                    DescribeInstanceAttribute DescribeInstanceStatus
                    DescribeInstances DescribeLaunchTemplateVersions
                    DescribeTags DescribeVolumes
                    """,
                ),
                *actions(
                    "ec2messages",
                    """
                    AcknowledgeMessage DeleteMessage FailMessage
                    GetEndpoint GetMessages SendReply
                    """,
                ),
                *actions(
                    "logs",
                    """
                    DescribeLogGroups
                    """,
                ),
                *actions(
                    "ssm",
                    """
                    DescribeAssociation DescribeDocument
                    GetDeployablePatchSnapshotForInstance GetDocument
                    GetManifest GetParameter GetParameters
                    ListAssociations ListInstanceAssociations
                    PutComplianceItems PutConfigurePackageResult
                    PutInventory UpdateAssociationStatus
                    UpdateInstanceAssociationStatus
                    UpdateInstanceInformation
                    """,
                ),
                *actions(
                    "ssmmessages",
                    """
                    CreateControlChannel CreateDataChannel
                    OpenControlChannel OpenDataChannel
                    """,
                ),
            ],
            "Resource": [
                "*",
            ],
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "ec2",
                    """
                    AttachVolume CreateFleet CreateTags DetachVolume
                    RunInstances
                    """,
                ),
            ],
            "Resource": [
                f"arn:{partition}:ec2:{region}:{account}:*",
                f"arn:{partition}:ec2:{region}::image/*",
                f"arn:{partition}:resource-groups:{region}:{account}:group/*",
            ],
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "ec2",
                    """
                    GetConsoleOutput TerminateInstances
                    """,
                ),
            ],
            "Resource": [
                "*",
            ],
            "Condition": tagged,
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "iam",
                    """
                    PassRole
                    """,
                ),
            ],
            "Resource": [
                f"arn:{partition}:iam::{account}:role/parallelcluster/{name}/*",
            ],
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "dynamodb",
                    """
                    BatchGetItem BatchWriteItem GetItem PutItem Query
                    UpdateItem
                    """,
                ),
            ],
            "Resource": [
                f"arn:{partition}:dynamodb:{region}:{account}:table/parallelcluster-{name}",
                f"arn:{partition}:dynamodb:{region}:{account}:table/parallelcluster-slurm-{name}",
                f"arn:{partition}:dynamodb:{region}:{account}:table/parallelcluster-slurm-{name}/index/*",
            ],
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "cloudformation", """DescribeStackResource DescribeStacks SignalResource"""
                ),
            ],
            "Resource": [
                f"arn:{partition}:cloudformation:{region}:{account}:stack/{name}/*",
                f"arn:{partition}:cloudformation:{region}:{account}:stack/{name}-ComputeFleet*/*",
                f"arn:{partition}:cloudformation:{region}:{account}:stack/{name}-LoginNodes*/*",
            ],
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "logs",
                    """
                    CreateLogGroup CreateLogStream DescribeLogStreams
                    PutLogEvents PutRetentionPolicy
                    """,
                ),
            ],
            "Resource": [
                f"arn:{partition}:logs:{region}:{account}:log-group:/aws/parallelcluster/{name}-????????????",
                f"arn:{partition}:logs:{region}:{account}:log-group:/aws/parallelcluster/{name}-????????????:*",
                f"arn:{partition}:logs:{region}:{account}:log-group:/aws/lambda/pcluster-Cleanup*",
            ],
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "s3",
                    """
                    GetBucketLocation ListBucket ListBucketVersions
                    """,
                ),
            ],
            "Resource": [
                f"arn:{partition}:s3:::parallelcluster-*-v1-do-not-delete",
                f"arn:{partition}:s3:::parallelcluster-*-v1-do-not-delete/*",
            ],
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "s3",
                    """
                    GetObject GetObjectVersion
                    """,
                ),
            ],
            "Resource": [
                f"arn:{partition}:s3:::parallelcluster-*-v1-do-not-delete",
                f"arn:{partition}:s3:::parallelcluster-*-v1-do-not-delete/*",
                f"arn:{partition}:s3:::{region}-aws-parallelcluster/*",
                f"arn:{partition}:s3:::dcv-license.{region}/*",
                f"arn:{partition}:s3:::cdk-hnb659fds-assets-{account}-{region}/*",
            ],
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "s3",
                    """
                    DeleteObject DeleteObjectVersion
                    """,
                ),
            ],
            "Resource": [
                f"arn:{partition}:s3:::parallelcluster-*-v1-do-not-delete",
                f"arn:{partition}:s3:::parallelcluster-*-v1-do-not-delete/*/clusters/{name}-*",
            ],
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "autoscaling",
                    """
                    CompleteLifecycleAction
                    """,
                ),
            ],
            "Resource": [
                f"arn:{partition}:autoscaling:{region}:{account}:autoScalingGroup:*:autoScalingGroupName/{name}-*-AutoScalingGroup",
            ],
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions("resource-groups", """ListGroupResources"""),
            ],
            "Resource": [
                f"arn:{partition}:resource-groups:{region}:{account}:group/*",
            ],
        },
        {
            "Effect": "Allow",
            "Action": [
                *actions(
                    "route53",
                    """
                    ChangeResourceRecordSets ListResourceRecordSets
                    """,
                ),
            ],
            "Resource": [
                f"arn:{partition}:route53:::hostedzone/*",
            ],
        },
    ]
