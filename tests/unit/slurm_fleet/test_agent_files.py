"""The CloudWatch agent's files of an example: the agent takes them, and alarms find its metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from trainshed.alerts.agent import NAMESPACE, SENT_BY_NODES
from trainshed.config import load
from trainshed.config.fleet_rules import known
from trainshed.slurm_fleet import cluster_files

ROOT = Path(__file__).parents[3]
ROLES = ("head", "login", "compute")


def _object(required: str = "", **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _text(longest: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": longest}


def _list(of: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": of, "minItems": 1, "maxItems": most, "uniqueItems": True}


_SECONDS = {"type": "integer", "minimum": 1, "maximum": 172_800}
_DIMENSIONS = {"type": "object", "maxProperties": 30, "additionalProperties": _text(1024)}
_MEASURED = {"measurement": _list(_text(1023), 1024), "append_dimensions": _DIMENSIONS}
_LOG = _object(
    "file_path", file_path=_text(4096), log_group_name=_text(512), log_stream_name=_text(512)
)
# The part of amazon-cloudwatch-agent's translator/config/schema.json (read 2026-11-30) that
# trainshed uses, and nothing beside it: the agent stops at a key that it does not know.
SCHEMA = _object(
    "agent metrics logs",
    agent=_object(metrics_collection_interval=_SECONDS),
    metrics=_object(
        "metrics_collected",
        namespace=_text(255),
        append_dimensions=_object(InstanceId={"const": "${aws:InstanceId}"}),
        aggregation_dimensions=_list(_list(_text(1024), 30), 1024),
        metrics_collected=_object(
            mem=_object("measurement", **_MEASURED),
            disk=_object(
                "measurement",
                **_MEASURED,
                resources=_list(_text(4096), 256),
                drop_device={"type": "boolean"},
            ),
            statsd=_object(
                service_address=_text(255),
                metrics_collection_interval=_SECONDS,
                metrics_aggregation_interval=_SECONDS,
            ),
        ),
    ),
    logs=_object(
        "logs_collected",
        logs_collected=_object(files=_object("collect_list", collect_list=_list(_LOG, 1024))),
    ),
)


@pytest.fixture(scope="module")
def configurations() -> dict[str, Any]:
    """The agent's configuration of each role of ``institutions/bare.yaml``."""
    institution = load(ROOT / "institutions" / "bare.yaml")
    made = cluster_files(
        institution.fleet,
        cluster_name=institution.cluster_name,
        mount_dir="/fsx",
        types=known(institution.instance_types),
    )
    return {role: json.loads(made[f"cloudwatch-agent-{role}.json"]) for role in ROLES}


@pytest.mark.parametrize("role", ROLES)
def test_the_agent_takes_its_configuration(role: str, configurations: dict[str, Any]) -> None:
    jsonschema.validate(configurations[role], SCHEMA)


def sent(configuration: dict[str, Any]) -> set[tuple[str, frozenset[tuple[str, str]]]]:
    """Return the metrics that an agent sends, with the dimensions that it sums them over."""
    metrics = configuration["metrics"]
    collected = metrics["metrics_collected"]
    own = collected["mem"]["append_dimensions"]
    sources = [(name, {**own, "InstanceId": "i"}) for name in collected["mem"]["measurement"]]
    sources += [
        (name, {**collected["disk"]["append_dimensions"], "path": path, "fstype": "ext4"})
        for name in collected["disk"]["measurement"]
        for path in collected["disk"]["resources"]
    ]
    # Scripts of the node send these with its role and cluster.
    sources += [(name, {**own, "InstanceId": "i"}) for name in SENT_BY_NODES]
    return {
        (name, frozenset((key, dimensions[key]) for key in over))
        for name, dimensions in sources
        for over in metrics["aggregation_dimensions"]
        if set(over) <= set(dimensions)
    }


def test_every_alarm_looks_for_what_an_agent_sends(configurations: dict[str, Any]) -> None:
    template = json.loads((ROOT / "tests/golden/templates/bare-cluster.json").read_text())
    alarms = [
        resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Properties"].get("Namespace") == NAMESPACE
    ]
    looked_for = {
        (
            alarm["MetricName"],
            frozenset((dimension["Name"], dimension["Value"]) for dimension in alarm["Dimensions"]),
        )
        for alarm in alarms
    }
    assert len(looked_for) > 15
    assert looked_for <= set.union(*(sent(made) for made in configurations.values()))
