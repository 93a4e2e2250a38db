"""Processes that do not outlive the one that started them, however that ends."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.waiting import wait_until

_PR_SET_PDEATHSIG = 1
PARENT = "TRAINSHED_PARENT"
"""Environment variable with the process id of who started the emulator."""
SOCKET = "TRAINSHED_SOCKET"
"""Environment variable with the number of the socket that the emulator listens on."""


def bound(command: Sequence[str]) -> list[str]:
    """Return a command that is terminated when who started it is gone, where the system can."""
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    return [setpriv, "--pdeathsig", "TERM", *command] if setpriv else list(command)


def end_with_parent() -> None:
    """End this process and all of its group once the one of ``TRAINSHED_PARENT`` is gone.

    At once: the emulator would wait for its state machines first.
    """
    if sys.platform != "linux":
        return
    signal.signal(signal.SIGHUP, lambda *_: os.killpg(0, signal.SIGKILL))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGHUP)
    parent = os.environ.get(PARENT)
    if parent and os.getppid() != int(parent):
        sys.exit("who started this is gone")


def run_group(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command; whatever ends the wait for it ends all that it started as well.

    Args:
        command: The command; both of its outputs are its output.
        folder: Where it runs. Default: here.
        environment: All of its environment. Default: that of this process.
        seconds: The longest that it may take. Default: no limit.

    Raises:
        subprocess.TimeoutExpired: It took longer.
    """
    with subprocess.Popen(
        bound(command),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, _ = process.communicate(timeout=seconds)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)
            end_group(process.pid)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out)


def end_group(group: int) -> None:
    """Kill a process group; return when none of it runs, since the kernel takes its time for each.

    Raises:
        TimeoutError: Some of it has not ended after 10 s.
    """
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    wait_until(
        lambda: not _running(group),
        lambda: f"the end of the processes {_running(group)}",
        10,
        every=0.01,
    )


def _running(group: int) -> list[int]:
    """Return the processes of a group; one that waits for its parent to ask runs no more."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name before may hold anything: state, parent and group follow its last bracket.
            state, _, of = stat.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if int(of) == group and state not in "ZX":
                found.append(int(stat.parent.name))
    return found
