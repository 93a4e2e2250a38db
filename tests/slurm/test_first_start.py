"""A slurmctld that was killed before it saved its state for the first time starts again."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.conftest import ROOTS
from tests.slurm.lab.cluster import (
    COMPUTE,
    Cluster,
    parallelcluster_conf,
    policy_for_lab,
    write_policy,
)
from tests.slurm.lab.machines import CommandError, Lab
from tests.waiting import wait_until
from trainshed.slurm import accounting_document

STATE = "/var/lib/slurm/slurmctld"
_SCRIPTS = "/etc/slurm/node"
# Where a head node has what the lab keeps elsewhere.
_PLACES = {
    "/state/slurmctld": STATE,
    "/etc/systemd/system": "/run/units",
    "/opt/trainshed/current": _SCRIPTS,
}
# systemd as far as it concerns slurmctld: its drop-in, in each start.
_SYSTEMCTL = r"""#!/bin/bash
case "$*" in
"daemon-reload") exit ;;
"start slurmctld.service") pgrep -x slurmctld >/dev/null && exit ;;
"restart slurmctld.service")
  echo restart >>/run/restarts
  pkill -x slurmctld && while pgrep -x slurmctld >/dev/null; do sleep 0.1; done ;;
*) exit 1 ;;
esac
$(sed -n 's/^ExecStartPre=-+//p' /run/units/slurmctld.service.d/trainshed.conf) >>/run/said
exec /run/lab/service.sh slurmctld >/dev/null 2>&1
"""
_ENVIRONMENT = ("env", "ROOT_DIR=/run/pc", f"PATH={_SCRIPTS}/fakes:/usr/sbin:/usr/bin:/sbin:/bin")


class Head:
    """A head node of a bare fleet as far as slurmctld."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.run = cluster.head.run
        self.try_run = cluster.head.try_run

    def boot(self) -> str:
        """Run the step of the boot; return what slurmctld's drop-in has said in all."""
        step = (f"{_SCRIPTS}/slurmctld.sh", "kait", "/etc/slurm/policy.json")
        done = self.try_run(*_ENVIRONMENT, *step, seconds=240)
        if done.returncode:
            raise CommandError(done.stdout + done.stderr + self.cluster.log()[-600:])
        return self.run("cat", "/run/said")

    def start(self) -> subprocess.CompletedProcess[str]:
        """Start slurmctld alone, as systemd does."""
        return self.try_run(*_ENVIRONMENT, "systemctl", "start", "slurmctld.service")

    def kill(self) -> None:
        """Let slurmctld end without a word, as with the power of its machine."""
        self.run("pkill", "-9", "-x", "slurmctld")
        self.wait_for_end()

    def wait_for_end(self) -> None:
        """Wait until slurmctld is gone."""
        wait_until(lambda: self.try_run("pgrep", "-x", "slurmctld").returncode, "its end", 60)

    def save_a_job(self) -> str:
        """Submit a job, which waits for nodes, and return its id once slurmctld has it on disk."""
        job = self.cluster.submit(
            "alice", "-p", "debug", "-t", "1", "--gres=gpu:1", "-J", "kept_job"
        )
        saved = ("grep", "-q", "kept_job", f"{STATE}/job_state")
        wait_until(lambda: self.try_run(*saved).returncode == 0, "the job to be saved", 60)
        return job

    def state(self) -> set[str]:
        """Return the names of the files of slurmctld's state."""
        return set(self.run("ls", "-A", STATE).split())


@pytest.fixture(params=["24.11", "26.05"])
def head(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Head]:
    """A head node with a database, whose slurmctld has never run."""
    with Lab(tmp_path, ROOTS[request.param]) as lab:
        cluster = Cluster(lab)
        policy = policy_for_lab("kait-hardened")
        write_policy(cluster, parallelcluster_conf(policy, cluster.version), policy)
        document = accounting_document(policy, [COMPUTE], cluster="kait")
        cluster.write_conf(policy_json=json.dumps(document))
        put_scripts(lab.work / "etc/node")
        cluster.start_accounting()
        yield Head(cluster)


def put_scripts(to: Path) -> None:
    """Put the node's scripts beside a systemctl."""
    (to / "fakes").mkdir(parents=True)
    for script in (Path(__file__).parents[2] / "assets/node").glob("s*[a-z].*"):
        shutil.copy(script, to)
    for name in ("common.sh", "unsaved_state.sh"):
        shutil.copy(Path(__file__).parents[2] / "assets/node" / name, to)
    for script in to.glob("*.sh"):
        text = script.read_text()
        for place, here in _PLACES.items():
            text = text.replace(place, here)
        script.write_text(text)
    systemctl = to / "fakes/systemctl"
    systemctl.write_text(_SYSTEMCTL)
    systemctl.chmod(0o755)


def test_it_starts_again_after_a_kill_before_the_first_save(head: Head) -> None:
    head.cluster.apply(policy_for_lab("kait-hardened"))
    head.cluster.head.start("slurmctld")
    wait_until(lambda: "clustername" in head.state(), "slurmctld to write its name")
    head.kill()
    name = head.run("cat", f"{STATE}/clustername")
    assert not {"assoc_usage", "job_state", "node_state"} & head.state()
    assert "begins anew" in head.boot()
    assert head.run("cat", f"{STATE}/clustername") == name, "with the id that it had"
    # Saved at once, where what is saved in part would keep it from starting.
    new = head.cluster.version >= (25, 5)
    assert ("assoc_usage" in head.state()) == new
    head.kill()
    said = head.boot()
    assert said.count("begins anew") == (1 if new else 2)
    assert head.cluster.log().count("fatal") == 0


def test_what_was_saved_is_there_after_a_kill(head: Head) -> None:
    head.boot()
    job = head.save_a_job()
    head.kill()
    assert "begins anew" not in head.boot()
    assert head.cluster.job(job, "%T") == "PENDING"
    # The drop-in is new; and a new release saves at once.
    restarts = 2 if head.cluster.version >= (25, 5) else 1
    assert head.run("cat", "/run/restarts").count("restart") == restarts


def test_a_state_that_has_lost_a_file_is_left_to_slurm(head: Head) -> None:
    head.boot()
    head.save_a_job()
    head.kill()
    head.run("rm", "-f", f"{STATE}/assoc_usage", f"{STATE}/assoc_usage.old")
    before = head.run("stat", "-c", "%i", f"{STATE}/clustername")
    head.start()
    if head.cluster.version >= (25, 5):
        head.wait_for_end()
        assert "fatal: No Assoc usage file" in head.cluster.log()
    assert head.run("stat", "-c", "%i", f"{STATE}/clustername") == before
    assert "begins anew" not in head.run("cat", "/run/said")
