"""A boot that is killed in any of its steps and run again ends as one that was left alone."""

from __future__ import annotations

import json
from pathlib import Path

from tests.slurm.lab.machines import wait_until

from .lab import QUEUE, FleetLab, Node


def kill_in(lab: FleetLab, node: Node, step: str) -> bool:
    """Kill a node's boot as soon as it is in a step; return False when it ended before."""
    progress = node.machine.files / "run/trainshed/steps.json"
    group = node.machine.files / "sys/fs/cgroup/system.slice/trainshed-boot.service/cgroup.kill"

    def reached() -> str | None:
        try:
            rows = {row["step"]: row["state"] for row in json.loads(progress.read_text())}
        except (OSError, json.JSONDecodeError):
            return None
        if rows[step] == "waiting":
            return None
        try:
            group.write_text("1")
        except FileNotFoundError:
            return "ended"
        return "killed"

    return wait_until(reached, lambda: f"{step}: {lab.boot_log(node)}", 120, 0.005) == "killed"


def boot_killed_in_every_step(lab: FleetLab, node: Node) -> list[str]:
    """Boot a node, killed in its first step, again, killed in its second, and so on to its end."""
    progress = node.machine.files / "run/trainshed/steps.json"
    wait_until(progress.exists, lambda: f"a boot: {lab.boot_log(node)}", 120)
    steps = [row["step"] for row in json.loads(progress.read_text())]
    killed = []
    for number, step in enumerate(steps):
        if number:
            progress.unlink()
            node.machine.run("systemctl", "start", "--no-block", "trainshed-boot")
        if kill_in(lab, node, step):
            killed.append(step)
        wait_until(lambda: lab.boot_ended(node), f"the end of the boot killed in {step}", 60)
    node.machine.run("systemctl", "reset-failed")
    lab.boot_again(node)
    lab.wait_booted(node)
    return killed


def test_a_compute_node(fleet: tuple[FleetLab, Node, list[Node]]) -> None:
    lab, _, nodes = fleet
    node = lab.launch("compute", QUEUE)
    killed = boot_killed_in_every_step(lab, node)
    assert {"packages", "munge", "mount-fsx", "slurmd"} <= set(killed)
    lab.wait_idle(node)
    assert lab.disk_of_any(node) == lab.disk_of_any(nodes[0])
    lab.power_off(node)


def test_a_head_node(tmp_path: Path, fleet: tuple[FleetLab, Node, list[Node]]) -> None:
    left_alone, head, _ = fleet
    with FleetLab(tmp_path, left_alone.image) as lab:
        lab.document["munge_secret_arn"] = lab.munge_secret
        killed_head = lab.launch("head")
        killed = boot_killed_in_every_step(lab, killed_head)
        assert {"state-volume", "database", "slurmctld"} <= set(killed)
        assert set(lab.disk_of_any(killed_head)) == set(left_alone.disk_of_any(head))
        node = lab.launch("compute", QUEUE)
        lab.wait_booted(node)
        lab.wait_idle(node)
