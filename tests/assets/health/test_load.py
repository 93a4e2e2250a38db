"""The load on a node that has no package for it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from assets.node.health import load
from assets.node.health.checks import basic
from assets.node.health.checks.node import Node
from tests.fixtures.health.node import Fault, SaidNode, fault


def test_a_healthy_machine_bears_it(tmp_path: Path) -> None:
    command = [sys.executable, "-S", "-E", load.__file__, "2", "0.3", "1", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "2 cores, 1 MiB each, for 0.3 s\n")
    assert list(tmp_path.iterdir()) == []


def test_memory_that_keeps_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = iter((b"first", b"first", b"other"))
    sha256 = SimpleNamespace(sha256=lambda block: SimpleNamespace(digest=lambda: next(sums)))
    monkeypatch.setattr(load, "hashlib", sha256)
    with pytest.raises(SystemExit) as ended:
        load.compute(float("inf"), 1)
    assert ended.value.code == load.WRONG
    assert hashlib.sha256 is not sha256.sha256


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (None, "disk: no end in time"),
        (load.WRONG, "disk: what was read is not what was written"),
        (-7, "disk: ended with -7"),
        (0, ""),
    ],
)
def test_what_was_wrong_is_said(code: int | None, said: str) -> None:
    process = SimpleNamespace(join=lambda seconds: None, kill=lambda: None, exitcode=code)
    assert load._end_of("disk", process, 0.0) == said  # type: ignore[arg-type]


def test_it_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert load.main([]) == 2
    assert "usage: load.py CORES SECONDS" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("total", "wanted"), [("3880000", "--vm-bytes 236M"), ("2000000000", "--vm-bytes 2048M")]
)
def test_a_small_instance_is_not_filled(total: str, wanted: str) -> None:
    """8 GiB on an instance of 4 ended it each time, and it was rebooted and replaced for that."""
    probe = SaidNode(Fault(files={"/proc/meminfo": f"MemTotal: {total} kB\n"}))
    assert basic.CHECKS["stress"](Node(probe, Fault().expected)).verdict == "ok"
    assert wanted in probe.ran[-1]


def test_a_node_without_the_package_is_loaded_all_the_same() -> None:
    probe = SaidNode(fault("load-wrong-memory"))
    assert basic.CHECKS["stress"](Node(probe, Fault().expected)).verdict == "fail"
    assert probe.ran[0].startswith("stress --cpu")
    assert probe.ran[1].startswith("bash -c exec python3") and "load.py" in probe.ran[1]
