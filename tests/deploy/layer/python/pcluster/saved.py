"""The copies of each configuration that pcluster keeps in a bucket of its own.

The cluster's stack says in its parameter ConfigVersion which of them it has: a stack that is rolled
back has its former one again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.exceptions import ClientError

_BUCKET = "parallelcluster-0123456789abcdef-v1-do-not-delete"


def write(name: str, configuration: Mapping[str, Any]) -> str:
    """Keep a configuration, in a bucket that the first one makes, and return its version."""
    client = boto3.client("s3")
    text = json.dumps(configuration, sort_keys=True)
    version = hashlib.sha256(text.encode()).hexdigest()[:16]
    wanted = {"Bucket": _BUCKET, "Key": _key(name, version), "Body": text.encode()}
    try:
        client.put_object(**wanted)
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchBucket":
            raise
        region = client.meta.region_name
        place = {} if region == "us-east-1" else {"LocationConstraint": region}
        client.create_bucket(
            Bucket=_BUCKET, **({"CreateBucketConfiguration": place} if place else {})
        )
        client.put_object(**wanted)
    return version


def read(name: str) -> dict[str, Any]:
    """Return the configuration that a cluster has."""
    stack = boto3.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    parameters = {each["ParameterKey"]: each["ParameterValue"] for each in stack["Parameters"]}
    key = _key(name, parameters["ConfigVersion"])
    body = boto3.client("s3").get_object(Bucket=_BUCKET, Key=key)["Body"].read()
    kept: dict[str, Any] = json.loads(body)
    return kept


def _key(name: str, version: str) -> str:
    folder = f"parallelcluster/3.16.1/clusters/{name}-0123456789abcdef/configs"
    return f"{folder}/{version}.yaml"
