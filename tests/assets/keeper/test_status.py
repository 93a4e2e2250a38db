from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from assets.node.keeper.apply import ApplyError
from assets.node.keeper.first_job import FirstJob
from assets.node.keeper.slurm import Slurm
from assets.node.keeper.status import Known, build, text
from assets.node.keeper.view import Instance
from tests.assets.keeper.fleet import NOW, Fleet, id_of, name_of

DONE = {"id": 1, "ids": [1], "state": "COMPLETED", "generation": "0" * 16}


def status(fleet: Fleet, told: dict[str, Any] | None = None, **known: Any) -> dict[str, Any]:
    first = FirstJob(Slurm(), DONE if told is None else told)
    return build(
        fleet.view, Known(**{"applied": True, "refusal": None, "first_job": first, **known})
    )


def words(made: dict[str, Any]) -> tuple[str, ...]:
    return tuple(made[key] for key in ("phase", "step", "reason", "remedy"))


def test_a_whole_fleet_is_ready() -> None:
    made = status(Fleet().busy(0))
    assert words(made) == ("ready", "", "", "")
    assert made["queues"] == {
        "train": {
            "desired": 4,
            "idle": 3,
            "busy": 1,
            "joining": 0,
            "draining": 0,
            "outdated": 0,
            "failed": 0,
            "waiting_for_block": False,
        }
    }
    assert made["first_job"] == DONE
    assert made["nodes"] == []


