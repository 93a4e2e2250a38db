"""What a command costs: time, and memory of the whole process tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS_BETWEEN_LOOKS = 0.02


@dataclass(frozen=True)
class Cost:
    """What one run took.

    Args:
        wall_s: Seconds from start to end.
        cpu_s: Seconds of user and system time, of Python and Node together.
        peak_mib: Sum of the most memory that each process had resident, Node's included.
    """

    wall_s: float
    cpu_s: float
    peak_mib: float


@dataclass(frozen=True)
class Variant:
    """One way to do the work.

    Args:
        name: What it is called in the table.
        command: What is run.
        validation: Value of ``CDK_VALIDATION``; None leaves the CDK's default.
        assembly: Where templates go. None: nowhere.
        before: Done before each run, outside the measurement.
        may_fail: Its exit code does not count: cdk-nag fails a synthesis that it has read to the
            end.
        context: Context of the app, as the command line would give it.
    """

    name: str
    command: Sequence[str]
    validation: str | None = "false"
    assembly: Path | None = None
    before: Callable[[], None] = lambda: None
    may_fail: bool = False
    context: Mapping[str, object] = field(default_factory=dict)


def environment(validation: str | None = "false", assembly: Path | None = None) -> dict[str, str]:
    """Return the environment of a run: the Node beside this Python, where there is one."""
    settings = {**os.environ}
    for name in ("CDK_VALIDATION", "CDK_OUTDIR", "CDK_CONTEXT_JSON", "JSII_NODE"):
        settings.pop(name, None)
    settings["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{settings['PATH']}"
    settings["JSII_NODE"] = shutil.which("node", path=settings["PATH"]) or "node"
    settings |= {"CDK_DISABLE_CLI_TELEMETRY": "1", "AWS_EC2_METADATA_DISABLED": "true"}
    if validation is not None:
        settings["CDK_VALIDATION"] = validation
    if assembly is not None:
        settings["CDK_OUTDIR"] = str(assembly)
    return settings


def measure(variant: Variant) -> Cost:
    """Run one variant once.

    Raises:
        RuntimeError: It failed; with what it wrote.
    """
    variant.before()
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        child = subprocess.Popen(
            list(variant.command),
            cwd=ROOT,
            env=environment(variant.validation, variant.assembly)
            | {"CDK_CONTEXT_JSON": json.dumps(variant.context)},
            stdout=output,
            stderr=output,
        )
        peaks: dict[int, float] = {}
        looking = threading.Thread(target=_watch, args=(child.pid, peaks), daemon=True)
        looking.start()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        looking.join()
        if child.returncode and not variant.may_fail:
            output.seek(0)
            raise RuntimeError(f"{variant.name}: {output.read().decode()[-2000:]}")
    largest = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return Cost(wall, usage.ru_utime + usage.ru_stime, max(largest, sum(peaks.values())))


def _watch(pid: int, peaks: dict[int, float]) -> None:
    """Note the most memory that each process of a tree had, until the first one ends."""
    while _note(pid, peaks):
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _note(pid: int, peaks: dict[int, float]) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return False
    for child in children:
        _note(int(child), peaks)
    found = re.search(r"VmHWM:\s+(\d+)", status)
    if found:
        peaks[pid] = int(found[1]) / 2**10
    return found is not None
