"""What an account holds, seen through its APIs, and what of AWS's own it finds there."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.deploy.emulator.process import REGION
from tests.deploy.place import Place
from trainshed.facts.parallelcluster import VERSION

_LAYER = Path(__file__).with_name("layer")
LAYER_KEY = f"parallelcluster/{VERSION}/layers/aws-parallelcluster/lambda-layer.zip"


def publish_layer(emulator: Place, region: str, *mirrors: tuple[str, str]) -> None:
    """Put the stand-in of AWS's layer where AWS has its own, and into mirrors (bucket, key)."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(_LAYER.rglob("*.py")):
            file.write(path, path.relative_to(_LAYER))
    client = emulator.client("s3", region)
    for bucket, key in ((f"{region}-aws-parallelcluster", LAYER_KEY), *mirrors):
        make_bucket(emulator, region, bucket)
        client.put_object(Bucket=bucket, Key=key, Body=archive.getvalue())


def make_bucket(emulator: Place, region: str, name: str) -> None:
    """Make a bucket, as somebody else in the account would."""
    place = {} if region == REGION else {"LocationConstraint": region}
    wanted = {"CreateBucketConfiguration": place} if place else {}
    emulator.client("s3", region).create_bucket(Bucket=name, **wanted)


def statuses(emulator: Place, *stacks: str, region: str = REGION) -> list[str]:
    """Return the status of each stack."""
    client = emulator.client("cloudformation", region)
    return [client.describe_stacks(StackName=each)["Stacks"][0]["StackStatus"] for each in stacks]


def failures(emulator: Place, stack: str, *, region: str = REGION) -> list[str]:
    """Return the reasons of all failures in the events of a stack."""
    client = emulator.client("cloudformation", region)
    pages = client.get_paginator("describe_stack_events").paginate(StackName=stack)
    return [
        each.get("ResourceStatusReason", "")
        for page in pages
        for each in page["StackEvents"]
        if each["ResourceStatus"].endswith("FAILED")
    ]


def exists(emulator: Place, stack: str, *, region: str = REGION) -> bool:
    """Tell whether there is a stack of a name."""
    pages = emulator.client("cloudformation", region).get_paginator("list_stacks").paginate()
    found = [each for page in pages for each in page["StackSummaries"]]
    return any(
        each["StackName"] == stack and each["StackStatus"] != "DELETE_COMPLETE" for each in found
    )


def stack_id(emulator: Place, stack: str, *, region: str = REGION) -> str:
    """Return the ARN of a stack."""
    answer = emulator.client("cloudformation", region).describe_stacks(StackName=stack)
    return str(answer["Stacks"][0]["StackId"])


def parameters(emulator: Place, stack: str, *, region: str = REGION) -> dict[str, str]:
    """Return the parameters of a stack."""
    answer = emulator.client("cloudformation", region).describe_stacks(StackName=stack)
    found = answer["Stacks"][0].get("Parameters", [])
    return {each["ParameterKey"]: each["ParameterValue"] for each in found}


def outputs(emulator: Place, stack: str, *, region: str = REGION) -> dict[str, str]:
    """Return the outputs of a stack."""
    answer = emulator.client("cloudformation", region).describe_stacks(StackName=stack)
    found = answer["Stacks"][0].get("Outputs", [])
    return {each["OutputKey"]: each["OutputValue"] for each in found}


def physical_id(emulator: Place, stack: str, logical_id: str, *, region: str = REGION) -> str:
    """Return the physical id of a resource of a stack."""
    return physical_ids(emulator, stack, region=region)[logical_id]


def physical_ids(
    emulator: Place, stack: str, *, region: str = REGION, type: str = ""
) -> dict[str, str]:
    """Return the physical id of each resource of a stack, or of those of a type, by logical id."""
    client = emulator.client("cloudformation", region)
    pages = client.get_paginator("list_stack_resources").paginate(StackName=stack)
    return {
        each["LogicalResourceId"]: each.get("PhysicalResourceId", "")
        for page in pages
        for each in page["StackResourceSummaries"]
        if each["ResourceType"].endswith(type)
    }