@pytest.mark.parametrize(
    ("fleet", "told", "known", "expected"),
    [
        (Fleet(), None, {"applied": False}, ("applying", "head")),
        (
            Fleet(),
            {"state": ""},
            {},
            ("first-job", "first job", "the first job is not yet submitted"),
        ),
        (Fleet(), {"ids": [1], "state": "PENDING Resources"}, {}, ("first-job",)),
        (
            Fleet(),
            {"ids": [1], "state": "FAILED"},
            {},
            ("failed", "first job", "the first job ended as FAILED"),
        ),
        (
            Fleet(have=3),
            None,
            {},
            ("waiting", "nodes", "queue train has 3 of 4 nodes; its group is set to 3"),
        ),
        (
            Fleet().but(nodes=None),
            None,
            {"unread": "nodes cannot be read: x"},
            ("waiting", "look", "nodes cannot be read: x"),
        ),
        (Fleet(have=0, reserved=True), {"state": ""}, {}, ("ready",)),
        (Fleet().outdated(0, 1, 2), None, {}, ("ready",)),
        (Fleet(3, have=4), None, {}, ("ready",)),
        (
            Fleet().replaced(4),
            None,
            {},
            (
                "ready",
                "",
                "4 nodes were replaced within an hour, and no more than 4 are: look for a common "
                "cause",
            ),
        ),
        (
            Fleet(have=3).but(),
            None,
            {"launches": {"train": "InsufficientInstanceCapacity"}},
            (
                "waiting",
                "nodes",
                "queue train has 3 of 4 nodes; its group is set to 3; AWS: "
                "InsufficientInstanceCapacity",
                "if it is capacity: a reservation or a Capacity Block, or fewer nodes",
            ),
        ),
        (
            Fleet().silent(60, 0, 1, 2),
            None,
            {},
            (
                "waiting",
                "nodes",
                "queue train has 1 of 4 nodes; so many are silent at once that none is ended",
                "look at the network and security groups between the head node and the nodes",
            ),
        ),
        (
            Fleet().busy(0).but(ends_at=NOW + timedelta(minutes=5)),
            None,
            {},
            ("waiting", "drain", "jobs on 1 nodes have until 2026-11-29T12:05:00+00:00"),
        ),
        (Fleet().but(ends_at=NOW + timedelta(minutes=5)), None, {}, ("drained",)),
        (Fleet().busy(0).but(ends_at=NOW - timedelta(minutes=2)), None, {}, ("drained",)),
        (Fleet().but(ends_at=NOW, nodes=None), None, {}, ("waiting",)),
    ],
    ids=[
        "applying",
        "no first job",
        "first job waits",
        "first job failed",
        "one missing",
        "blind",
        "block to come",
        "outdated",
        "surplus",
        "limit",
        "no capacity",
        "many silent",
        "draining",
        "drained",
        "drained late",
        "drain unseen",
    ],
)
def test_the_phase_tells_what_the_fleet_waits_for(
    fleet: Fleet, told: dict[str, Any] | None, known: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert words(status(fleet, told, **known))[: len(expected)] == expected


def test_a_refused_document_is_told_with_its_step() -> None:
    refusal = ApplyError("slurm.conf", "Invalid node names", "mend the policy")
    made = status(Fleet(), refusal=refusal, applied=False)
    assert words(made) == ("failed", "slurm.conf", "Invalid node names", "mend the policy")


def test_nodes_are_told_worst_first_with_step_and_remedy() -> None:
    fleet = Fleet(8, have=6).launch(6, timedelta(minutes=3)).launch(7, timedelta(minutes=40))
    fleet.failure(5, remedy="open port 988", tail="mount: timed out")
    fleet.silent(45, 4).drained("kim", 3).busy(2).drained("trainshed: outdated", 2)
    fleet.state("shutting-down", 1).busy(1)
    made = status(fleet)
    assert [(node["node"][-1], node["state"], node["reason"]) for node in made["nodes"]] == [
        ("5", "failed", "no answer"),
        ("7", "failed", "not in Slurm 40 minutes after its launch"),
        ("4", "silent", "slurmd has not answered for 45 s"),
        ("6", "joining", "not in Slurm 3 minutes after its launch"),
        (
            "1",
            "ending",
            "the instance is shutting-down; its jobs start elsewhere once it is terminated",
        ),
        ("3", "drained", "kim"),
        ("2", "draining", "trainshed: outdated"),
    ]
    assert made["nodes"][0] == {
        "node": name_of(5),
        "instance_id": id_of(5),
        "state": "failed",
        "step": "mount-fsx",
        "reason": "no answer",
        "remedy": "open port 988",
        "tail": "mount: timed out",
    }
    assert made["nodes"][5]["remedy"] == (
        f"mend it, then: scontrol update nodename={name_of(3)} state=resume"
    )


def test_a_node_in_service_whose_later_boot_has_failed_is_told_last() -> None:
    fleet = Fleet().busy(1).drained("kim", 3)
    record = {"step": "users", "reason": "uid 1001 is taken", "remedy": "give another"}
    failures = {id_of(number): record for number in (0, 1)}
    made = status(fleet.but(failures=failures))
    assert made["phase"] == "ready"
    assert [(node["node"][-1], node["state"], node["step"]) for node in made["nodes"]] == [
        ("3", "drained", "slurm"),
        ("0", "idle", "users"),
        ("1", "busy", "users"),
    ]
    assert {key: made["nodes"][1][key] for key in record} == record


@pytest.mark.parametrize(
    ("role", "state", "told"),
    [
        ("login", "running", [("login-0aa", "failed", "packages", "give it a package cache")]),
        ("login", "terminated", []),
        ("compute", "running", []),
    ],
    ids=["login", "gone", "of another queue"],
)
def test_a_login_node_that_did_not_boot_is_told(
    role: str, state: str, told: list[tuple[str, ...]]
) -> None:
    fleet = Fleet()
    fleet.instances["i-0aa"] = Instance("i-0aa", state, role, "", NOW)
    record = {"node": "login-0aa", "step": "packages", "remedy": "give it a package cache"}
    made = status(fleet.but(failures={"i-0aa": record, "i-0bb": record}))
    keys = ("node", "state", "step", "remedy")
    assert [tuple(node[key] for key in keys) for node in made["nodes"]] == told


def test_a_status_fits_its_parameter_and_keeps_the_worst() -> None:
    fleet = Fleet(9)
    for number in range(9):
        fleet.failure(number, reason="r" * 300, remedy="m" * 300, tail="t\n" * 900)
    made = status(fleet, head="i-0123456789abcdef0")
    assert len(json.dumps({**made, "at": NOW.isoformat(timespec="seconds")})) <= 4000
    assert [node["node"] for node in made["nodes"]][:3] == [name_of(n) for n in range(3)]


def test_a_queue_that_left_is_told_with_every_node_that_has_jobs() -> None:
    fleet = Fleet(5).busy(0, 1, 2).drained("kim", 1).silent(300, 2).drained("kim", 3)
    counts = status(fleet.state("terminated", 4).removed())["queues"]["train"]
    assert (counts["desired"], counts["busy"], counts["idle"]) == (0, 3, 0)
    assert status(Fleet(1).state("shutting-down", 0).removed())["queues"] == {}


def test_a_status_has_no_braces_that_parameter_store_refuses_and_still_fits() -> None:
    fleet = Fleet(9)
    for number in range(9):
        fleet.failure(number, reason="{{ssm:x}}", tail="{{{{" * 400)
    made = status(fleet)
    written = text({**made, "at": NOW.isoformat(timespec="seconds")})
    assert "{{" not in written and len(written) <= 4000
    assert json.loads(written)["nodes"] == made["nodes"]
    assert made["nodes"][0]["reason"] == "{{ssm:x}}"
