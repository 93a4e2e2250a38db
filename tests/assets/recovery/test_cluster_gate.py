"""The gate of a ParallelCluster cluster: which nodes it sees, and what it has Slurm do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assets.node.keeper import cluster
from assets.node.keeper.cloudwatch import Metrics
from assets.node.keeper.cluster import Cluster
from assets.node.keeper.cluster_queues import queue_of
from assets.node.keeper.recovery.gate import FAILED, OPENED, PASSED, Record
from assets.node.keeper.recovery.store import Store
from assets.node.keeper.slurm import SlurmError

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ONE, OTHER = "train-st-p5en-1", "train-st-p5en-2"
GATED = "ReservationName=trainshed-gate-train StartTime=x Nodes=train-st-p5en-[1-2] Users=root"
FORGOTTEN = "slurm_load_jobs error: Invalid job id specified"
DOCUMENT: dict[str, Any] = {
    "cluster": "kait",
    "region": "us-east-2",
    "gate": {"program": "/fsx/all_reduce_perf", "strict": True},
    "queues": {"train": {"gpus": 8, "static_nodes": 2, "expect": {"format": 1}}, "burst": {}},
}


class World:
    """Slurm's programs and AWS's over two static nodes and a dynamic one."""

    def __init__(self, folder: Path) -> None:
        self.states = {ONE: "IDLE+CLOUD", OTHER: "IDLE+CLOUD", "train-dy-p5en-1": "IDLE+CLOUD"}
        self.addresses = {ONE: "10.0.0.1", OTHER: "10.0.0.2"}
        self.features = "static,p5en"
        self.comments: dict[str, str] = {}
        self.exit_code = ""
        self.reservations: list[str] = []
        self.ran: list[str] = []
        self.scripts: list[str] = []
        self.told: list[str] = []
        self.store = Store(folder / "state", folder / "shared")
        tell = lambda subject, text: self.told.append(subject)  # noqa: E731
        self.cluster = Cluster(self.store, self, tell, now=lambda: NOW)

    def __call__(self, command: Sequence[str], text: str) -> str:
        said = " ".join(command)
        if "show nodes" in said:
            return "\n".join(
                f"NodeName={name} NodeAddr={self.addresses.get(name, name)} State={state} "
                f"ActiveFeatures={self.features} Partitions=train "
                + (f"Comment={self.comments[name]} " if name in self.comments else "")
                for name, state in self.states.items()
            )
        if "show job" in said:
            if self.exit_code.startswith("slurm_load_jobs error"):
                raise SlurmError(self.exit_code)
            return self.exit_code
        if "show reservation" in said:
            return "\n".join(self.reservations)
        if "show hostnames" in said:
            return f"{ONE}\n{OTHER}\n"
        if command[0] == "squeue":
            return ""
        self.ran.append(said)
        if command[0] == "sbatch":
            self.scripts.append(text)
            return "7\n"
        return ""

    def look(self, **document: Any) -> list[str]:
        """Do a round and return what was changed, metrics left out."""
        self.ran.clear()
        self.cluster.round({**DOCUMENT, **document})
        return [ran for ran in self.ran if not ran.startswith("aws")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def away(world: World) -> None:
    world.states |= {ONE: "IDLE+CLOUD+POWERED_DOWN", OTHER: "DOWN+CLOUD"}
    world.addresses.clear()


@pytest.mark.parametrize(
    ("node", "queue"),
    [
        ("train-st-p5en-1", "train"),
        ("a-b-st-p5en-12", "a-b"),
        ("a-st-b-st-p5en-12", "a-st-b"),
        ("train-dy-p5en-1", ""),
        ("a-st-b-dy-p5en-1", ""),
        ("a-dy-b-st-p5en-1", "a-dy-b"),
        ("train-0123456789abcdef0", ""),
    ],
)
def test_static_nodes_are_told_by_parallelclusters_names(node: str, queue: str) -> None:
    assert queue_of(node) == queue


def test_a_queue_is_reserved_before_its_nodes_are_there(world: World) -> None:
    away(world)
    (reserve,) = world.look()
    assert reserve.startswith(f"scontrol create reservationname=trainshed-gate-train nodes={ONE}")
    assert reserve.endswith("users=root flags=MAINT,IGNORE_JOBS") and OTHER in reserve
    world.reservations = [GATED]
    assert world.look() == []


def test_a_queue_in_use_before_there_was_a_gate_stays_open(world: World) -> None:
    assert not [ran for ran in world.look() if "reservation" in ran]
    record = world.store.record("train")
    assert record is not None and record.verdict == OPENED
    assert record.addresses == ("10.0.0.1", "10.0.0.2")


@pytest.mark.parametrize(
    "state",
    ["IDLE+CLOUD+POWERING_UP", "IDLE*+CLOUD", "IDLE+CLOUD+REBOOT_ISSUED", "DOWN", "IDLE+DRAIN"],
)
def test_the_gate_waits_for_every_static_node(world: World, state: str) -> None:
    world.reservations = [GATED]
    world.states[OTHER] = state
    assert world.look() == []


def test_the_gate_waits_for_the_checks_of_each_node_and_for_its_jobs(world: World) -> None:
    world.reservations = [GATED, f"ReservationName=trainshed-check-{OTHER} Nodes={OTHER} Users=r"]
    assert world.look() == []
    world.reservations = [GATED]
    world.states[OTHER] = "ALLOCATED+CLOUD"
    assert world.look() == []


def test_it_runs_over_the_static_nodes_by_name_in_the_queues_own_partition(world: World) -> None:
    world.reservations = [GATED]
    (submit,) = world.look()
    assert f"--partition=train --nodelist={ONE},{OTHER} --nodes=2 --ntasks-per-node=8" in submit
    assert "--constraint" not in submit and "--reservation=trainshed-gate-train" in submit
    (script,) = world.scripts
    folder = world.store.shared
    assert folder is not None
    assert "NCCL_TESTS=/fsx/all_reduce_perf" in script and "nccl_gate.sh --strict" in script
    assert f"expect={folder}/gate/expect-train.json" in script
    assert json.loads((folder / "gate/expect-train.json").read_text()) == {"format": 1}


def passed(world: World, verdict: str = PASSED) -> None:
    where = ("10.0.0.1", "10.0.0.2")
    world.store.keep("train", Record(NOW, verdict, (ONE, OTHER), "369 GB/s", "7", where))


def test_a_record_keeps_where_its_nodes_were(world: World) -> None:
    passed(world)
    record = world.store.record("train")
    assert record is not None and record.addresses == ("10.0.0.1", "10.0.0.2")
    assert record.among({ONE: "10.0.0.1", OTHER: "10.0.0.9"}).nodes == (ONE, f"{OTHER}@10.0.0.2")


def test_a_record_with_another_number_of_addresses_is_none(world: World) -> None:
    world.store.keep("train", Record(NOW, PASSED, (ONE, OTHER), "x", "7", ("10.0.0.1",)))
    assert world.store.record("train") is None


def test_the_queue_opens_and_the_features_of_its_nodes_are_added_to_theirs(world: World) -> None:
    passed(world)
    world.reservations = [GATED]
    opened, *features = world.look()
    assert opened == "scontrol delete reservationname=trainshed-gate-train"
    assert features[0] == (
        f"scontrol update nodename={ONE} availablefeatures=p5en,static,gate_passed "
        "activefeatures=p5en,static,gate_passed"
    )


@pytest.mark.parametrize("none", ["", "(null)"])
def test_a_node_without_features_gets_the_gates(world: World, none: str) -> None:
    passed(world)
    world.features = none
    assert world.look() == [
        f"scontrol update nodename={node} availablefeatures=gate_passed activefeatures=gate_passed"
        for node in (ONE, OTHER)
    ]


def test_one_replaced_node_closes_nothing_and_all_do(world: World) -> None:
    passed(world)
    world.addresses[OTHER] = "10.0.0.9"
    assert not [ran for ran in world.look() if "trainshed-gate" in ran and "scontrol" in ran]
    world.store.running("train").unlink()
    world.addresses[ONE] = "10.0.0.8"
    assert "create reservationname=trainshed-gate-train" in world.look()[0]


def test_a_failed_gate_is_tried_again_with_another_instance_only(world: World) -> None:
    passed(world, FAILED)
    world.reservations = [GATED]
    assert not [ran for ran in world.look() if ran.startswith("sbatch")]
    world.addresses[OTHER] = "10.0.0.9"
    assert [ran for ran in world.look() if ran.startswith("sbatch")]


def test_without_a_gate_what_it_reserved_is_opened(world: World) -> None:
    world.reservations = [GATED]
    assert world.look(gate=None) == ["scontrol delete reservationname=trainshed-gate-train"]
    (sent,) = (ran for ran in world.ran if ran.startswith("aws"))
    assert "nodes_held" in sent and "queues_closed" not in sent


def test_a_gates_result_is_not_written_over_what_a_held_node_failed(world: World) -> None:
    world.reservations = [GATED]
    world.look()
    world.reservations += [f"ReservationName=trainshed-mend-{ONE} Nodes={ONE} Users=root"]
    world.comments = {ONE: "trainshed: failed nvlink [monitor] GPU 4"}
    world.exit_code = "JobState=FAILED Reason=None ExitCode=1:0"
    told = [ran for ran in world.look() if "comment=trainshed: passed; gate failed" in ran]
    assert [ran.split()[2] for ran in told] == [f"nodename={OTHER}"]


def test_metrics_are_sent_once_a_minute_and_when_they_change() -> None:
    sent: list[Any] = []
    clock = iter([0.0, 10.0, 20.0, 81.0])

    def run(command: Sequence[str], text: str) -> str:
        sent.append(json.loads(command[-1]))
        return ""

    metrics = Metrics(run, lambda: next(clock))
    for value in (1.0, 1.0, 0.0, 0.0):
        metrics.send("kait", "us-east-2", {"queues_closed": value})
    assert [each[0]["Value"] for each in sent] == [1, 0, 0]
    assert sent[0][0]["Dimensions"] == [
        {"Name": "ClusterName", "Value": "kait"},
        {"Name": "Role", "Value": "head"},
    ]


def test_without_slurm_nothing_is_done_and_the_next_round_goes_on(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    def down(command: Sequence[str], text: str) -> str:
        raise SlurmError("connect failure")

    assert Cluster(world.store, down, lambda subject, text: None).round(DOCUMENT) == {}
    assert '"gate": "cannot look", "reason": "connect failure"' in capsys.readouterr().out


def test_a_person_is_told_which_key_a_gate_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fleet.json"
    path.write_text(json.dumps({**DOCUMENT, "gate": None}))
    monkeypatch.setattr(cluster, "DOCUMENT", path)
    with pytest.raises(SystemExit):
        cluster.main(["gate"])
    assert "this fleet has no gate (fleet.parallelcluster.gate)" in capsys.readouterr().err