def all_ids(emulator: Place, name: str, *, region: str = REGION) -> list[str]:
    """Return the physical ids of an institution's two stacks."""
    stacks = (f"{name}-foundation", f"{name}-cluster")
    return [id for each in stacks for id in physical_ids(emulator, each, region=region).values()]


def retained(
    emulator: Place, stack: str, template: Mapping[str, Any], *, region: str = REGION
) -> dict[str, str]:
    """Return physical id and type of what a template says is to stay."""
    ids = physical_ids(emulator, stack, region=region)
    return {
        ids[key]: str(each["Type"])
        for key, each in template["Resources"].items()
        if key in ids and each.get("DeletionPolicy", "").startswith("Retain")
    }


def inventory(emulator: Place, region: str = REGION) -> set[str]:
    """Return every resource there is, as ``kind id``, for what came and what was left."""
    return {f"{kind} {id}" for kind, id in _resources(emulator, region)}


# Service, operation, list in its answer, id in its items, what the kind is called.
_LISTS = (
    ("ec2", "describe_vpcs", "Vpcs", "VpcId"),
    ("ec2", "describe_subnets", "Subnets", "SubnetId"),
    ("ec2", "describe_route_tables", "RouteTables", "RouteTableId"),
    ("ec2", "describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    ("ec2", "describe_addresses", "Addresses", "AllocationId"),
    ("ec2", "describe_security_groups", "SecurityGroups", "GroupId"),
    ("ec2", "describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
    ("ec2", "describe_volumes", "Volumes", "VolumeId"),
    ("ec2", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    ("ec2", "describe_capacity_reservations", "CapacityReservations", "CapacityReservationId"),
    ("fsx", "describe_file_systems", "FileSystems", "FileSystemId"),
    ("fsx", "describe_data_repository_associations", "Associations", "AssociationId"),
    ("s3", "list_buckets", "Buckets", "Name"),
    ("iam", "list_roles", "Roles", "RoleName"),
    ("lambda", "list_functions", "Functions", "FunctionName"),
    ("lambda", "list_layers", "Layers", "LayerName"),
    ("lambda", "list_event_source_mappings", "EventSourceMappings", "UUID"),
    ("logs", "describe_log_groups", "logGroups", "logGroupName"),
    ("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
    ("sns", "list_topics", "Topics", "TopicArn"),
    ("sqs", "list_queues", "QueueUrls", ""),
    ("dynamodb", "list_tables", "TableNames", ""),
    ("events", "list_rules", "Rules", "Name"),
    ("scheduler", "list_schedules", "Schedules", "Name"),
    ("ssm", "describe_parameters", "Parameters", "Name"),
    ("secretsmanager", "list_secrets", "SecretList", "ARN"),
    ("stepfunctions", "list_state_machines", "stateMachines", "stateMachineArn"),
    ("autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", "AutoScalingGroupName"),
    ("cloudformation", "list_stacks", "StackSummaries", "StackId"),
)


def _resources(emulator: Place, region: str) -> Iterator[tuple[str, str]]:
    for service, operation, key, id in _LISTS:
        answer = getattr(emulator.client(service, region), operation)()
        for item in answer.get(key, []):
            if item is not None and _is_there(item):
                yield f"{service} {key}", item[id] if id else item
    policies = emulator.client("iam").list_policies(Scope="Local")["Policies"]
    yield from (("iam Policies", policy["Arn"]) for policy in policies)
    gateways = emulator.client("ec2", region).describe_nat_gateways()["NatGateways"]
    for gateway in gateways:
        if gateway["State"] != "deleted":
            yield "ec2 NatGateways", gateway["NatGatewayId"]
    keys = emulator.client("kms", region)
    for each in keys.list_keys()["Keys"]:
        state = keys.describe_key(KeyId=each["KeyId"])["KeyMetadata"]["KeyState"]
        if state != "PendingDeletion":
            yield "kms Keys", each["KeyId"]


def _is_there(item: Any) -> bool:
    return not (isinstance(item, dict) and item.get("StackStatus") == "DELETE_COMPLETE")
