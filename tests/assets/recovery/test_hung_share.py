"""A shared file system that hangs keeps no node from its mending, and loses no gate's verdict.

A pipe that nobody has opened at the other end is what hangs.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assets.node.keeper.recovery.gate import PASSED, Record
from assets.node.keeper.recovery.patience import Patience
from assets.node.keeper.recovery.store import Store
from tests.assets.recovery.test_cluster_gate import GATED, NOW, ONE, OTHER, World

COMPLETED = "JobState=COMPLETED Reason=None ExitCode=0:0"
VERDICT = '{"check": "nccl_gate", "verdict": "ok", "evidence": "369 GB/s"}\n'


def hang(path: Path) -> Path:
    """Let whoever opens a file wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


def answer(patience: Patience, pipe: Path, text: str = "") -> None:
    """Let who writes, or reads a text, go on and end; what comes then has time."""
    thread = patience._thread
    assert thread is not None and thread.is_alive()
    while thread.is_alive():
        # It may not have come as far as to wait.
        end = os.open(pipe, os.O_RDWR)
        try:
            os.write(end, text.encode())
            thread.join(0.05 if text else None)
        finally:
            os.close(end)
        thread.join(0.05)
    patience.seconds = 60


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state", tmp_path / "shared", Patience(0.01))


def test_a_report_is_kept_on_the_head_node(store: Store, tmp_path: Path) -> None:
    pipe = hang(tmp_path / "shared/reports/a.txt.new")
    path = store.report("a", (line for line in ["one", "two"]))
    assert path == tmp_path / "state/reports/a.txt"
    assert path.read_text() == "one\ntwo\n"
    # Nothing else is begun meanwhile, and nothing waits.
    store.patience.seconds = 60
    assert store.report("b", ["x"]) == tmp_path / "state/reports/b.txt"
    assert not (tmp_path / "shared/reports/b.txt.new").exists()
    answer(store.patience, pipe)
    assert store.report("c", ["x"]) == tmp_path / "shared/reports/c.txt"


def test_how_a_gate_ended_is_kept_without_its_copy_for_people(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = hang(tmp_path / "shared/gate/20261130T120000-train.json.new")
    record = Record(NOW, PASSED, (ONE, OTHER), "369 GB/s", "7")
    store.keep("train", record)
    assert store.record("train") == record
    assert "the shared file system gave no answer in 0.01 s" in capsys.readouterr().out
    answer(store.patience, pipe)


def test_a_shared_file_system_that_takes_nothing_costs_the_copy_alone(
    store: Store, tmp_path: Path
) -> None:
    store.patience.seconds = 60
    (tmp_path / "shared").write_text("no folder")
    store.keep("train", Record(NOW, PASSED, (ONE, OTHER), "369 GB/s", "7"))
    assert store.record("train") is not None
    assert store.report("a", ["x"]) == tmp_path / "state/reports/a.txt"


def test_a_gate_whose_words_cannot_be_read_is_judged_later_and_nodes_are_mended(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    world.reservations = [GATED]
    world.look()
    pipe = hang(tmp_path / "shared/gate/nccl-gate-7.json")
    world.exit_code = COMPLETED
    world.reservations += [f"ReservationName=trainshed-mend-{ONE} Nodes={ONE} Users=root"]
    world.comments = {ONE: "trainshed: failed nvme [isolate] 7 of 8 disks"}
    world.store.patience.seconds = 0.01
    changed = world.look()
    assert [ran for ran in changed if f"nodename={ONE} state=drain" in ran]
    assert (tmp_path / "state/reports").is_dir()
    assert world.store.running("train").exists() and world.store.record("train") is None
    answer(world.store.patience, pipe, "late\n")
    pipe.unlink()
    pipe.write_text(VERDICT)
    world.look()
    record = world.store.record("train")
    assert record is not None and (record.verdict, record.text) == (PASSED, "369 GB/s")


def test_a_gate_whose_words_give_an_error_is_judged_later(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.reservations = [GATED]
    world.look()
    words = tmp_path / "shared/gate/nccl-gate-7.json"
    words.mkdir()
    world.exit_code = COMPLETED
    assert world.look() == []
    assert world.store.running("train").exists() and world.store.record("train") is None
    words.rmdir()
    words.write_text(VERDICT)
    world.look()
    record = world.store.record("train")
    assert record is not None and record.verdict == PASSED


def test_a_gate_whose_last_words_are_no_text_is_judged(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.reservations = [GATED]
    world.look()
    (tmp_path / "shared/gate/gate-7.log").write_bytes(b"srun: error \xff\n")
    world.exit_code = "JobState=FAILED Reason=None ExitCode=1:0"
    world.look()
    record = world.store.record("train")
    assert record is not None and record.verdict != PASSED
    assert "srun: error \ufffd" in record.text


def test_a_gate_is_not_submitted_twice_while_its_words_cannot_be_read(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.reservations = [GATED]
    world.look()
    pipe = hang(tmp_path / "shared/gate/nccl-gate-7.json")
    world.exit_code = COMPLETED
    world.store.patience.seconds = 0.01
    assert world.look() == []
    answer(world.store.patience, pipe, "late\n")


def test_a_gate_whose_folder_does_not_answer_is_not_submitted(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.reservations = [GATED]
    pipe = hang(tmp_path / "shared/gate/expect-train.json.new")
    world.store.patience.seconds = 0.01
    assert world.look() == []
    answer(world.store.patience, pipe)
    pipe.unlink(missing_ok=True)
    assert [ran.split()[0] for ran in world.look()] == ["sbatch"]


def test_what_a_call_raises_comes_through() -> None:
    with pytest.raises(FileNotFoundError):
        Patience().call(lambda: Path("/none").read_text())
