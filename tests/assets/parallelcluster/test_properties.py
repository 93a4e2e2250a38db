from __future__ import annotations

import json
from typing import Any

import pytest

from assets.functions.parallelcluster import handler
from tests.assets.parallelcluster.conftest import OUTER, properties, request
from tests.assets.parallelcluster.fake_pcluster import FakePcluster

NAME = "use a letter, then up to 59 letters, digits and hyphens"
TAGS = "Tags of ClusterConfiguration is not a list of objects with Key and Value"
OBJECT = "ClusterConfiguration is not the JSON text of an object"
SUPPRESSED = "SuppressValidators is not the JSON text of a list of 'ALL' or 'type:NAME'"
TAKEN = "Tags of ClusterConfiguration holds {}, which the provider sets"


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"SchemaVersion": "2"}, "SchemaVersion is '2'; use the string '1'"),
        ({"SchemaVersion": 1}, "SchemaVersion is 1; use the string '1'"),
        (
            {"RemovalPolicy": "Retain"},
            "RemovalPolicy is 'Retain'; use the string 'retain' or 'destroy'",
        ),
        (
            {"RollbackOnFailure": True},
            "RollbackOnFailure is True; use the string 'true' or 'false'",
        ),
        (
            {"RollbackOnFailure": "True"},
            "RollbackOnFailure is 'True'; use the string 'true' or 'false'",
        ),
        (
            {"ValidationFailureLevel": "INFO"},
            "ValidationFailureLevel is 'INFO'; use the string 'ERROR' or 'WARNING'",
        ),
        ({"ClusterName": "9llm"}, f"ClusterName is '9llm'; {NAME}"),
        ({"ClusterName": "a" * 61}, f"ClusterName is '{'a' * 61}'; {NAME}"),
        ({"ClusterName": "arn:aws:x"}, f"ClusterName is 'arn:aws:x'; {NAME}"),
        ({"ClusterName": 7}, f"ClusterName is 7; {NAME}"),
        ({"ClusterConfiguration": "{"}, OBJECT),
        ({"ClusterConfiguration": "[]"}, OBJECT),
        ({"ClusterConfiguration": {"Image": {}}}, OBJECT),
        ({"configuration": {"Tags": {"a": "b"}}}, TAGS),
        ({"configuration": {"Tags": [{"Value": "b"}]}}, TAGS),
        (
            {"configuration": {"Tags": [{"Key": "trainshed:owner", "Value": "me"}]}},
            TAKEN.format("trainshed:owner"),
        ),
        (
            {"configuration": {"Tags": [{"Key": "trainshed:owner-stack", "Value": "me"}]}},
            TAKEN.format("trainshed:owner-stack"),
        ),
        ({"SuppressValidators": "ALL"}, SUPPRESSED),
        ({"SuppressValidators": '{"a": 1}'}, SUPPRESSED),
        ({"SuppressValidators": '["KeyPairValidator"]'}, SUPPRESSED),
        ({"SuppressValidators": "[1]"}, SUPPRESSED),
        ({"SuppressValidators": ["ALL"]}, SUPPRESSED),
        ({"Extra": "x"}, "Extra is not a property"),
    ],
)
def test_a_wrong_property_is_refused(
    changed: dict[str, Any], fault: str, pcluster: FakePcluster
) -> None:
    for kind in ("Create", "Update"):
        with pytest.raises(handler.ClusterError) as refusal:
            request(kind, "arn:aws:cloudformation:us-east-2:1:stack/x/y", **changed).start()
        assert str(refusal.value) == f"the properties of this resource are wrong: {fault}"
    assert pcluster.calls == []


@pytest.mark.parametrize("key", sorted(handler.PROPERTIES))
def test_a_missing_property_is_refused(key: str) -> None:
    given = properties()
    del given[key]
    with pytest.raises(handler.ClusterError) as refusal:
        handler.parse(given, "owner", OUTER)
    assert str(refusal.value) == f"the properties of this resource are wrong: {key} is missing"


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(handler.ClusterError) as refusal:
        handler.parse({"SchemaVersion": "0", "Extra": "x"}, "owner", OUTER)
    text = str(refusal.value)
    assert all(f"{key} is missing" in text for key in handler.PROPERTIES - {"SchemaVersion"})
    assert "Extra is not a property" in text
    assert "SchemaVersion is '0'" in text


def test_what_cloudformation_adds_is_no_fault() -> None:
    wanted = handler.parse({**properties(), "ServiceTimeout": "3600"}, "owner", OUTER)
    assert wanted.cluster_name == "llm"
    assert wanted.rollback_on_failure
    assert wanted.validation == {"validation_failure_level": "ERROR"}


def test_suppressed_validators_are_passed_on() -> None:
    given = properties(SuppressValidators=json.dumps(["ALL", "type:KeyPairValidator"]))
    wanted = handler.parse(given, "owner", OUTER)
    assert wanted.validation["suppress_validators"] == ["ALL", "type:KeyPairValidator"]
