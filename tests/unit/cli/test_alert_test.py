"""``trainshed alert-test`` against an emulated account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import moto
import pytest

from trainshed.cli import main

FILE = str(Path(__file__).parents[3] / "institutions" / "kait.yaml")
REGION = "ap-northeast-2"


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with moto.mock_aws():
        yield


def deploy(resources: dict[str, object], outputs: dict[str, object]) -> None:
    boto3.client("cloudformation", region_name=REGION).create_stack(
        StackName="kait-cluster",
        TemplateBody=json.dumps({"Resources": resources, "Outputs": outputs}),
    )


def test_the_drill_reaches_the_topic_of_the_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    deploy({"Topic": {"Type": "AWS::SNS::Topic"}}, {"AlertTopicArn": {"Value": {"Ref": "Topic"}}})
    sqs = boto3.client("sqs", region_name=REGION)
    queue = sqs.create_queue(QueueName="seen")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]
    sns = boto3.client("sns", region_name=REGION)
    (topic,) = sns.list_topics()["Topics"]
    sns.subscribe(TopicArn=topic["TopicArn"], Protocol="sqs", Endpoint=arn["QueueArn"])
    assert main(["alert-test", FILE]) == 0
    sent = int(capsys.readouterr().out.split()[0])
    attributes = sqs.get_queue_attributes(
        QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessages"]
    )["Attributes"]
    assert int(attributes["ApproximateNumberOfMessages"]) == sent > 20


def test_what_is_no_topic_is_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["alert-test", FILE, "--topic-arn", "foo"]) == 1
    said = capsys.readouterr().err
    assert said == "alert-test: 'foo' is not the ARN of a topic, arn:aws:sns:REGION:ACCOUNT:NAME\n"


def test_a_topic_of_another_region_is_reached_there(capsys: pytest.CaptureFixture[str]) -> None:
    topic = boto3.client("sns", region_name="us-east-2").create_topic(Name="x")["TopicArn"]
    assert main(["alert-test", FILE, "--topic-arn", topic]) == 0
    assert f"messages sent to {topic}" in capsys.readouterr().out


def test_a_cluster_without_alerts_is_said_to_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    deploy({"Bucket": {"Type": "AWS::S3::Bucket"}}, {})
    assert main(["alert-test", FILE]) == 1
    assert "kait-cluster has no alerts; add a section" in capsys.readouterr().err


def test_a_cluster_that_is_not_there_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["alert-test", FILE]) == 1
    assert "kait-cluster" in capsys.readouterr().err


def test_no_test_before_these_left_an_emulated_account_open() -> None:
    # moto begins anew only where no other emulation is open.
    cloudformation = boto3.client("cloudformation", region_name=REGION)
    assert cloudformation.describe_stacks()["Stacks"] == []
