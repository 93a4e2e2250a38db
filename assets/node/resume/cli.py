"""The command line of ``trainshed-resume``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from .checkpoints import newest, seal
from .job import Diary, Job
from .step import SETTLE_SECONDS, Plan, Runner

RECORDS = Path("/etc/trainshed/records")
"""Names the folder of the fleet's records."""
_SIGNALS = {"none": None, "USR1": signal.SIGUSR1, "TERM": signal.SIGTERM}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return the step's exit code; 2 for a wrong command line."""
    options = _parser().parse_args(arguments)
    if options.verb == "newest":
        path, passed = newest(options.directory)
        for each in passed:
            print(f"trainshed-resume: passed over {each.path.name}: {each.fault}", file=sys.stderr)
        print(path or "", end="\n" if path else "")
        return 0 if path else 1
    if options.verb == "seal":
        try:
            print(seal(options.checkpoint))
        except (ValueError, OSError) as error:
            print(f"trainshed-resume: {error}", file=sys.stderr)
            return 1
        return 0
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        print("trainshed-resume: name the command after --", file=sys.stderr)
        return 2
    forward = _SIGNALS[options.forward]
    plan = Plan(command, options.checkpoints, options.retries, forward, options.settle)
    job = Job(os.environ)
    return Runner(plan, job, Diary(_records(), job.id)).run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="trainshed-resume",
        description="Run a training step from its newest complete checkpoint, again when it fails.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="run a step; in a batch script: exec trainshed-resume run …")
    run.add_argument("--checkpoints", type=Path, required=True, metavar="DIR")
    run.add_argument(
        "--retries",
        type=int,
        default=3,
        metavar="N",
        help="failures forgiven without a new checkpoint between them (3)",
    )
    run.add_argument(
        "--forward",
        choices=_SIGNALS,
        default="USR1",
        help="signal that asks the step for a checkpoint (USR1); none for torchrun, which dies of "
        "it: look for $TRAINSHED_STOP_FILE then",
    )
    run.add_argument(
        "--settle",
        type=float,
        default=SETTLE_SECONDS,
        metavar="SECONDS",
        help="how long the checks of nodes have after a first failure, before it starts again "
        f"({SETTLE_SECONDS})",
    )
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    new = verbs.add_parser("newest", help="print the newest complete checkpoint of a folder")
    new.add_argument("directory", type=Path)
    sealing = verbs.add_parser("seal", help="write the manifest of a checkpoint, after its files")
    sealing.add_argument("checkpoint", type=Path)
    return parser


def _records() -> Path | None:
    try:
        named = RECORDS.read_text().strip()
    except OSError:
        return None
    return Path(named) / "jobs" if named else None
