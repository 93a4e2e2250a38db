"""A partition that leaves in the deployment that replaces the head node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.waiting import wait_until
from trainshed.slurm_fleet import names

from .files import CLUSTER, QUEUE, Files
from .lab import FleetLab, Node

Fleet = tuple[FleetLab, Node, Node]
LEAVING = "leaving"


@dataclass
class OnePartitionMore(Files):
    """Files with a partition that the policy of ``Files`` does not have."""

    def written(self) -> dict[str, bytes]:
        """Return the files."""
        files = super().written()
        line = f"PartitionName={LEAVING} Nodes={QUEUE}_nodes RootOnly=YES MaxTime=UNLIMITED\n"
        return {**files, "slurm.conf": files["slurm.conf"] + line.encode()}


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """A head node and an idle node of its queue."""
    with FleetLab(tmp_path) as lab:
        lab.files = OnePartitionMore()
        lab.publish()
        head, node = lab.launch("head"), lab.launch("compute", QUEUE)
        for each in (head, node):
            lab.wait_booted(each)
        lab.wait_idle(node)
        yield lab, head, node


def test_a_partition_with_jobs_is_not_lost_with_the_head_node_that_had_it(
    fleet: Fleet,
) -> None:
    lab, old, node = fleet
    kept = old.machine.files / "state/slurm/slurm.conf"
    wait_until(kept.exists, "the keeper to have applied the first document")
    job = lab.submit("-p", LEAVING, "-w", node.name, script="sleep 600")
    state = ("squeue", "-ahj", job, "-o", "%T %P")
    wait_until(lambda: old.machine.run(*state) == f"RUNNING {LEAVING}", "a job", 60, 0.5)
    # Power that fails, as the lab stops an instance, may take what slurmctld was just told.
    old.machine.run("systemctl", "restart", "slurmctld")
    wait_until(lambda: "UP" in old.machine.run("scontrol", "ping"), "slurmctld", 60, 0.5)
    lab.files = Files()
    lab.publish()
    new = lab.launch("head")
    lab.wait_booted(new)
    node.machine.run("systemctl", "start", "trainshed-watch", seconds=120)
    parameter = names.status_parameter(CLUSTER)

    def told() -> tuple[str, str]:
        status = json.loads(lab.ssm.get_parameter(Name=parameter)["Parameter"]["Value"])
        return status["head"], status["reason"]

    refusal = f"partition {LEAVING} is removed while 1 jobs run in it"
    wait_until(lambda: told() == (new.instance_id, refusal), lambda: f"{told()}", 120, 1)
    assert new.machine.run(*state) == f"RUNNING {LEAVING}"
    new.machine.run("scancel", job)
    lab.wait_idle(node)
    # Five minutes later it tries again, for which a test does not wait.
    new.machine.run("systemctl", "restart", "trainshed-keeper")
    partitions = ("sinfo", "-aho", "%R")
    wait_until(
        lambda: LEAVING not in new.machine.run(*partitions).split(), lambda: f"{told()}", 120, 1
    )
    assert (
        new.machine.files.joinpath(*kept.parts[-3:]).read_text()
        == (new.machine.files / "etc/slurm/slurm.conf").read_text()
    )
