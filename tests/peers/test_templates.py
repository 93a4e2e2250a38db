"""Every template against the validators of others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trainshed.cli.check import stack_templates, validate

ROOT = Path(__file__).parents[2]
# DeletionPolicy and UpdateReplacePolicy. The first may let a stack whose creation fails take back
# what nobody has used yet.
RETAINED = [("Retain", "Retain"), ("RetainExceptOnCreate", "Retain")]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every institution of the checkout, synthesised: the examples, and files of your own."""
    folder = tmp_path_factory.mktemp("assembly")
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={**os.environ, "CDK_OUTDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_cloudformation_validate_finds_no_error(assembly: Path) -> None:
    assert not [str(finding) for finding in validate(assembly) if finding.is_error]


def test_cfn_lint_finds_no_error(assembly: Path) -> None:
    templates = [str(template.path) for template in stack_templates(assembly)]
    done = subprocess.run(
        ["cfn-lint", "--non-zero-exit-code", "error", *templates],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


# A rule of cdk-preflight that neither CloudFormation's nor the CDK's own validation has.
BATCH_WITHOUT_WINDOW = """
aws_cdk.CfnResource(
    aws_cdk.Stack(app, "Wrong"),
    "Mapping",
    type="AWS::Lambda::EventSourceMapping",
    properties={
        "FunctionName": "f",
        "EventSourceArn": "arn:aws:sqs:us-east-1:111122223333:queue",
        "BatchSize": 100,
    },
)
"""


def with_preflight(outdir: Path, more: str = "") -> subprocess.CompletedProcess[str]:
    """Run app.py with cdk-preflight's rules in the CDK's own validation engine, errors fatal."""
    code = f"""
from pathlib import Path
import aws_cdk, cdk_preflight
from stacks.synthesis import make_app
from trainshed.cli.checked import load_all
app = make_app(load_all(Path("institutions")))
{more}
cdk_preflight.Preflight.apply(app)
app.synth()
"""
    context = {"@aws-cdk/core:strictCfnValidateErrors": True}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={
            **os.environ,
            "CDK_OUTDIR": str(outdir),
            "CDK_VALIDATION": "true",
            "CDK_CONTEXT_JSON": json.dumps(context),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_cdk_preflight_finds_no_error(tmp_path: Path) -> None:
    done = with_preflight(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_cdk_preflight_looks(tmp_path: Path) -> None:
    done = with_preflight(tmp_path, BATCH_WITHOUT_WINDOW)
    assert done.returncode != 0
    assert "pf-lambda-esm-batchsize-window" in done.stdout + done.stderr


def statements(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "Effect" in node and ("Action" in node or "NotAction" in node):
            yield node
        for child in node.values():
            yield from statements(child)
    elif isinstance(node, list):
        for child in node:
            yield from statements(child)


def templates_of(assembly: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for template in stack_templates(assembly):
        yield template.name, json.loads(template.path.read_text())


def wildcards(template: dict[str, Any]) -> list[str]:
    found = []
    for statement in statements(template):
        actions = statement.get("Action", statement.get("NotAction", []))
        for action in [actions] if isinstance(actions, str) else actions:
            if statement["Effect"] == "Allow" and "*" in action:
                found.append(action)
    return found


def open_ingress(template: dict[str, Any]) -> list[str]:
    opened = []
    for name, resource in template["Resources"].items():
        properties = resource.get("Properties", {})
        rules = properties.get("SecurityGroupIngress", [])
        if resource["Type"] == "AWS::EC2::SecurityGroupIngress":
            rules = [properties]
        if any(
            rule.get("CidrIp") == "0.0.0.0/0" or rule.get("CidrIpv6") == "::/0" for rule in rules
        ):
            opened.append(name)
    return opened


def test_no_policy_allows_a_wildcard_action(assembly: Path) -> None:
    assert not {name: w for name, template in templates_of(assembly) if (w := wildcards(template))}


def test_nothing_is_open_to_the_world(assembly: Path) -> None:
    assert not {
        name: o for name, template in templates_of(assembly) if (o := open_ingress(template))
    }


def test_no_template_names_an_administrator(assembly: Path) -> None:
    for name, template in templates_of(assembly):
        for word in ("AdministratorAccess", "PowerUserAccess", "IAMFullAccess"):
            assert word not in json.dumps(template), name


def test_the_walkers_see_what_they_look_for() -> None:
    bad = {
        "Resources": {
            "Group": {
                "Type": "AWS::EC2::SecurityGroup",
                "Properties": {"SecurityGroupIngress": [{"CidrIp": "0.0.0.0/0"}]},
            },
            "Rule": {
                "Type": "AWS::EC2::SecurityGroupIngress",
                "Properties": {"CidrIpv6": "::/0"},
            },
            "Policy": {
                "Type": "AWS::IAM::Policy",
                "Properties": {
                    "PolicyDocument": {"Statement": {"Effect": "Allow", "Action": ["s3:Get*", "*"]}}
                },
            },
        }
    }
    assert open_ingress(bad) == ["Group", "Rule"]
    assert wildcards(bad) == ["s3:Get*", "*"]


def test_stateful_resources_are_retained(assembly: Path) -> None:
    stateful = {"AWS::FSx::FileSystem", "AWS::S3::Bucket", "AWS::EC2::CapacityReservation"}
    seen = set()
    for name, template in templates_of(assembly):
        for logical_id, resource in template["Resources"].items():
            if resource["Type"] in stateful:
                seen.add(resource["Type"])
                kept = resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy")
                assert kept in RETAINED, f"{name} {logical_id}"
    assert seen == stateful


def test_synthesis_asks_nothing_of_aws(assembly: Path) -> None:
    manifest = json.loads((assembly / "manifest.json").read_text())
    assert "missing" not in manifest
