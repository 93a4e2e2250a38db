"""What touches the node: commands with a time limit, files, directories."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SEARCHED = "/opt/slurm/bin:/opt/amazon/efa/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"

# In the signals that a process has not taken yet.
_KILLED = 1 << (signal.SIGKILL - 1)


@dataclass(frozen=True)
class Said:
    """What a command said.

    Args:
        code: Exit code; None when it did not end in time, 127 when there is no such command.
        out: Standard output.
        err: Standard error.
    """

    code: int | None
    out: str = ""
    err: str = ""

    @property
    def text(self) -> str:
        """Everything it printed."""
        return self.out + self.err


class Probe:
    """A node.

    Args:
        root: Stands before every path that is read; ``/`` on a node.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def run(self, *command: str, seconds: float, env: Mapping[str, str] | None = None) -> Said:
        """Run a command. A process that cannot be killed, as on a hung mount, is left behind.

        While one of an earlier run is there the command is not run again: checks come each minute,
        and a server may be away for days.
        """
        if self._is_left(command):
            return Said(None, "", f"{command[0]} of an earlier check does not end")
        path = f"{os.environ.get('PATH', '')}:{_SEARCHED}"
        settings = {**os.environ, "PATH": path, "LC_ALL": "C", **(env or {})}
        try:
            process = subprocess.Popen(  # noqa: S603, the checks name the commands
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=settings,
                start_new_session=True,
                text=True,
                errors="replace",
            )
        except OSError as error:
            return Said(127, "", str(error))
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if not _ended(process):
                self._note_left(command, process.pid)
            return Said(None, "", f"{command[0]} did not end in {seconds:g} s")
        return Said(process.returncode, out, err)

    def _left(self, command: tuple[str, ...]) -> str:
        return f"/run/trainshed/health/left-{zlib.crc32(repr(command).encode()):08x}"

    def _is_left(self, command: tuple[str, ...]) -> bool:
        pid = self.read(self._left(command)).strip()
        # Its command line is not read: that waits for the lock of its memory, and may never end.
        status = self.read(f"/proc/{pid}/status") if pid else ""
        pending = re.findall(r"^(?:SigPnd|ShdPnd):\s*([0-9a-f]+)$", status, re.MULTILINE)
        return any(int(signals, 16) & _KILLED for signals in pending)

    def _note_left(self, command: tuple[str, ...], pid: int) -> None:
        place = self._at(self._left(command))
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{pid}\n")

    def read(self, path: str) -> str:
        """Return the content of a file; empty when it cannot be read."""
        try:
            return self._at(path).read_text(errors="replace")
        except OSError:
            return ""

    def names(self, path: str) -> list[str]:
        """Return the names in a directory; none when it cannot be read."""
        try:
            return sorted(entry.name for entry in self._at(path).iterdir())
        except OSError:
            return []

    def find(self, path: str, name: str) -> list[str]:
        """Return the files of a name below a directory, without following links."""
        return sorted(
            f"/{Path(directory, name).relative_to(self._root)}"
            for directory, _, files in os.walk(self._at(path))
            if name in files
        )

    def _at(self, path: str) -> Path:
        return self._root / path.lstrip("/")


def _ended(process: subprocess.Popen[str]) -> bool:
    """Take a killed process off our hands; one that waits for a dead server cannot even die."""
    try:
        process.communicate(timeout=0.5)
    except subprocess.TimeoutExpired:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    return process.poll() is not None


def integer(text: str) -> int:
    """Return a counter of the kernel; 0 when there is none."""
    try:
        return int(text.split()[0])
    except (ValueError, IndexError):
        return 0
