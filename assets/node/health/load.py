#!/usr/bin/env python3
"""Loads all cores, memory and the disk for a while, and sees that what was written is what is read.

usage: load.py CORES SECONDS MIB_OF_EACH_CORE [FOLDER]

Ends with 0, or with 1 and what was wrong. For nodes without the package stress.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

WRONG, DISK_MIB, LEFT_FREE_MIB = 3, 256, 2048
_LATE_SECONDS = 30.0


def compute(end: float, mib: int) -> None:
    """Copy memory and sum it up, time and again; the sum must stay the same."""
    block = bytes(range(256)) * (mib * 4096)
    first, copy = hashlib.sha256(block).digest(), bytearray(block)
    while time.monotonic() < end:
        copy[:] = block
        if hashlib.sha256(copy).digest() != first:
            sys.exit(WRONG)


def write(end: float, folder: str) -> None:
    """Write a file, and read it from the disk again."""
    block = os.urandom(1 << 20)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        while time.monotonic() < end:
            file.seek(0)
            for _ in range(DISK_MIB):
                file.write(block)
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            file.seek(0)
            if any(file.read(len(block)) != block for _ in range(DISK_MIB)):
                sys.exit(WRONG)


def main(arguments: Sequence[str]) -> int:
    """Load the node and return 0 when all was well."""
    if len(arguments) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    cores, seconds, mib = int(arguments[0]), float(arguments[1]), int(arguments[2])
    folder = arguments[3] if len(arguments) == 4 else tempfile.gettempdir()
    end = time.monotonic() + seconds
    work = [
        (f"core {core}", multiprocessing.Process(target=compute, args=(end, mib)))
        for core in range(cores)
    ]
    free = os.statvfs(folder)
    if free.f_bavail * free.f_frsize > (DISK_MIB + LEFT_FREE_MIB) << 20:
        disk = multiprocessing.Process(target=write, args=(end, folder))
        work.append((f"disk of {Path(folder)}", disk))
    for _, process in work:
        process.start()
    faults = [fault for name, process in work if (fault := _end_of(name, process, end))]
    print("; ".join(faults) or f"{cores} cores, {mib} MiB each, for {seconds:g} s")
    return 1 if faults else 0


def _end_of(name: str, process: multiprocessing.Process, end: float) -> str:
    """Wait for a process, and return what was wrong."""
    process.join(max(0.0, end + _LATE_SECONDS - time.monotonic()))
    if process.exitcode is None:
        process.kill()
        return f"{name}: no end in time"
    if process.exitcode == WRONG:
        return f"{name}: what was read is not what was written"
    return f"{name}: ended with {process.exitcode}" if process.exitcode else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
