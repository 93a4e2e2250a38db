"""Every example of the project is deployed, as its README says."""

from __future__ import annotations

import zipfile
from contextlib import nullcontext
from fnmatch import fnmatchcase
from io import BytesIO
from pathlib import Path

import pytest

from scripts.deploying_role import NAMED
from tests import examples
from tests.deploy import account
from tests.deploy.cdk import Cdk, bootstrap
from tests.deploy.emulator.process import ACCOUNT, Emulator
from tests.deploy.head import ReadyHead
from tests.deploy.remains import Remains, documented

# How the ARN of each type follows from its name.
NAMED_TYPES = {
    "AutoScaling::AutoScalingGroup": (
        "autoscaling:autoScalingGroup",
        "arn:aws:autoscaling:{place}:autoScalingGroup:1:autoScalingGroupName/{name}",
    ),
    "CloudWatch::Alarm": ("cloudwatch:alarm", "arn:aws:cloudwatch:{place}:alarm:{name}"),
    "DynamoDB::Table": ("dynamodb:table", "arn:aws:dynamodb:{place}:table/{name}"),
    "Events::Rule": ("events:rule-on-default-event-bus", "arn:aws:events:{place}:rule/{name}"),
    "Lambda::Function": ("lambda:function", "arn:aws:lambda:{place}:function:{name}"),
    "Logs::LogGroup": ("logs:log-group", "arn:aws:logs:{place}:log-group:{name}:*"),
    "S3::Bucket": ("s3:bucket", "arn:aws:s3:::{name}"),
    "SNS::Topic": ("sns:topic", "arn:aws:sns:{place}:{name}"),
    "SQS::Queue": ("sqs:queue", "arn:aws:sqs:{place}:{name}"),
    "SSM::Parameter": ("ssm:parameter", "arn:aws:ssm:{place}:parameter{name}"),
}


def test_a_second_bootstrap_changes_nothing(emulator: Emulator) -> None:
    assert "(no changes)" in bootstrap(emulator, "us-east-1")


@pytest.mark.parametrize("name", examples.NAMES)
def test_an_example_is_deployed_once_and_leaves_exactly_what_is_retained(
    emulator: Emulator, tmp_path: Path, name: str
) -> None:
    cdk = Cdk(emulator, ["app.py"], tmp_path, {"institution": name})
    region = "ap-northeast-2" if name == "kait" else "us-east-1"
    if name == "full":
        mirror = ("full-mirror", "parallelcluster/3.16.1/lambda-layer.zip")
        account.publish_layer(emulator, region, mirror)
    remains, stacks = Remains(emulator, region), (f"{name}-foundation", f"{name}-cluster")
    with ReadyHead(emulator, name, region) if name == "bare" else nullcontext():
        cdk.deploy()
    assert account.statuses(emulator, *stacks, region=region) == ["CREATE_COMPLETE"] * 2
    assert cdk.deploy_again().count("(no changes)") == 2
    assert account.statuses(emulator, *stacks, region=region) == ["CREATE_COMPLETE"] * 2
    assert_functions_have_the_code_of_their_assets(emulator, cdk, f"{name}-cluster", region)
    for stack in stacks:
        assert_the_deploying_role_may_make_what_has_a_name(emulator, stack, region)
    with ReadyHead(emulator, name, region) if name == "bare" else nullcontext():
        assert_a_destroy_leaves_exactly_what_is_retained(cdk, remains, *stacks)


def assert_a_destroy_leaves_exactly_what_is_retained(
    cdk: Cdk, remains: Remains, *stacks: str
) -> None:
    """Destroy stacks that are protected until now, and look at all that there is."""
    client = cdk.emulator.client("cloudformation", remains.region)
    for stack in stacks:
        client.update_termination_protection(EnableTerminationProtection=False, StackName=stack)
    remains.note(cdk, *stacks)
    cdk.destroy()
    assert remains.left == remains.expected
    assert remains.types <= documented()


def assert_functions_have_the_code_of_their_assets(
    emulator: Emulator, cdk: Cdk, stack: str, region: str
) -> None:
    """Hold what a function runs against the folder of the assembly that the CLI has zipped."""
    functions = emulator.client("lambda", region)
    bucket = f"cdk-hnb659fds-assets-{ACCOUNT}-{region}"
    checked = 0
    for logical_id, resource in cdk.template(stack)["Resources"].items():
        key = resource.get("Properties", {}).get("Code", {}).get("S3Key")
        if resource["Type"] != "AWS::Lambda::Function" or key is None:
            continue
        name = account.physical_id(emulator, stack, logical_id, region=region)
        size = functions.get_function(FunctionName=name)["Configuration"]["CodeSize"]
        body = emulator.client("s3", region).get_object(Bucket=bucket, Key=key)["Body"].read()
        assert size == len(body)
        with zipfile.ZipFile(BytesIO(body)) as archive:
            folder = cdk.out / f"asset.{key.removesuffix('.zip')}"
            names = archive.namelist()
            assert all(archive.read(each) == (folder / each).read_bytes() for each in names)
            checked += "handler.py" in " ".join(names)
    assert checked


def assert_the_deploying_role_may_make_what_has_a_name(
    emulator: Emulator, stack: str, region: str
) -> None:
    """Hold the names that CloudFormation gave against docs/deploying-role.json."""
    place = f"{region}:{ACCOUNT}"
    checked = 0
    for type, (kind, arn) in NAMED_TYPES.items():
        ids = account.physical_ids(emulator, stack, region=region, type=type)
        for id in ids.values():
            made = arn.format(place=place, name=name_of(id))
            assert any(fnmatchcase(made, each) for each in NAMED[kind]), made
            checked += 1
    assert checked


def name_of(id: str) -> str:
    """Return the name that AWS has for a physical id."""
    # The emulator's own way to name log groups; AWS begins with the stack's name, as everywhere.
    if id.startswith("/aws/cloudformation/"):
        return id.removeprefix("/aws/cloudformation/").replace("/", "-")
    return id if id.startswith("/") else id.rpartition("/")[2].rpartition(":")[2]
