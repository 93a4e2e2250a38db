"""Rendered files are read by a real slurmctld without a complaint, and wrong ones never go live."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests import examples
from tests.slurm.lab.cluster import (
    COMPUTE,
    P5EN,
    Cluster,
    bare_conf,
    parallelcluster_conf,
    policy_for_lab,
    slurm_version,
)
from trainshed.cli.checked import load_checked
from trainshed.pcluster import node_expression
from trainshed.slurm import NodeGroup, NodeShape, SlurmPolicy, cgroup_conf, gres_conf
from trainshed.slurm.fleet_rules import node_groups
from trainshed.slurm_fleet import cluster_files
from trainshed.slurm_fleet.shapes import policy_of

ROOT = Path(__file__).parents[2]
NODE_SCRIPTS = ROOT / "assets" / "node"
JOINING = NodeGroup("compute", P5EN, 4)
MIXED = (JOINING, NodeGroup("cpu", NodeShape(48, 196_608, 1, 24, 2), 8))
Render = Callable[[SlurmPolicy, tuple[int, int]], str]
FORMS: dict[str, tuple[Render, tuple[NodeGroup, ...]]] = {
    "parallelcluster": (parallelcluster_conf, (COMPUTE,)),
    "fixed nodes": (bare_conf, (COMPUTE,)),
    "joining nodes": (lambda policy, version: bare_conf(policy, version, [JOINING]), (JOINING,)),
    "two queues": (lambda policy, version: bare_conf(policy, version, MIXED), MIXED),
    "a partition a queue": (
        lambda policy, version: bare_conf(
            policy_for_lab("kait-hardened", partitions={"debug": {"queues": ["cpu"]}}),
            version,
            MIXED,
        ),
        MIXED,
    ),
}


def dry_run(root: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    """Start a slurmctld on the files of a directory, apart from everything."""
    return subprocess.run(
        [str(NODE_SCRIPTS / "dry_run.sh"), str(directory), str(root)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def write(
    directory: Path, policy: SlurmPolicy, slurm_conf: str, groups: tuple[NodeGroup, ...]
) -> None:
    """Write the three files of a policy."""
    (directory / "slurm.conf").write_text(slurm_conf)
    (directory / "gres.conf").write_text(gres_conf(groups))
    (directory / "cgroup.conf").write_text(cgroup_conf(policy))


@pytest.mark.parametrize("form", FORMS)
def test_slurmctld_takes_the_files_of_the_hardened_preset_without_a_complaint(
    slurm_root: Path, tmp_path: Path, form: str
) -> None:
    policy = policy_for_lab("kait-hardened")
    render, groups = FORMS[form]
    write(tmp_path, policy, render(policy, slurm_version(slurm_root)), groups)
    done = dry_run(slurm_root, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_slurmctld_complains_of_the_seed_as_the_linter_does(
    slurm_root: Path, tmp_path: Path
) -> None:
    policy = policy_for_lab("kait-seed")
    write(tmp_path, policy, bare_conf(policy, slurm_version(slurm_root)), (COMPUTE,))
    done = dry_run(slurm_root, tmp_path)
    assert (done.returncode, done.stdout) == (1, "error: Configured MailProg is invalid\n")


def write_institution(directory: Path, path: Path, version: tuple[int, int]) -> None:
    """Write what slurmctld of an institution's backend would read, in the words of a version."""
    loaded = load_checked(path)
    fleet = loaded.fleet
    joining = node_groups(fleet, loaded.known_types)
    if fleet.backend == "parallelcluster":
        policy = fleet.policy or SlurmPolicy(preset="kait-hardened")
        named = [
            replace(group, node_names=node_expression(group.name, fleet.queues[group.name]))
            for group in joining
        ]
        more = fleet.parallelcluster.extra_slurm_settings.items()
        text = parallelcluster_conf(policy, version, named)
        text += "".join(f"{key}={value}\n" for key, value in more)
        write(directory, policy, text, tuple(named))
    elif version < (23, 11):
        # The fleet has 23.11, a word of which 22.05 does not know.
        policy = policy_of(fleet)
        write(directory, policy, bare_conf(policy, version, joining), joining)
    else:
        files = cluster_files(
            fleet,
            cluster_name=loaded.cluster_name,
            mount_dir=loaded.storage.mount_dir,
            types=loaded.known_types,
        )
        for name in ("slurm.conf", "gres.conf", "cgroup.conf"):
            (directory / name).write_text(files[name])


@pytest.mark.parametrize("file", examples.PATHS, ids=lambda file: file.stem)
def test_slurmctld_takes_the_files_of_every_example_institution(
    slurm_root: Path, tmp_path: Path, file: Path
) -> None:
    write_institution(tmp_path, file, slurm_version(slurm_root))
    done = dry_run(slurm_root, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


WRONG = {
    "undefined nodes": ("Nodes=compute_nodes", "Nodes=nosuch_nodes", "nosuch_nodes"),
    "unknown key": ("KillWait=", "KillWaits=", "KillWaits"),
    "bad value": ("PriorityTier=100", "PriorityTier=lots", "PriorityTier"),
    "duplicate partition": ("PartitionName=debug", "PartitionName=normal", "normal"),
    "modes that exclude each other": ("PreemptMode=REQUEUE\n", "PreemptMode=OFF\n", "Preempt"),
}


@pytest.mark.parametrize(("old", "new", "word"), WRONG.values(), ids=list(WRONG))
def test_a_wrong_file_fails_the_dry_run_and_is_named(
    slurm_root: Path, tmp_path: Path, old: str, new: str, word: str
) -> None:
    policy = policy_for_lab("kait-hardened")
    text = bare_conf(policy, slurm_version(slurm_root))
    assert old in text
    write(tmp_path, policy, text.replace(old, new, 1), (COMPUTE,))
    done = dry_run(slurm_root, tmp_path)
    assert done.returncode == 1
    assert word in done.stdout


def reconfigure(cluster: Cluster, slurm_conf: str) -> subprocess.CompletedProcess[str]:
    """Bring a slurm.conf to a live cluster by way of the dry run."""
    cluster.head.run("mkdir", "-p", "/run/new")
    cluster.head.run("tee", "/run/new/slurm.conf", stdin=slurm_conf)
    return cluster.head.try_run("/run/node/reconfigure.sh", "/run/new", "/etc/slurm", seconds=60)


def test_a_wrong_change_never_reaches_a_live_slurmctld(hardened: Cluster) -> None:
    live = hardened.lab.work / "etc" / "slurm.conf"
    before = live.read_text()
    job = hardened.submit("alice", "--gres=gpu:1")
    hardened.wait_state(job, "RUNNING")
    done = reconfigure(hardened, before.replace("Nodes=compute_nodes", "Nodes=nosuch_nodes"))
    assert done.returncode == 1
    assert "slurmctld does not take these files, nothing was changed" in done.stderr
    assert "nosuch_nodes" in done.stderr
    assert live.read_text() == before
    assert hardened.job(job, "%T") == "RUNNING"


def test_a_right_change_reaches_it_while_jobs_run(hardened: Cluster) -> None:
    live = hardened.lab.work / "etc" / "slurm.conf"
    before = live.read_text()
    job = hardened.submit("alice", "--gres=gpu:1")
    hardened.wait_state(job, "RUNNING")
    done = reconfigure(hardened, before.replace("DefaultTime=00:10:00", "DefaultTime=00:12:00"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "DefaultTime=00:12:00" in hardened.head.run("scontrol", "show", "partition", "debug")
    assert hardened.job(job, "%T") == "RUNNING"
    assert reconfigure(hardened, before).returncode == 0
