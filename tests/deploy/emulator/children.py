"""Processes that do not outlive the one that started them, however that ends."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

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


def run_group(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command; whatever ends the wait for it ends all that it started as well."""
    with subprocess.Popen(
        bound(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate()
        except BaseException:
            for each in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, each)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=10)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
