"""The JSON schema that we ship says what ParallelCluster's own classes say."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.peers.pcluster import rig

PATH = rig.ROOT / "constructs/trainshed/pcluster/schema-3.16.1.json"
FIXTURES = rig.ROOT / "tests/peers/pcluster/fixtures"
SCHEMA: dict[str, Any] = json.loads(PATH.read_text())
VALIDATOR = Draft202012Validator(SCHEMA)
P5EN = yaml.safe_load((FIXTURES / "p5en.yaml").read_text())


def test_it_is_a_valid_schema_of_its_draft() -> None:
    assert SCHEMA["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", ["kait", "p5en"])
def test_good_configurations_pass(name: str) -> None:
    config = yaml.safe_load((FIXTURES / f"{name}.yaml").read_text())
    assert [error.message for error in VALIDATOR.iter_errors(config)] == []


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["HeadNode", "Foo"], 1, "'Foo' was unexpected"),
        (["HeadNode", "Networking", "SubnetId"], "subnet-1", "does not match"),
        (["Image", "Os"], "alinux2", "'alinux2' is not one of"),
        (["Scheduling", "SlurmQueues", 0, "CapacityType"], "BLOCK", "'BLOCK' is not one of"),
        (["Scheduling", "SlurmSettings", "ScaledownIdletime"], "60", "is not of type 'integer'"),
        (["Scheduling", "SlurmSettings", "ScaledownIdletime"], -2, "less than the minimum of -1"),
        (["Tags", 0, "Value"], True, "is not of type 'string'"),
        (["HeadNode"], {}, "'InstanceType' is a required property"),
    ],
    ids=["unknown key", "pattern", "enum", "nested enum", "type", "range", "string", "required"],
)
def test_wrong_configurations_fail(path: list[str | int], value: object, message: str) -> None:
    config = copy.deepcopy(P5EN)
    at = config
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    assert any(message in error.message for error in VALIDATOR.iter_errors(config))


@pytest.mark.parametrize(
    ("path", "policy"),
    [
        (["HeadNode", "InstanceType"], "UNSUPPORTED"),
        (["Scheduling", "SlurmSettings", "ScaledownIdletime"], "COMPUTE_FLEET_STOP"),
        (["Scheduling", "SlurmQueues", "CapacityReservationTarget"], "QUEUE_UPDATE_STRATEGY"),
    ],
)
def test_keys_say_what_their_change_needs(path: list[str], policy: str) -> None:
    at = SCHEMA
    for key in path:
        at = at.get("items", at)["properties"][key]
    assert at["x-update-policy"] == policy


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1"])
def test_making_it_anew_gives_the_same_bytes(seed: str) -> None:
    script = rig.ROOT / "scripts" / "pcluster_schema.py"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    made = subprocess.run(
        [rig.python(), script], capture_output=True, check=True, env=environment
    ).stdout
    assert made == PATH.read_bytes()
