"""The published policies of the deploying role are those of today's templates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest

from scripts import deploying_role
from tests.deploy.emulator.process import ROOT

PUBLISHED = ROOT / "docs" / "deploying-role.json"
# The longest that an institution's name may be.
LONGEST = "a-university-of-applied-scienc"
PLACE = "us-east-1:111122223333"
# Types whose names CloudFormation gives: what makes one, its ARN and the longest name of its API.
GIVEN = {
    "AWS::DynamoDB::Table": ("dynamodb:CreateTable", f"arn:aws:dynamodb:{PLACE}:table/", 255),
    "AWS::Events::Rule": ("events:PutRule", f"arn:aws:events:{PLACE}:rule/", 64),
    "AWS::IAM::InstanceProfile": (
        "iam:CreateInstanceProfile",
        "arn:aws:iam::111122223333:instance-profile/",
        128,
    ),
    "AWS::IAM::Role": ("iam:CreateRole", "arn:aws:iam::111122223333:role/", 64),
    "AWS::Lambda::Function": ("lambda:CreateFunction", f"arn:aws:lambda:{PLACE}:function:", 64),
    "AWS::Logs::LogGroup": ("logs:CreateLogGroup", f"arn:aws:logs:{PLACE}:log-group:", 512),
    "AWS::S3::Bucket": ("s3:CreateBucket", "arn:aws:s3:::", 63),
    "AWS::SNS::Topic": ("sns:CreateTopic", f"arn:aws:sns:{PLACE}:", 256),
    "AWS::SQS::Queue": ("sqs:CreateQueue", f"arn:aws:sqs:{PLACE}:", 80),
}


def test_the_published_policies_are_current() -> None:
    assert PUBLISHED.read_text() == deploying_role.document(), "run make policy"


def test_each_action_is_one_of_the_service_authorization_reference() -> None:
    known = deploying_role.authorization()
    published = {
        action
        for policy in json.loads(PUBLISHED.read_text())
        for each in policy["Statement"]
        for action in each["Action"]
    }
    assert [each for each in published if known[each] is None] == []
    by_hand = {each for actions in deploying_role.BY_HAND.values() for each in actions}
    assert by_hand | {*deploying_role.ALWAYS} <= published
    # What schemas of CloudFormation name, and IAM has not.
    assert "s3:REST.PUT.OBJECT" in deploying_role.asked() - published


def test_what_can_be_limited_to_our_names_is() -> None:
    assert deploying_role.resources("sns:CreateTopic") == ("arn:aws:sns:*:*:*-cluster-*",)
    assert deploying_role.resources("s3:DeleteBucket") == ("arn:aws:s3:::*-foundation-*",)
    # A kind of resource among them has AWS's own ids.
    assert deploying_role.resources("ssm:AddTagsToResource") == ("*",)
    assert deploying_role.resources("fsx:CreateFileSystem") == ("*",)
    assert deploying_role.resources("cloudwatch:DescribeAlarms") == ("*",)


def test_an_action_that_the_data_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = {k: v for k, v in deploying_role.authorization().items() if k != "sns:CreateTopic"}
    monkeypatch.setattr(deploying_role, "authorization", lambda: rest)
    with pytest.raises(ValueError, match=r"authorization.json lacks \['sns:CreateTopic'\]"):
        deploying_role.document()


def test_the_page_attaches_as_many_policies_as_there_are() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text()
    assert "python scripts/deploying_role.py uni >deploying-role.json\n" in page
    numbers = range(len(json.loads(PUBLISHED.read_text())))
    for name in ("uni", LONGEST):
        assert len(json.loads(deploying_role.document(name))) == len(numbers)
    assert f"for n in {' '.join(map(str, numbers))}; do" in page
    assert ",".join(f"$arn-{number}" for number in numbers) in page


def test_no_action_is_a_wildcard_and_each_policy_fits() -> None:
    for policy in json.loads(PUBLISHED.read_text()):
        assert len(json.dumps(policy, separators=(",", ":"))) <= deploying_role.MOST_CHARACTERS
        assert not [a for each in policy["Statement"] for a in each["Action"] if "*" in a]


def test_roles_can_be_made_only_where_ours_are() -> None:
    statements = [
        each for policy in json.loads(PUBLISHED.read_text()) for each in policy["Statement"]
    ]
    everywhere = [each for each in statements if each["Resource"] == "*"]
    told = [a for each in everywhere for a in each["Action"] if a.startswith("iam:")]
    # IAM limits a list to nothing.
    assert told == ["iam:ListRoles"]


def statements(*names: str) -> list[dict[str, Any]]:
    text = deploying_role.document(*names)
    return [each for policy in json.loads(text) for each in policy["Statement"]]


def allows(found: list[dict[str, Any]], action: str, arn: str) -> bool:
    """Tell whether a statement allows an action on a resource."""
    for each in found:
        where = each["Resource"] if isinstance(each["Resource"], list) else [each["Resource"]]
        if action in each["Action"] and any(fnmatchcase(arn, pattern) for pattern in where):
            return True
    return False


def given_name(stack: str, logical_id: str, longest: int) -> str:
    """Return a name as CloudFormation gives it, with the longer ones cut to one half."""
    room = longest - len("--123456789012")
    half = room // 2
    if len(stack) + len(logical_id) > room:
        stack = stack[: max(half, room - len(logical_id))]
        logical_id = logical_id[: room - len(stack)]
    return f"{stack}-{logical_id}-123456789012"


def made(institution: str) -> Iterator[tuple[str, str]]:
    """Yield what makes each resource of the examples whose name is given, and its ARN."""
    for path in sorted(deploying_role.TEMPLATES.glob("*.json")):
        stack = f"{institution}-{path.stem.rpartition('-')[2]}"
        for logical_id, each in json.loads(path.read_text())["Resources"].items():
            if each["Type"] in GIVEN:
                action, arn, longest = GIVEN[each["Type"]]
                name = given_name(stack, logical_id, longest)
                yield action, arn + (name.lower() if "s3" in action else name)


def test_names_that_are_cut_can_be_made_with_the_policies_of_their_institution() -> None:
    general, own = statements(), statements(LONGEST)
    # What the page says of the published ones.
    assert [each for each in made(LONGEST) if not allows(general, *each)]
    assert [each for each in made(LONGEST) if not allows(own, *each)] == []
    assert [each for each in made("a-university1") if not allows(general, *each)] == []


def test_policies_of_some_institutions_are_for_their_stacks_alone() -> None:
    own = statements("north", "south")
    for name in ("north", "south"):
        assert [each for each in made(name) if not allows(own, *each)] == []
    assert [each for each in made("east") if allows(own, *each)] == []
    assert {a for each in own for a in each["Action"]} == {
        a for each in statements() for a in each["Action"]
    }


def test_a_name_that_no_institution_can_have_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        deploying_role.main(["kait", "Bad_Name!"])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith(
        "error: argument NAME: 'Bad_Name!' is not a name: it starts with a lower-case letter and "
        "has up to 30 lower-case letters, digits and hyphens\n"
    )


def test_help_prints_no_policy(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        deploying_role.main(["--help"])
    said = capsys.readouterr().out
    assert said.startswith("usage: ")
    assert "Statement" not in said


def test_a_name_without_a_file_has_its_policies_and_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert deploying_role.main(["kait", "nosuch"]) == 0
    said = capsys.readouterr()
    assert said.out == deploying_role.document("kait", "nosuch")
    assert said.err == (
        "deploying_role: there is no institutions/nosuch.yaml; these policies are for the stacks "
        "that one of this name would have\n"
    )


def test_fsx_may_make_the_role_of_a_link() -> None:
    role = (
        "arn:aws:iam::111122223333:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/"
        "AWSServiceRoleForFSxS3Access_fs-0123456789abcdef0"
    )
    for action in ("CreateServiceLinkedRole", "AttachRolePolicy", "PutRolePolicy"):
        assert allows(statements(), f"iam:{action}", role)
    other = "arn:aws:iam::111122223333:role/aws-service-role/rds.amazonaws.com/AWSServiceRoleForRDS"
    assert not allows(statements(), "iam:PutRolePolicy", other)


def test_what_is_read_of_others_is_not_written() -> None:
    version = f"arn:aws:ssm:{PLACE}:parameter/cdk-bootstrap/hnb659fds/version"
    assert allows(statements(), "ssm:GetParameters", version)
    assert not allows(statements(), "ssm:PutParameter", version)
    asset = "arn:aws:s3:::cdk-hnb659fds-assets-111122223333-us-east-1/asset.zip"
    assert allows(statements(), "s3:GetObject", asset)
    assert not allows(statements(), "s3:DeleteObject", asset)


def test_an_action_without_resources_is_not_limited_to_any() -> None:
    known = deploying_role.authorization()
    limited = [a for each in statements() if each["Resource"] != "*" for a in each["Action"]]
    assert [each for each in limited if not known[each]] == []
