"""T1 to T8: what the seed's policy really does, and that the hardened one does not do it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.slurm.lab.cluster import NODES, Cluster
from tests.waiting import wait_until

# Less than a GPU's share of CPUs and memory, so that only GPUs count.
SMALL = ("-c", "1", "--mem=1G")
# Writes down each second it lives, and the signals it hears; SIGTERM does not end it.
STUBBORN = """\
trap 'echo TERM' TERM
trap 'echo checkpoint' USR1
echo start $SLURM_RESTART_COUNT
for i in $(seq 600); do sleep 1; echo tick; done
"""


# Saves its work when it is warned, and finds it again when it is started anew.
CAREFUL = """\
trap 'touch checkpoint' USR1 TERM
if [ -e checkpoint ]; then echo resumed; exit 0; fi
echo started
while true; do sleep 0.2; done
"""


@dataclass(frozen=True)
class Preemption:
    """What two jobs wrote that exclusive jobs preempted under the hardened policy."""

    stubborn: str
    careful: str
    version: tuple[int, int]


@pytest.fixture(scope="session")
def preemption(hardened_session: Cluster) -> Preemption:
    """Preempt two jobs at the same time, since Slurm looks at grace times every 30 s."""
    cluster = hardened_session
    jobs = {}
    for user, script, node in (("alice", STUBBORN, NODES[0]), ("dave", CAREFUL, NODES[1])):
        options = ("--signal=B:USR1@60", "--gres=gpu:4", "-w", node)
        jobs[user] = cluster.submit(user, *options, script=script)
    for user, job in jobs.items():
        cluster.wait_output(user, job, "start")
    winners = [
        cluster.submit(user, "-p", "exclusive", "--gres=gpu:8", "-w", node)
        for user, node in (("bob", NODES[0]), ("carol", NODES[1]))
    ]
    for winner in winners:
        cluster.wait_state(winner, "RUNNING")
    stubborn = cluster.output("alice", jobs["alice"])
    cluster.head.run("scancel", jobs["alice"], *winners)
    # Slurm 24.11 requeues a job once more that ends within seconds of its restart.
    restart(cluster, jobs["dave"], lambda: cluster.job(jobs["dave"], "%T") == "COMPLETED")
    return Preemption(stubborn, cluster.output("dave", jobs["dave"]), cluster.version)


def test_t1_under_the_seed_a_job_without_qos_waits_for_ever(seed: Cluster) -> None:
    job = seed.submit("bob", "--gres=gpu:1")
    seed.wait_reason(job, "QOS not permitted")


def test_t1_a_job_without_qos_runs_in_every_partition_its_user_may_use(hardened: Cluster) -> None:
    jobs = [
        hardened.submit("bob", "-p", partition, "--gres=gpu:1")
        for partition in ("debug", "normal", "priority", "exclusive")
    ]
    for job in jobs:
        hardened.wait_state(job, "RUNNING")


def test_t2_under_the_seed_a_general_user_takes_the_whole_native_partition(seed: Cluster) -> None:
    job = seed.submit("alice", "-p", "compute", "-t", "60-00:00:00", "-N4", "--gres=gpu:8")
    seed.wait_state(job, "RUNNING")


def test_t2_the_native_partition_is_closed(hardened: Cluster) -> None:
    said = hardened.refusal("alice", "-p", "compute", "--gres=gpu:1")
    assert "User's group not permitted" in said or "access" in said.lower(), said


def test_t3_under_the_seed_the_built_in_qos_has_no_limits(seed: Cluster) -> None:
    options = ("-p", "compute", "--qos=normal", "--gres=gpu:1", "--mem=1G")
    jobs = [seed.submit("alice", *options) for _ in range(12)]
    for job in jobs:
        seed.wait_state(job, "RUNNING")


def test_t3_the_built_in_qos_is_refused(hardened: Cluster) -> None:
    assert "Invalid qos" in hardened.refusal("alice", "--qos=normal", "--gres=gpu:1")


def test_t4_under_the_seed_one_job_takes_every_gpu(seed: Cluster) -> None:
    options = ("-p", "priority", "--qos=priority_qos", "-N4", "--gres=gpu:8", "--mem=0")
    seed.wait_state(seed.submit("bob", *options), "RUNNING")


def test_t4_one_job_over_the_gpu_cap_waits(hardened: Cluster) -> None:
    job = hardened.submit("bob", "-p", "priority", "-N4", "--gres=gpu:8", *SMALL)
    hardened.wait_reason(job, "QOSMaxGRESPerUser")


def test_t4_many_small_jobs_reach_the_same_gpu_cap(hardened: Cluster) -> None:
    jobs = [hardened.submit("bob", "-p", "priority", "--gres=gpu:2", *SMALL) for _ in range(9)]
    for job in jobs[:8]:
        hardened.wait_state(job, "RUNNING")
    hardened.wait_reason(jobs[8], "QOSMaxGRESPerUser")


def test_t5_under_the_seed_an_exclusive_job_shares_its_node(seed: Cluster) -> None:
    options = ("--gres=gpu:1", "-w", NODES[0])
    exclusive = seed.submit("bob", "-p", "exclusive", "--qos=exclusive_qos", *options)
    seed.wait_state(exclusive, "RUNNING")
    seed.wait_state(seed.submit("alice", *options), "RUNNING")


def test_t5_an_exclusive_job_has_its_node_to_itself(hardened: Cluster) -> None:
    options = ("--gres=gpu:1", "-w", NODES[0])
    exclusive = hardened.submit("bob", "-p", "exclusive", *options)
    hardened.wait_state(exclusive, "RUNNING")
    assert hardened.job(exclusive, "%C") == "192"
    hardened.wait_reason(hardened.submit("alice", *options), "Resources")


def test_t6_under_the_seed_a_preempted_job_is_requeued_not_suspended(seed: Cluster) -> None:
    job = seed.submit("alice", "--gres=gpu:8", script="echo start $SLURM_RESTART_COUNT; sleep 600")
    seed.wait_state(job, "RUNNING")
    seed.wait_output("alice", job, "start")
    options = ("-p", "exclusive", "--qos=exclusive_qos", "--gres=gpu:8", "-w", NODES[0])
    winner = seed.submit("bob", *options)
    seed.wait_state(winner, "RUNNING")
    assert seed.job(job, "%T") == "PENDING"
    seed.head.run("scancel", winner)
    restart(seed, job, lambda: "start 1" in seed.output("alice", job))


def restart(cluster: Cluster, job: str, until: Callable[[], bool]) -> None:
    """Spare a requeued job the two minutes it waits, until it has done something.

    Not at once: a node that is given a job again in the second in which the job was killed there
    takes it for the killed one, and slurmctld then calls it FAILED ("Job credential revoked").
    """

    spared = [float("-inf")]

    def done() -> bool:
        # 24.11 may requeue it once more; the two seconds are not to be spared themselves.
        if cluster.job(job, "%r") == "BeginTime" and time.monotonic() - spared[-1] > 15:
            cluster.head.run("scontrol", "update", f"jobid={job}", "starttime=now+2")
            spared.append(time.monotonic())
        return until()

    wait_until(done, lambda: f"job {job} to start again: {cluster.job(job, '%T %r')}")


def interactive(cluster: Cluster, *options: str) -> tuple[threading.Thread, list[int]]:
    """Start srun as alice in debug on the first node; the list gets its exit code."""
    code: list[int] = []
    command = ["srun", "-p", "debug", "--gres=gpu:8", "-w", NODES[0], *options, "sleep", "300"]

    def run() -> None:
        code.append(cluster.head.try_run(*command, user="alice", seconds=120).returncode)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(
        lambda: "RUNNING" in cluster.head.run("squeue", "-hu", "alice", "-o", "%T"), "srun to run"
    )
    return thread, code


def test_t7_under_the_seed_an_interactive_job_is_killed_for_a_higher_tier(seed: Cluster) -> None:
    thread, code = interactive(seed, "--qos=debug_qos")
    options = ("-p", "priority", "--qos=priority_qos", "--gres=gpu:8", "-w", NODES[0])
    seed.wait_state(seed.submit("bob", *options), "RUNNING")
    thread.join(timeout=60)
    assert code and code[0] != 0
    assert not seed.head.run("squeue", "-hu", "alice")


def test_t7_an_interactive_job_is_not_preempted(hardened: Cluster) -> None:
    thread, code = interactive(hardened)
    job = hardened.submit("bob", "-p", "exclusive", "--gres=gpu:8", "-w", NODES[0])
    hardened.wait_reason(job, "Resources")
    assert hardened.head.run("squeue", "-hu", "alice", "-o", "%T") == "RUNNING"
    hardened.head.run("scancel", "--user=alice")
    thread.join(timeout=60)
    hardened.wait_state(job, "RUNNING")
    assert code


def test_t8_under_the_seed_the_grace_is_kill_wait_and_not_300_seconds(seed: Cluster) -> None:
    options = ("-p", "debug", "--qos=debug_qos", "--gres=gpu:8")
    job = seed.submit("alice", *options, script=STUBBORN)
    seed.wait_output("alice", job, "tick")
    winner = ("-p", "priority", "--qos=priority_qos", "--gres=gpu:8", "-w", NODES[0])
    seed.wait_state(seed.submit("bob", *winner), "RUNNING")
    after_term = seed.output("alice", job).partition("TERM")[2].count("tick")
    assert "UnkillableStepTimeout   = 300 sec" in seed.head.run("scontrol", "show", "config")
    assert 20 <= after_term <= 60


def test_t6_a_preempted_job_is_warned_requeued_and_finishes(preemption: Preemption) -> None:
    assert preemption.careful.startswith("started\n")
    assert preemption.careful.endswith("resumed\n")


def test_t6_the_top_tier_is_not_preempted_and_says_so(hardened: Cluster) -> None:
    shown = hardened.head.run("scontrol", "show", "partition", "exclusive")
    assert "PreemptMode=OFF" in shown


def test_a_job_is_ended_at_its_time_limit(hardened: Cluster, one_minute_job: str) -> None:
    def state() -> str:
        return hardened.head.run("sacct", "-nXPj", one_minute_job, "-o", "state")

    wait_until(lambda: state() == "TIMEOUT", lambda: f"TIMEOUT, it is {state()}", 120)


def test_t8_a_preempted_job_has_its_grace_time(preemption: Preemption) -> None:
    # 8 s of grace and 5 s of kill wait; a tick takes a little more than a second.
    assert preemption.stubborn.count("tick") >= 8


def test_t8_a_preempted_batch_job_hears_of_it_at_once(preemption: Preemption) -> None:
    heard = preemption.stubborn.partition("checkpoint")[2].count("tick")
    # Slurm 22.05 sends the batch shell nothing before SIGTERM, at the end of the grace time.
    assert heard >= 8 or (preemption.version < (23, 2) and "TERM" in preemption.stubborn)
