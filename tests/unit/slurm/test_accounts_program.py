"""The command line of the program that reconciles the accounting database."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assets.node import slurm_accounts as accounts
from trainshed.slurm import NodeGroup, NodeShape, SlurmPolicy, accounting_document, reconcile

COMPUTE = NodeGroup("compute", NodeShape(192, 2_097_152, 2, 48, 2, 8, "h200"), 16)


@pytest.fixture(autouse=True)
def lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that a run locks, in the place of the machine's own."""
    path = tmp_path / "lock"
    for program in (accounts, reconcile.node_program()):
        monkeypatch.setattr(program, "LOCK_FILE", path)
    return path


def test_a_document_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format is 2; this program reads 1"):
        accounts.read_policy({"format": 2})


def test_a_missing_policy_file_is_reported_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert accounts.main(["plan", str(tmp_path / "none.json")]) == 1
    assert "No such file" in capsys.readouterr().err


class Recorder:
    """A sacctmgr that shows an empty database and takes every call without doing it."""

    def __init__(self) -> None:
        self.calls: list[Sequence[str]] = []

    def __call__(self, *arguments: str) -> str:
        self.calls.append(arguments)
        return {"cluster": "kait\n", "tres": "cpu|\n"}.get(arguments[1], "")


def test_a_call_that_is_accepted_and_does_nothing_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(accounts, "run_sacctmgr", lambda program: recorder)
    document = accounting_document(
        SlurmPolicy.model_validate({"preset": "kait-hardened"}), [COMPUTE], cluster="kait"
    )
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(document))
    assert accounts.main(["apply", str(path), "--sacctmgr", "x"]) == 1
    assert "the above is still to be done" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("plans", "code", "called"),
    [
        ([["a"], []], 2, ["a"]),
        ([["a", "b"], ["b"], []], 2, ["a", "b", "b"]),
        ([["a"], ["describe account x"]], 2, ["a"]),
        ([["a"], ["a"], ["a"], ["a"]], 1, ["a", "a", "a"]),
        ([[]], 0, []),
    ],
    ids=["at once", "changed by another call", "a lost description", "never", "nothing"],
)
def test_what_a_call_changes_beside_what_it_names_is_put_right_in_the_same_run(
    plans: list[list[str]],
    code: int,
    called: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorder = Recorder()
    following = iter(plans)

    def plan(*_: Any, **__: Any) -> accounts.Plan:
        return accounts.Plan([accounts.Step(text, (text, "")) for text in next(following)])

    monkeypatch.setattr(accounts, "run_sacctmgr", lambda program: recorder)
    monkeypatch.setattr(accounts, "plan", plan)
    document = accounting_document(SlurmPolicy(), [COMPUTE], cluster="kait")
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(document))
    assert accounts.main(["apply", "--exit-code", str(path), "--sacctmgr", "x"]) == code
    names = {text for texts in plans for text in texts}
    assert [call[0] for call in recorder.calls if call[0] in names] == called


def test_a_description_that_the_database_does_not_keep_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def sacctmgr(*arguments: str) -> str:
        shown = {"cluster": "kait\n", "qos": "normal\n", "account": "lab||lab|??\n"}
        if arguments[1] == "association":
            return f"lab|||root|1{'|' * (len(accounts.ASSOCIATION_SETTINGS) - 1)}\n"
        return shown.get(arguments[1], "") if arguments[0] == "show" else ""

    monkeypatch.setattr(accounts, "run_sacctmgr", lambda program: sacctmgr)
    policy = SlurmPolicy.model_validate({"accounts": {"lab": {"description": "서울"}}})
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(accounting_document(policy, [], cluster="kait")))
    assert accounts.main(["apply", str(path), "--sacctmgr", "x"]) == 0
    assert "[1/1] describe account lab" in capsys.readouterr().out


def test_the_command_line_of_trainshed_runs_the_nodes_own_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(reconcile.node_program(), "run_sacctmgr", lambda program: recorder)
    document = accounting_document(
        SlurmPolicy.model_validate({"preset": "kait-hardened"}), [COMPUTE], cluster="kait"
    )
    assert reconcile.reconcile("plan", document, sacctmgr="sacctmgr") == 2
    assert "add account general below root" in capsys.readouterr().out
    assert {call[0] for call in recorder.calls} == {"show"}


BAD: dict[str, tuple[Any, str]] = {
    "a list": ([], "this is no policy document"),
    "a text": ("x", "this is no policy document"),
    "no format": ({}, "format is None; this program reads 1"),
    "nothing else": ({"format": 1}, "this is no policy document: KeyError('cluster')"),
    "a list of QOS": (
        {"format": 1, "cluster": "c", "keep_accounts": [], "qos": [], "accounts": {}, "users": {}},
        "this is no policy document",
    ),
    "an unknown setting": (
        {
            **{"format": 1, "cluster": "c", "keep_accounts": [], "accounts": {}, "users": {}},
            "qos": {"q": {"MaxJobs": "1"}},
        },
        "this program knows no setting MaxJobs",
    ),
}


@pytest.mark.parametrize(("document", "reason"), BAD.values(), ids=list(BAD))
def test_what_is_no_policy_document_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: Any, reason: str
) -> None:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(document))
    assert accounts.main(["plan", str(path), "--sacctmgr", "/bin/false"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"slurm_accounts.py: {reason}")


@pytest.mark.parametrize("writable", [True, False], ids=["the machine's file", "the policy"])
def test_two_runs_with_files_of_their_own_do_not_plan_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock_file: Path, writable: bool
) -> None:
    if not writable:
        monkeypatch.setattr(accounts, "LOCK_FILE", tmp_path / "none" / "lock")
    path = tmp_path / "policy.json"
    path.write_text("{}")
    held = lock_file if writable else path
    with path.open() as policy, accounts.lock(policy):
        assert is_locked(held)
    assert not is_locked(held)


def is_locked(path: Path) -> bool:
    """Tell whether somebody holds a lock on a file."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
