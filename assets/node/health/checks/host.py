"""What is not a GPU: file system, local disks, clock, memory, limits."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping

from .expectation import Expectation
from .results import ISOLATE, REBOOT, Result, conclude, failure, warning

INSTANCE_STORE = "Amazon EC2 NVMe Instance Storage"
"""Model of an instance store disk; that of an EBS volume is ``Amazon Elastic Block Store``."""

_LEAST_MEMORY = 0.95
# What the kernel takes of a small instance is more than 5 %: 300 MiB of 4 GiB.
_KERNEL_MIB = 1024
_SECONDS_OFF_TO_WARN = 0.1
# munge, with which Slurm signs every message, refuses what is five minutes off.
_SECONDS_OFF_TO_FAIL = 60.0
_LOCKED_GIB = 16


def lustre_mounts(mounts: str) -> dict[str, str]:
    """Return what ``/proc/self/mounts`` has of Lustre: directory and device."""
    rows = (line.split() for line in mounts.splitlines())
    return {row[1]: row[0] for row in rows if len(row) > 2 and row[2] == "lustre"}


def judge_mounts(
    mounts: str, answers: Mapping[str, tuple[int | None, str]], expected: Expectation
) -> Result:
    """Return whether every Lustre file system is mounted and answers.

    Args:
        mounts: Content of ``/proc/self/mounts``.
        answers: Exit code (None: no answer in time) and output of ``stat``, by directory.
        expected: What the node should have.
    """
    mounted = lustre_mounts(mounts)
    findings = []
    for directory in expected.mounts:
        if directory not in mounted:
            findings.append(failure(REBOOT, f"{directory} is not mounted"))
            continue
        code, output = answers.get(directory, (0, ""))
        if code is None:
            text = f"{directory} ({mounted[directory]}) gives no answer in time"
            findings.append(failure(REBOOT, text))
        elif code:
            findings.append(failure(REBOOT, f"{directory}: {output.strip()[:120]}"))
    return conclude("fsx", findings, f"{', '.join(expected.mounts) or 'nothing'} answers")


def judge_nvme(models: Iterable[str], expected: Expectation) -> Result:
    """Return whether all instance store disks are there."""
    found = sum(model.strip() == INSTANCE_STORE for model in models)
    findings = []
    if found < expected.nvme_disks:
        text = f"{found} of {expected.nvme_disks} instance store disks"
        findings.append(failure(ISOLATE, text))
    return conclude("nvme", findings, f"{found} instance store disks")


def judge_clock(chronyc: str, timedatectl: str) -> Result:
    """Return whether the clock is right.

    Args:
        chronyc: Output of ``chronyc -n -c tracking``; empty when there is no chrony.
        timedatectl: Output of ``timedatectl show --property=NTPSynchronized --value``.
    """
    row = next(csv.reader([chronyc.strip()]), []) if chronyc.strip() else []
    if len(row) < 14:
        if timedatectl.strip() == "yes":
            return conclude("clock", [], "synchronized, says systemd")
        return conclude("clock", [warning("the clock is not known to be synchronized")], "")
    try:
        off = abs(float(row[4]))
    except ValueError:
        return conclude("clock", [warning(f"chrony says {chronyc.strip()[:80]}")], "")
    findings = []
    if off > _SECONDS_OFF_TO_FAIL:
        findings.append(failure(REBOOT, f"the clock is {off:.1f} s off; munge refuses messages"))
    elif off > _SECONDS_OFF_TO_WARN:
        findings.append(warning(f"the clock is {off:.1f} s off"))
    if row[-1].startswith("Not sync"):
        findings.append(warning("chrony has no time source"))
    return conclude("clock", findings, f"{off:.6f} s off")


def judge_memory(meminfo: str, uncorrected: Mapping[str, int], expected: Expectation) -> Result:
    """Return whether the memory is all there and without errors.

    Args:
        meminfo: Content of ``/proc/meminfo``.
        uncorrected: Uncorrected errors by memory controller, from EDAC.
        expected: What the node should have.
    """
    match = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    total_mib = int(match[1]) // 1024 if match else 0
    findings = []
    least = min(expected.memory_mib * _LEAST_MEMORY, expected.memory_mib - _KERNEL_MIB)
    if total_mib < least:
        findings.append(failure(ISOLATE, f"{total_mib} of {expected.memory_mib} MiB of memory"))
    for controller, count in uncorrected.items():
        if count:
            findings.append(failure(ISOLATE, f"{count} uncorrected memory errors on {controller}"))
    return conclude("memory", findings, f"{total_mib} MiB")


def judge_locked_memory(limits: str, expected: Expectation) -> Result:
    """Return whether jobs may lock the memory that EFA needs.

    Args:
        limits: Content of ``/proc/PID/limits`` of slurmd, or of a process that it started.
        expected: What the node should have.
    """
    match = re.search(r"^Max locked memory\s+(\S+)", limits, re.MULTILINE)
    limit = match[1] if match else "unlimited"
    findings = []
    if expected.efa_interfaces and limit.isdigit() and int(limit) < _LOCKED_GIB * 2**30:
        text = f"jobs may lock {int(limit) // 1024} KiB; EFA wants LimitMEMLOCK=infinity on slurmd"
        findings.append(warning(text))
    return conclude("locked_memory", findings, f"jobs may lock {limit}")
