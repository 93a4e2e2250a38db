"""What the boot does with the scripts of its steps: their output, and one that has no end."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.node.boot import __main__ as boot
from assets.node.boot.plan import Node, Step
from assets.node.boot.record import FailedBoot

STEP = Step("mount-fsx", ("mount.sh", "/fsx"), "see the file system")
NODE = Node("compute", "train", "i-0a", "p5en.48xlarge")


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(boot, "SCRIPTS", tmp_path)
    monkeypatch.setattr(boot, "LOGS", tmp_path / "logs")
    path = tmp_path / "mount.sh"
    path.touch(0o755)
    return path


def write(script: Path, text: str) -> None:
    script.write_text(f"#!/bin/bash\n{text}\n")


def test_what_a_step_says_is_in_its_log_and_in_the_journal(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for word in ("one", "two"):
        write(script, f"echo {word} $1; printf '\\xff\\n' >&2")
        boot.run_step(STEP, 1)
        assert capsys.readouterr().out == f"{word} /fsx\n\ufffd\n"
    log = (script.parent / "logs/mount-fsx.log").read_text(errors="replace").splitlines()
    assert log[1:3] == ["one /fsx", "\ufffd"] and log[4:] == ["two /fsx", "\ufffd"]
    assert all(line.endswith("Z mount.sh /fsx") for line in (log[0], log[3]))


@pytest.mark.parametrize("code", [1, boot.READ_AGAIN])
def test_a_step_that_fails_is_told_with_its_own_words_alone(script: Path, code: int) -> None:
    write(script, "echo before")
    boot.run_step(STEP, 1)
    write(script, f"echo no route >&2; exit {code}")
    with pytest.raises(boot.StepError) as failed:
        boot.run_step(STEP, 1)
    assert (failed.value.code, failed.value.output) == (code, "no route\n")


def test_a_step_without_an_end_is_killed_with_all_it_has_started_and_named(script: Path) -> None:
    beats = script.parent / "beats"
    write(script, f"echo connecting; (while true; do echo >>{beats}; sleep 0.01; done) & wait")
    with pytest.raises(boot.StepError) as failed:
        boot.run_step(STEP, 0.02)
    record = FailedBoot.of(NODE, failed.value.step, failed.value.output)
    assert (record.node, record.step, record.remedy) == ("train-0a", "mount-fsx", STEP.remedy)
    assert record.reason == "mount-fsx: it has not ended after 0.02 minutes and was killed"
    assert record.tail.startswith("connecting\n")
    size = beats.stat().st_size
    write(script, "sleep 0.1")
    boot.run_step(STEP, 1)
    assert beats.stat().st_size == size


@pytest.mark.parametrize(("given", "minutes"), [(30, 30), (5, 20)])
def test_a_step_has_the_time_of_a_boot_or_what_slurmd_waits_for_the_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: int, minutes: int
) -> None:
    monkeypatch.setattr(boot, "CONFIG", tmp_path)
    monkeypatch.setattr(boot, "steps", lambda document, node: [STEP])
    (tmp_path / "fleet.json").write_text(f'{{"boot_timeout_minutes": {given}}}')
    assert boot.planned(NODE) == ([STEP], minutes)
