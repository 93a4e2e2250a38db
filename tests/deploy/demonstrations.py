"""`make demo` as a process that is interrupted, and what it leaves on the machine."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.emulator.process import ROOT
from tests.waiting import wait_until

_ELSEWHERE = Path(__file__).with_name("written_elsewhere.sh")
_PATIENCE_SECONDS = 600


@dataclass(frozen=True)
class Blow:
    """A signal while a step runs.

    Args:
        step: Number of the step.
        signal: The signal.
        to_all: Whether it goes to make and all it started, as a terminal's does, or to the
            demonstration alone.
        told: What the step says before it comes. Default: nothing, it comes at once.
    """

    step: int
    signal: signal.Signals
    to_all: bool = True
    told: str = ""

    def __str__(self) -> str:
        whom = "all" if self.to_all else "one"
        return f"{self.signal.name} to {whom} in step {self.step}{self.told and ' later'}"

    @property
    def kills(self) -> bool:
        """Whether it leaves no time to clear up."""
        return self.signal == signal.SIGKILL


class Demonstration:
    """One run of `make demo`, in a session of its own.

    Args:
        work: Its folder.
        layers: Empty directory in memory for what it writes outside the checkout, or None.
        options: Further options of it.
    """

    def __init__(self, work: Path, *options: str, layers: Path | None = None) -> None:
        self.work = work
        elsewhere = [str(_ELSEWHERE), str(layers), str(ROOT)] if layers else []
        # Set up already: this process runs from there.
        arguments = shlex.join([*options, "--work", str(work)])
        make = ["make", "-o", ".venv/.ready", "demo", f"DEMO={arguments}"]
        self._process = subprocess.Popen(
            [*(["unshare", "--mount", *elsewhere] if layers else []), *make],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.said = ""
        self.pids: set[int] = set()
        """Processes of the demonstration itself."""

    def finish(self) -> int:
        """Wait for its end; return its exit status."""
        if not self.pids:
            self._read_to("[1/")
        rest, _ = self._process.communicate(timeout=_PATIENCE_SECONDS)
        self.said += rest
        return self._process.returncode

    def strike(self, blow: Blow) -> int:
        """Send a signal in a step, then wait for the end; return the exit status."""
        self._read_to(f"[{blow.step}/")
        if blow.told:
            self._read_to(blow.told)
        if blow.to_all:
            os.killpg(self._process.pid, blow.signal)
        else:
            for pid in self.pids:
                os.kill(pid, blow.signal)
        return self.finish()

    def _read_to(self, wanted: str) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said += line
            if wanted in line:
                self.pids |= _own_processes(self.work)
                return
        raise AssertionError(f"{wanted} was not said:\n{self.said}")

    def ports_that_answer(self) -> list[int]:
        """Return the ports of its emulator and its Slack that something listens on."""
        told = re.search(r"AWS is \S+:(\d+), Slack is \S+:(\d+)", self.said)
        found = []
        for port in map(int, told.groups()) if told else ():
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    found.append(port)
        return found


def running(work: Path) -> list[str]:
    """Return the processes that were started for a folder, or see a mount of it."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            told = b"".join((place / each).read_bytes() for each in ("cmdline", "environ"))
            mounts = (place / "mountinfo").read_bytes()
            if str(work).encode() in told + mounts:
                found.append(f"{place.name} {(place / 'cmdline').read_text().replace(chr(0), ' ')}")
    return found


def left(work: Path, pids: set[int]) -> list[str]:
    """Return what runs of a folder left: processes, disks in memory and their devices, cgroups."""
    devices = list(Path("/sys/block").glob("loop*/loop/backing_file"))
    backing = [each.read_text() for each in devices if each.exists()]
    found = running(work)
    for pid in pids:
        name = f"trainshed-volume-{pid}-"
        found += [str(each) for each in Path("/dev/shm").glob(f"{name}*")]
        found += [each for each in backing if name in each]
        found += map(str, Path("/sys/fs/cgroup").glob(f"*/trainshed-lab-{pid}-*"))
    return found


def wait_for_its_end(struck: Demonstration) -> None:
    """Wait until nothing of it runs: the kernel ends what lost its parent one by one."""
    wait_until(lambda: not running(struck.work), lambda: f"end of {running(struck.work)}")
    # A process that ends has no command any more, and closes its sockets after that.
    wait_until(lambda: not struck.ports_that_answer(), lambda: str(struck.ports_that_answer()))


def written(layers: Path) -> list[str]:
    """Return the files that were written, changed or removed outside the checkout."""
    top = layers / "written"
    return [
        f"/{path.relative_to(top)}"
        for path in sorted(top.rglob("*"))
        if path.is_symlink() or not path.is_dir()
    ]


def _own_processes(work: Path) -> set[int]:
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (place / "cmdline").read_text().split("\0")
            if words[0].endswith("python") and "scripts/demo.py" in words and str(work) in words:
                found.add(int(place.name))
    return found
