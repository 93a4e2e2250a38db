"""Messages to Node have the content that jsii gives them, and are read as jsii reads them."""

from __future__ import annotations

import enum
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from jsii._kernel import types
from jsii._kernel.providers import process

from stacks import jsii_messages
from stacks.jsii_messages import JSII, _Json, _Serializer

ROOT = Path(__file__).parents[2]
REF = types.ObjRef("aws-cdk-lib.App@10000")


class Colour(enum.Enum):
    """As the CDK's Python has its enums."""

    RED = "RED"


Colour.__jsii_type__ = "aws-cdk-lib.Colour"  # type: ignore[attr-defined]


class Made:
    """What Node has made."""

    __jsii_ref__ = types.ObjRef("aws-cdk-lib.Stack@10001", ["aws-cdk-lib.IStack"])


ARGS = [
    None,
    "zone ${Token[ID.1]} ü",
    1.5,
    Made(),
    REF,
    Colour.RED,
    datetime(2026, 11, 30, tzinfo=UTC),
    {"$jsii.map": {"key": ["value", {"$jsii.struct": {"fqn": "x", "data": {"at": Made()}}}]}},
]

requests = pytest.mark.parametrize(
    "request_",
    [
        types.CreateRequest("aws-cdk-lib.Stack", ARGS, [types.Override("m", None, "c")], ["i"]),
        types.CreateRequest("aws-cdk-lib.Stack"),
        types.GetRequest(REF, "node"),
        types.StaticGetRequest("aws-cdk-lib.Aws", "REGION"),
        types.InvokeRequest(Made.__jsii_ref__, "addDependency", ARGS),
        types.StaticInvokeRequest("aws-cdk-lib.Stack", "of", ARGS),
        types.SetRequest(REF, "retention", Colour.RED),
        types.DeleteRequest(REF),
        types.LoadRequest("constructs", "10.0.0", "constructs.tgz"),
        process._CompleteRequest(types.CompleteRequest("cb", None, {"$jsii.map": {}})),
    ],
    ids=lambda request: type(request).__name__,
)
responses = pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"$jsii.byref": "x@1"}, types.CreateResponse),
        ({"$jsii.byref": "x@1", "$jsii.interfaces": ["i"]}, types.CreateResponse),
        ({"value": {"$jsii.byref": "x@1", "$jsii.interfaces": ["i"]}}, types.GetResponse),
        ({"value": {"$jsii.map": {"a": {"$jsii.enum": "aws-cdk-lib.C/RED"}}}}, types.GetResponse),
        ({"value": {"$jsii.date": "2026-11-30T00:00:00Z"}}, types.GetResponse),
        ({"value": {"$other": 1, "$jsii.byref": "x"}}, types.GetResponse),
        ({}, types.GetResponse),
        ({"result": [{}, {"Fn::GetAtt": ["a", "b"]}, "ü"]}, types.InvokeResponse),
        ({}, types.InvokeResponse),
        ({}, types.SetResponse),
        ({"assembly": "constructs", "types": 21}, types.LoadResponse),
    ],
)


@pytest.fixture
def node() -> Any:
    """jsii's own side of a Node process that is not started."""
    made: Any = process._NodeProcess()  # type: ignore[no-untyped-call]
    made.stop = lambda: None
    return made


@requests
def test_a_request_has_the_content_that_jsii_gives_it(node: Any, request_: Any) -> None:
    usual = json.dumps(node._serializer.unstructure(request_), default=process.jdefault)
    ours = _Json.dumps(_Serializer(node._serializer).unstructure(request_), default=None)
    assert json.loads(ours) == json.loads(usual)


@responses
def test_a_response_is_read_as_jsii_reads_it(node: Any, answer: Any, kind: Any) -> None:
    line = json.dumps({"ok": answer}).encode()

    def read(serializer: Any, loads: Any) -> Any:
        message = loads(line, object_hook=process.ohook)
        return serializer.structure(
            serializer.structure(message, process._ProcessResponse).ok, kind
        )

    usual = read(node._serializer, json.loads)
    ours = read(_Serializer(node._serializer), _Json.loads)
    assert (type(ours), ours) == (type(usual), usual)


@pytest.mark.parametrize(
    "message",
    [
        {"error": "no such method", "stack": "at x", "name": "@jsii/kernel.Fault"},
        {"callback": {"cbid": "1", "cookie": "c", "get": {"objref": REF, "property": "p"}}},
    ],
    ids=["error", "callback"],
)
def test_errors_and_callbacks_are_left_to_jsii(node: Any, message: Any) -> None:
    usual = node._serializer.structure(message, process._ProcessResponse)
    assert _Serializer(node._serializer).structure(message, process._ProcessResponse) == usual


@pytest.mark.parametrize("value", [object(), datetime(2026, 11, 30)], ids=["object", "naive"])
def test_what_jsii_refuses_is_refused(value: object) -> None:
    with pytest.raises(TypeError) as usual:
        json.dumps(value, default=process.jdefault)
    with pytest.raises(TypeError) as ours:
        _Json.dumps(value, default=None)
    assert str(ours.value) == str(usual.value)


def test_the_jsii_that_is_locked_is_the_one_that_was_read() -> None:
    assert version("jsii") == JSII


def test_another_jsii_sends_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsii_messages, "JSII", "1.141.0")
    assert not jsii_messages.shorten_messages()
    assert process.json is json  # type: ignore[attr-defined]


def test_a_fault_in_node_and_an_override_in_python_work_as_before() -> None:
    code = """
import aws_cdk as cdk, jsii
from stacks.jsii_messages import shorten_messages
assert shorten_messages()
@jsii.implements(cdk.IStableStringProducer)
class Producer:
    def produce(self): return "made late"
stack = cdk.Stack(cdk.App(), "Stack")
print(stack.resolve(cdk.Lazy.string(Producer())), cdk.Duration.hours(1).to_minutes())
try:
    cdk.Stack(stack.node.root, "Stack")
except RuntimeError as error:
    print(type(error.__cause__).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "made late 60",
        "JavaScriptError There is already a Construct with name 'Stack' in App",
    ]
