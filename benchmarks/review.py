"""Time a review beside the synthesis that it needs. docs/review.md has results.

Usage: python benchmarks/review.py [--institutions 20] [--repeat 3] [--one-by-one]

A small repository is made of the files of this one that a synthesis reads, with two commits: many
institutions like KAIT, and the same with a queue, a file system and a channel changed in each.
``scripts/review.sh`` reviews the range; ``python app.py`` synthesises both commits. In turns,
and of each the run with the least processor time counts, since other load makes that no longer.
With ``--one-by-one`` also each institution of one commit by ``make synth``.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measure import ROOT, environment

READ = ("app.py", "assets", "constructs", "scripts", "stacks", "pyproject.toml")
AS_PLANNED = 1.3


def make_repository(folder: Path, count: int) -> None:
    """Write the repository: commits ``base`` and ``head``."""
    for name in READ:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    git(folder, "init", "--quiet")
    for commit in ("base", "head"):
        write_institutions(folder / "institutions", count, is_changed=commit == "head")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", commit)
        git(folder, "tag", commit)


def write_institutions(folder: Path, count: int, *, is_changed: bool) -> None:
    """Write institutions like KAIT."""
    folder.mkdir(exist_ok=True)
    example = yaml.safe_load((ROOT / "institutions" / "kait.yaml").read_text())
    if is_changed:
        example["fleet"]["queues"]["compute"]["max_nodes"] = 8
        example["storage"]["lustre"]["capacity_gib"] = 268_800
        example["alerts"]["routes"]["info"] = "C0OTHER000"
    for number in range(1, count + 1):
        text = yaml.safe_dump({**example, "name": f"kait-{number}"}, sort_keys=False)
        (folder / f"kait-{number}.yaml").write_text(text)


def git(folder: Path, *arguments: str) -> None:
    """Run git as nobody in particular."""
    user = ["-c", "user.name=bench", "-c", "user.email=bench@example.edu"]
    subprocess.run(["git", *user, *arguments], cwd=folder, check=True, capture_output=True)


Cost = tuple[float, float]
"""Seconds of the processors, and seconds of the clock."""


def run(command: list[str], folder: Path, **more: str) -> Cost:
    """Run a command and return what it cost with all processes that it started.

    Raises:
        RuntimeError: It failed; with what it wrote.
    """
    start, used = time.perf_counter(), cpu_seconds()
    done = subprocess.run(
        command, cwd=folder, env={**environment(), **more}, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr[-2000:]}")
    return cpu_seconds() - used, time.perf_counter() - start


def cpu_seconds() -> float:
    """Return what all processes that have ended took."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def together(costs: Iterable[Cost]) -> Cost:
    """Add up what came one after the other."""
    cpu, wall = zip(*costs, strict=True)
    return sum(cpu), sum(wall)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--institutions", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--one-by-one", action="store_true", help="also by make synth")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "repository"
        folder.mkdir()
        make_repository(folder, options.institutions)
        path = os.pathsep.join([str(folder / "constructs"), str(folder)])

        def synthesise(commit: str) -> Cost:
            git(folder, "checkout", "--quiet", commit)
            out = Path(place) / commit
            shutil.rmtree(out, ignore_errors=True)
            return run([sys.executable, "app.py"], folder, PYTHONPATH=path, CDK_OUTDIR=str(out))

        def both() -> Cost:
            return together([synthesise("base"), synthesise("head")])

        def script() -> Cost:
            return run(["scripts/review.sh", "base..head", f"{place}/out"], folder)

        def compared() -> Cost:
            sides = [f"{place}/base", f"{place}/head"]
            return run(["trainshed", "review", *sides, "--markdown", f"{place}/m.md"], folder)

        def one_by_one() -> Cost:
            names = [f"kait-{number}" for number in range(1, options.institutions + 1)]
            return together(
                run(["scripts/synth.sh", name, f"{place}/one"], folder, PYTHONPATH=path)
                for name in names
            )

        tasks: dict[str, Callable[[], Cost]] = {
            "python app.py, both commits": both,
            "scripts/review.sh": script,
            "trainshed review alone": compared,
        }
        if options.one_by_one:
            tasks["make synth one by one, one commit"] = one_by_one
        best = best_of(tasks, options.repeat)
    print_table(best, options.institutions)


def best_of(tasks: dict[str, Callable[[], Cost]], repeat: int) -> dict[str, Cost]:
    """Run the tasks in turns and return the best run of each."""
    best: dict[str, Cost] = {}
    for _ in range(repeat):
        for name, task in tasks.items():
            best[name] = min(task(), best.get(name, (float("inf"), float("inf"))))
    return best


def print_table(best: dict[str, Cost], institutions: int) -> None:
    """Print seconds, and each as a share of the synthesis of both commits."""
    needed, _ = best["python app.py, both commits"]
    print(f"| {institutions} institutions, all changed | CPU s | wall s | CPU of the synthesis |")
    print("|---|---|---|---|")
    for name, (cpu, wall) in best.items():
        print(f"| {name} | {cpu:.1f} | {wall:.1f} | {cpu / needed:.2f} |")
    is_reached = best["scripts/review.sh"][0] < AS_PLANNED * needed
    print(f"\nreview below {AS_PLANNED} of the synthesis: {'yes' if is_reached else 'no'}")


if __name__ == "__main__":
    main()
