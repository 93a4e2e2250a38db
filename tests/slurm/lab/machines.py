"""Machines as Linux namespaces: each has its own address, processes, devices and cgroups.

All of them live below one process. When that ends, however it ends, the kernel ends every other
process of the lab and takes back networks and mounts; only empty cgroup directories are left, which
the next lab removes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.waiting import wait_until

LAB_DIR = Path(__file__).resolve().parent
_CGROUPS = Path("/sys/fs/cgroup")
_PREFIX = "trainshed-lab"


class CommandError(Exception):
    """A command on a machine that ended with another code than 0."""


class Machine:
    """One machine of the lab."""

    def __init__(self, name: str, pid: int, cgroup: str, process: subprocess.Popen[bytes]) -> None:
        self.name = name
        self._pid = pid
        self._cgroup = cgroup
        self._process = process

    def command(self, *args: str, user: str | None = None) -> list[str]:
        """Return the command line that runs a command on the machine."""
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        home = ["env", f"HOME=/home/{user or 'root'}", f"USER={user or 'root'}"]
        enter = [str(LAB_DIR / "enter.sh"), str(self._pid), self._cgroup]
        return [*enter, *become, *home, *args]

    def try_run(
        self, *args: str, user: str | None = None, seconds: float = 120, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the machine, whatever its exit code."""
        return subprocess.run(
            self.command(*args, user=user),
            capture_output=True,
            text=True,
            timeout=seconds,
            input=stdin,
            cwd="/",
            check=False,
        )

    def run(
        self, *args: str, user: str | None = None, seconds: float = 120, stdin: str = ""
    ) -> str:
        """Run a command on the machine and return what it printed.

        Raises:
            CommandError: It ended with another code than 0.
        """
        done = self.try_run(*args, user=user, seconds=seconds, stdin=stdin)
        if done.returncode:
            raise CommandError(
                f"{self.name}: {args}: {done.returncode}: {done.stdout}{done.stderr}"
            )
        return done.stdout.strip()

    def start(self, service: str, *args: str) -> None:
        """Start a daemon on the machine and wait until it answers."""
        # Daemons keep their standard error open, so it must not be a pipe that is waited for.
        done = subprocess.run(
            self.command("/run/lab/service.sh", service, *args),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=240,
            cwd="/",
            check=False,
        )
        if done.returncode:
            raise CommandError(f"{self.name}: {service} did not start: {done.returncode}")

    @property
    def alive(self) -> bool:
        """Whether it is on."""
        return self._process.poll() is None

    @property
    def files(self) -> Path:
        """Its root directory, seen from the host."""
        return Path(f"/proc/{self._pid}/root")

    def power_off(self) -> None:
        """End the machine at once, as if its power were cut."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        self._process.wait(timeout=10)


class Lab:
    """A network of machines. Use it as a context; leaving it ends everything.

    Args:
        work: Empty directory for the files of the machines, on the host.
        root: Root of the machines' programs; ``/`` for the host's own.
    """

    kind = "daemons"
    """What its machines are; machine_init.sh says of each kind what that is."""

    def __init__(self, work: Path, root: Path) -> None:
        self.work = work.resolve()
        self.root = root.resolve()
        self.machines: dict[str, Machine] = {}
        self._name = f"{_PREFIX}-{os.getpid()}-{work.name}"
        self._process: subprocess.Popen[bytes] | None = None
        self._switch_pid = 0

    def __enter__(self) -> Lab:
        _remove_dead_cgroups()
        ready = self.work / "switch-ready"
        namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child=KILL"]
        init = [str(LAB_DIR / "switch_init.sh"), str(ready)]
        self._process = subprocess.Popen(
            # Ends with us even if we are killed.
            ["setpriv", "--pdeathsig=KILL", "unshare", *namespaces, *init],
            stdin=subprocess.DEVNULL,
        )
        wait_until(ready.exists, "the lab's network")
        self._switch_pid = _only_child(self._process.pid)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=10)
            for machine in self.machines.values():
                machine._process.wait(timeout=10)
        wait_until(lambda: not _processes(self._name), "the end of the lab's processes")
        _remove_cgroups(self._name)

    def boot(self, name: str, address: str, gpus: int = 0) -> Machine:
        """Start a machine and return it once it can run commands."""
        for part in ("log", "spool", "lib"):
            (self.work / name / part).mkdir(parents=True, exist_ok=True)
        started = self.work / name / "started"
        started.unlink(missing_ok=True)
        cgroup = f"{self._name}-{name}"
        namespaces = ["--net", "--uts", "--mount", "--pid", "--fork", "--kill-child=KILL"]
        init = [str(LAB_DIR / "machine_init.sh"), self.kind, name, address, str(gpus)]
        init += [str(self.work), str(self.root), str(LAB_DIR), cgroup]
        log = (self.work / name / "init.log").open("wb")
        with log:
            process = subprocess.Popen(
                [*self.in_switch(), "unshare", *namespaces, *init],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(lambda: self._alive(name, process) and started.exists(), f"the start of {name}")
        pid = _only_child(_only_child(process.pid))
        self._plug_in(pid, address)
        pid = self._first_process(pid)
        machine = Machine(name, pid, cgroup, process)
        booted = Path(f"/proc/{pid}/root/run/booted")
        wait_until(lambda: self._alive(name, process) and booted.exists(), f"{name} to boot")
        self.machines[name] = machine
        return machine

    def in_switch(self) -> list[str]:
        """Return what stands before a command that runs beside the machines, on their network."""
        return ["nsenter", "--target", str(self._switch_pid), "--net", "--mount", "--pid"]

    @property
    def network(self) -> Path:
        """The network namespace that the machines are plugged into."""
        return Path(f"/proc/{self._switch_pid}/ns/net")

    def _first_process(self, pid: int) -> int:
        """Return the first process of a machine that the process with this id becomes or starts."""
        return pid

    def _alive(self, name: str, process: subprocess.Popen[bytes]) -> bool:
        if process.poll() is not None:
            log = (self.work / name / "init.log").read_text(errors="replace")
            raise CommandError(f"{name} ended while it booted: {log}")
        return True

    def _plug_in(self, pid: int, address: str) -> None:
        port = f"port{address.rsplit('.', 1)[-1]}"
        # The machine's process id inside the lab's own namespace, where ip looks it up.
        inner = next(
            line.split()[-2]
            for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if line.startswith("NSpid:")
        )
        inside = self.in_switch()
        subprocess.run(
            [*inside, "ip", "link", "delete", port], check=False, stderr=subprocess.DEVNULL
        )
        for command in (
            f"link add {port} type veth peer name eth0 netns {inner}",
            f"link set {port} master br0 up",
        ):
            subprocess.run([*inside, "ip", *command.split()], check=True)


def _only_child(pid: int) -> int:
    children = wait_until(
        lambda: Path(f"/proc/{pid}/task/{pid}/children").read_text().split(), f"child of {pid}"
    )
    return int(children[0])


def _cgroup_dirs(name: str) -> Iterator[Path]:
    return _CGROUPS.glob(f"*/{name}-*")


def _processes(name: str) -> list[str]:
    return [
        pid
        for directory in _cgroup_dirs(name)
        for file in directory.rglob("cgroup.procs")
        for pid in file.read_text().split()
    ]


def _remove_cgroups(name: str) -> None:
    for directory in _cgroup_dirs(name):
        below = [path for path in directory.rglob("*") if path.is_dir()]
        for path in [*reversed(below), directory]:
            path.rmdir()


def _remove_dead_cgroups() -> None:
    """Remove what labs left that were killed."""
    for directory in _CGROUPS.glob(f"cpu/{_PREFIX}-*"):
        owner = directory.name.removeprefix(f"{_PREFIX}-").split("-")[0]
        if not Path(f"/proc/{owner}").exists():
            _remove_cgroups(f"{_PREFIX}-{owner}")
