"""EC2's warnings of a Capacity Block are noted once, for the cluster's own blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from assets.functions.block_events import handler

EVENTS = Path(__file__).parents[2] / "events" / "slack_notifier"
BLOCK = "cr-0123456789abcdef0"
NAME = f"/trainshed/kait/blocks/{BLOCK}"
ENDING = {
    "version": "0",
    "detail-type": "Capacity Block Reservation Expiration Warning",
    "source": "aws.ec2",
    "time": "2026-11-29T10:50:00Z",
    "detail": {"capacity-reservation-id": BLOCK, "end-date": "2026-11-29T11:30:00Z"},
}


@pytest.fixture
def ssm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    monkeypatch.setenv("PARAMETERS", json.dumps({BLOCK: NAME}))
    monkeypatch.setattr("moto.ec2.models.amis.AmiBackend._load_amis", lambda self: None)
    with mock_aws():
        handler.client.cache_clear()
        made: Any = boto3.client("ssm", "us-east-2")
        made.put_parameter(Name=NAME, Type="String", Value=handler.NOTHING)
        yield made
    handler.client.cache_clear()


def noted(ssm: Any) -> str:
    return str(ssm.get_parameter(Name=NAME)["Parameter"]["Value"])


def noting(event: dict[str, Any]) -> dict[str, str]:
    """Return what becomes of an event that the queue brings."""
    (done,) = handler.handler({"Records": [{"body": json.dumps(event)}]}, None)
    return done


def recorded(name: str) -> dict[str, Any]:
    """Return an event of AWS's documentation."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())["Message"]
    return event


def test_the_first_warning_is_noted_and_no_later_one(ssm: Any) -> None:
    assert noting(ENDING)["noted"] == ENDING["time"]
    assert noting({**ENDING, "time": "2026-11-29T10:55:00Z"})["noted"] == "before"
    assert noted(ssm) == "2026-11-29T10:50:00Z"


def test_a_block_of_another_cluster_is_not_noted(ssm: Any) -> None:
    detail = {"capacity-reservation-id": "cr-00000000000000000"}
    assert noting({**ENDING, "detail": detail})["noted"] == "nothing"
    assert noted(ssm) == handler.NOTHING


@pytest.mark.parametrize(
    "name", ["event_capacity_block_ending", "event_capacity_block_ending_short"]
)
def test_both_spellings_of_the_documentation_name_the_block(
    ssm: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    event = recorded(name)
    block = event["detail"]["capacity-reservation-id"]
    monkeypatch.setenv("PARAMETERS", json.dumps({block: NAME}))
    assert noting(event) == {"noted": event["time"], "block": block}
    assert noted(ssm) == event["time"]


@pytest.mark.parametrize(
    "name", ["event_capacity_block_interruption", "event_capacity_block_interruption_other"]
)
def test_an_instance_that_is_taken_away_means_its_block(ssm: Any, name: str) -> None:
    event = recorded(name)
    instance = event["detail"]["instance-id"]
    found = {"InstanceId": instance, "CapacityReservationId": BLOCK}
    with Stubber(handler.client("ec2")) as ec2:
        said = {"Reservations": [{"Instances": [found]}]}
        ec2.add_response("describe_instances", said, {"InstanceIds": [instance]})
        assert noting(event) == {"noted": event["time"], "block": BLOCK}
    assert noted(ssm) == event["time"]


def test_an_instance_that_is_gone_or_unknown_is_no_block(ssm: Any) -> None:
    event = recorded("event_capacity_block_interruption")
    assert noting(event)["noted"] == "nothing"
    assert noting({**event, "detail": {}})["noted"] == "nothing"
    assert noted(ssm) == handler.NOTHING
