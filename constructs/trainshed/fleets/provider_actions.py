"""The actions of the provider's function, written out; ``provider_permissions`` scopes them.

Source: aws/aws-parallelcluster, ``cloudformation/policies/parallelcluster-policies.yaml``
(ParallelClusterClusterPolicy1 and 2), read 2026-11-29. Its ``ec2:Describe*``, ``s3:*``,
``s3:Get*``, ``s3:List*`` and ``fsx:*`` are here as the calls that pcluster 3.16.1 makes
(``pcluster/aws/*.py`` in its wheel) and that CloudFormation makes for the resources in the
templates that it renders.
"""

from __future__ import annotations

EC2_READ = (
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeCapacityBlockStatus",
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceAttribute",
    "ec2:DescribeInstanceStatus",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeKeyPairs",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:DescribeLaunchTemplates",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribePlacementGroups",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroupRules",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSnapshots",
    "ec2:DescribeSubnets",
    "ec2:DescribeTags",
    "ec2:DescribeVolumes",
    "ec2:DescribeVpcAttribute",
    "ec2:DescribeVpcs",
)
EC2_WRITE = (
    "ec2:AttachNetworkInterface",
    "ec2:AuthorizeSecurityGroupEgress",
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:CreateLaunchTemplate",
    "ec2:CreateLaunchTemplateVersion",
    "ec2:CreateNetworkInterface",
    "ec2:CreatePlacementGroup",
    "ec2:CreateSecurityGroup",
    "ec2:CreateTags",
    "ec2:DeleteLaunchTemplate",
    "ec2:DeleteNetworkInterface",
    "ec2:DeletePlacementGroup",
    "ec2:DeleteSecurityGroup",
    "ec2:DeleteTags",
    "ec2:ModifyLaunchTemplate",
    "ec2:ModifyNetworkInterfaceAttribute",
    "ec2:RevokeSecurityGroupEgress",
    "ec2:RevokeSecurityGroupIngress",
    "ec2:RunInstances",
)
DYNAMODB = (
    "dynamodb:CreateTable",
    "dynamodb:DeleteTable",
    "dynamodb:DescribeTable",
    "dynamodb:GetItem",
    "dynamodb:ListTagsOfResource",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:TagResource",
    "dynamodb:UntagResource",
    "dynamodb:UpdateItem",
)
S3_BUCKET = (
    "s3:CreateBucket",
    "s3:GetBucketLocation",
    "s3:GetBucketPolicy",
    "s3:GetBucketVersioning",
    "s3:GetEncryptionConfiguration",
    "s3:ListBucket",
    "s3:ListBucketVersions",
    "s3:PutBucketPolicy",
    "s3:PutBucketVersioning",
    "s3:PutEncryptionConfiguration",
)
S3_OBJECT = (
    "s3:DeleteObject",
    "s3:DeleteObjectVersion",
    "s3:GetObject",
    "s3:GetObjectVersion",
    "s3:PutObject",
)
INSTANCE_PROFILE = (
    "iam:AddRoleToInstanceProfile",
    "iam:CreateInstanceProfile",
    "iam:DeleteInstanceProfile",
    "iam:GetInstanceProfile",
    "iam:RemoveRoleFromInstanceProfile",
)
LOGS = (
    "logs:CreateLogGroup",
    "logs:DeleteLogGroup",
    "logs:DeleteMetricFilter",
    "logs:DescribeMetricFilters",
    "logs:ListTagsForResource",
    "logs:PutMetricFilter",
    "logs:PutRetentionPolicy",
    "logs:TagResource",
    "logs:UntagResource",
)
CLOUDWATCH = (
    "cloudwatch:DeleteAlarms",
    "cloudwatch:DeleteDashboards",
    "cloudwatch:GetDashboard",
    "cloudwatch:PutCompositeAlarm",
    "cloudwatch:PutDashboard",
    "cloudwatch:PutMetricAlarm",
)
ROUTE53 = (
    "route53:ChangeTagsForResource",
    "route53:DeleteHostedZone",
    "route53:GetChange",
    "route53:GetHostedZone",
    "route53:ListQueryLoggingConfigs",
    "route53:ListResourceRecordSets",
)
LAMBDA = (
    "lambda:AddPermission",
    "lambda:CreateFunction",
    "lambda:DeleteFunction",
    "lambda:GetFunction",
    "lambda:GetFunctionConfiguration",
    "lambda:InvokeFunction",
    "lambda:ListTags",
    "lambda:RemovePermission",
    "lambda:TagResource",
    "lambda:UntagResource",
    "lambda:UpdateFunctionConfiguration",
)
RESOURCE_GROUPS = (
    "resource-groups:GetGroupConfiguration",
    "resource-groups:ListGroupResources",
)
AUTOSCALING = (
    "autoscaling:CreateAutoScalingGroup",
    "autoscaling:CreateOrUpdateTags",
    "autoscaling:DeleteAutoScalingGroup",
    "autoscaling:DeleteLifecycleHook",
    "autoscaling:DeleteTags",
    "autoscaling:PutLifecycleHook",
    "autoscaling:UpdateAutoScalingGroup",
)
AUTOSCALING_READ = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeLifecycleHooks",
    "autoscaling:DescribeScalingActivities",
)
BALANCER = (
    "elasticloadbalancing:AddTags",
    "elasticloadbalancing:CreateListener",
    "elasticloadbalancing:CreateLoadBalancer",
    "elasticloadbalancing:CreateTargetGroup",
    "elasticloadbalancing:DeleteListener",
    "elasticloadbalancing:DeleteLoadBalancer",
    "elasticloadbalancing:DeleteTargetGroup",
    "elasticloadbalancing:ModifyLoadBalancerAttributes",
    "elasticloadbalancing:ModifyTargetGroup",
    "elasticloadbalancing:RemoveTags",
)
BALANCER_READ = (
    "elasticloadbalancing:DescribeListeners",
    "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeTags",
    "elasticloadbalancing:DescribeTargetGroups",
    "elasticloadbalancing:DescribeTargetHealth",
)
STACK_WRITE = (
    "cloudformation:CreateStack",
    "cloudformation:UpdateStack",
)
STACK_READ_AND_DELETE = (
    "cloudformation:DeleteStack",
    "cloudformation:DescribeStackEvents",
    "cloudformation:DescribeStackResource",
    "cloudformation:DescribeStackResources",
    "cloudformation:DescribeStacks",
    "cloudformation:GetTemplate",
)
ROLE_WRITE = (
    "iam:CreateRole",
    "iam:DeleteRolePolicy",
    "iam:PutRolePolicy",
)
ROLE_KEEP = (
    "iam:DeleteRole",
    "iam:GetRole",
    "iam:GetRolePolicy",
    "iam:TagRole",
    "iam:UntagRole",
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
"""Kinds of resources that ``EC2_WRITE`` is for."""
