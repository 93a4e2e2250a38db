"""What the real ParallelCluster puts into roles and calls its validators is as we wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.peers.pcluster import rig, test_handler
from tests.peers.test_rendered_configs import CAPACITIES, case
from trainshed.config import (
    AccountingDatabase,
    Fleet,
    HeadNode,
    LoginPool,
    ParallelClusterOptions,
    Queue,
    Ssh,
)
from trainshed.pcluster.validators import VALIDATORS

pytestmark = pytest.mark.slow

GOLDEN = rig.ROOT / "tests/golden/pcluster/role_statements.json"
BOUNDARY = "arn:aws:iam::111122223333:policy/boundary"
NAMES = {
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-2",
    "AWS::AccountId": "111122223333",
    "Route53HostedZone": "Z0123",
}
STACKS = {
    "HeadNode": "llm",
    "loginLoadBalancerSecurityGroup": "llm-LoginNodesNested-1A2B",
}


@pytest.fixture(scope="module")
def templates() -> list[dict[str, Any]]:
    """The templates of a cluster with everything that gives a role a right."""
    fleet = Fleet(
        queues={
            "train": Queue(
                instance_type="p5en.48xlarge", capacity=CAPACITIES["reservation"], max_nodes=4
            ),
            "group": Queue(
                instance_type="p5en.48xlarge",
                capacity=CAPACITIES["on-demand"],
                min_nodes=0,
                max_nodes=4,
            ),
        },
        login_nodes={"login": LoginPool()},
        head_node=HeadNode(ssh=Ssh(key_name="ed25519", allowed_cidr="10.0.0.0/16")),
        accounting=AccountingDatabase(
            host="db.example.edu:3306",
            user="slurm",
            password_secret_arn="arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf",
        ),
        parallelcluster=ParallelClusterOptions(permissions_boundary_arn=BOUNDARY),
    )
    made = case(fleet)
    document = {
        "instance_types": rig.instance_types([made]),
        "world": made.world,
        "steps": [{"event": test_handler.event("Create", dict(made.config))}],
    }
    driven = json.loads(rig.run("tests.peers.pcluster.drive", json.dumps(document)))
    assert driven["steps"][0]["answer"]["Outcome"] == "created"
    found: list[dict[str, Any]] = driven["templates"]
    return found


def resources(templates: list[dict[str, Any]], kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the resources of a type, each with the name of its stack."""
    for template in templates:
        names = [name for key, name in STACKS.items() if key in template["Resources"]]
        stack = names[0] if names else "llm-ComputeFleetQueuesNested-1A2B"
        for resource in template["Resources"].values():
            if resource["Type"] == kind:
                yield stack, resource["Properties"]


def statements(templates: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for stack, policy in resources(templates, "AWS::IAM::Policy"):
        yield from rows(policy["PolicyDocument"], stack)
    for stack, role in resources(templates, "AWS::IAM::Role"):
        for policy in role.get("Policies", []):
            yield from rows(policy["PolicyDocument"], stack)


def rows(document: dict[str, Any], stack: str) -> Iterator[dict[str, Any]]:
    for each in document["Statement"]:
        condition = {"condition": each["Condition"]} if "Condition" in each else {}
        for action in listed(each["Action"]):
            for resource in listed(each["Resource"]):
                yield {"action": action, "resource": written(resource, stack), **condition}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def written(value: Any, stack: str) -> str:
    match value:
        case {"Ref": "AWS::StackId"}:
            return f"arn:aws:cloudformation:us-east-2:111122223333:stack/{stack}/0a1b"
        case {"Ref": name}:
            return NAMES[name]
        case {"Fn::Join": ["", parts]}:
            return "".join(written(part, stack) for part in parts)
    # pcluster ends the name of its folder with random letters.
    return re.sub(r"clusters/llm-\w{16}/", "clusters/llm-0123456789abcdef/", value)


def test_the_statements_of_its_roles_are_those_that_the_boundary_is_made_for(
    templates: list[dict[str, Any]],
) -> None:
    unique = {json.dumps(each, sort_keys=True): each for each in statements(templates)}
    assert [unique[key] for key in sorted(unique)] == json.loads(GOLDEN.read_text())


def test_every_role_has_the_boundary(templates: list[dict[str, Any]]) -> None:
    boundaries = [role["PermissionsBoundary"] for _, role in resources(templates, "AWS::IAM::Role")]
    assert boundaries == [BOUNDARY] * 6


def test_roles_and_profiles_are_where_the_provider_may_write(
    templates: list[dict[str, Any]],
) -> None:
    paths = {
        each["Path"]
        for kind in ("Role", "InstanceProfile")
        for _, each in resources(templates, f"AWS::IAM::{kind}")
    }
    assert paths == {"/parallelcluster/", "/parallelcluster/llm/"}


def test_the_validators_are_those_of_the_wheel() -> None:
    folder = next((rig.ROOT / ".cache").glob("pcluster-*/lib/python*/site-packages/pcluster"))
    texts = [path.read_text() for path in (folder / "validators").glob("*.py")]
    classes = dict(
        each for text in texts for each in re.findall(r"^class (\w+)\((\w+)", text, re.M)
    )

    def judges(name: str) -> bool:
        return name == "Validator" or (name in classes and judges(classes[name]))

    abstract = {"Validator", "AsyncValidator", "_LaunchTemplateValidator"}
    assert {name for name in classes if judges(name)} - abstract == VALIDATORS
