"""A bucket for datasets and checkpoints that FSx for Lustre can be linked to."""

from __future__ import annotations

from functools import cache
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from .._acknowledge import acknowledge
from .._given import check_value
from ..config.storage import NoncurrentDays

_MULTIPART_DAYS: Final = 7
# Read once: each time is a call to the CDK's Node process.
_PRIVATE: Final = s3.BlockPublicAccess.BLOCK_ALL

_NO_ACCESS_LOG = (
    "A training run reads objects by the billion and each would be a log line; pass "
    "access_logs_bucket, or use CloudTrail data events, where an audit asks for it"
)
_NO_REPLICA = (
    "A second copy of a training set doubles its cost; versions bring back what was overwritten"
)
_NO_KEY = "Encrypted with S3's own keys; pass encryption_key where an own key is required"


@cache
def _days(number: int) -> cdk.Duration:
    return cdk.Duration.days(number)


class DataBucket(Construct):
    """A bucket for datasets and checkpoints: versioned, TLS only, private, retained.

    It has no event notifications and must get none: FSx writes its own, and another writer's
    would break the links (``LustreStorage`` refuses such a bucket). Send events from a second one.

    Args:
        scope: Where it belongs.
        id: Its id there.
        noncurrent_days: Days that overwritten and deleted objects can be brought back, from 1.
        encryption_key: Key of the objects. None: S3's own keys. FSx gets the use of a key that
            is made in this app; the policy of an imported key has to allow it already.
        access_logs_bucket: Where a line for each request is written. None: nowhere.
        removal_policy: What becomes of it when it is deleted or replaced. Default: it is kept;
            only a stack whose first creation fails takes it back.
    """

    bucket: s3.IBucket
    """The bucket."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        noncurrent_days: int = 90,
        encryption_key: kms.IKey | None = None,
        access_logs_bucket: s3.IBucket | None = None,
        removal_policy: cdk.RemovalPolicy = cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ) -> None:
        super().__init__(scope, id)
        check_value("noncurrent_days", noncurrent_days, NoncurrentDays)
        bucket = s3.Bucket(
            self,
            "Resource",
            versioned=True,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=_PRIVATE,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.KMS
            if encryption_key
            else s3.BucketEncryption.S3_MANAGED,
            encryption_key=encryption_key,
            # One data key for many objects; without it each object is a call to KMS.
            bucket_key_enabled=True if encryption_key else None,
            server_access_logs_bucket=access_logs_bucket,
            server_access_logs_prefix=f"{self.node.addr}/" if access_logs_bucket else None,
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="KeepOverwritten",
                    noncurrent_version_expiration=_days(noncurrent_days),
                    expired_object_delete_marker=True,
                ),
                s3.LifecycleRule(
                    id="AbortUploads",
                    abort_incomplete_multipart_upload_after=_days(_MULTIPART_DAYS),
                ),
            ],
            removal_policy=removal_policy,
        )
        self.bucket = bucket
        if encryption_key:
            self._let_fsx_use(encryption_key)
        self._acknowledge(bucket, encryption_key, access_logs_bucket)

    def _let_fsx_use(self, key: kms.IKey) -> None:
        """Allow the role by which FSx reads and writes the bucket to use its key.

        The role is named after the file system, which need not exist yet.
        """
        stack = cdk.Stack.of(self)
        role = (
            f"arn:{stack.partition}:iam::{stack.account}:role/aws-service-role/"
            "s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_*"
        )
        added = key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="FSxLinks",
                principals=[iam.AnyPrincipal()],
                # FSx for Lustre user guide "Working with server-side encrypted Amazon S3 buckets",
                # the actions that reading and writing objects needs.
                actions=["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"],
                resources=["*"],
                conditions={
                    "ArnLike": {"aws:PrincipalArn": role},
                    "StringEquals": {
                        "kms:CallerAccount": stack.account,
                        "kms:ViaService": f"s3.{stack.region}.{stack.url_suffix}",
                    },
                },
            ),
            allow_no_op=True,
        )
        if not added.statement_added:
            cdk.Annotations.of(self).add_warning_v2(
                "trainshed:imported-bucket-key",
                f"the policy of an imported key is not changed here; it must let {role} use the "
                "key, or FSx cannot read or write the bucket",
            )

    @staticmethod
    def _acknowledge(
        bucket: s3.IBucket, key: kms.IKey | None, access_logs_bucket: s3.IBucket | None
    ) -> None:
        rules = {"NIST.800.53.R5-S3BucketReplicationEnabled": _NO_REPLICA}
        if access_logs_bucket is None:
            rules["AwsSolutions-S1"] = _NO_ACCESS_LOG
            rules["NIST.800.53.R5-S3BucketLoggingEnabled"] = _NO_ACCESS_LOG
        if key is None:
            rules["NIST.800.53.R5-S3DefaultEncryptionKMS"] = _NO_KEY
        acknowledge(bucket, rules)
