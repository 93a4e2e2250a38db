"""Nodes that join under any name, as those of trainshed's own fleet do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.lab.cluster import LAB_SETTINGS, P5EN, Cluster, policy_for_lab, write_policy
from tests.slurm.lab.machines import Lab
from tests.waiting import wait_until
from trainshed.slurm import BareCluster, NodeGroup, accounting_document, node_settings, slurm_conf

TRAIN = NodeGroup("train", P5EN, 4)
# A name that the lab's hosts file knows; slurm.conf does not.
NODE = "compute-st-kait-gpu-1"


def joined(lab: Lab, more: str = "", topology: str = "") -> Cluster:
    """Start a cluster whose one node joins by itself."""
    cluster = Cluster(lab)
    policy = policy_for_lab("kait-hardened")
    extra = {key: value for key, value in LAB_SETTINGS.items() if key != "SlurmdTimeout"}
    bare = BareCluster(
        "kait",
        "head",
        configless=False,
        prolog=None,
        task_prolog=None,
        health_check=None,
        slurm_version=cluster.version,
        extra=extra,
    )
    write_policy(cluster, slurm_conf(policy, [TRAIN], bare) + more, policy)
    if topology:
        cluster.write_conf(topology_conf=topology)
    cluster.start_accounting()
    document = accounting_document(policy, [TRAIN], cluster="kait")
    (lab.work / "etc" / "policy.json").write_text(json.dumps(document))
    cluster.reconcile("apply")
    cluster.head.start("slurmctld")
    node = lab.boot(NODE, "10.77.0.11", gpus=8)
    node.start("munge")
    hardware = " ".join(f"{key}={value}" for key, value in node_settings(TRAIN))
    node.start("slurmd", "-Z", "-N", NODE, "--conf", hardware)
    wait_until(lambda: NODE in cluster.head.run("sinfo", "-hNt", "idle"), "the node to be idle")
    return cluster


@pytest.fixture(scope="module")
def joining(slurm_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with one node that joined."""
    with Lab(tmp_path_factory.mktemp("joining"), slurm_root) as lab:
        yield joined(lab)


def test_a_job_runs_on_a_node_that_joined(joining: Cluster) -> None:
    job = joining.submit("alice", "--gres=gpu:1")
    joining.wait_state(job, "RUNNING")
    assert joining.job(job, "%N") == NODE
    joining.cancel_all()


def test_trainsheds_own_partition_is_for_root_alone(joining: Cluster) -> None:
    command = ("srun", "-p", "trainshed", "--gres=gpu:8", "-c", "1", "--mem=1G", "hostname")
    assert joining.head.run(*command) == NODE
    assert joining.refusal("alice", "-p", "trainshed", "--gres=gpu:1")


def test_users_do_not_see_trainsheds_own_partition(joining: Cluster) -> None:
    assert "trainshed" not in joining.head.run("sinfo", "-ho", "%P", user="alice")
    assert "trainshed" in joining.head.run("sinfo", "-aho", "%P")


@pytest.mark.parametrize(
    "topology",
    [f"SwitchName=train Nodes={NODE}\n", "SwitchName=train Nodes=train_nodes\n"],
    ids=["by name", "by node set"],
)
def test_under_a_tree_topology_a_node_that_joined_gets_no_job(
    slurm_root: Path, tmp_path: Path, topology: str
) -> None:
    with Lab(tmp_path, slurm_root) as lab:
        cluster = joined(lab, "TopologyPlugin=topology/tree\n", topology)
        said = cluster.refusal("alice", "--gres=gpu:1")
        assert "configuration is not available" in said
