"""From power-on to a finished job: kernel, cloud-init, Secrets Manager, systemd and cgroup v2."""

from __future__ import annotations

from pathlib import Path

from tests.slurm.lab.machines import CommandError
from tests.waiting import wait_until

from .files import QUEUE
from .lab import FleetLab
from .uml import VirtualFleet

JOB = """\
hostname
echo gpus $CUDA_VISIBLE_DEVICES
for gpu in 0 1 2; do
  (exec 3<>/dev/nvidia$gpu) 2>&1 | grep -o "not permitted" | sed "s/^/$gpu /"
done
echo memlock $(ulimit -l)
grep -c ^0::/system.slice/.*slurmstepd.scope/job_ /proc/self/cgroup
true
"""


def test_virtual_machines_become_a_cluster_that_runs_a_job(tmp_path: Path) -> None:
    with FleetLab(tmp_path) as lab:
        # This kernel has no cpuset controller.
        lab.files.cgroup = {"plugin": "cgroup/v2", "cores": False}
        lab.publish()
        fleet = VirtualFleet(lab)
        head = fleet.power_on("head", memory_mib=768)
        node = fleet.power_on("compute", QUEUE)
        name = f"{QUEUE}-{node.name.removeprefix('i-')}"

        head.run("true", seconds=600)

        def idle() -> bool:
            try:
                return name in head.run("sinfo -ahN -t idle -o %N")
            except (CommandError, TimeoutError):
                return False

        wait_until(idle, lambda: head.console()[-2000:] + node.console()[-2000:], 600, every=2)
        said = head.run(f"srun -p trainshed -N1 --gres=gpu:2 --mem=50 bash -c '{JOB}'")
        assert said.splitlines() == [name, "gpus 0,1", "2 not permitted", "memlock unlimited", "1"]
        assert "COMPLETED" in head.run("sleep 2; sacct -anX -o state")
        # The boot goes on on the head node, past slurmctld.
        ended = head.run("cloud-init status --wait >/dev/null; cloud-init status; true", 300)
        assert ended == "status: done"
        # Here cloud-init has the network, and the keeper no Auto Scaling to look at.
        failed = head.run("systemctl --failed --no-legend --plain; true").splitlines()
        others = {"networking.service", "trainshed-keeper.service"}
        assert {line.split()[0] for line in failed} <= others, failed
