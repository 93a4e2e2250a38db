"""The schema of ParallelCluster's own classes, and what it lets through."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from trainshed.cli.checked import cluster_configuration
from trainshed.config import LoginPool, load
from trainshed.config.faults import Fault
from trainshed.pcluster import configuration_faults, schema
from trainshed.pcluster.conformance import conforms

Render = Callable[..., dict[str, Any]]
INSTITUTIONS = Path(__file__).parents[3] / "institutions"


def test_every_key_says_what_a_change_of_it_takes() -> None:
    head = schema()["properties"]["HeadNode"]["properties"]
    assert head["InstanceType"]["x-update-policy"] == "UNSUPPORTED"
    queues = schema()["properties"]["Scheduling"]["properties"]["SlurmQueues"]
    assert queues["x-update-policy"] == "RESIZE_UPDATE_STRATEGY_ON_REMOVE"


def test_the_schema_is_read_once() -> None:
    assert schema() is schema()


@pytest.mark.parametrize(
    ("key_path", "value", "reason"),
    [
        (
            ("HeadNode", "Networking", "SubnetId"),
            "subnet-1",
            "'subnet-1' does not match '^subnet-[0-9a-z]{8}$|^subnet-[0-9a-z]{17}$'",
        ),
        (("Image", "Os"), "alinux2", None),
        (("Scheduling", "SlurmSettings", "QueueUpdateStrategy"), "DRAINING", None),
        (("DevSettings", "Timeouts", "HeadNodeBootstrapTimeout"), "3000", None),
    ],
    ids=["id", "os", "strategy", "text-for-a-number"],
)
def test_a_value_of_the_wrong_form_is_found_at_its_key(
    rendered: Render, key_path: tuple[str, ...], value: object, reason: str | None
) -> None:
    config = deepcopy(rendered())
    section = config
    for key in key_path[:-1]:
        section = section[key]
    section[key_path[-1]] = value
    (fault,) = configuration_faults(config)
    assert fault.key_path == key_path
    assert reason is None or fault.reason == reason


def test_an_unknown_key_is_found(rendered: Render) -> None:
    config = deepcopy(rendered())
    config["HeadNode"]["PublicIp"] = True
    assert configuration_faults(config) == [
        Fault(
            ("HeadNode",),
            "Additional properties are not allowed ('PublicIp' was unexpected)",
        )
    ]


@pytest.mark.parametrize("value", ["${Token[TOKEN.12]}", "${ComputeSubnet}"])
def test_tokens_and_placeholders_have_every_form(rendered: Render, value: str) -> None:
    config = deepcopy(rendered())
    config["HeadNode"]["Networking"]["SubnetId"] = value
    config["Scheduling"]["SlurmQueues"][0]["Networking"]["SubnetIds"] = [value]
    assert configuration_faults(config) == []


@pytest.mark.parametrize("name", ["full", "kait", "minimal"])
def test_the_examples_conform_at_first_sight(name: str) -> None:
    institution = load(INSTITUTIONS / f"{name}.yaml")
    assert conforms(cluster_configuration(institution), schema())


WRONG = st.sampled_from(
    [None, True, 1, 1.5, -1, 10**6, "", "x", "${A}", "3000", [], ["x"], {}, {"Script": 1}]
)


@given(data=st.data())
def test_what_conforms_at_first_sight_has_no_fault(rendered: Render, data: st.DataObject) -> None:
    config = deepcopy(
        rendered(login_nodes={"users": LoginPool(instance_type="c6i.large", count=1)})
    )
    for _ in range(data.draw(st.integers(1, 3))):
        holder: Any = config
        key = data.draw(st.sampled_from(sorted(holder)))
        while isinstance(holder[key], dict | list) and holder[key] and data.draw(st.booleans()):
            holder = holder[key]
            keys = sorted(holder) if isinstance(holder, dict) else range(len(holder))
            key = data.draw(st.sampled_from(keys))
        # A copy: what is put in may be written into by the next turn.
        holder[key] = deepcopy(data.draw(WRONG))
        if isinstance(holder, dict) and data.draw(st.booleans()):
            holder[data.draw(st.sampled_from(["Script", "Tags", "Name", "Other"]))] = deepcopy(
                holder[key]
            )
    faulty = any(Draft202012Validator(schema()).iter_errors(_settled(config)))
    assert not (faulty and conforms(_settled(config), schema()))


def _settled(value: Any) -> Any:
    """Write texts in the place of placeholders, which have every form."""
    if isinstance(value, dict):
        return {key: _settled(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_settled(each) for each in value]
    return "settled" if isinstance(value, str) and value.startswith("${") else value


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (True, {"type": "integer"}),
        (1, {"type": "number", "enum": [True]}),
        (1, {"type": "integer", "multipleOf": 1}),
        ({}, {"properties": {}}),
        ("x", {"type": "nothing"}),
        ({"a": 1}, {"type": "object", "additionalProperties": {"type": "integer"}}),
        ("x", {"oneOf": [{"type": "string"}, {"type": "string", "minLength": 1}]}),
    ],
    ids=["boolean", "enum", "keyword", "no-type", "type", "additional", "two-branches"],
)
def test_no_verdict_on_what_is_not_known(value: object, schema: dict[str, Any]) -> None:
    assert not conforms(value, schema)


def test_reading_the_configuration_of_a_fleet_needs_neither_cdk_nor_boto3() -> None:
    seen = "import sys, trainshed.pcluster; print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    heavy = ["aws_cdk", "boto3", "jsonschema", "jsii"]
    out = subprocess.run(
        [sys.executable, "-c", seen, *heavy], capture_output=True, text=True, check=True
    ).stdout
    assert out == "[]\n"
