"""The command line of the judge over an all-reduce."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from . import nccl
from .expectation import ExpectationError, load
from .results import FAIL, OK

# What timeout ends with when the time is over, and when it had to kill.
_TOO_LONG = (124, 137)


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge a run and print the result.

    Returns:
        0 when the nodes may be used, 1 when not, 2 when nothing could be said.
    """
    options = _parser().parse_args(arguments)
    try:
        expected = load(options.expect)
        if options.gpus:
            print(expected.gpus)
            return 0
        if options.output is None or not options.nodes:
            raise ExpectationError("name the output of the run, and --nodes")
        output = options.output.read_text(errors="replace")
    except (ExpectationError, OSError) as error:
        print(f"nccl_gate: {error}", file=sys.stderr)
        return 2
    result = nccl.judge(
        output,
        expected,
        nodes=options.nodes,
        gpus_per_node=options.gpus_per_node or expected.gpus,
        code=None if options.code in _TOO_LONG else options.code,
        check="nccl_gate",
    )
    print(result.line())
    return 1 if result.verdict == FAIL or (options.strict and result.verdict != OK) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nccl_gate.py", description="Judge an all-reduce of nccl-tests."
    )
    parser.add_argument("output", type=Path, nargs="?", help="what the run printed")
    parser.add_argument("--expect", type=Path, required=True, metavar="EXPECT.json")
    parser.add_argument("--nodes", type=int, default=0)
    parser.add_argument("--gpus-per-node", type=int, default=0, help="default: all of a node")
    parser.add_argument("--code", type=int, default=0, help="exit code of the run")
    parser.add_argument("--strict", action="store_true", help="refuse what nobody has measured")
    parser.add_argument("--gpus", action="store_true", help="print the GPUs of a node, and end")
    return parser
