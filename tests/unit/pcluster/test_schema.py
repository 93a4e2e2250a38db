"""The schema of ParallelCluster's own classes, and what it lets through."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from trainshed.config.faults import Fault
from trainshed.pcluster import configuration_faults, schema

Render = Callable[..., dict[str, Any]]


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


def test_reading_the_configuration_of_a_fleet_needs_neither_cdk_nor_boto3() -> None:
    seen = "import sys, trainshed.pcluster; print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    heavy = ["aws_cdk", "boto3", "jsonschema", "jsii"]
    out = subprocess.run(
        [sys.executable, "-c", seen, *heavy], capture_output=True, text=True, check=True
    ).stdout
    assert out == "[]\n"
