"""A key as people read it becomes the path of the file, whatever dots names have."""

from __future__ import annotations

import pytest

from trainshed.faults import Fault
from trainshed.slurm import SlurmPolicy
from trainshed.slurm.keys import fault_at, key_path

POLICY = SlurmPolicy.model_validate(
    {
        "partitions": {"debug": {}},
        "qos": {"big": {}, "big.jobs": {}},
        "accounts": {"lab": {"description": "a lab"}},
    }
)


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("partitions.debug.max_time", ("partitions", "debug", "max_time")),
        ("qos.big.priority", ("qos", "big", "priority")),
        ("qos.big.jobs.priority", ("qos", "big.jobs", "priority")),
        ("qos.big.jobs", ("qos", "big.jobs")),
        ("partitions.*.priority_tier", ("partitions",)),
        ("scheduler.weights.age", ("scheduler", "weights", "age")),
        ("accounts.gone.qos", ("accounts",)),
    ],
)
def test_a_key_is_the_path_of_its_place(key: str, path: tuple[str, ...]) -> None:
    assert key_path(POLICY, key) == path


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "qos.big.jobs.preempts names x; use y",
            Fault(("qos", "big.jobs", "preempts"), "names x; use y"),
        ),
        ("accounts.lab: choose another name", Fault(("accounts", "lab"), "choose another name")),
        ("users kim, lee have one uid", Fault(("users",), "kim, lee have one uid")),
        ("something else", Fault((), "something else")),
    ],
)
def test_a_text_of_key_and_reason_is_a_fault_at_the_key(text: str, fault: Fault) -> None:
    assert fault_at(POLICY, text) == fault
