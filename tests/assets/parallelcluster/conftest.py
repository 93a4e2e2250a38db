"""An account in moto, a fake ParallelCluster, and what CDK's framework does with both handlers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from moto import mock_aws
from moto.cloudformation.models import Event, Stack, cloudformation_backends

from assets.functions.parallelcluster import handler
from tests.assets.parallelcluster.fake_pcluster import TEMPLATE, FakePcluster

OUTER = "arn:aws:cloudformation:us-east-2:123456789012:stack/institute-cluster/0f1e2d3c-outer"
OWNER = "0f1e2d3c-outer/ClusterResource"
CONFIGURATION: dict[str, Any] = {
    "Image": {"Os": "ubuntu2204"},
    "Scheduling": {"SlurmQueues": [{"Name": "gpu", "MaxCount": 4, "Efa": {"Enabled": True}}]},
    "Tags": [{"Key": "Project", "Value": "llm"}],
}
CONTEXT = SimpleNamespace(log_stream_name="2026/11/29/[$LATEST]abc")


class Account:
    """CloudFormation of one account, with a hand on what a real one does by itself."""

    def make(
        self,
        name: str,
        status: str = "CREATE_COMPLETE",
        owner: str | None = None,
        owner_stack: str | None = None,
    ) -> str:
        """Make a stack, somebody else's unless an owner is given; return its ARN."""
        tags = [{"Key": "parallelcluster:version", "Value": "3.16.1"}]
        own = {"trainshed:owner": owner, "trainshed:owner-stack": owner_stack}
        tags += [{"Key": key, "Value": value} for key, value in own.items() if value]
        client = handler._cloudformation()
        arn = client.create_stack(StackName=name, TemplateBody=TEMPLATE, Tags=tags)["StackId"]  # type: ignore[arg-type]
        self.set(arn, status)
        return arn

    def set(self, arn: str, status: str, reason: str = "") -> None:
        """Bring a stack into a status, as the end of an operation does."""
        stack = self._stack(arn)
        stack.status = status
        stack.status_reason = reason  # type: ignore[attr-defined]
        stack._add_stack_event(status)

    def fail(self, arn: str, logical_id: str, status: str, reason: str) -> None:
        """Add the event of a resource."""
        event = Event(arn, "llm", logical_id, "x", "AWS::EC2::Instance", status, reason, None)
        self._stack(arn).events.append(event)

    def age(self, arn: str, minutes: int) -> None:
        self._stack(arn).creation_time -= timedelta(minutes=minutes)

    def status(self, arn: str) -> str:
        return handler._cloudformation().describe_stacks(StackName=arn)["Stacks"][0]["StackStatus"]

    @staticmethod
    def _stack(arn: str) -> Stack:
        backend = cloudformation_backends["123456789012"]["us-east-2"]
        return {**backend.stacks, **backend.deleted_stacks}[arn]


class Framework:
    """Calls the handlers as CDK's provider framework does."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request

    def start(self) -> dict[str, Any]:
        """Run on_event; its answer is merged into what is_complete sees."""
        answer = handler.on_event(self.request, CONTEXT)
        if "PhysicalResourceId" in self.request:
            assert answer["PhysicalResourceId"] == self.request["PhysicalResourceId"]
        self.request = {**self.request, **answer}
        return answer

    def poll(self) -> dict[str, Any]:
        answer = handler.is_complete(self.request, CONTEXT)
        assert answer["IsComplete"] or set(answer) == {"IsComplete"}
        return answer


def properties(**changed: Any) -> dict[str, Any]:
    """Return the resource's properties, with some of them changed."""
    configuration = changed.pop("configuration", CONFIGURATION)
    return {
        "ServiceToken": "arn:aws:lambda:us-east-2:123456789012:function:framework",
        "SchemaVersion": "1",
        "ClusterName": "llm",
        "ClusterConfiguration": json.dumps(configuration),
        "RemovalPolicy": "retain",
        "RollbackOnFailure": "true",
        "SuppressValidators": "[]",
        "ValidationFailureLevel": "ERROR",
        **changed,
    }


def request(kind: str, arn: str | None = None, **changed: Any) -> Framework:
    """Return a request of CloudFormation for our resource."""
    old = changed.pop("old", {})
    event: dict[str, Any] = {
        "RequestType": kind,
        "RequestId": "11111111-request",
        "StackId": OUTER,
        "LogicalResourceId": "ClusterResource",
        "ResourceType": "Custom::TrainshedParallelCluster",
        "ResponseURL": "https://example.invalid",
        "ResourceProperties": properties(**changed),
    }
    if arn is not None:
        event["PhysicalResourceId"] = arn
    if kind == "Update":
        event["OldResourceProperties"] = properties(**old)
    return Framework(event)


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    with mock_aws():
        yield Account()


@pytest.fixture(autouse=True)
def pcluster(account: Account, monkeypatch: pytest.MonkeyPatch) -> FakePcluster:
    fake = FakePcluster(account.set)
    fake.install(monkeypatch)
    return fake


@pytest.fixture
def arn(account: Account) -> str:
    """The stack of our own cluster, complete."""
    create = request("Create")
    made: str = create.start()["PhysicalResourceId"]
    account.set(made, "CREATE_COMPLETE")
    return made
