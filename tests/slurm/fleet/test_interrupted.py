"""A boot that is killed in its steps and run again ends as one that was left alone."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.sweep import SWEEP
from tests.waiting import wait_until

from .disk import differences
from .files import QUEUE
from .lab import FleetLab, Node

Fleet = tuple[FleetLab, Node, list[Node]]
# Every step, at its start and in its middle; else those with most to lose, in their middle.
MOMENTS = (0.0, 0.5) if SWEEP else (0.5,)
SOME = {
    "compute": {"munge", "mount-fsx", "users", "slurmd"},
    "head": {"state-volume", "database", "slurmctld"},
}


def kill_in(lab: FleetLab, node: Node, step: str, seconds: float) -> bool:
    """Kill a node's boot when it has been in a step for so long; False when it was through."""
    progress = node.machine.files / "run/trainshed/steps.json"

    def reached() -> str | None:
        try:
            rows = {row["step"]: row["state"] for row in json.loads(progress.read_text())}
        except (OSError, json.JSONDecodeError):
            return None
        return None if rows[step] == "waiting" else str(rows[step])

    wait_until(reached, lambda: f"{step}: {lab.boot_log(node)}", 120, 0.005)
    end = time.monotonic() + seconds
    wait_until(lambda: reached() == "done" or time.monotonic() >= end, step, 120, 0.005)
    return lab.kill_boot(node)


def boot_killed(lab: FleetLab, node: Node, steps: Collection[str], usual: dict[str, float]) -> None:
    """Boot a node, killed in the first of the steps, again, killed in the second, up to its end.

    Args:
        lab: The lab.
        node: A node that has just been launched.
        steps: Steps to kill it in; empty: all.
        usual: Seconds that each step takes when nothing is killed.
    """
    progress = node.machine.files / "run/trainshed/steps.json"
    wait_until(progress.exists, lambda: f"a boot: {lab.boot_log(node)}", 120)
    planned = [row["step"] for row in json.loads(progress.read_text())]
    assert set(steps) <= set(planned)
    killed, first = set(), True
    for step in [step for step in planned if not steps or step in steps]:
        for moment in MOMENTS:
            if not first:
                progress.unlink()
                node.machine.run("systemctl", "start", "--no-block", "trainshed-boot")
            first = False
            if kill_in(lab, node, step, moment * usual[step]):
                killed.add(step)
            wait_until(lambda: lab.boot_ended(node), f"the end of a boot killed in {step}", 60)
            node.machine.run("systemctl", "reset-failed", "trainshed-boot")
    # Only the last step may have been over before it could be killed.
    assert killed >= set(steps or planned[:-1]), "these were not killed"
    lab.boot_again(node)
    lab.wait_booted(node)


def usual_seconds(lab: FleetLab, node: Node) -> dict[str, float]:
    """Return how long each step of a node's boot has taken."""
    return {row["step"]: row["seconds"] for row in lab.steps(node)}


@pytest.fixture(scope="module")
def first_boots(fleet: Fleet) -> dict[str, dict[str, float]]:
    """Seconds of each step of a head node and of a compute node that were left alone."""
    lab, head, nodes = fleet
    return {"head": usual_seconds(lab, head), "compute": usual_seconds(lab, nodes[0])}


def test_a_compute_node(fleet: Fleet, first_boots: dict[str, dict[str, float]]) -> None:
    lab, _, nodes = fleet
    node = lab.launch("compute", QUEUE)
    boot_killed(lab, node, () if SWEEP else SOME["compute"], first_boots["compute"])
    lab.wait_idle(node)
    assert differences(lab.disk_of_any(nodes[0]), lab.disk_of_any(node)) == []
    lab.power_off(node)


def test_a_head_node(
    tmp_path: Path, fleet: Fleet, first_boots: dict[str, dict[str, float]]
) -> None:
    left_alone, head, _ = fleet
    with FleetLab(tmp_path, left_alone.image) as lab:
        lab.add_cpu_queue()
        node = lab.launch("head")
        boot_killed(lab, node, () if SWEEP else SOME["head"], first_boots["head"])
        for each in (node, head):
            # The keeper's, some rounds after the boot.
            applied = each.machine.files / "var/lib/trainshed/applied"
            wait_until(applied.exists, "the keeper to have applied the document")
        assert set(lab.disk_of_any(node)) ^ set(left_alone.disk_of_any(head)) == set()
        compute = lab.launch("compute", QUEUE)
        lab.wait_booted(compute)
        lab.wait_idle(compute)
