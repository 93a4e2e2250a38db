"""A ParallelCluster head node boots: its policy is in the database when slurmctld first looks.

ParallelCluster's order (aws-parallelcluster-cookbook, config_head_node.rb): OnNodeStart, slurmdbd,
``sacctmgr add cluster`` with its own account, slurmctld by systemd, OnNodeConfigured. systemd runs
what the drop-in of pc_slurm_policy.sh names, before and after slurmctld.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.lab.cluster import (
    COMPUTE,
    Cluster,
    parallelcluster_conf,
    policy_for_lab,
    write_policy,
)
from tests.slurm.lab.machines import CommandError, Lab
from tests.waiting import wait_until
from trainshed.slurm import PARALLELCLUSTER_ACCOUNT, SlurmPolicy, accounting_document

# Of what ParallelCluster has on its images and a lab's machine has not.
_AWS = """\
#!/bin/bash
case "$1 $2" in
"ssm get-parameter") cat /etc/slurm/s3/parameter ;;
"s3 cp") cp "/etc/slurm/s3/$(basename "$6")" "$7" ;;
esac
"""
_ENVIRONMENT = ("env", "ROOT_DIR=/run/pc", "PATH=/run/pc/bin:/usr/sbin:/usr/bin:/sbin:/bin")
_HOME = "/run/pc/opt/trainshed/slurm-policy"
LATE = {
    "partitions": {"late": {"qos": "late_qos", "priority_tier": 50, "preempt_mode": "OFF"}},
    "qos": {"late_qos": {"gpus_per_user": 2, "cpus_follow_gpus": True}},
}


class Head:
    """The head node of a ParallelCluster cluster, and the scripts that it runs."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.refused = ""
        """What slurmctld logged without the drop-in."""

    def deploy(self, **over: Any) -> SlurmPolicy:
        """Put a policy where a deployment does: two objects in S3 and a parameter; slurm.conf."""
        policy = policy_for_lab("kait-hardened", **over)
        write_policy(self.cluster, parallelcluster_conf(policy, self.cluster.version), policy)
        document = accounting_document(
            policy, [COMPUTE], cluster="kait", keep_accounts=[PARALLELCLUSTER_ACCOUNT]
        )
        program = Path(__file__).parents[2] / "assets" / "node" / "slurm_accounts.py"
        store = self.cluster.lab.work / "etc" / "s3"
        store.mkdir(exist_ok=True)
        lines = []
        for name, content in (
            ("slurm_accounts.py", program.read_bytes()),
            ("policy.json", json.dumps(document).encode()),
        ):
            (store / name).write_bytes(content)
            lines.append(f"{hashlib.sha256(content).hexdigest()} s3://bucket/{name}")
        (store / "parameter").write_text("\n".join(lines))
        return policy

    def boot(self) -> None:
        """Come as far as ParallelCluster does before slurmctld."""
        cluster = self.cluster
        head = cluster.lab.boot("head", "10.77.0.1")
        head.run("mkdir", "-p", "/run/pc/bin")
        for name, text in (("aws", _AWS), ("systemctl", "#!/bin/sh\n")):
            head.run("tee", f"/run/pc/bin/{name}", stdin=text)
            head.run("chmod", "755", f"/run/pc/bin/{name}")
        self.script("install", "/trainshed/kait/slurm-policy", "us-east-2")
        for service in ("munge", "mariadb", "slurmdbd"):
            head.start(service)
        for command in (
            "add cluster kait",
            f"add account {PARALLELCLUSTER_ACCOUNT} Cluster=kait Organization=none",
            f"add user slurm Account={PARALLELCLUSTER_ACCOUNT} AdminLevel=Admin",
        ):
            cluster.sacctmgr(*command.split())

    def script(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run the script as OnNodeStart, OnNodeConfigured and OnNodeUpdated do."""
        return self._run("/run/node/pc_slurm_policy.sh", *args)

    def _run(self, script: str, *args: str) -> subprocess.CompletedProcess[str]:
        done = self.cluster.head.try_run(*_ENVIRONMENT, script, *args, seconds=120)
        if done.returncode:
            raise CommandError(done.stdout + done.stderr)
        return done

    def start_slurmctld(self) -> None:
        """Start it as systemd does, with what the drop-in says."""
        unit = "/run/pc/etc/systemd/system/slurmctld.service.d/trainshed.conf"
        lines = self.cluster.head.run("cat", unit).splitlines()
        hooks = dict(line.split("=-", 1) for line in lines if "=-" in line)
        self._run(*hooks["ExecStartPre"].split())
        self.cluster.head.start("slurmctld")
        self._run(*hooks["ExecStartPost"].split())

    def stop_slurmctld(self) -> None:
        """Stop it and wait for its end."""
        self.cluster.head.run("pkill", "-x", "slurmctld")
        self.wait_for_end_of("slurmctld")

    def wait_for_end_of(self, daemon: str) -> None:
        """Wait until a daemon is gone."""
        wait_until(
            lambda: self.cluster.head.try_run("pgrep", "-x", daemon).returncode,
            lambda: f"the end of {daemon}: {self.cluster.log()[-300:]}",
            60,
        )

    def qos(self, name: str) -> str:
        """Return the GPU caps of a QOS in the database."""
        shown = ("show", "qos", name, "format=MaxTRESPerUser,GrpTRES")
        return self.cluster.sacctmgr("-nP", *shown)


@pytest.fixture(scope="module")
def head(slurm_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    """A head node that has booted; slurmctld was tried without the drop-in before."""
    with Lab(tmp_path_factory.mktemp("first-boot"), slurm_root) as lab:
        made = Head(Cluster(lab))
        made.deploy()
        made.boot()
        made.cluster.head.try_run("/run/lab/service.sh", "slurmctld", seconds=60)
        made.wait_for_end_of("slurmctld")
        made.refused = made.cluster.log().lower()
        # 26.05 starts on no state that has a name and was never saved.
        state = "/var/lib/slurm/slurmctld"
        said = made.cluster.head.run("/run/node/unsaved_state.sh", state, "kait")
        assert "begins anew" in said
        made.start_slurmctld()
        yield made


def test_without_the_drop_in_slurmctld_does_not_start(head: Head) -> None:
    assert "fatal" in head.refused
    assert "invalid qos" in head.refused


def test_with_it_slurmctld_starts_under_the_policy(head: Head) -> None:
    shown = head.cluster.head.run("scontrol", "show", "partition", "normal")
    assert "QoS=normal_qos" in shown and "State=UP" in shown


def test_caps_on_gpus_are_there_once_slurmctld_has_told_of_gpus(head: Head) -> None:
    assert head.qos("normal_qos") == (
        "cpu=96,gres/gpu=4,mem=996144M|cpu=192,gres/gpu=8,mem=1992294M"
    )


def test_what_parallelcluster_made_for_itself_is_still_there(head: Head) -> None:
    shown = head.cluster.sacctmgr("-nP", "show", "user", "format=User,DefaultAccount,AdminLevel")
    assert f"slurm|{PARALLELCLUSTER_ACCOUNT}|Administrator" in shown


def test_on_node_configured_finds_nothing_left_to_do(head: Head) -> None:
    done = head.script("apply", "/trainshed/kait/slurm-policy", "us-east-2", "hash")
    assert done.stdout.strip() == "the database is as the policy says"


def test_an_update_with_a_new_qos_survives_the_restart_before_any_script(head: Head) -> None:
    head.deploy(**LATE)
    head.stop_slurmctld()
    head.start_slurmctld()
    shown = head.cluster.head.run("scontrol", "show", "partition", "late")
    assert "QoS=late_qos" in shown and "State=UP" in shown
    assert head.qos("late_qos").startswith("cpu=48,gres/gpu=2,")


def test_slurmctld_starts_on_its_own_memory_while_the_database_is_down(head: Head) -> None:
    head.stop_slurmctld()
    head.cluster.head.run("pkill", "-x", "slurmdbd")
    head.wait_for_end_of("slurmdbd")
    before = head.cluster.head.try_run(
        *_ENVIRONMENT, "WAIT_SECONDS=1", f"{_HOME}/run", "before", seconds=120
    )
    # The dash in the drop-in: systemd goes on all the same.
    assert before.returncode == 1
    assert before.stderr.endswith("pc_slurm_policy: waited 1 s for slurmdbd\n")
    head.cluster.head.start("slurmctld")
    wait_until(
        lambda: "is UP" in head.cluster.head.try_run("scontrol", "ping").stdout,
        "slurmctld to answer",
        60,
    )
    head.cluster.head.start("slurmdbd")
