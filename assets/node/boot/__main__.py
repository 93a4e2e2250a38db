"""Runs the steps of this node's boot and says where it stands.

usage: python3 -m boot head|compute|login
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .plan import Node, Step, steps
from .record import FailedBoot, clear, publish

SCRIPTS = Path(__file__).resolve().parents[1]
CONFIG = Path("/etc/trainshed")
LOGS = Path("/var/log/trainshed")
PROGRESS = Path("/run/trainshed/steps.json")
LEAST_STEP_MINUTES = 20
"""slurmd waits 15 for a head node that still boots."""
READ_AGAIN = 75
"""A step's code when it wants a newer fleet document; user data reads that, and boots again."""
DOCUMENT = Step(
    "document",
    (),
    "see /etc/trainshed/fleet.json on the node; a queue that was taken away has no nodes any more",
)


class StepError(Exception):
    """A step's script ended with another code than 0."""

    def __init__(self, step: Step, output: str, code: int = 1) -> None:
        super().__init__(step.name)
        self.step = step
        self.output = output
        self.code = code


def environment(text: str) -> dict[str, str]:
    """Return the shell assignments of node.env."""
    assignments = shlex.split(text)
    return dict(assignment.split("=", 1) for assignment in assignments)


class Progress:
    """The file that says how far the boot is: step, state and seconds."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._path = path
        self._rows: list[dict[str, Any]] = [
            {"step": name, "state": "waiting", "seconds": 0} for name in names
        ]
        path.parent.mkdir(parents=True, exist_ok=True)

    def say(self, index: int, state: str, seconds: float = 0) -> None:
        """Set the state of one step."""
        self._rows[index].update(state=state, seconds=round(seconds, 1))
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(self._rows) + "\n")
        new.replace(self._path)


def run_step(step: Step, minutes: float) -> None:
    """Run a step's script; its output goes to its log and to the journal.

    Args:
        step: The step.
        minutes: How long it may take; nobody would hear of one that never ends.

    Raises:
        StepError: It failed.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    with (LOGS / f"{step.name}.log").open("a+", errors="replace") as log:
        log.write(f"{time.strftime('%FT%TZ', time.gmtime())} {shlex.join(step.command)}\n")
        log.flush()
        began = log.tell()
        process = subprocess.Popen(  # noqa: S603, the plan's own script
            [str(SCRIPTS / step.command[0]), *step.command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(minutes * 60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)  # what the kernel holds on to does not end by that either
            code = 1
            log.seek(0, os.SEEK_END)
            log.write(f"{step.name}: it has not ended after {minutes:g} minutes and was killed\n")
            log.flush()
        log.seek(began)
        output = log.read()
    sys.stdout.write(output)
    sys.stdout.flush()
    if code:
        raise StepError(step, output, code)


def planned(node: Node) -> tuple[list[Step], int]:
    """Return the steps that the fleet document says, and how many minutes each may take.

    Raises:
        StepError: It cannot be used, or has no such queue.
    """
    try:
        document = json.loads((CONFIG / "fleet.json").read_text())
        planned_steps = steps(document, node)
        return planned_steps, max(int(document["boot_timeout_minutes"]), LEAST_STEP_MINUTES)
    except (KeyError, TypeError, ValueError) as error:
        told = str(error) if type(error) is ValueError else f"the fleet document: {error!r}"
        raise StepError(DOCUMENT, told) from error


def run(all_steps: Sequence[Step], progress: Progress, minutes: float) -> None:
    """Run the steps in their order, up to the first that fails."""
    for index, step in enumerate(all_steps):
        started = time.monotonic()
        progress.say(index, "running")
        try:
            run_step(step, minutes)
        except StepError:
            progress.say(index, "failed", time.monotonic() - started)
            raise
        progress.say(index, "done", time.monotonic() - started)


def main(arguments: Sequence[str], variables: Mapping[str, str]) -> int:
    """Boot this node."""
    if len(arguments) != 1 or arguments[0] not in ("head", "compute", "login"):
        print(__doc__, file=sys.stderr)
        return 2
    node = Node(
        arguments[0],
        variables["TRAINSHED_QUEUE"],
        variables["TRAINSHED_INSTANCE_ID"],
        variables["TRAINSHED_INSTANCE_TYPE"],
    )
    cluster, region = variables["TRAINSHED_CLUSTER"], variables["TRAINSHED_REGION"]
    try:
        all_steps, minutes = planned(node)
        run(all_steps, Progress(PROGRESS, [step.name for step in all_steps]), minutes)
    except StepError as failed:
        record = FailedBoot.of(node, failed.step, failed.output)
        print(f"boot: {node.name}: step {record.step} failed: {record.reason}", file=sys.stderr)
        if failed.code == READ_AGAIN:
            return READ_AGAIN
        print(f"boot: remedy: {record.remedy}", file=sys.stderr)
        publish(record, cluster, region)
        return 1
    clear(node, cluster, region)
    print(f"boot: {node.name} is ready")
    return 0


if __name__ == "__main__":
    # Steps call daemons' programs, which not every caller's PATH has.
    os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    os.environ["LC_ALL"] = "C.UTF-8"
    sys.exit(main(sys.argv[1:], environment((CONFIG / "node.env").read_text())))
