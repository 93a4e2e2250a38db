"""What security packs say of the storage alone, and what no policy of it holds."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import cdk_nag
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms

from trainshed.config.storage import Lustre, RootSquash, S3Link
from trainshed.storage import DataBucket, LustreStorage

LINKS = {"Data": S3Link(path="/data", prefix="data/", direction="both")}


def storage_in(stack: cdk.Stack, **more: Any) -> LustreStorage:
    """Make storage between imported parts, so that every finding is about the storage."""
    return LustreStorage(
        stack,
        "Storage",
        vpc=ec2.Vpc.from_vpc_attributes(
            stack, "Vpc", vpc_id="vpc-0123456789abcdef0", availability_zones=["us-east-1a"]
        ),
        subnet=ec2.Subnet.from_subnet_id(stack, "Subnet", "subnet-0123456789abcdef0"),
        client_security_group=ec2.SecurityGroup.from_security_group_id(
            stack, "Nodes", "sg-0123456789abcdef0"
        ),
        **more,
    )


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"efa": True, "capacity_gib": 38_400}, id="efa"),
        pytest.param({"capacity_gib": 1200}, id="tcp"),
        pytest.param({"capacity_gib": 1200, "root_squash": RootSquash()}, id="root squash"),
    ],
)
def test_no_finding_is_left_without_a_reason(more: dict[str, Any]) -> None:
    app = cdk.App()
    cdk.Validations.of(app).add_plugins(
        cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)
    )
    stack = cdk.Stack(app, "Foreign")
    storage_in(stack, lustre=Lustre(throughput_mb_s_per_tib=125, **more), links=LINKS)
    app.synth()


def test_no_finding_is_left_of_a_bucket_with_its_own_key() -> None:
    app = cdk.App()
    cdk.Validations.of(app).add_plugins(
        cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)
    )
    stack = cdk.Stack(app, "Foreign")
    DataBucket(stack, "Data", encryption_key=kms.Key(stack, "Key", enable_key_rotation=True))
    app.synth()


def test_no_policy_allows_actions_by_a_pattern() -> None:
    app = cdk.App()
    stack = cdk.Stack(app, "Foreign")
    lustre = Lustre(capacity_gib=1200, throughput_mb_s_per_tib=125, root_squash=RootSquash())
    storage_in(stack, lustre=lustre, links=LINKS)
    template = app.synth().get_stack_by_name("Foreign").template
    allowed: list[str] = []
    for resource in template["Resources"].values():
        document = resource["Properties"].get("PolicyDocument", {})
        for statement in document.get("Statement", []):
            if statement["Effect"] == "Allow":
                actions = statement["Action"]
                allowed += [actions] if isinstance(actions, str) else actions
    assert allowed == ["fsx:UpdateFileSystem"]
