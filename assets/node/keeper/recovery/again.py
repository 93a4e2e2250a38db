"""``trainshed-gate``: a person has gates run again, waits for how they end, or lets users in."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from .gate import OPENED, PASSED, Record
from .store import Store

ENDED_WELL, ENDED_BADLY, NOT_OVER = 0, 1, 3
GATE_KEY = "fleet.slurm.gate.enabled"
_POLL_SECONDS = 2.0


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(timezone.utc)  # noqa: UP017, Python 3.10


def ask(store: Store, queues: Sequence[str], opened: Sequence[str], now: datetime) -> None:
    """Have gates run again, or open queues without one."""
    for queue in queues:
        if queue in opened:
            record = store.record(queue)
            text = f"opened by hand; before: {record.text if record else 'no gate'}"
            nodes = record.nodes if record else ()
            made = record or Record(now, OPENED, nodes, text)
            store.keep(queue, replace(made, at=now, verdict=OPENED, text=text))
        else:
            store.asked(queue).parent.mkdir(parents=True, exist_ok=True)
            store.asked(queue).touch()
        print(f"{queue}: {'open' if queue in opened else 'the gate runs'} within seconds")


def wait(
    store: Store,
    queues: Sequence[str],
    since: datetime,
    seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Wait until the gate of each queue has ended, and print how.

    Args:
        store: What is kept.
        queues: Queues whose gate was asked for.
        since: When.
        seconds: How long to wait at most.
        clock: Seconds of a clock that never goes back.
        sleep: Waits.

    Returns:
        0 all have passed, 1 one has not, 3 one is not over.
    """
    end, left, code = clock() + seconds, list(queues), ENDED_WELL
    while True:
        for queue in list(left):
            record = store.record(queue)
            if record is None or record.at < since:
                continue
            left.remove(queue)
            code = max(code, ENDED_WELL if record.verdict == PASSED else ENDED_BADLY)
            print(f"{queue}: {record.verdict}: {record.text}; {', '.join(record.nodes)}")
        if not left:
            return code
        if clock() > end:
            break
        sleep(_POLL_SECONDS)
    for queue in left:
        runs = store.running(queue).exists()
        why = "the all-reduce still runs" if runs else "it waits for released nodes without jobs"
        print(f"{queue}: not over after {seconds / 60:.0f} minutes: {why}")
    return NOT_OVER


def main(arguments: Sequence[str], values: Mapping[str, Any], store: Store) -> int:
    """Do what a person asks for.

    Args:
        arguments: The command line.
        values: The fleet document.
        store: What is kept.
    """
    parser = argparse.ArgumentParser(
        prog="trainshed-gate", description="Run the all-reduce of a fleet's queues again."
    )
    gated = sorted(name for name, queue in values["queues"].items() if queue.get("gpus"))
    parser.add_argument("queues", nargs="*", metavar="QUEUE", help="default: all with GPUs")
    parser.add_argument("--open", action="append", default=[], metavar="QUEUE")
    parser.add_argument("--wait", type=float, metavar="MINUTES", help="and wait how it ends")
    options = parser.parse_args(list(arguments))
    for name in (*options.queues, *options.open):
        if name not in gated:
            parser.error(f"no queue {name} with GPUs; there are {', '.join(gated) or 'none'}")
    if not values.get("gate"):
        parser.error(f"this fleet has no gate ({values.get('gate_key', GATE_KEY)})")
    queues = options.queues or options.open or gated
    # Records have whole seconds.
    since = utc_now().replace(microsecond=0)
    ask(store, queues, options.open, since)
    if options.wait is None or options.open:
        return ENDED_WELL
    return wait(store, queues, since, options.wait * 60)
