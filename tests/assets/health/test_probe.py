"""What touches the node never waits longer than it may."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from assets.node.health.checks.probe import Probe, Said, integer


def test_a_command_gives_its_code_and_what_it_printed() -> None:
    said = Probe().run("bash", "-c", "echo out; echo err >&2; exit 3", seconds=10)
    assert said == Said(3, "out\n", "err\n")
    assert said.text == "out\nerr\n"


def test_a_command_that_is_not_there_is_127() -> None:
    assert Probe().run("no-such-command", seconds=10).code == 127


@pytest.mark.parametrize(
    "script",
    ["sleep 600", "trap '' TERM; sleep 600", "sleep 600 & sleep 600", "setsid sleep 5 & wait"],
    ids=["waits", "ignores-signals", "has-children", "child-that-got-away"],
)
def test_a_command_that_does_not_end_is_left_after_its_time(script: str) -> None:
    begun = time.monotonic()
    said = Probe().run("bash", "-c", script, seconds=0.2)
    assert said.code is None and said.err == "bash did not end in 0.2 s"
    # Far from the ten minutes that the command would have taken; a busy machine is no fault.
    assert time.monotonic() - begun < 30


def test_a_process_that_cannot_be_killed_is_left_behind_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One each minute would be thousands before the job on the node is over."""
    started: list[subprocess.Popen[str]] = []

    def start(*given: Any, **more: Any) -> subprocess.Popen[str]:
        process = Popen(*given, **more)
        started.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(os, "killpg", lambda pid, number: None)
    probe, command = Probe(tmp_path), ("sleep", "600")
    try:
        assert probe.run(*command, seconds=0.1).err == "sleep did not end in 0.1 s"
        status = tmp_path / "proc" / str(started[0].pid) / "status"
        status.parent.mkdir(parents=True)
        status.write_text("Name:\tsleep\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n")
        for _ in range(3):
            said = Probe(tmp_path).run(*command, seconds=0.1)
            assert said == Said(None, "", "sleep of an earlier check does not end")
        assert len(started) == 1
        # The server is back: the signal has been taken.
        status.unlink()
        assert probe.run(*command, seconds=0.1).err == "sleep did not end in 0.1 s"
        assert len(started) == 2
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.parametrize("status", ["", "SigPnd:\t0000000000000000\nShdPnd:\t0000000000004000\n"])
def test_another_process_of_that_number_stops_no_check(tmp_path: Path, status: str) -> None:
    probe = Probe(tmp_path)
    probe._note_left(("true",), 7)
    (tmp_path / "proc" / "7").mkdir(parents=True)
    (tmp_path / "proc" / "7" / "status").write_text(status)
    assert probe.run("true", seconds=60).code == 0


def test_a_command_that_ended_is_not_noted(tmp_path: Path) -> None:
    Probe(tmp_path).run("sleep", "600", seconds=0.1)
    assert not (tmp_path / "run").exists()


def test_files_are_read_below_the_root(tmp_path: Path) -> None:
    place = tmp_path / "sys" / "class" / "a" / "total"
    place.parent.mkdir(parents=True)
    place.write_text("7\n")
    probe = Probe(tmp_path)
    assert probe.read("/sys/class/a/total") == "7\n"
    assert probe.read("/sys/class/b/total") == ""
    assert probe.names("/sys/class") == ["a"]
    assert probe.names("/sys/none") == []
    assert probe.find("/sys", "total") == ["/sys/class/a/total"]


@pytest.mark.parametrize(("text", "number"), [("12\n", 12), ("", 0), ("N/A", 0), ("3 x", 3)])
def test_a_counter_that_is_no_number_counts_as_none(text: str, number: int) -> None:
    assert integer(text) == number
