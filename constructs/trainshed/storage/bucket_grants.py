"""Grants on the objects below one prefix, each action by its name."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from .._given import check_present

_READ = ("s3:GetObject", "s3:GetObjectVersion")
_WRITE = (
    "s3:AbortMultipartUpload",
    "s3:DeleteObject",
    "s3:ListMultipartUploadParts",
    "s3:PutObject",
)
# Of these two the first is bounded by the prefix; the second has no such condition.
_LIST = "s3:ListBucket"
_LIST_UPLOADS = "s3:ListBucketMultipartUploads"


def read(bucket: s3.IBucket, grantee: iam.IGrantable, prefix: str = "") -> iam.Grant:
    """Let somebody list and read the objects below a prefix."""
    check_present(grantee=grantee)
    grant = _objects(bucket, grantee, prefix, _READ).combine(_list(bucket, grantee, prefix))
    return _with_key(grant, bucket, grantee, "kms:Decrypt")


def read_write(bucket: s3.IBucket, grantee: iam.IGrantable, prefix: str = "") -> iam.Grant:
    """Let somebody list, read, write and delete the objects below a prefix."""
    check_present(grantee=grantee)
    grant = _objects(bucket, grantee, prefix, (*_READ, *_WRITE)).combine(
        _list(bucket, grantee, prefix)
    )
    uploads = iam.Grant.add_to_principal(
        grantee=grantee, actions=[_LIST_UPLOADS], resource_arns=[bucket.bucket_arn]
    )
    return _with_key(grant.combine(uploads), bucket, grantee, "kms:Decrypt", "kms:GenerateDataKey")


def _objects(
    bucket: s3.IBucket, grantee: iam.IGrantable, prefix: str, actions: tuple[str, ...]
) -> iam.Grant:
    return iam.Grant.add_to_principal(
        grantee=grantee,
        actions=list(actions),
        resource_arns=[bucket.arn_for_objects(f"{prefix}*")],
    )


def _list(bucket: s3.IBucket, grantee: iam.IGrantable, prefix: str) -> iam.Grant:
    return iam.Grant.add_to_principal(
        grantee=grantee,
        actions=[_LIST],
        resource_arns=[bucket.bucket_arn],
        conditions={"StringLike": {"s3:prefix": f"{prefix}*"}} if prefix else None,
    )


def _with_key(
    grant: iam.Grant, bucket: s3.IBucket, grantee: iam.IGrantable, *actions: str
) -> iam.Grant:
    key = bucket.encryption_key
    return grant.combine(key.grant(grantee, *actions)) if key else grant
