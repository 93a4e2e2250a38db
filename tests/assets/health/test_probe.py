"""What touches the node never waits longer than it may."""

from __future__ import annotations

import time
from pathlib import Path

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
