"""What has jobs is deleted when told, once slurmctld has ended them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence

import pytest

from assets.node import slurm_accounts as accounts

ACTIVE = "sacctmgr: Error with request: Job(s) active, cancel job(s) before remove JobID = 12"
BUSY = [("mallory", "hack"), ("bob", "hack"), ("bob", "general")]


def wanted() -> accounts.State:
    """Return a policy of one account with one user."""
    state = accounts.State("kait", qos={"normal": {}})
    state.accounts["general"] = accounts.Account("root", "g", "g")
    state.users["bob"] = accounts.User("general", "None", {"general": {}})
    return state


def current() -> accounts.State:
    """Return a database that has more."""
    state = wanted()
    state.accounts["hack"] = accounts.Account("root", "h", "h")
    state.users["bob"].accounts["hack"] = {}
    state.users["mallory"] = accounts.User("hack", "None", {"hack": {}})
    state.qos["rich"] = {}
    return state


def test_the_jobs_of_what_is_deleted_are_cancelled_first_and_no_others() -> None:
    made = accounts.plan(current(), wanted(), delete=True, cancel=True, busy=BUSY)
    assert [(step.text, step.jobs) for step in made.steps] == [
        (
            "cancel the jobs of user bob in account hack and delete it",
            ("--user=bob", "--account=hack"),
        ),
        ("cancel the jobs of user mallory and delete it", ("--user=mallory",)),
        ("cancel the jobs of account hack and delete it", ("--account=hack",)),
        ("cancel the jobs of QOS rich and delete it", ("--qos=rich",)),
    ]
    assert made.left == []


def test_what_has_no_jobs_is_deleted_without_more() -> None:
    made = accounts.plan(current(), wanted(), delete=True, cancel=True)
    assert len(made.steps) == 4
    assert not [step for step in made.steps if step.jobs]


class Slurm:
    """A sacctmgr that refuses for a job until it has been asked three times, and a scancel."""

    def __init__(self, refusal: str = ACTIVE, times: int = 3) -> None:
        self.refusal = refusal
        self.times = times
        self.calls: list[Sequence[str]] = []

    def sacctmgr(self, *arguments: str) -> str:
        self.calls.append(arguments)
        if len([call for call in self.calls if call == arguments]) <= self.times:
            raise accounts.SlurmError(self.refusal)
        return ""

    def run(self, *command: str, seconds: int = 600) -> str:
        self.calls.append(command)
        return ""


def applied(slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply a plan of one deletion for which a job has to end."""
    monkeypatch.setattr(accounts, "_run", slurm.run)
    monkeypatch.setattr(accounts, "find_program", lambda name: name)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    made = accounts.Plan()
    made.call("x", "delete", "user", jobs=["--user=mallory"])
    accounts.apply(made, slurm.sacctmgr)


def test_a_deletion_waits_until_the_jobs_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = Slurm()
    applied(slurm, monkeypatch)
    assert slurm.calls == [("scancel", "--user=mallory"), *[("delete", "user")] * 4]


@pytest.mark.parametrize(
    ("refusal", "asked"), [(ACTIVE, accounts._WAIT_FOR_JOBS), ("slurmdbd is gone", 1)]
)
def test_a_deletion_that_stays_refused_fails(
    monkeypatch: pytest.MonkeyPatch, refusal: str, asked: int
) -> None:
    slurm = Slurm(refusal, times=1000)
    with pytest.raises(accounts.SlurmError):
        applied(slurm, monkeypatch)
    assert slurm.calls.count(("delete", "user")) == asked


def _no_answer(*command: str, seconds: int = 600) -> str:
    raise accounts.SlurmError("Unable to contact slurm controller")


def _no_end(*command: str, seconds: int = 600) -> str:
    raise subprocess.TimeoutExpired(command, seconds)


def _down(*command: str, seconds: int = 600) -> str:
    assert command[0] != "squeue", "squeue waits a minute for a slurmctld that does not run"
    return "Slurmctld(primary) at head is DOWN\n"


@pytest.mark.parametrize("answer", [_no_answer, _no_end, _down])
def test_without_slurmctld_a_deletion_that_cancels_goes_on(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[..., str]
) -> None:
    monkeypatch.setattr(accounts, "_run", answer)
    monkeypatch.setattr(accounts, "find_program", lambda name: name)
    assert accounts.busy_pairs(sure=False) == []


def test_without_slurmctld_a_deletion_that_spares_jobs_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(accounts, "_run", _no_answer)
    monkeypatch.setattr(accounts, "find_program", lambda name: name)
    with pytest.raises(accounts.SlurmError, match="Unable to contact"):
        accounts.busy_pairs(sure=True)


def test_jobs_are_asked_for_where_slurmctld_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"scontrol": "Slurmctld(primary) at head is UP\n", "squeue": "ann|physics\n"}
    monkeypatch.setattr(accounts, "_run", lambda program, *_, seconds=600: said[program])
    monkeypatch.setattr(accounts, "find_program", lambda name: name)
    assert accounts.busy_pairs(sure=False) == [("ann", "physics")]
