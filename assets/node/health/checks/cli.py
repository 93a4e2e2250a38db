"""The command line of the health checks."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from . import apart, basic, deep, fast, metrics
from .drain import DrainError, drain
from .expectation import ExpectationError, load
from .hold import hold
from .node import Node, made
from .probe import Probe
from .results import Result, exit_code

LEVELS: dict[str, dict[str, Callable[[Node], Result]]] = {
    "fast": fast.CHECKS,
    "basic": basic.CHECKS,
    "deep": deep.CHECKS,
}
"""Checks by level and name."""

# Fast checks are made again each minute. What others found is lost with a slurmctld that restarts.
_TRIES, _SECONDS_BETWEEN = 6, 15.0

STATE = Path("/run/trainshed/health")
"""What runs remember of each other; gone after a reboot, as the kernel log is."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run checks and print a line for each.

    Returns:
        0 when the node may be used, 1 when a check failed, 2 when nothing could be said.
    """
    options = _parser().parse_args(arguments)
    if options.level == "acknowledge":
        return _acknowledge(options.state)
    if options.hold and options.joining:
        return _join(options)
    try:
        node = _node(options)
        results = _run(options, node)
    except (ExpectationError, basic.NotHereError) as error:
        print(f"health_check: {error}", file=sys.stderr)
        return 2
    _say(results, options)
    if options.drain or options.hold:
        _drain(node.probe, results, options)
    if options.publish:
        _publish(node, options.state)
    return exit_code(results)


def _join(options: argparse.Namespace) -> int:
    """Have a node checked that is given to users next: it is not, without a verdict."""
    probe = _probe()
    # Both have a default, so that another run is told what this one was.
    given = ["--expect", str(options.expect), "--state", str(options.state)]
    given += [word for name in options.only or [] for word in ("--only", name)]
    given += ["--publish"] if options.publish else []
    results = apart.run(probe, options.level, given)
    _say(results, options)
    _drain(probe, results, options)
    return exit_code(results)


def _say(results: list[Result], options: argparse.Namespace) -> None:
    for result in results:
        print(result.line() if options.json else result.sentence())


def _drain(probe: Probe, results: list[Result], options: argparse.Namespace) -> None:
    take = hold if options.hold else drain
    again = options.joining or options.level != "fast"
    for left in reversed(range(_TRIES if again else 1)):
        try:
            why = take(probe, options.node_name, results, joining=options.joining)
        except DrainError as error:
            print(f"health_check: {error}", file=sys.stderr)
            if left:
                time.sleep(_SECONDS_BETWEEN)
            continue
        if why:
            print(f"health_check: out of use: {why}", file=sys.stderr)
        return


def _publish(node: Node, state: Path) -> None:
    try:
        metrics.publish(node, state / "counters.json")
    except Exception as error:  # The verdict stands, whatever becomes of its figures.
        print(f"health_check: no metrics: {error!r}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="health_check.py", description="Check the health of this node."
    )
    parser.add_argument("level", choices=[*LEVELS, "acknowledge"])
    parser.add_argument(
        "--expect", type=Path, default=Path("/etc/trainshed/expect.json"), metavar="EXPECT.json"
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="run this check alone")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each check")
    parser.add_argument("--drain", action="store_true", help="drain the node when a check fails")
    parser.add_argument(
        "--hold", action="store_true", help="reserve it, if it is a static one of ParallelCluster"
    )
    parser.add_argument(
        "--joining",
        action="store_true",
        help="it is down only until it has joined; with --hold not without a verdict",
    )
    parser.add_argument("--publish", action="store_true", help="send metrics to the agent")
    parser.add_argument("--node-name", default=_node_name(), help="name of the node in Slurm")
    parser.add_argument("--state", type=Path, default=STATE, help=argparse.SUPPRESS)
    return parser


def _node(options: argparse.Namespace) -> Node:
    return Node(_probe(), load(options.expect), xid_since=_acknowledged(options.state))


def _probe() -> Probe:
    return Probe(Path(os.environ.get("ROOT_DIR") or "/"))


def _run(options: argparse.Namespace, node: Node) -> list[Result]:
    checks = LEVELS[options.level]
    names = options.only or list(checks)
    unknown = sorted(set(names) - set(checks))
    if unknown:
        known = ", ".join(checks)
        raise ExpectationError(f"no {options.level} check {', '.join(unknown)}; there are {known}")
    if options.level == "fast":
        return fast.run(node, names)
    basic.refuse_where_jobs_wait(options.level)
    return [made(name, checks[name], node) for name in names]


def _acknowledge(state: Path) -> int:
    """Remember that the Xid errors until now have been dealt with, as by a reset of the GPUs."""
    state.mkdir(parents=True, exist_ok=True)
    (state / "xid_since").write_text(f"{time.clock_gettime(time.CLOCK_MONOTONIC):.6f}\n")
    return 0


def _acknowledged(state: Path) -> float:
    try:
        return float((state / "xid_since").read_text())
    except (OSError, ValueError):
        return -1


def _node_name() -> str:
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]
