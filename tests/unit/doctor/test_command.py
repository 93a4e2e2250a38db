from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from trainshed.cli import doctor

ROOT = Path(__file__).parents[3]
MINIMAL = str(ROOT / "institutions" / "minimal.yaml")


def _run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    doctor.add_arguments(parser)
    return doctor.run(parser.parse_args(arguments))


@pytest.fixture
def other_account(aws: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command find credentials of another account."""
    arn = "arn:aws:iam::999999999999:user/ops"
    aws.answer("sts", "get_caller_identity", {"Account": "999999999999", "Arn": arn})
    monkeypatch.setattr("trainshed.doctor.SessionClients", lambda session, region: aws)


@pytest.mark.usefixtures("other_account")
def test_it_prints_verdicts_and_fails_where_something_is_not_ready(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _run(MINIMAL) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("not ready  account: credentials are of account 999999999999")
    assert lines[1].startswith("           -> sign in to the other account")


@pytest.mark.usefixtures("other_account")
def test_it_prints_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(MINIMAL, "--json") == 1
    assert json.loads(capsys.readouterr().out)["checks"][0]["status"] == "not ready"


def test_a_profile_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(MINIMAL, "--profile", "no-such-profile") == 1
    assert "no-such-profile" in capsys.readouterr().err


def test_a_faulty_file_is_not_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.yaml").write_text("name: bad\n")
    assert _run(str(tmp_path / "bad.yaml")) == 1
    assert "bad.yaml:1: account: required, but not given" in capsys.readouterr().err
