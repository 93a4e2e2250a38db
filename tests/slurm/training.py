"""A small training of some ranks, the same in every bit each time. It runs on the lab's nodes.

usage: training.py CHECKPOINTS STEPS [--from=CHECKPOINT]

Each rank folds the states of all into its own, step by step; every tenth step is saved, and sealed
by rank 0. Asked to save, it saves the present step and ends.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

RANK, RANKS = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
EVERY = 10
asked = False


def ask(*_: object) -> None:
    global asked
    asked = True
    print(f"rank {RANK} was asked to save", flush=True)


def exchange(folder: Path, name: str, mine: str) -> list[str]:
    """Give every rank what each has, as an all-gather does."""
    path = folder / f"{name}-{RANK}"
    new = path.with_suffix(".new")
    new.write_text(mine)
    new.replace(path)
    others = [folder / f"{name}-{rank}" for rank in range(RANKS)]
    while not all(other.exists() for other in others):
        time.sleep(0.005)
    return [other.read_text() for other in others]


def save(checkpoints: Path, step: int, state: str, talk: Path) -> None:
    folder = checkpoints / f"step-{step:05}"
    folder.mkdir(exist_ok=True)
    (folder / f"rank-{RANK}").write_text(state * 64)
    exchange(talk, f"saved-{step}", "")
    if RANK == 0:
        seal = ["python3", "/etc/slurm/resume", "seal", str(folder)]
        subprocess.run(seal, check=True, stdout=subprocess.DEVNULL)
    exchange(talk, f"sealed-{step}", "")


def main() -> None:
    checkpoints, steps = Path(sys.argv[1]), int(sys.argv[2])
    start, state = 0, hashlib.sha256(str(RANK).encode()).hexdigest()
    if len(sys.argv) > 3:
        source = Path(sys.argv[3].removeprefix("--from="))
        start, state = int(source.name[-5:]), (source / f"rank-{RANK}").read_text()[:64]
        print(f"rank {RANK} goes on from {source.name}", flush=True)
    signal.signal(signal.SIGUSR1, ask)
    talk = checkpoints / f".talk-{os.environ['SLURM_JOB_ID']}-{os.environ['SLURM_STEP_ID']}"
    talk = talk.with_name(f"{talk.name}-{os.environ.get('SLURM_RESTART_COUNT', 0)}")
    talk.mkdir(exist_ok=True)
    for step in range(start + 1, steps + 1):
        words = exchange(talk, f"state-{step}", f"{state} {int(asked)}")
        state = hashlib.sha256("".join([state, *(w[:64] for w in words)]).encode()).hexdigest()
        leave = any(word.endswith(" 1") for word in words)
        if leave or step % EVERY == 0:
            save(checkpoints, step, state, talk)
        if leave:
            print(f"rank {RANK} saved step {step} and ends", flush=True)
            return
        time.sleep(0.02)
    result = exchange(talk, "result", state)
    (checkpoints / f"result-{RANK}.txt").write_text("\n".join(result) + "\n")


main()
