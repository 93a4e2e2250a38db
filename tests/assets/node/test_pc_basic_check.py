"""Checks of minutes on ParallelCluster whose program dies: a joining node is held all the same."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.assets.programs import program
from trainshed._assets import asset

_CHECK = "trainshed-check-"
# The reservation of the check is there, as a node that joins has it; what is asked for is noted.
_SCONTROL = """
case "$*" in
*"show reservation trainshed-check-"*) echo "ReservationName=${*: -1} Nodes=x" ;;
*"show reservation"*) exit 1 ;;
*) echo "$*" >>"$CALLS" ;;
esac
"""


def run(folder: Path, node: str, refused: str = "nothing") -> list[str]:
    """Let a node join whose checks are killed; return what Slurm was told."""
    program(folder / "bin" / "scontrol", f'[[ "$*" != *"{refused}"* ]] || exit 1\n{_SCONTROL}')
    program(folder / "bin" / "python3", "kill -KILL $$")
    program(folder / "bin" / "logger", "")
    program(folder / "bin" / "sleep", "")
    text = Path(asset("node", "pc_basic_check.sh")).read_text()
    # Without a slurmctld it is asked for as long.
    (folder / "pc_basic_check.sh").write_text(text.replace("retry 90", "retry 0"))
    (folder / "common.sh").write_text(Path(asset("node", "common.sh")).read_text())
    calls = folder / "calls"
    calls.touch()
    subprocess.run(
        ["/bin/bash", folder / "pc_basic_check.sh", "run", node],
        env={"PATH": f"{folder}/bin:{os.environ['PATH']}", "CALLS": str(calls)},
        check=True,
        capture_output=True,
    )
    return [line.split(" users=")[0] for line in calls.read_text().splitlines()]


MADE = "create reservationname=trainshed-mend-q-st-p5-1 nodes=q-st-p5-1"
FREED = "delete reservationname=trainshed-check-q-st-p5-1"


def test_it_is_held(tmp_path: Path) -> None:
    word, *rest = run(tmp_path, "q-st-p5-1")
    assert word.startswith("update nodename=q-st-p5-1 comment=trainshed: failed checks [monitor] ")
    assert rest == [MADE, FREED]


def test_it_is_held_without_a_word_where_slurm_takes_none(tmp_path: Path) -> None:
    assert run(tmp_path, "q-st-p5-1", "update nodename") == [MADE, FREED]


def test_it_stays_reserved_where_slurm_does_not_hold_it(tmp_path: Path) -> None:
    assert FREED not in run(tmp_path, "q-st-p5-1", "create")


@pytest.mark.parametrize("node", ["q-dy-p5-1", "a-st-b-dy-p5-1"])
def test_one_that_starts_for_a_job_is_not(tmp_path: Path, node: str) -> None:
    assert run(tmp_path, node) == [f"delete reservationname={_CHECK}{node}"]
