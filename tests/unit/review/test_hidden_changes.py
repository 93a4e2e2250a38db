"""Changes that a template hides in conditions, parameters and attributes of a resource."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import write
from trainshed.review import Action, Effect, Review, review

Template = dict[str, Any]
TOPIC = {"Other": {"Type": "AWS::SNS::Topic"}}
FALSE, TRUE = {"Fn::Equals": ["a", "b"]}, {"Fn::Equals": ["a", "a"]}
EAST = {"Fn::Equals": [{"Ref": "AWS::Region"}, "us-east-1"]}


def one(resource_type: str, *, more: Template | None = None, **properties: Any) -> Template:
    """A template of one resource and a topic."""
    resource = {"Type": resource_type, "Properties": properties, **(more or {})}
    return {"Resources": {"Data": resource, **TOPIC}}


def compared(tmp_path: Path, base: Template, head: Template) -> Review:
    return review(
        write(tmp_path / "a", {"Stack": base}),
        write(tmp_path / "b", {"Stack": head}),
    )


def under(condition: Template | None, **more: Any) -> Template:
    """A bucket that is there under a condition."""
    template = one("AWS::S3::Bucket", more={"Condition": "C"} if condition else {})
    return {**template, "Conditions": {"C": condition} if condition else {}, **more}


ASKED = {"Fn::Equals": [{"Ref": "Keep"}, "yes"]}


def keep(default: str) -> Template:
    return {"Parameters": {"Keep": {"Type": "String", "Default": default}}}


ENDS: dict[str, tuple[Template, Template]] = {
    "a condition that is false": (under(None), under(FALSE)),
    "a condition that turns": (under(TRUE), under(FALSE)),
    "a condition of conditions": (
        under(TRUE),
        under({"Fn::Not": [{"Fn::Or": [FALSE, {"Fn::And": [TRUE, TRUE]}]}]}),
    ),
    "a condition on another Region": (under(None), under(EAST)),
    "a condition on a parameter": (under(ASKED, **keep("yes")), under(ASKED, **keep("no"))),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_condition_that_turns_false_removes(name: str, tmp_path: Path) -> None:
    found = compared(tmp_path, *ENDS[name])
    assert [each.action for each in found.resources] == [Action.REMOVED]
    assert [stop.rule for stop in found.stops] == ["lose-data"]


def test_a_condition_that_the_deployment_decides_may_remove(tmp_path: Path) -> None:
    asked = {"Parameters": {"Keep": {"Type": "String"}}}
    found = compared(tmp_path, under(None), under(ASKED, **asked))
    assert [each.action for each in found.resources] == [Action.MAY_BE_REMOVED]
    (stop,) = found.stops
    assert stop.rule == "lose-data"
    assert stop.sentence.startswith("Unless C (")
    assert "holds, which the deployment decides: The bucket is deleted" in stop.sentence


def test_a_condition_that_stays_removes_nothing(tmp_path: Path) -> None:
    asked = {"Parameters": {"Keep": {"Type": "String"}}}
    assert compared(tmp_path, under(ASKED, **asked), under(ASKED, **asked)).is_unchanged


def named(name: Any, **more: Any) -> Template:
    retained = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
    return {**one("AWS::S3::Bucket", more=retained, BucketName=name), **more}


MAPPED = {"Fn::FindInMap": ["Names", {"Ref": "AWS::Region"}, "data"]}


def names(name: str) -> Template:
    return {"Names": {"ap-northeast-2": {"data": name}}}


RENAMED: dict[str, tuple[Template, Template]] = {
    "a parameter": (
        named({"Ref": "Keep"}, **keep("old")),
        named({"Ref": "Keep"}, **keep("new")),
    ),
    "a mapping": (
        named(MAPPED, Mappings=names("old")),
        named(MAPPED, Mappings=names("new")),
    ),
    "a condition": (
        named({"Fn::If": ["C", "old", "new"]}, Conditions={"C": TRUE}),
        named({"Fn::If": ["C", "old", "new"]}, Conditions={"C": FALSE}),
    ),
    "a condition that the deployment decides": (
        named({"Fn::If": ["C", "old", "new"]}, Conditions={"C": ASKED}, **keep("yes")),
        named({"Fn::If": ["C", "old", "new"]}, Conditions={"C": ASKED}, **keep("no")),
    ),
}


@pytest.mark.parametrize("name", RENAMED)
def test_a_bucket_renamed_from_afar_is_replaced(name: str, tmp_path: Path) -> None:
    found = compared(tmp_path, *RENAMED[name])
    assert [each.action for each in found.resources] == [Action.REPLACED]
    assert [stop.rule for stop in found.stops] == ["orphan-data"]


def expiring(days: int | None, **more: Any) -> Template:
    rules = [{"Status": "Enabled", "ExpirationInDays": days, **more}] if days else []
    return one("AWS::S3::Bucket", LifecycleConfiguration={"Rules": rules})


def noncurrent(days: int) -> Template:
    rule = {"Status": "Enabled", "NoncurrentVersionExpiration": {"NoncurrentDays": days}}
    return one("AWS::S3::Bucket", LifecycleConfiguration={"Rules": [rule]})


Sentence = str | None
OF_ATTRIBUTES: dict[str, tuple[Template, Template, Effect, Sentence]] = {
    "objects expire": (
        expiring(None),
        expiring(1),
        Effect.LOSES_DATA,
        "Objects are deleted once they are 1 day old.",
    ),
    "objects expire sooner": (
        expiring(90),
        expiring(30),
        Effect.LOSES_DATA,
        "Objects are deleted once they are 30 days old.",
    ),
    "objects expire on a day": (
        expiring(None),
        one(
            "AWS::S3::Bucket",
            LifecycleConfiguration={
                "Rules": [{"Status": "Enabled", "ExpirationDate": "2027-01-01"}]
            },
        ),
        Effect.LOSES_DATA,
        "Objects are deleted on the day that a rule names.",
    ),
    "objects expire later": (expiring(30), expiring(90), Effect.LIVE, None),
    "a part expires as all do": (
        expiring(30),
        one(
            "AWS::S3::Bucket",
            LifecycleConfiguration={
                "Rules": [
                    {"Status": "Enabled", "ExpirationInDays": 30},
                    {"Status": "Enabled", "ExpirationInDays": 60, "Prefix": "logs/"},
                ]
            },
        ),
        Effect.LIVE,
        None,
    ),
    "a rule that is off": (expiring(None), expiring(1, Status="Disabled"), Effect.LIVE, None),
    "old versions go sooner": (
        noncurrent(90),
        noncurrent(7),
        Effect.LIVE,
        "What was overwritten or deleted is gone for good after 7 days.",
    ),
    "a smaller volume": (
        one("AWS::EC2::Volume", Size=100),
        one("AWS::EC2::Volume", Size=50),
        Effect.REFUSED,
        "EBS volumes only grow: make a smaller one beside it.",
    ),
    "a volume in another zone": (
        one("AWS::EC2::Volume", AvailabilityZone="a"),
        one("AWS::EC2::Volume", AvailabilityZone="b"),
        Effect.REFUSED,
        "EC2 cannot change this of a volume: make another one beside it.",
    ),
    "a key that is off": (
        one("AWS::KMS::Key", Enabled=True),
        one("AWS::KMS::Key", Enabled=False),
        Effect.STOPS_FLEET,
        "Nothing that is encrypted with it can be read until it is enabled again: what uses it "
        "stops.",
    ),
    "deletions that travel": (
        one("AWS::FSx::DataRepositoryAssociation", S3={"AutoExportPolicy": {"Events": ["NEW"]}}),
        one(
            "AWS::FSx::DataRepositoryAssociation",
            S3={"AutoExportPolicy": {"Events": ["NEW", "DELETED"]}},
        ),
        Effect.LIVE,
        "From now on what is deleted on one side is deleted on the other.",
    ),
    "fewer backups of a database": (
        one("AWS::RDS::DBCluster", BackupRetentionPeriod=35),
        one("AWS::RDS::DBCluster", BackupRetentionPeriod=1),
        Effect.LIVE,
        "Backups that are older than 1 day are deleted.",
    ),
    "nodes replaced by CloudFormation": (
        one("AWS::AutoScaling::AutoScalingGroup", MaxSize="4"),
        one(
            "AWS::AutoScaling::AutoScalingGroup",
            MaxSize="4",
            more={"UpdatePolicy": {"AutoScalingReplacingUpdate": {"WillReplace": True}}},
        ),
        Effect.LIVE,
        "From the next change on CloudFormation itself replaces nodes, with their jobs.",
    ),
}


@pytest.mark.parametrize("name", OF_ATTRIBUTES)
def test_an_attribute_that_costs_data_or_jobs_says_so(name: str, tmp_path: Path) -> None:
    base, head, effect, sentence = OF_ATTRIBUTES[name]
    found = compared(tmp_path, base, head)
    assert found.verdict == effect
    assert [finding.sentence for finding in found.findings] == ([sentence] if sentence else [])


@pytest.mark.parametrize(
    "kind",
    [
        "AWS::DynamoDB::GlobalTable",
        "AWS::ECR::Repository",
        "AWS::EFS::FileSystem",
        "AWS::EC2::Volume",
        "AWS::RDS::GlobalCluster",
        "AWS::S3Express::DirectoryBucket",
    ],
)
def test_whatever_holds_data_is_missed(kind: str, tmp_path: Path) -> None:
    found = compared(tmp_path, one(kind), {"Resources": TOPIC})
    assert [stop.rule for stop in found.stops] == ["lose-data"]
