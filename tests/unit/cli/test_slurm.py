"""``trainshed slurm``, and what of a policy ``validate`` and ``render`` show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainshed.cli import main
from trainshed.slurm.reconcile import node_program

INSTITUTIONS = Path(__file__).parents[3] / "institutions"
KAIT = INSTITUTIONS / "kait.yaml"

# Registered, with every resource known and nothing else in the database.
EMPTY = """\
#!/bin/bash
echo "$*" >>"$0.calls"
case "$*" in
*"show cluster"*) echo kait ;;
*"show tres"*) printf 'cpu|\\nmem|\\ngres|gpu\\n' ;;
*"show qos"*) echo "normal|0$(printf '|%.0s' {1..23})" ;;
esac
"""


@pytest.fixture(autouse=True)
def lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run lock a file of the test and not the machine's."""
    monkeypatch.setattr(node_program(), "LOCK_FILE", tmp_path / "lock")


@pytest.fixture
def sacctmgr(tmp_path: Path) -> Path:
    path = tmp_path / "sacctmgr"
    path.write_text(EMPTY)
    path.chmod(0o755)
    return path


def test_a_plan_shows_what_an_institution_file_asks_for(
    sacctmgr: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["slurm", "plan", str(KAIT), "--sacctmgr", str(sacctmgr)]) == 2
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == ("  add QOS debug_qos, exclusive_qos, member_qos, normal_qos, priority_qos")
    assert "  add account kaist below general" in shown
    assert "  add kaist01 to account kaist, share 1" in shown
    assert not [c for c in Path(f"{sacctmgr}.calls").read_text().splitlines() if " show " not in c]


def test_a_document_of_a_head_node_is_taken_too(
    sacctmgr: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", str(KAIT), "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    document = tmp_path / "out" / "policy.json"
    command = ["slurm", "drift", str(document), "--document", "--sacctmgr", str(sacctmgr)]
    assert main(command) == 2
    assert "add account snu below general" in capsys.readouterr().out


def test_accounts_of_parallelcluster_are_left_alone(tmp_path: Path) -> None:
    main(["render", str(KAIT), "--out", str(tmp_path)])
    assert json.loads((tmp_path / "policy.json").read_text())["keep_accounts"] == ["pcdefault"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "minimal.yaml",
            (INSTITUTIONS / "minimal.yaml").read_text(),
            "{path}: fleet.policy is not given, so there is nothing to apply",
        ),
        ("wrong.yaml", "a: [", "{path}:2: not YAML"),
    ],
    ids=["no policy", "no YAML"],
)
def test_a_file_without_a_policy_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert main(["slurm", "plan", str(path)]) == 1
    assert capsys.readouterr().err.startswith(message.format(path=path))


def test_a_document_that_is_none_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "policy.json"
    path.write_text("{")
    assert main(["slurm", "plan", str(path), "--document"]) == 1
    assert "; give the policy.json of a head node\n" in capsys.readouterr().err


def test_a_missing_sacctmgr_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slurm", "apply", str(KAIT), "--sacctmgr", "/nowhere/sacctmgr"]) == 1
    assert "/nowhere/sacctmgr" in capsys.readouterr().err


def test_rendering_writes_the_policy_for_people_and_its_first_run(tmp_path: Path) -> None:
    assert main(["render", str(KAIT), "--out", str(tmp_path)]) == 0
    table = (tmp_path / "policy.md").read_text()
    assert "| debug | 1 of 16 | 00:30:00 | 00:10:00 | 100 | debug_qos | all | nobody |" in table
    plan = (tmp_path / "account-plan.md").read_text().splitlines()
    assert plan[0] == "What an empty accounting database gets, a call each:"
    assert plan[2].startswith("1. add QOS debug_qos")
    assert plan[-1] == "17. add snu01 to account priority, share 1"


def test_a_warning_of_the_linter_is_shown_and_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kait.yaml"
    path.write_text(
        KAIT.read_text().replace(
            "preset: kait-hardened ",
            "preset: kait-hardened\n    scheduler: {return_to_service: 1} ",
        )
    )
    assert main(["validate", str(path)]) == 0
    assert capsys.readouterr().out == (
        f"{path}: kait is right\n"
        f"{path}: warning: fleet.parallelcluster.gate names no all_reduce_perf: users get nodes of "
        "compute after the checks of each, and no all-reduce over them\n"
        f"{path}: warning: fleet.policy.scheduler.return_to_service: 1 leaves a node down that "
        "restarted by itself, until somebody looks; use 2; health checks keep bad nodes out "
        "[return-to-service]\n"
    )
