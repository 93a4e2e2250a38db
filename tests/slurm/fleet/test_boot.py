"""A head node and four nodes boot by the scripts that ship, and a job runs on all their GPUs."""

from __future__ import annotations

import pytest
from moto import mock_aws

from tests.waiting import wait_until

from .disk import differences
from .files import CPU_QUEUE
from .lab import FleetLab, Node

SEES = """\
echo "$(hostname) $CUDA_VISIBLE_DEVICES"
for gpu in 0 1 2 3 4 5 6 7; do
  (exec 3<>/dev/nvidia$gpu) 2>&1 | grep -q 'not permitted' && echo "$(hostname) no $gpu"
done
true
"""


def test_a_job_on_every_gpu_of_four_nodes_runs(fleet: tuple[FleetLab, Node, list[Node]]) -> None:
    _, head, nodes = fleet
    said = head.machine.run(
        "srun", "-p", "trainshed", "-N4", "--gres=gpu:8", "--mem=100", "bash", "-c", SEES
    )
    assert sorted(said.splitlines()) == sorted(f"{n.name} 0,1,2,3,4,5,6,7" for n in nodes)


def test_a_job_sees_its_own_gpus_only(fleet: tuple[FleetLab, Node, list[Node]]) -> None:
    _, head, _ = fleet
    said = head.machine.run(
        "srun", "-p", "trainshed", "-N1", "--gres=gpu:2", "--mem=100", "bash", "-c", SEES
    )
    assert [line.split(" ", 1)[1] for line in said.splitlines()] == [
        "0,1",
        *(f"no {gpu}" for gpu in range(2, 8)),
    ]


def test_a_user_of_the_policy_submits_from_the_shared_home(
    fleet: tuple[FleetLab, Node, list[Node]],
) -> None:
    _, head, _ = fleet
    home = "/fsx/home/alice"
    job = head.machine.run(
        "sbatch",
        "--parsable",
        "--wait",
        "-D",
        home,
        "-p",
        "normal",
        "--gres=gpu:1",
        "--wrap",
        "id -un",
        user="alice",
    )
    assert head.machine.run("cat", f"{home}/slurm-{job}.out") == "alice"


def test_a_task_has_what_nccl_needs_and_what_the_user_set(
    fleet: tuple[FleetLab, Node, list[Node]],
) -> None:
    _, head, _ = fleet
    said = head.machine.run(
        "env",
        "FI_EFA_USE_HUGE_PAGE=1",
        "srun",
        "-p",
        "trainshed",
        "--mem=10",
        "--task-prolog=/opt/trainshed/current/task_prolog.sh",
        "bash",
        "-c",
        "echo $NCCL_SOCKET_IFNAME $FI_EFA_USE_HUGE_PAGE ${NCCL_P2P_DISABLE:-unset}",
    )
    # The type has NVLink, so its GPUs talk to each other directly.
    assert said == "^lo,docker,veth 1 unset"


def test_a_job_may_lock_its_memory_whatever_the_shell_that_submits_it(
    fleet: tuple[FleetLab, Node, list[Node]],
) -> None:
    """EFA registers memory with the network card; a shell's own limit is some megabytes."""
    _, head, nodes = fleet
    # What this machine lets its root have, which may be less than all.
    most = head.machine.run("bash", "-c", "ulimit -H -l")
    job = "ulimit -l 64; srun -p trainshed -N2 --mem=10 bash -c 'ulimit -l'"
    assert head.machine.run("bash", "-c", job).split() == [most, most] != ["64", "64"]
    shown = nodes[0].machine.run("systemctl", "show", "slurmd", "-p", "LimitMEMLOCK")
    assert shown == "LimitMEMLOCK=infinity"


# What needrestart does with each of its files: Perl, over its settings.
NEEDRESTART = """\
our %nrconf;
for my $file (</etc/needrestart/conf.d/*.conf>) { defined(do $file) or die "$file: $@" }
for my $unit (@ARGV) {
  my ($key) = grep { $unit =~ /$_/ } sort keys %{$nrconf{override_rc}};
  printf "%s %s\n", $unit, defined $key ? $nrconf{override_rc}{$key} : "restarted";
}
print "$nrconf{restart}\n";
"""


def test_an_update_of_a_library_restarts_no_daemon_of_the_cluster(
    fleet: tuple[FleetLab, Node, list[Node]],
) -> None:
    _, head, _ = fleet
    ours = ("slurmd", "slurmctld", "slurmdbd", "munge", "mariadb", "trainshed-keeper")
    units = [f"{name}.service" for name in (*ours, "nvidia-fabricmanager", "cron")]
    said = head.machine.run("perl", "-e", NEEDRESTART, *units).splitlines()
    assert said == [*(f"{unit} 0" for unit in units[:-1]), "cron.service restarted", "l"]


@pytest.mark.parametrize("role", ["head", "compute"])
def test_a_second_boot_changes_nothing(fleet: tuple[FleetLab, Node, list[Node]], role: str) -> None:
    lab, head, nodes = fleet
    node = head if role == "head" else nodes[0]
    # The keeper's, some rounds after the boot.
    applied = head.machine.files / "var/lib/trainshed/applied"
    wait_until(applied.exists, "the keeper to have applied the document")
    before, daemons = lab.disk(node), lab.daemons(node)
    lab.boot_again(node)
    lab.wait_booted(node)
    assert differences(before, lab.disk(node)) == []
    assert lab.daemons(node) == daemons


def test_a_queue_without_gpus_runs_jobs_beside_one_with(
    fleet: tuple[FleetLab, Node, list[Node]],
) -> None:
    lab, head, _ = fleet
    node = lab.launch("compute", CPU_QUEUE)
    lab.wait_booted(node)
    lab.wait_idle(node)
    job = ("srun", "-p", "trainshed", "-N1", "--mem=10", "-w", node.name)
    assert head.machine.run(*job, "bash", "-c", "hostname | tee /dev/null") == node.name
    refused = head.machine.try_run(*job, "--gres=gpu:1", "hostname")
    assert "Requested node configuration is not available" in refused.stderr
    before = lab.disk(node)
    lab.boot_again(node)
    lab.wait_booted(node)
    assert differences(before, lab.disk(node)) == []
    lab.power_off(node)


def test_the_labs_aws_cannot_be_emptied_by_a_mock(
    fleet: tuple[FleetLab, Node, list[Node]],
) -> None:
    lab, _, _ = fleet
    with pytest.raises(RuntimeError, match="mock_aws empties moto's state"):
        mock_aws().start()
    assert lab.ssm.get_parameters_by_path(Path="/trainshed", Recursive=True)["Parameters"]
