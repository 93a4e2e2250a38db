from __future__ import annotations

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from assets.node.keeper import slurm
from assets.node.keeper.slurm import Job, Slurm, SlurmError
from assets.node.keeper.view import Node, instance_of

# What 22.05 and 24.11 print, shortened; the last has a job and what a person wrote.
NODES = """\
NodeName=train-0a Arch=x86_64 Gres=gpu:h200:8 NodeAddr=10.77.0.20 NodeHostName=train-0a \
State=IDLE+DYNAMIC_NORM ThreadsPerCore=2 Partitions=normal,trainshed  BootTime=2026-11-29T22:14:04
NodeName=train-0b Arch=x86_64 NodeAddr=10.77.0.21 NodeHostName=train-0b \
State=MIXED+DRAIN+DYNAMIC_NORM+NOT_RESPONDING ThreadsPerCore=2 ExtSensorsTemp=n/s \
Reason=trainshed: silent [root@2026-11-29T22:14:04] Comment=(null)
NodeName=cloud-1 NodeAddr=cloud-1 State=DOWN*+CLOUD Reason=State=no, kim says [kim@2026-11-29T22]
"""
JOBS = (
    f"{'7':<24}{'RUNNING':<16}{'2026-11-29T10:00:00':<24}{'2026-11-30T10:00:00':<24}"
    f"{'1-00:00:00':<24}{'(null)':<64}\n"
    f"{'8':<24}{'PENDING':<16}{'N/A':<24}{'N/A':<24}{'UNLIMITED':<24}"
    f"{'trainshed: time limit was 2-00:00:00':<64}\n"
)


class Programs:
    """Stands in for Slurm's programs."""

    def __init__(self, **answers: str) -> None:
        self.answers = answers
        self.ran: list[tuple[str, ...]] = []

    def __call__(self, command: Sequence[str], text: str) -> str:
        self.ran.append((*command, *([text] if text else [])))
        return self.answers.get(command[0], "")


def test_nodes_are_read_whatever_people_write_into_them() -> None:
    assert Slurm(Programs(scontrol=NODES)).nodes() == {
        "train-0a": Node("train-0a", "10.77.0.20", frozenset({"IDLE", "DYNAMIC_NORM"})),
        "train-0b": Node(
            "train-0b",
            "10.77.0.21",
            frozenset({"MIXED", "DRAIN", "DYNAMIC_NORM", "NOT_RESPONDING"}),
            "trainshed: silent",
        ),
        "cloud-1": Node(
            "cloud-1",
            "cloud-1",
            frozenset({"DOWN", "CLOUD", "NOT_RESPONDING"}),
            "State=no, kim says",
        ),
    }


def test_a_slurmctld_that_shows_nothing_has_to_answer_a_ping() -> None:
    programs = Programs()
    assert Slurm(programs).nodes() == {}
    assert programs.ran[-1] == ("scontrol", "ping")


def test_jobs_are_read_from_columns() -> None:
    local = datetime(2026, 11, 29, 10, 0).astimezone(UTC)
    running, waiting = Slurm(Programs(squeue=JOBS)).jobs()
    assert (running.id, running.state, running.eligible, running.limit, running.note) == (
        *("7", "RUNNING", local, "1-00:00:00"),
        "",
    )
    assert waiting == Job(
        *("8", "PENDING", None, None, "UNLIMITED", "trainshed: time limit was 2-00:00:00"),
    )


def test_a_job_gets_its_own_time_limit_back() -> None:
    programs = Programs()
    client = Slurm(programs)
    client.end_at(Job("7", "RUNNING", None, None, "1-00:00:00", ""), datetime(2026, 11, 29, 12, 0))
    client.end_at(
        Job("7", "RUNNING", None, None, "20:00", "trainshed: time limit was 1-00:00:00"),
        datetime(2026, 11, 29, 12, 0),
    )
    client.restore_limit(Job("7", "PENDING", None, None, "20:00", "trainshed: time limit was 1-0"))
    client.restore_limit(Job("7", "RUNNING", None, None, "20:00", "trainshed: time limit was 1-0"))
    client.restore_limit(Job("9", "PENDING", None, None, "20:00", "mine"))
    update = ("scontrol", "update", "jobid=7")
    note = "admincomment=trainshed: time limit was 1-00:00:00"
    assert programs.ran == [
        (*update, "endtime=2026-11-29T12:00:00", note),
        (*update, "endtime=2026-11-29T12:00:00"),
        (*update, "timelimit=1-0", "admincomment="),
    ]


def test_the_first_job_counts_the_gpus_of_every_node() -> None:
    programs = Programs(sbatch="42;kait\n")
    assert Slurm(programs).submit_first_job("train", 4, 8) == 42
    *options, script = programs.ran[0]
    assert {"--partition=trainshed", "--nodes=4", "--constraint=train", "--gres=gpu:8"} <= {
        *options
    }
    assert "test $# -eq 8" in script


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("JobId=1 JobState=PENDING Reason=Resources Dep", "PENDING Resources"),
        ("JobId=1 JobState=COMPLETED Reason=None Dep", "COMPLETED"),
    ],
)
def test_the_state_of_a_job_says_why_it_waits(said: str, state: str) -> None:
    assert Slurm(Programs(scontrol=said)).job_state(1) == state


def test_a_program_that_fails_hangs_or_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SlurmError, match="sh -c echo no >&2; exit 3: no"):
        slurm.run(("sh", "-c", "echo no >&2; exit 3"))
    with pytest.raises(SlurmError, match="no-such-program"):
        slurm.run(("no-such-program",))
    monkeypatch.setattr(slurm, "SECONDS", 0.01)
    with pytest.raises(SlurmError, match="timed out"):
        slurm.run(("sleep", "9"))
    assert subprocess.run(["true"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("train-0123456789abcdef0", "i-0123456789abcdef0"),
        ("gpu-big-0a1b2c3d", "i-0a1b2c3d"),
        ("head", None),
        ("cloud-1", None),
    ],
)
def test_a_nodes_name_has_its_instance_in_it(name: str, id: str | None) -> None:
    assert instance_of(name) == id


def test_a_requeued_job_is_spared_its_two_minutes_but_for_three_seconds() -> None:
    programs = Programs()
    Slurm(programs).start_soon("7")
    assert programs.ran == [("scontrol", "update", "jobid=7", "starttime=now+3")]
