"""What a ParallelCluster head node does: it leaves a block in time, and tells the goodput."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.slurm.lab.cluster import FAST, NODES, P5EN, Cluster, parallelcluster_conf, write_policy
from tests.slurm.lab.machines import Lab
from tests.slurm.pc_nodes import PcNode
from tests.waiting import wait_until
from trainshed.slurm import NodeGroup, SlurmPolicy

BLOCK = NodeGroup("block", P5EN, 2, "compute-st-kait-gpu-[1-2]")
SPARE = NodeGroup("spare", P5EN, 2, "compute-st-kait-gpu-[3-4]")
SAVES = """\
trap 'echo saved; touch $HOME/saved' USR1
trap 'echo asked to end; exit 1' TERM
[[ ! -e $HOME/saved ]] || { echo "goes on on $(hostname)"; exit; }
while :; do sleep 1 & wait $!; done
"""
ENDS = """\
trap 'echo asked to end; touch $HOME/asked; exit 1' TERM
[[ ! -e $HOME/asked ]] || { echo "goes on on $(hostname)"; exit; }
while :; do sleep 1 & wait $!; done
"""
POLICY = {
    "accounts": {"general": {"description": "everybody"}},
    "users": {user: {"account": "general"} for user in ("alice", "bob", "dave")},
    "scheduler": {"parameters": FAST, "close_native_partitions": False, "kill_wait_seconds": 10},
}


class Head(PcNode):
    """A head node over two queues, without partitions of a policy."""

    def end_block(self, end: datetime) -> None:
        """Deploy a block with an end."""
        block = {
            "reservation_id": "cr-0123456789abcdef0",
            "end": end.isoformat(),
            "drain_minutes": 40,
            "next_queue": "spare",
        }
        self.lead(
            {
                "schema": 1,
                "cluster": "kait",
                "agent": False,
                "accounting": True,
                "alarm_topic_parameter": "/trainshed/kait/alarm-topic",
                "mounts": [{"path": str(self.seen / "fsx")}],
                "queues": {"block": block, "spare": {}},
            }
        )

    def look(self) -> None:
        """Let the service do one of its rounds."""
        done = self.unit("trainshed-blocks.service", "--once")
        assert done.returncode == 0, done.stderr
        assert "cannot" not in done.stdout and "did not succeed" not in done.stdout, done.stdout

    def published(self) -> str:
        """Return what was sent to the topic."""
        path = self.cluster.lab.work / "etc" / "published"
        return path.read_text() if path.exists() else ""

    def submit(self, user: str, *options: str, script: str) -> str:
        whole = ("-p", "block", "--exclusive", "--gres=gpu:8", "--requeue", "-t", "1-00:00:00")
        return self.cluster.submit(user, *whole, *options, script=script)


@pytest.fixture(scope="module")
def head(fleet_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    """A cluster whose queues are partitions for everybody."""
    with Lab(tmp_path_factory.mktemp("pc-head"), fleet_root) as lab:
        cluster = Cluster(lab)
        made = Head(cluster, "head")
        policy = SlurmPolicy.model_validate(POLICY)
        conf = parallelcluster_conf(policy, cluster.version, [BLOCK, SPARE])
        write_policy(cluster, conf, policy)
        cluster.start_accounting()
        cluster.apply(policy)
        cluster.start(NODES)
        yield made


def test_a_block_that_ends_is_left_and_its_jobs_go_on_in_the_next_queue(head: Head) -> None:
    cluster = head.cluster
    saves = head.submit("bob", "--signal=B:USR1@60", script=SAVES)
    ends = head.submit("alice", script=ENDS)
    for job in (saves, ends):
        cluster.wait_state(job, "RUNNING")
    # Jobs have ten minutes from when the block is left: all but two have passed.
    last = datetime.now(UTC) + timedelta(minutes=2)
    head.end_block(last + timedelta(minutes=31))
    head.look()
    assert "RUNNING" in cluster.job(saves, "%T") and cluster.output("bob", saves) == ""
    head.end_block(last + timedelta(minutes=30))
    head.look()
    assert "ReservationName=trainshed-end-block " in reservations(cluster)
    assert head.published().count("Queue block: its Capacity Block is left") == 1
    # Nobody starts there any more, though one of its nodes had room.
    late = head.submit("dave", script="hostname")
    tasks = head.submit("dave", "--array=1-3%2", script="hostname")
    head.look()
    assert cluster.job(late, "%P") == "spare"
    assert set(cluster.job(tasks, "%P").split()) == {"spare"}
    cluster.wait_state(late, "COMPLETED")
    wait_until(lambda: "saved" in cluster.output("bob", saves), "the signal to save", 130)
    assert datetime.now(UTC) < last
    assert cluster.job(saves, "%T") == cluster.job(ends, "%T") == "RUNNING"

    def gone_on() -> bool:
        head.look()
        done = (cluster.output(user, job) for user, job in (("bob", saves), ("alice", ends)))
        return all("goes on on" in text for text in done)

    wait_until(gone_on, lambda: cluster.output("bob", saves) + cluster.output("alice", ends), 200)
    for user, job in (("bob", saves), ("alice", ends)):
        said = cluster.output(user, job)
        assert said.index("asked to end") < said.index("goes on on")
        assert said.split()[-1] in NODES[2:]
        cluster.wait_state(job, "COMPLETED")


def reservations(cluster: Cluster) -> str:
    return cluster.head.run("scontrol", "--oneliner", "show", "reservation")


def test_the_next_block_of_the_queue_opens_it_again(head: Head) -> None:
    head.end_block(datetime.now(UTC) + timedelta(days=7))
    head.look()
    assert "trainshed-end-block" not in reservations(head.cluster)
    job = head.submit("dave", script="hostname")
    head.cluster.wait_state(job, "COMPLETED")
    assert head.cluster.output("dave", job).split()[-1] in NODES[:2]


def goodput(told: Path) -> float:
    """Return the last goodput that was sent to CloudWatch."""
    sent = [each for line in told.read_text().splitlines() for each in json.loads(line)]
    last = [each for each in sent if each["MetricName"] == "goodput_percent"][-1]
    assert last["Unit"] == "Percent"
    assert [each["Value"] for each in last["Dimensions"]] == ["kait", "head"]
    return float(last["Value"])


def test_the_goodput_is_a_metric_each_hour_and_a_digest_each_week(head: Head) -> None:
    head.end_block(datetime.now(UTC) + timedelta(days=7))
    good = head.submit("bob", script="sleep 2")
    bad = head.submit("alice", script="sleep 2; exit 3")
    head.cluster.wait_state(good, "COMPLETED")
    head.cluster.wait_state(bad, "FAILED")
    # slurmctld tells slurmdbd of jobs some seconds later.
    head.cluster.wait_accounted(good, bad)
    told = head.cluster.lab.work / "etc" / "metric-data"

    def measured() -> float:
        done = head.unit("trainshed-goodput-hourly.service")
        assert done.returncode == 0, done.stderr
        assert "cannot" not in done.stdout, done.stdout
        return goodput(told)

    percent = wait_until(measured, "the metric", 60)
    assert 0 < percent < 100
    assert "the week" not in head.published()
    done = head.unit("trainshed-goodput-weekly.service")
    assert done.returncode == 0, done.stderr
    digest = head.published()[head.published().index("Cluster kait: the week") :]
    assert f"Goodput since {datetime.now(UTC) - timedelta(days=7):%d %b}: " in digest
    assert "GPU hours were kept" in digest and "lost to failures" in digest
    assert json.dumps(f"job {bad}: 0 GPU hours lost")[1:-1] in digest
