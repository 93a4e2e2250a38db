"""What the functions that make a ParallelCluster cluster may do, in plain aws-cdk-lib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam


def actions(service: str, names: str) -> list[str]:
    """Return the actions of one service."""
    return [f"{service}:{name}" for name in names.split()]


EC2_READ = actions(
    "ec2",
    """
    DescribeAvailabilityZones DescribeCapacityBlockStatus DescribeCapacityReservations
    DescribeImages DescribeInstanceAttribute DescribeInstanceStatus
    DescribeInstanceTypeOfferings DescribeInstanceTypes DescribeInstances DescribeKeyPairs
    DescribeLaunchTemplateVersions DescribeLaunchTemplates DescribeNetworkInterfaces
    DescribePlacementGroups DescribeRouteTables DescribeSecurityGroupRules
    DescribeSecurityGroups DescribeSnapshots DescribeSubnets DescribeTags DescribeVolumes
    DescribeVpcAttribute DescribeVpcs
    """,
)
EC2_WRITE = actions(
    "ec2",
    """
    AttachNetworkInterface AuthorizeSecurityGroupEgress AuthorizeSecurityGroupIngress
    CreateLaunchTemplate CreateLaunchTemplateVersion CreateNetworkInterface
    CreatePlacementGroup CreateSecurityGroup CreateTags DeleteLaunchTemplate
    DeleteNetworkInterface DeletePlacementGroup DeleteSecurityGroup DeleteTags
    ModifyLaunchTemplate ModifyNetworkInterfaceAttribute RevokeSecurityGroupEgress
    RevokeSecurityGroupIngress RunInstances
    """,
)
DYNAMODB = actions(
    "dynamodb",
    """
    CreateTable DeleteTable DescribeTable GetItem ListTagsOfResource PutItem Query
    TagResource UntagResource UpdateItem
    """,
)
S3_BUCKET = actions(
    "s3",
    """
    CreateBucket GetBucketLocation GetBucketPolicy GetBucketVersioning
    GetEncryptionConfiguration ListBucket ListBucketVersions PutBucketPolicy
    PutBucketVersioning PutEncryptionConfiguration
    """,
)
S3_OBJECT = actions(
    "s3",
    """
    DeleteObject DeleteObjectVersion GetObject GetObjectVersion PutObject
    """,
)
INSTANCE_PROFILE = actions(
    "iam",
    """
    AddRoleToInstanceProfile CreateInstanceProfile DeleteInstanceProfile GetInstanceProfile
    RemoveRoleFromInstanceProfile
    """,
)
LOGS = actions(
    "logs",
    """
    CreateLogGroup DeleteLogGroup DeleteMetricFilter DescribeMetricFilters
    ListTagsForResource PutMetricFilter PutRetentionPolicy TagResource UntagResource
    """,
)
CLOUDWATCH = actions(
    "cloudwatch",
    """
    DeleteAlarms DeleteDashboards GetDashboard PutCompositeAlarm PutDashboard PutMetricAlarm
    """,
)
ROUTE53 = actions(
    "route53",
    """
    ChangeResourceRecordSets ChangeTagsForResource DeleteHostedZone GetChange GetHostedZone
    ListQueryLoggingConfigs ListResourceRecordSets
    """,
)
LAMBDA = actions(
    "lambda",
    """
    AddPermission CreateFunction DeleteFunction GetFunction GetFunctionConfiguration
    InvokeFunction ListTags RemovePermission TagResource UntagResource
    UpdateFunctionConfiguration
    """,
)
RESOURCE_GROUPS = actions(
    "resource-groups",
    """
    GetGroupConfiguration ListGroupResources
    """,
)
AUTOSCALING = actions(
    "autoscaling",
    """
    CreateAutoScalingGroup CreateOrUpdateTags DeleteAutoScalingGroup DeleteLifecycleHook
    DeleteTags PutLifecycleHook UpdateAutoScalingGroup
    """,
)
AUTOSCALING_READ = actions(
    "autoscaling",
    """
    DescribeAutoScalingGroups DescribeLifecycleHooks DescribeScalingActivities
    """,
)
BALANCER = actions(
    "elasticloadbalancing",
    """
    AddTags CreateListener CreateLoadBalancer CreateTargetGroup DeleteListener
    DeleteLoadBalancer DeleteTargetGroup ModifyLoadBalancerAttributes ModifyTargetGroup
    RemoveTags
    """,
)
BALANCER_READ = actions(
    "elasticloadbalancing",
    """
    DescribeListeners DescribeLoadBalancers DescribeTags DescribeTargetGroups
    DescribeTargetHealth
    """,
)
STACK_WRITE = actions(
    "cloudformation",
    """
    CreateStack UpdateStack
    """,
)
STACK_READ_AND_DELETE = actions(
    "cloudformation",
    """
    DeleteStack DescribeStackEvents DescribeStackResource DescribeStackResources
    DescribeStacks GetTemplate
    """,
)
ROLE_WRITE = actions(
    "iam",
    """
    CreateRole DeleteRolePolicy PutRolePolicy
    """,
)
ROLE_KEEP = actions(
    "iam",
    """
    DeleteRole GetRole GetRolePolicy TagRole UntagRole
    """,
)
EC2_RESOURCES = (
    "capacity-reservation",
    "instance",
    "key-pair",
    "launch-template",
    "network-interface",
    "placement-group",
    "security-group",
    "subnet",
    "volume",
    "vpc",
)


def _allow(
    sid: str,
    actions: Sequence[str],
    resources: Sequence[str],
    conditions: Mapping[str, Any] | None = None,
) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid, actions=list(actions), resources=list(resources), conditions=conditions
    )


def provider_statements(
    stack: cdk.Stack,
    name: str,
    *,
    attachable: list[str],
    scripts: list[str],
    script_bucket: str,
) -> dict[str, list[iam.PolicyStatement]]:
    """Return the statements of each managed policy."""
    partition, region, account = stack.partition, stack.region, stack.account

    def here(service: str, resource: str) -> str:
        return f"arn:{partition}:{service}:{region}:{account}:{resource}"

    def everywhere(service: str, resource: str) -> str:
        return f"arn:{partition}:{service}::{account}:{resource}"

    in_region = {"StringEquals": {"aws:RequestedRegion": region}}
    reservation_groups = here("resource-groups", "group/*")
    instances = here("ec2", "instance/*")
    ec2_written = [here("ec2", f"{kind}/*") for kind in EC2_RESOURCES]
    stacks = [
        here("cloudformation", f"stack/{stack_name}/*")
        for stack_name in (name, f"{name}-ComputeFleet*", f"{name}-LoginNodes*")
    ]
    artifacts = f"arn:{partition}:s3:::parallelcluster-*-v1-do-not-delete"
    roles = [everywhere("iam", f"role/parallelcluster/{name}{end}") for end in ("/*", "-*")]
    return {
        "Ec2Policy": [
            _allow("Ec2Read", EC2_READ, ["*"], in_region),
            _allow(
                "Ec2Write",
                EC2_WRITE,
                [*ec2_written, f"arn:{partition}:ec2:{region}::image/*", reservation_groups],
            ),
            _allow(
                "Ec2Terminate",
                ["ec2:TerminateInstances"],
                [instances],
                {"StringEquals": {"aws:ResourceTag/parallelcluster:cluster-name": name}},
            ),
        ],
        "StackPolicy": [
            _allow(
                "StackWrite",
                STACK_WRITE,
                stacks,
                {"ForAnyValue:StringEquals": {"aws:TagKeys": ["parallelcluster:cluster-name"]}},
            ),
            _allow("StackReadAndDelete", STACK_READ_AND_DELETE, stacks),
            _allow(
                "Tables",
                DYNAMODB,
                [
                    here("dynamodb", f"table/parallelcluster-{table}")
                    for table in (name, f"slurm-{name}")
                ],
            ),
            _allow("ArtifactBucket", S3_BUCKET, [artifacts]),
            _allow("Artifacts", S3_OBJECT, [f"{artifacts}/*"]),
            _allow("Scripts", ["s3:GetObject"], scripts),
            _allow("ScriptBuckets", ["s3:ListBucket"], [script_bucket]),
        ],
        "IamPolicy": [
            _allow("RoleWrite", ROLE_WRITE, roles),
            _allow("RoleKeep", ROLE_KEEP, roles),
            _allow(
                "RoleAttach",
                ["iam:AttachRolePolicy"],
                roles,
                {"ArnEquals": {"iam:PolicyARN": attachable}},
            ),
            _allow("RoleDetach", ["iam:DetachRolePolicy"], roles),
            _allow(
                "RolePass",
                ["iam:PassRole"],
                roles,
                {
                    "StringEqualsIfExists": {
                        "iam:PassedToService": ["ec2.amazonaws.com", "lambda.amazonaws.com"]
                    }
                },
            ),
            _allow("PolicyRead", ["iam:GetPolicy"], attachable),
            _allow(
                "Profiles",
                INSTANCE_PROFILE,
                [everywhere("iam", f"instance-profile/parallelcluster/{name}/*")],
            ),
            _allow(
                "LoginServiceRoles",
                ["iam:CreateServiceLinkedRole"],
                [everywhere("iam", "role/aws-service-role/*")],
                {
                    "StringEquals": {
                        "iam:AWSServiceName": [
                            "autoscaling.amazonaws.com",
                            "elasticloadbalancing.amazonaws.com",
                        ]
                    }
                },
            ),
        ],
        "ServicePolicy": [
            _allow(
                "Logs",
                LOGS,
                [
                    here("logs", f"log-group:/aws/parallelcluster/{name}-*"),
                    here("logs", "log-group:/aws/lambda/pcluster-Cleanup*"),
                ],
            ),
            _allow("LogGroups", ["logs:DescribeLogGroups"], [here("logs", "log-group:*")]),
            _allow(
                "Watch",
                CLOUDWATCH,
                [
                    here("cloudwatch", f"alarm:{name}-*"),
                    everywhere("cloudwatch", f"dashboard/{name}-*"),
                ],
            ),
            _allow("Alarms", ["cloudwatch:DescribeAlarms"], [here("cloudwatch", "alarm:*")]),
            _allow("ZoneCreate", ["route53:CreateHostedZone"], ["*"]),
            _allow(
                "Zones",
                ROUTE53,
                [f"arn:{partition}:route53:::{kind}/*" for kind in ("hostedzone", "change")],
            ),
            _allow("Functions", LAMBDA, [here("lambda", "function:pcluster-Cleanup*")]),
            _allow("FileSystems", ["fsx:DescribeFileSystems"], [here("fsx", "file-system/*")]),
            _allow("ReservationGroups", RESOURCE_GROUPS, [reservation_groups]),
        ],
        "LoginNodePolicy": [
            _allow(
                "LoginGroups",
                AUTOSCALING,
                [here("autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{name}-*")],
            ),
            _allow(
                "LoginBalancers",
                BALANCER,
                [
                    here("elasticloadbalancing", f"{kind}/*")
                    for kind in ("loadbalancer/net", "listener/net", "targetgroup")
                ],
            ),
            _allow("LoginRead", [*AUTOSCALING_READ, *BALANCER_READ], ["*"], in_region),
        ],
    }
