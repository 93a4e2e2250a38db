"""`make demo` without Slurm: interrupted where it is busiest, then run to its end."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.deploy.emulator.process import ROOT


def start(work: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "scripts/demo.py", "--without-slurm", "--work", str(work)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def left_running(work: Path) -> list[str]:
    """Return the command lines of processes that name the folder of a demonstration."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            told = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
        except OSError:
            continue
        if str(work).encode() in told:
            found.append((place / "cmdline").read_text().replace("\0", " "))
    return found


def test_an_interrupted_demonstration_leaves_nothing_and_runs_again(tmp_path: Path) -> None:
    work = tmp_path / "demo"
    with start(work) as first:
        assert first.stdout is not None
        for line in first.stdout:
            if line.startswith("[5/"):
                break
        first.send_signal(signal.SIGINT)
        rest = first.stdout.read()
        assert first.wait() == 130, rest
    assert "interrupted; nothing is left running" in rest
    assert left_running(work) == []
    with start(work) as again:
        said, _ = again.communicate()
        assert again.returncode == 0, said
    assert said.count("CREATE_COMPLETE") == 2
    assert "CRITICAL demo" in said
    assert left_running(work) == []
    assert not work.exists()
