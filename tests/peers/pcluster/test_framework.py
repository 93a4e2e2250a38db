"""What CDK's own provider framework, run as it is, makes of our answers and failures."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from assets.functions.parallelcluster import handler

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "framework.cjs"
RUNTIME = "package/custom-resources/lib/provider-framework/runtime/"
CREATE_FAILED = "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED"
# The longest that CloudFormation gives: partition, stack names, logical id.
ARN = "arn:aws-us-gov:cloudformation:us-gov-west-1:111122223333:stack/{}/{}"
UUID = "01234567-89ab-cdef-0123-456789abcdef"
OUTER, INNER = ARN.format("o" * 128, UUID), ARN.format("i" * 60, UUID)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The framework's JavaScript, out of the aws-cdk-lib that we deploy with."""
    directory = tmp_path_factory.mktemp("framework")
    spec = find_spec("aws_cdk")
    assert spec is not None
    assert spec.origin is not None
    (archive,) = Path(spec.origin).parent.glob("_jsii/aws-cdk-lib@*.jsii.tgz")
    with tarfile.open(archive) as package:
        for member in package:
            if member.name.startswith(RUNTIME) and member.name.endswith(".js"):
                content = package.extractfile(member)
                assert content is not None
                (directory / Path(member.name).name).write_bytes(content.read())
    return directory


def run(runtime: Path, name: str, event: dict[str, Any], answer: dict[str, Any]) -> Any:
    node = shutil.which("node")
    assert node is not None
    job = json.dumps({"handler": name, "event": event, "answer": answer})
    done = subprocess.run(
        [node, SCRIPT, runtime], input=job, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def request(kind: str, physical_id: str | None = None) -> dict[str, Any]:
    event = {
        "RequestType": kind,
        "RequestId": UUID,
        "StackId": OUTER,
        "LogicalResourceId": "L" * 255,
        "ResponseURL": "https://example.invalid/put?secret",
        "ResourceProperties": {"ClusterName": "llm"},
    }
    return event if physical_id is None else {**event, "PhysicalResourceId": physical_id}


def failure(reason: str) -> dict[str, Any]:
    """Return what Lambda answers for a Python handler that raised."""
    error = {"errorMessage": reason, "errorType": "ClusterError", "stackTrace": ["x" * 500]}
    return {"FunctionError": "Unhandled", "Payload": json.dumps(error)}


def success(answer: dict[str, Any]) -> dict[str, Any]:
    return {"Payload": json.dumps(answer)}


@pytest.mark.parametrize("name", ["onEvent", "isComplete"])
@pytest.mark.parametrize("text", ['"\n', "\x01", "검", "🚂", "plain "])
def test_the_longest_failure_fits_cloudformations_4096_bytes(
    runtime: Path, name: str, text: str
) -> None:
    stream = "2026/11/29/" + "f" * 64 + "[$LATEST]" + "0" * 32
    reason = handler.fit(text * 5000, stream)
    seen = run(runtime, name, request("Update", INNER), failure(reason))
    assert seen["response"]["Status"] == "FAILED"
    assert reason in seen["response"]["Reason"]
    assert seen["bytes"] <= 4096
    assert seen["bytes"] - handler._size(reason) <= 1300


def test_the_longest_success_fits_cloudformations_4096_bytes(runtime: Path) -> None:
    data = {
        "HeadNodeInstanceId": "i-0123456789abcdef0",
        "HeadNodePrivateIp": "255.255.255.255",
        "StackArn": INNER,
        "StackName": "i" * 60,
    }
    event = {**request("Create", INNER), "Outcome": "created"}
    seen = run(runtime, "isComplete", event, success({"IsComplete": True, "Data": data}))
    assert seen["response"]["Status"] == "SUCCESS"
    assert seen["response"]["Data"] == data
    assert seen["bytes"] <= 4096


def test_what_on_event_did_reaches_is_complete(runtime: Path) -> None:
    answer = {"PhysicalResourceId": INNER, "Outcome": "created"}
    seen = run(runtime, "onEvent", request("Create"), success(answer))
    assert "response" not in seen
    assert {key: seen["waiting"][key] for key in answer} == answer


def test_an_unfinished_cluster_is_polled_again(runtime: Path) -> None:
    event = {**request("Create", INNER), "Outcome": "created"}
    seen = run(runtime, "isComplete", event, success({"IsComplete": False}))
    assert "response" not in seen
    assert json.loads(seen["retry"])["Outcome"] == "created"


def test_a_refused_create_is_never_followed_by_a_delete_of_ours(runtime: Path) -> None:
    refused = run(runtime, "onEvent", request("Create"), failure("a stack named llm is there"))
    assert refused["response"]["PhysicalResourceId"] == CREATE_FAILED
    rollback = run(runtime, "onEvent", request("Delete", CREATE_FAILED), failure("not called"))
    assert rollback["invoked"] == 0
    assert rollback["response"]["Status"] == "SUCCESS"


@pytest.mark.parametrize("name", ["onEvent", "isComplete"])
@pytest.mark.parametrize("kind", ["Update", "Delete"])
def test_a_failure_keeps_the_physical_id(runtime: Path, name: str, kind: str) -> None:
    seen = run(runtime, name, request(kind, INNER), failure("refused"))
    assert seen["response"]["PhysicalResourceId"] == INNER
