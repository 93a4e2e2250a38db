"""Links between folders and prefixes: order, events, and buckets that cannot be linked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_notifications as s3n
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Template
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER
from constructs import Construct

from trainshed.config.storage import S3Link
from trainshed.storage import DataBucket, LustreLinks


def link(name: str, direction: Any = "import", **more: Any) -> S3Link:
    return S3Link(path=f"/{name}", prefix=f"{name}/", direction=direction, **more)


def links_in(
    stack: cdk.Stack,
    links: dict[str, S3Link],
    bucket: s3.IBucket | None = None,
    link_buckets: dict[str, s3.IBucket] | None = None,
) -> LustreLinks:
    return LustreLinks(
        stack,
        "Links",
        file_system_id="fs-0123456789abcdef0",
        links=links,
        bucket=bucket,
        link_buckets=link_buckets or {},
    )


@pytest.fixture
def app() -> cdk.App:
    return cdk.App()


@pytest.fixture
def stack(app: cdk.App) -> cdk.Stack:
    return cdk.Stack(app, "Foreign")


def associations(stack: cdk.Stack) -> dict[str, Any]:
    found = Template.from_stack(stack).find_resources("AWS::FSx::DataRepositoryAssociation")
    return {resource["Properties"]["FileSystemPath"]: resource for resource in found.values()}


@pytest.mark.parametrize(
    ("given", "events"),
    [
        pytest.param(
            link("a"),
            {"AutoImportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]}},
            id="import",
        ),
        pytest.param(
            link("a", import_deletions=False),
            {"AutoImportPolicy": {"Events": ["NEW", "CHANGED"]}},
            id="import without deletions",
        ),
        pytest.param(
            link("a", "export"),
            {"AutoExportPolicy": {"Events": ["NEW", "CHANGED"]}},
            id="export",
        ),
        pytest.param(
            link("a", "export", export_deletions=True),
            {"AutoExportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]}},
            id="export with deletions",
        ),
        pytest.param(
            link("a", "both"),
            {
                "AutoImportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]},
                "AutoExportPolicy": {"Events": ["NEW", "CHANGED"]},
            },
            id="both, deletions one way",
        ),
    ],
)
def test_deletions_reach_the_bucket_only_when_asked_for(
    stack: cdk.Stack, given: S3Link, events: dict[str, Any]
) -> None:
    links_in(stack, {"A": given}, DataBucket(stack, "Data").bucket)
    assert associations(stack)["/a"]["Properties"]["S3"] == events


LIVE = [
    link("a", direction, import_deletions=one, export_deletions=other)
    for direction in ("import", "export", "both")
    for one in (True, False)
    for other in (True, False)
]


def test_a_change_of_direction_or_deletions_replaces_no_link() -> None:
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(
        "us-east-1", "AWS::FSx::DataRepositoryAssociation"
    ).schema
    fixed = [path.rpartition("/")[2] for path in schema["createOnlyProperties"]]
    assert "BatchImportMetaDataOnCreate" in fixed
    made = set()
    for given in LIVE:
        stack = cdk.Stack(cdk.App(), "Foreign")
        links_in(stack, {"A": given}, s3.Bucket.from_bucket_name(stack, "Data", "lab-data"))
        (association,) = associations(stack).values()
        properties = association["Properties"]
        made.add(json.dumps({key: properties.get(key) for key in fixed}, sort_keys=True))
    assert made == {
        '{"BatchImportMetaDataOnCreate": true, "DataRepositoryPath": "s3://lab-data/a/", '
        '"FileSystemId": "fs-0123456789abcdef0", "FileSystemPath": "/a"}'
    }


def test_links_are_made_one_after_the_other_and_after_bucket_and_policy(stack: cdk.Stack) -> None:
    bucket = DataBucket(stack, "Data").bucket
    made = links_in(stack, {name: link(name.lower()) for name in ("C", "A", "B")}, bucket)
    assert list(made.associations) == ["A", "B", "C"]
    template = Template.from_stack(stack)
    bucket_ids = {
        *template.find_resources("AWS::S3::Bucket"),
        *template.find_resources("AWS::S3::BucketPolicy"),
    }
    assert len(bucket_ids) == 2
    ids = {path: stack.get_logical_id(made.associations[path[1:].upper()]) for path in
           ("/a", "/b", "/c")}  # fmt: skip
    depends = {path: set(found["DependsOn"]) for path, found in associations(stack).items()}
    assert depends == {
        "/a": bucket_ids,
        "/b": bucket_ids | {ids["/a"]},
        "/c": bucket_ids | {ids["/b"]},
    }


def test_a_links_id_is_its_name_and_not_its_place(stack: cdk.Stack) -> None:
    bucket = DataBucket(stack, "Data").bucket
    alone = links_in(stack, {"datasets": link("datasets")}, bucket)
    other = cdk.Stack(cdk.App(), "Other")
    both = links_in(
        other,
        {"datasets": link("datasets"), "archive": link("archive")},
        DataBucket(other, "Data").bucket,
    )
    assert stack.get_logical_id(alone.associations["datasets"]) == other.get_logical_id(
        both.associations["datasets"]
    )


def test_a_bucket_of_this_app_can_be_named_by_a_link(stack: cdk.Stack) -> None:
    mine = s3.Bucket(stack, "Mine", bucket_name="mine-data")
    links_in(stack, {"A": link("a", bucket="mine-data")}, link_buckets={"mine-data": mine})
    (found,) = associations(stack).values()
    (bucket_id,) = Template.from_stack(stack).find_resources("AWS::S3::Bucket")
    assert found["DependsOn"] == [bucket_id]


def test_a_bucket_that_no_link_names_is_refused(stack: cdk.Stack) -> None:
    with pytest.raises(ValueError) as refused:
        links_in(stack, {}, link_buckets={"mine-data": s3.Bucket(stack, "Mine")})
    assert str(refused.value) == (
        "link_buckets has 'mine-data', which no link names; "
        "name it as the bucket of a link, or leave it out"
    )


def test_a_link_without_any_bucket_is_refused(stack: cdk.Stack) -> None:
    with pytest.raises(ValueError) as refused:
        links_in(stack, {"A": link("a")})
    assert str(refused.value) == "a link to 'a/' names no bucket; pass bucket"


def _with_event_bridge(scope: Construct) -> s3.IBucket:
    return s3.Bucket(scope, "Data", event_bridge_enabled=True)


def _with_topic(scope: Construct) -> s3.IBucket:
    bucket = s3.Bucket(scope, "Data")
    _add_topic(bucket)
    return bucket


def _add_topic(bucket: s3.IBucket) -> None:
    destination = s3n.SnsDestination(sns.Topic(cdk.Stack.of(bucket), "Topic"))
    bucket.add_event_notification(s3.EventType.OBJECT_CREATED, destination)


def _imported_with_topic(scope: Construct) -> s3.IBucket:
    bucket = s3.Bucket.from_bucket_name(scope, "Data", "lab-data")
    _add_topic(bucket)
    return bucket


def _l1(scope: Construct) -> s3.IBucket:
    configuration = s3.CfnBucket.NotificationConfigurationProperty(
        event_bridge_configuration=s3.CfnBucket.EventBridgeConfigurationProperty(
            event_bridge_enabled=True
        )
    )
    resource = s3.CfnBucket(scope, "Data", notification_configuration=configuration)
    return s3.Bucket.from_cfn_bucket(resource)


@pytest.mark.parametrize(
    "make",
    [_with_event_bridge, _with_topic, _imported_with_topic, _l1],
    ids=["EventBridge", "topic", "imported", "L1"],
)
def test_a_bucket_with_notifications_is_refused(
    stack: cdk.Stack, make: Callable[[Construct], s3.IBucket]
) -> None:
    bucket = make(stack)
    with pytest.raises(ValueError) as refused:
        links_in(stack, {"A": link("a")}, bucket)
    assert str(refused.value) == (
        f"the bucket of link A, {bucket.node.path}, has event notifications or EventBridge; they "
        "overwrite the one that FSx adds, and the link stops: use a second bucket for events"
    )


def test_notifications_that_are_added_after_the_link_are_refused_at_synth(
    app: cdk.App, stack: cdk.Stack
) -> None:
    bucket = s3.Bucket(stack, "Data")
    links_in(stack, {"A": link("a")}, bucket)
    bucket.enable_event_bridge_notification()
    with pytest.raises(RuntimeError, match="use a second bucket for events"):
        app.synth()
