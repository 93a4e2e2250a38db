"""The permissions boundary of a cluster's roles: wide enough for nodes, and too narrow for more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3
from moto.iam.aws_managed_policies import aws_managed_policies_data

from trainshed.config import AccountingDatabase, Fleet, HeadNode, ParallelClusterOptions
from trainshed.fleets import ParallelClusterFleet
from trainshed.fleets.boundary import NO_BOUNDARY

Build = Callable[..., ParallelClusterFleet]
Synth = Callable[[cdk.Stack], Any]
Text = Callable[[Any], str]
MakeRecord = Callable[..., Fleet]

ENV = cdk.Environment(account="111122223333", region="us-east-2")
# What aws-parallelcluster 3.16.1 renders into the roles of a cluster with login nodes, accounting
# and managed DNS, whose scripts are in the bucket "scripts".
RENDERED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "golden/pcluster/role_statements.json").read_text()
)
MANAGED = json.loads(aws_managed_policies_data)
OF_LOG_GROUPS = {
    "logs:CreateLogGroup",
    "logs:CreateLogStream",
    "logs:DescribeLogStreams",
    "logs:PutLogEvents",
    "logs:PutRetentionPolicy",
}
DATABASE = AccountingDatabase(
    host="db",
    user="slurm",
    password_secret_arn="arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf",
)
POLICY = "arn:aws:iam::111122223333:policy/site"


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


class Boundary:
    """The boundary of a synthesised stack."""

    def __init__(self, result: Any, as_text: Text) -> None:
        policies = result.of_type("AWS::IAM::ManagedPolicy").items()
        ((_, policy),) = [item for item in policies if item[0].startswith("FleetBoundary")]
        self.properties = policy["Properties"]
        self.statements = [
            {
                "actions": listed(each["Action"]),
                "resources": [written(as_text(r)) for r in listed(each["Resource"])],
                "condition": each.get("Condition"),
            }
            for each in self.properties["PolicyDocument"]["Statement"]
        ]

    def allows(self, action: str, resource: str, condition: Any = None) -> bool:
        return any(
            action in each["actions"]
            and any(fnmatchcase(resource, pattern) for pattern in each["resources"])
            and each["condition"] in (None, condition)
            for each in self.statements
        )


def written(arn: str) -> str:
    return arn.replace("<AWS::Partition>", "aws")


@pytest.fixture(scope="module")
def boundary(build: Build, synthesised: Synth, record: MakeRecord, as_text: Text) -> Boundary:
    stack = cdk.Stack(cdk.App(), "Foreign", env=ENV)
    build(stack, record(accounting=DATABASE), cluster_name="llm")
    return Boundary(synthesised(stack), as_text)


def needed() -> Iterator[tuple[str, str, Any]]:
    """Yield what the real roles allow, with the scripts in the bucket that ours are in."""
    ours = "cdk-hnb659fds-assets-111122223333-us-east-2"
    for each in RENDERED:
        resource = each["resource"].replace(":::scripts/", f":::{ours}/")
        # A script is fetched with GetObject; the object lists nothing.
        action = {"s3:Get*": "s3:GetObject", "s3:List*": None}.get(each["action"], each["action"])
        if action:
            yield action, resource, each.get("condition")


def test_it_allows_whatever_parallelcluster_gives_its_roles(boundary: Boundary) -> None:
    lost = [
        (action, resource)
        for action, resource, condition in needed()
        if not boundary.allows(action, resource, condition)
        # Narrowed by more tags in the role, so the boundary's one tag is in it.
        and not (action == "ec2:GetConsoleOutput" and "cluster-name" in json.dumps(condition))
    ]
    assert lost == []
    assert len(list(needed())) > 75


def test_it_allows_what_the_agents_on_nodes_need(boundary: Boundary) -> None:
    group = "arn:aws:logs:us-east-2:111122223333:log-group:/aws/parallelcluster/llm-202611292022"
    lost = set()
    for name in ("AmazonSSMManagedInstanceCore", "CloudWatchAgentServerPolicy"):
        for statement in MANAGED[name]["Document"]["Statement"]:
            for action in statement["Action"]:
                resource = f"{group}:log-stream:x" if action in OF_LOG_GROUPS else "*"
                if not boundary.allows(action, resource):
                    lost.add(action)
    assert {action for action in lost if not action.startswith("xray:")} == set()
    assert boundary.allows("logs:CreateLogGroup", group)


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("iam:PutRolePolicy", "arn:aws:iam::111122223333:role/parallelcluster/llm/x"),
        ("iam:CreateRole", "arn:aws:iam::111122223333:role/parallelcluster/llm/x"),
        ("iam:PassRole", "arn:aws:iam::111122223333:role/admin"),
        ("iam:PassRole", "arn:aws:iam::111122223333:role/parallelcluster/llm-h200/x"),
        ("sts:AssumeRole", "arn:aws:iam::111122223333:role/admin"),
        ("ssm:SendCommand", "arn:aws:ec2:us-east-2:111122223333:instance/i-0"),
        ("lambda:UpdateFunctionCode", "arn:aws:lambda:us-east-2:111122223333:function:x"),
        ("s3:PutObject", "arn:aws:s3:::cdk-hnb659fds-assets-111122223333-us-east-2/x"),
        ("s3:GetObject", "arn:aws:s3:::data/x"),
        ("dynamodb:PutItem", "arn:aws:dynamodb:us-east-2:111122223333:table/parallelcluster-x"),
        (
            "logs:PutLogEvents",
            "arn:aws:logs:us-east-2:111122223333:log-group:/aws/parallelcluster/llm-h200-202611292022",
        ),
        ("secretsmanager:GetSecretValue", "arn:aws:secretsmanager:us-east-2:111122223333:secret:x"),
    ],
)
def test_it_allows_no_more_than_that(boundary: Boundary, action: str, resource: str) -> None:
    assert not boundary.allows(action, resource)


def test_no_action_of_it_has_a_wildcard(boundary: Boundary) -> None:
    assert [a for each in boundary.statements for a in each["actions"] if "*" in a] == []


def test_it_leaves_room_for_grants_below_iams_limit(boundary: Boundary, as_text: Text) -> None:
    """IAM counts 6,144 characters without blanks, once references are replaced."""
    document = boundary.properties["PolicyDocument"]
    statements = [
        {**each, "Resource": [written(as_text(arn)) for arn in listed(each["Resource"])]}
        for each in document["Statement"]
    ]
    text = json.dumps({**document, "Statement": statements}, separators=(",", ":"))
    assert len(text) < 5000


def test_what_is_granted_to_nodes_is_within_it(
    stack: cdk.Stack, build: Build, synthesised: Synth, as_text: Text
) -> None:
    fleet = build(stack)
    bucket = s3.Bucket.from_bucket_name(stack, "Data", "data")
    bucket.grant_put(fleet.compute_grant_principal, "results/*")
    bucket.grant_read(fleet.head_grant_principal, "in/*")
    made = Boundary(synthesised(stack), as_text)
    assert made.allows("s3:PutObject", "arn:aws:s3:::data/results/x")
    assert not made.allows("s3:PutObject", "arn:aws:s3:::data/in/x")


def test_every_role_of_the_cluster_has_it(
    stack: cdk.Stack, build: Build, synthesised: Synth, as_text: Text
) -> None:
    fleet = build(stack)
    result = synthesised(stack)
    (id,) = (i for i in result.of_type("AWS::IAM::ManagedPolicy") if i.startswith("FleetBoundary"))
    assert id == "FleetBoundary64B9993E"
    assert result.configuration["Iam"] == {"PermissionsBoundary": f"<{id}>"}
    assert stack.resolve(fleet.permissions_boundary_arn) == {"Ref": id}
    assert Boundary(result, as_text).properties["Path"] == "/parallelcluster/kait/"


def test_the_provider_writes_no_role_without_it(plain: Any, as_text: Text) -> None:
    by_sid = {
        each["Sid"]: each
        for id, policy in plain.of_type("AWS::IAM::ManagedPolicy").items()
        if "FleetProvider" in id
        for each in policy["Properties"]["PolicyDocument"]["Statement"]
    }
    pattern = "arn:<AWS::Partition>:iam::111122223333:policy/parallelcluster/kait/*"
    for sid in ("RoleWrite", "RoleAttach"):
        condition = by_sid[sid]["Condition"]["StringLike"]
        assert as_text(condition["iam:PermissionsBoundary"]) == pattern
    assert set(by_sid["RoleWrite"]["Action"]) == {
        "iam:CreateRole",
        "iam:DeleteRolePolicy",
        "iam:PutRolePermissionsBoundary",
        "iam:PutRolePolicy",
    }
    # pcluster asks whether the boundary is there.
    assert as_text(by_sid["PolicyRead"]["Resource"][-1]) == pattern
    actions = {action for each in by_sid.values() for action in listed(each["Action"])}
    assert not actions & {
        "iam:CreatePolicy",
        "iam:CreatePolicyVersion",
        "iam:DeleteRolePermissionsBoundary",
        "iam:UpdateAssumeRolePolicy",
    }


def test_policies_of_ones_own_are_not_taken_away_but_warned_of(
    stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord
) -> None:
    fleet = build(stack, record(head_node=HeadNode(policies=(POLICY,))))
    assert fleet.permissions_boundary_arn is None
    assert "Iam" not in synthesised(stack).configuration
    warnings = cdk.assertions.Annotations.from_stack(stack).find_warning(
        "/Foreign/Fleet", cdk.assertions.Match.any_value()
    )
    texts = [str(each.entry.data) for each in warnings]
    assert texts.count(f"{NO_BOUNDARY} [ack: trainshed:no-boundary]") == 1


def test_a_named_boundary_is_taken_with_policies_of_ones_own(
    stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord
) -> None:
    options = ParallelClusterOptions(permissions_boundary_arn=POLICY)
    given = record(head_node=HeadNode(policies=(POLICY,)), parallelcluster=options)
    assert build(stack, given).permissions_boundary_arn == POLICY
    result = synthesised(stack)
    assert result.configuration["Iam"] == {"PermissionsBoundary": POLICY}
    assert not [i for i in result.of_type("AWS::IAM::ManagedPolicy") if "Boundary" in i]
