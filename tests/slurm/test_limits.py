"""What users may do under the hardened policy, by submitting jobs."""

from __future__ import annotations

import pytest

from tests.slurm.lab.cluster import Cluster
from tests.waiting import wait_until

GPU = ("--gres=gpu:1", "-c", "1", "--mem=1G")


def test_debug_takes_thirty_minutes_and_no_more(hardened: Cluster) -> None:
    assert "time limit" in hardened.refusal("alice", "-p", "debug", "-t", "31", *GPU).lower()
    job = hardened.submit("alice", "-p", "debug", "-t", "30", *GPU)
    assert hardened.job(job, "%l") == "30:00"


def test_a_job_without_a_time_gets_the_partitions_default(hardened: Cluster) -> None:
    job = hardened.submit("alice", "-p", "debug", *GPU)
    assert hardened.job(job, "%l") == "10:00"


def test_debug_takes_one_job_a_user(hardened: Cluster) -> None:
    hardened.submit("alice", "-p", "debug", *GPU)
    assert "QOSMaxSubmitJobPerUserLimit" in hardened.refusal("alice", "-p", "debug", *GPU)
    hardened.submit("dave", "-p", "debug", *GPU)


def test_normal_runs_four_jobs_of_a_user_and_takes_eight(hardened: Cluster) -> None:
    jobs = [hardened.submit("alice", *GPU) for _ in range(8)]
    for job in jobs[:4]:
        hardened.wait_state(job, "RUNNING")
    hardened.wait_reason(jobs[4], "QOSMax")
    assert "QOSMaxSubmitJobPerUserLimit" in hardened.refusal("alice", *GPU)


def test_exclusive_runs_one_job_of_a_user_and_takes_two(hardened: Cluster) -> None:
    first, second = (hardened.submit("bob", "-p", "exclusive", *GPU) for _ in range(2))
    hardened.wait_state(first, "RUNNING")
    hardened.wait_reason(second, "QOSMaxJobsPerUserLimit")
    assert "QOSMaxSubmitJobPerUserLimit" in hardened.refusal("bob", "-p", "exclusive", *GPU)


def test_jobs_of_one_partition_do_not_use_up_the_limits_of_another(hardened: Cluster) -> None:
    for _ in range(8):
        hardened.submit("bob", *GPU)
    for _ in range(9):
        hardened.submit("bob", "-p", "priority", *GPU)


@pytest.mark.parametrize("partition", ["priority", "exclusive"])
def test_a_general_user_is_refused(hardened: Cluster, partition: str) -> None:
    said = hardened.refusal("alice", "-p", partition, *GPU)
    assert "Invalid account or account/partition combination" in said


@pytest.mark.parametrize("partition", ["debug", "normal", "priority", "exclusive", "compute"])
def test_an_unregistered_user_is_refused(hardened: Cluster, partition: str) -> None:
    assert hardened.refusal("mallory", "-p", partition, *GPU)


def test_a_job_without_gpus_leaves_the_rest_of_its_node(hardened: Cluster) -> None:
    job = hardened.submit("alice", "-c", "2")
    hardened.wait_state(job, "RUNNING")
    shown = hardened.head.run("scontrol", "show", "job", job)
    assert "mem=20752M" in shown


def test_one_gpu_takes_its_share_of_cpus_and_memory_and_cannot_take_more(
    hardened: Cluster,
) -> None:
    fair = hardened.submit("alice", "--gres=gpu:1")
    hardened.wait_state(fair, "RUNNING")
    assert "cpu=24,mem=249036M" in hardened.head.run("scontrol", "show", "job", fair)
    greedy = hardened.submit("dave", "--gres=gpu:1", "-c", "192", "--mem=0")
    hardened.wait_reason(greedy, "QOS")


def test_a_job_sees_its_own_gpus_only(hardened: Cluster) -> None:
    probe = "for i in 0 1 2 3 4 5 6 7; do (exec 3<>/dev/nvidia$i) 2>&1; done"
    job = hardened.submit("alice", "--gres=gpu:2", *GPU[1:], script=probe)
    hardened.wait_state(job, "COMPLETED", "FAILED")
    text = hardened.output("alice", job)
    assert text.count("Operation not permitted") == 6
    assert text.count("No such device") == 2


def test_accounting_has_every_job_with_its_gpus(hardened: Cluster) -> None:
    jobs = [
        hardened.submit("alice", "--gres=gpu:2", *GPU[1:], script="sleep 2"),
        hardened.submit("bob", "-p", "exclusive", "-N2", *GPU, script="sleep 2"),
    ]
    for job in jobs:
        hardened.wait_state(job, "COMPLETED")

    def recorded() -> list[str]:
        fields = "user,account,partition,state,alloctres"
        return hardened.head.run("sacct", "-anXPj", ",".join(jobs), "-o", fields).splitlines()

    def complete() -> bool:
        lines = recorded()
        return (
            len(lines) == 2
            and lines[0].startswith("alice|general|normal|COMPLETED|")
            and lines[1].startswith("bob|priority|exclusive|COMPLETED|")
        )

    # A slurmdbd that hears of the end before the start has no partition yet.
    wait_until(complete, lambda: f"both in sacct: {recorded()}")
    assert "gres/gpu=2" in recorded()[0]
    assert "gres/gpu=16" in recorded()[1]


def test_limits_and_associations_are_enforced(hardened: Cluster) -> None:
    shown = hardened.head.run("scontrol", "show", "config")
    assert "EnforcePartLimits       = ALL" in shown
    assert "AccountingStorageEnforce = associations,limits,qos,safe" in shown
