"""``create_cluster`` and ``update_cluster``."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.exceptions import ClientError

from . import saved
from .utils import get_installed_version

# A cluster with this tag cannot start: its stack asks for what the service refuses.
FAILS = "stand-in:fails"


class ParallelClusterApiException(Exception):  # noqa: N818  pcluster's own name
    """A refusal, as pcluster words it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.data = {"message": message}


def create_cluster(
    *,
    cluster_name: str,
    cluster_configuration: Mapping[str, Any],
    rollback_on_failure: bool,
    validation_failure_level: str,
    suppress_validators: list[str] | None = None,
) -> dict[str, Any]:
    """Save the configuration and start the cluster's stack."""
    version = saved.write(cluster_name, cluster_configuration)
    made = boto3.client("cloudformation").create_stack(
        StackName=cluster_name,
        TemplateBody=_template(cluster_configuration),
        Parameters=[{"ParameterKey": "ConfigVersion", "ParameterValue": version}],
        Tags=_tags(cluster_configuration),
        DisableRollback=not rollback_on_failure,
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
    )
    return {"cluster": {"cloudformationStackArn": made["StackId"]}}


def update_cluster(
    *,
    cluster_name: str,
    cluster_configuration: Mapping[str, Any],
    validation_failure_level: str,
    suppress_validators: list[str] | None = None,
) -> dict[str, Any]:
    """Refuse what needs a stopped fleet; else save the configuration and update the stack."""
    former = saved.read(cluster_name)
    if former == cluster_configuration:
        raise ParallelClusterApiException("No changes found in your cluster configuration.")
    _refuse_what_stops_the_fleet(former, cluster_configuration)
    version = saved.write(cluster_name, cluster_configuration)
    try:
        boto3.client("cloudformation").update_stack(
            StackName=cluster_name,
            TemplateBody=_template(cluster_configuration),
            Parameters=[{"ParameterKey": "ConfigVersion", "ParameterValue": version}],
            Tags=_tags(cluster_configuration),
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
        )
    except ClientError as error:
        raise ParallelClusterApiException(error.response["Error"]["Message"]) from error
    return {"cluster": {"clusterName": cluster_name}}


def _refuse_what_stops_the_fleet(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse another head node and other instances, as 3.16.1's update policies do."""
    heads = old["HeadNode"], new["HeadNode"]
    for path in (("InstanceType",), ("Networking", "SubnetId")):
        was, comes = (functools.reduce(dict.__getitem__, path, head) for head in heads)
        if was != comes:
            raise ParallelClusterApiException(
                f"Update failure: HeadNode > {' > '.join(path)}: the update is not supported"
            )
    if _instances(old) != _instances(new):
        raise ParallelClusterApiException(
            "Update failure: Instances: All compute nodes must be stopped. "
            "Stop the compute fleet with the pcluster update-compute-fleet command"
        )


def _instances(configuration: Mapping[str, Any]) -> dict[str, Any]:
    return {
        queue["Name"]: [
            each.get("Instances", each.get("InstanceType")) for each in queue["ComputeResources"]
        ]
        for queue in configuration["Scheduling"]["SlurmQueues"]
    }


def _tags(configuration: Mapping[str, Any]) -> list[Any]:
    version = {"Key": "parallelcluster:version", "Value": get_installed_version()}
    name = {"Key": "parallelcluster:cluster-name", "Value": "stand-in"}
    return [*configuration["Tags"], version, name]


def _template(configuration: Mapping[str, Any]) -> str:
    resource: dict[str, Any] = {
        "Type": "AWS::SSM::Parameter",
        "Properties": {"Type": "String", "Value": {"Ref": "ConfigVersion"}},
    }
    if any(tag["Key"] == FAILS for tag in configuration["Tags"]):
        resource = {"Type": "AWS::FSx::FileSystem", "Properties": {"StorageCapacity": "none"}}
    return json.dumps(
        {
            "Parameters": {"ConfigVersion": {"Type": "String"}},
            "Resources": {"HeadNode": resource},
            "Outputs": {
                "HeadNodeInstanceID": {"Value": "i-0123456789abcdef0"},
                "HeadNodePrivateIP": {"Value": "10.0.0.7"},
            },
        }
    )
