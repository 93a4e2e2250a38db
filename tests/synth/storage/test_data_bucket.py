"""The bucket for datasets and checkpoints."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Annotations, Match, Template

from trainshed.storage import DataBucket, bucket_grants


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(
        cdk.App(),
        "Foreign",
        env=cdk.Environment(account="111122223333", region="us-east-1"),
    )


def test_it_is_versioned_private_and_retained(stack: cdk.Stack) -> None:
    DataBucket(stack, "Data", noncurrent_days=30)
    Template.from_stack(stack).has_resource(
        "AWS::S3::Bucket",
        {
            "DeletionPolicy": "RetainExceptOnCreate",
            "UpdateReplacePolicy": "Retain",
            "Properties": {
                "VersioningConfiguration": {"Status": "Enabled"},
                "PublicAccessBlockConfiguration": {
                    "BlockPublicAcls": True,
                    "BlockPublicPolicy": True,
                    "IgnorePublicAcls": True,
                    "RestrictPublicBuckets": True,
                },
                "LifecycleConfiguration": {
                    "Rules": [
                        {
                            "Id": "KeepOverwritten",
                            "NoncurrentVersionExpiration": {"NoncurrentDays": 30},
                            "ExpiredObjectDeleteMarker": True,
                            "Status": "Enabled",
                        },
                        {
                            "Id": "AbortUploads",
                            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
                            "Status": "Enabled",
                        },
                    ]
                },
                "NotificationConfiguration": Match.absent(),
            },
        },
    )


def test_it_takes_tls_and_nothing_else(stack: cdk.Stack) -> None:
    DataBucket(stack, "Data")
    Template.from_stack(stack).has_resource_properties(
        "AWS::S3::BucketPolicy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with(
                    [
                        Match.object_like(
                            {
                                "Effect": "Deny",
                                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                            }
                        )
                    ]
                )
            }
        },
    )


def test_an_own_key_lets_fsx_in_and_grants_pass_on(stack: cdk.Stack) -> None:
    data = DataBucket(stack, "Data", encryption_key=kms.Key(stack, "Key"))
    role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    bucket_grants.read_write(data.bucket, role)
    template = Template.from_stack(stack)
    template.has_resource_properties(
        "AWS::KMS::Key",
        {
            "KeyPolicy": {
                "Statement": Match.array_with(
                    [
                        Match.object_like(
                            {
                                "Sid": "FSxLinks",
                                "Action": [
                                    "kms:Decrypt",
                                    "kms:DescribeKey",
                                    "kms:Encrypt",
                                    "kms:GenerateDataKey",
                                ],
                                "Condition": {
                                    "ArnLike": Match.any_value(),
                                    "StringEquals": {
                                        "kms:CallerAccount": "111122223333",
                                        "kms:ViaService": Match.any_value(),
                                    },
                                },
                            }
                        )
                    ]
                )
            }
        },
    )
    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with(
                    [Match.object_like({"Action": ["kms:Decrypt", "kms:GenerateDataKey"]})]
                )
            }
        },
    )


def test_an_imported_key_gives_a_warning(stack: cdk.Stack) -> None:
    key = kms.Key.from_key_arn(stack, "Key", "arn:aws:kms:us-east-1:111122223333:key/1234")
    DataBucket(stack, "Data", encryption_key=key)
    Annotations.from_stack(stack).has_warning(
        "/Foreign/Data", Match.string_like_regexp("policy of an imported key is not changed here")
    )


def test_requests_can_be_logged(stack: cdk.Stack) -> None:
    logs = s3.Bucket(stack, "Logs")
    DataBucket(stack, "Data", access_logs_bucket=logs)
    Template.from_stack(stack).has_resource_properties(
        "AWS::S3::Bucket",
        {"LoggingConfiguration": {"LogFilePrefix": Match.any_value()}},
    )
