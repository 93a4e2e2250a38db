from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assets.node.keeper.document import Queue, parse

QUEUE = {"asg": "kait-train", "version": "3", "nodes": 4, "gpus": 8}


def text(**queue: Any) -> str:
    queues = {"train": {**QUEUE, **queue}}
    return json.dumps({"schema": 1, "cluster": "kait", "queues": queues})


def test_a_document_is_read_with_its_generation() -> None:
    block = {"start": "2026-12-01T11:30:00Z", "end": "2026-12-03T11:30:00", "drain_minutes": 40}
    read = parse(text(reservation_id="cr-1", **block))
    assert (
        read.generation
        == hashlib.sha256(text(reservation_id="cr-1", **block).encode()).hexdigest()[:16]
    )
    assert read.boot_timeout == timedelta(minutes=30)
    assert read.queues["train"] == Queue(
        *("train", "kait-train", "3", 4, 8, True),
        datetime(2026, 12, 1, 11, 30, tzinfo=UTC),
        datetime(2026, 12, 3, 10, 50, tzinfo=UTC),
        timedelta(minutes=40),
        "cr-1",
    )
    assert read.blocks == {"cr-1"}


@pytest.mark.parametrize(
    ("end", "left"), [(30, 20), (31, 20), (29, 19)], ids=["same", "later", "sooner"]
)
def test_a_block_ends_as_written_or_as_aws_says_whichever_comes_first(end: int, left: int) -> None:
    block = {"end": "2026-12-03T11:30:00Z", "drain_minutes": 10}
    read = parse(text(reservation_id="cr-1", **block))
    said = read.ending({"cr-1": datetime(2026, 12, 3, 11, end, tzinfo=UTC)}, {})
    assert said.queues["train"].drain_from == datetime(2026, 12, 3, 11, left, tzinfo=UTC)
    assert read.ending({"cr-2": datetime(2026, 12, 1, tzinfo=UTC)}, {}) == read


@pytest.mark.parametrize(("warned", "left"), [(19, 19), (21, 20)], ids=["sooner", "later"])
def test_a_block_is_left_when_aws_warns_or_at_its_time_whichever_comes_first(
    warned: int, left: int
) -> None:
    block = {"end": "2026-12-03T11:30:00Z", "drain_minutes": 10}
    read = parse(text(reservation_id="cr-1", **block))
    said = read.ending({}, {"cr-1": datetime(2026, 12, 3, 11, warned, tzinfo=UTC)})
    assert said.queues["train"].drain_from == datetime(2026, 12, 3, 11, left, tzinfo=UTC)


def test_a_reservation_without_an_end_is_no_block() -> None:
    read = parse(text(reservation_id="cr-1", drain_minutes=40))
    assert read.blocks == set()
    told = {"cr-1": datetime(2026, 12, 1, tzinfo=UTC)}
    assert read.ending(told, told) == read


@pytest.mark.parametrize("wrong", ["", "[]", '{"schema": 1}', text(nodes="many"), text(end="soon")])
def test_what_is_no_document_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError):
        parse(wrong)


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="schema is 2; this keeper reads 1"):
        parse('{"schema": 2}')


@pytest.mark.parametrize(
    ("queue", "desired", "waits"),
    [
        (Queue("q", "g", "1", 4), 0, False),
        (Queue("q", "g", "1", 4, reserved=True), 0, True),
        (Queue("q", "g", "1", 4, reserved=True), 4, False),
        (Queue("q", "g", "1", 4, reserved=True, start=datetime(2026, 1, 2, tzinfo=UTC)), 4, True),
        (Queue("q", "g", "1", 4, reserved=True, start=datetime(2026, 1, 1, tzinfo=UTC)), 0, False),
    ],
    ids=["on demand", "not yet filled", "filled", "starts tomorrow", "has started"],
)
def test_a_queue_waits_for_its_block(queue: Queue, desired: int, waits: bool) -> None:
    assert queue.waits(datetime(2026, 1, 1, 12, tzinfo=UTC), desired) is waits
