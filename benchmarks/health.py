"""What the fast health check costs: time, and share of one core at its interval.

usage: python benchmarks/health.py [--expect EXPECT.json] [--runs 10] [--interval 60] [--json]

With --expect it checks the machine that it runs on, a GPU node. Without, a stand-in node of eight
H200 whose nvidia-smi prints what a real one printed: what is measured then is the program alone.
Python's standard library is enough.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "assets" / "node" / "health" / "health_check.py"
MOST_SECONDS, MOST_SHARE = 10.0, 0.01


def measure(expect: Path, runs: int, environment: dict[str, str]) -> tuple[list[float], float]:
    """Return the seconds of each run, and the mean seconds of processor time."""
    walls = []
    begun = _processor_seconds()
    for _ in range(runs):
        start = time.monotonic()
        # 1 is a node with a fault, which is a result like any other.
        done = subprocess.run(
            [sys.executable, "-S", "-E", str(PROGRAM), "fast", "--expect", str(expect), "--json"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        walls.append(time.monotonic() - start)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr)
    return walls, (_processor_seconds() - begun) / runs


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Print the measurement; 1 when it is over the limits."""
    parser = argparse.ArgumentParser(description="Measure the fast health check.")
    parser.add_argument("--expect", type=Path, help="the document of the machine this runs on")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--interval", type=float, default=60, help="seconds between two checks")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as directory:
        expect = options.expect
        if expect is None:
            sys.path[:0] = [str(ROOT), str(ROOT / "constructs")]
            from tests.fixtures.health.node import stand_in

            expect, environment = stand_in(Path(directory))
        walls, processor = measure(expect, options.runs, environment)
    share = processor / options.interval
    result = {
        "runs": options.runs,
        "median_s": round(statistics.median(walls), 3),
        "slowest_s": round(max(walls), 3),
        "processor_s": round(processor, 3),
        "interval_s": options.interval,
        "share_of_a_core": round(share, 5),
    }
    if options.json:
        print(json.dumps(result))
    else:
        print(
            f"fast check, {options.runs} runs: median {result['median_s']} s, slowest "
            f"{result['slowest_s']} s (limit {MOST_SECONDS:g}); {result['processor_s']} s of "
            f"processor time, {share:.2%} of a core every {options.interval:g} s "
            f"(limit {MOST_SHARE:.0%})"
        )
    return 0 if max(walls) < MOST_SECONDS and share < MOST_SHARE else 1


if __name__ == "__main__":
    raise SystemExit(main())
