"""Real Slurm clusters, one of each version and preset, shared by the tests that ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.lab.cluster import (
    NODES,
    Cluster,
    parallelcluster_conf,
    policy_for_lab,
    write_policy,
)
from tests.slurm.lab.machines import Lab
from tests.sweep import SWEEP
from trainshed.slurm import SlurmPolicy

_HERE = Path(__file__).parent
_CACHE = _HERE.parents[1] / ".cache" / "slurm"
ROOTS = {"22.05": Path("/"), "24.11": _CACHE / "root-trixie", "26.05": _CACHE / "root-sid"}
"""Where the programs of each Slurm version are."""
# The longer sweep has the newest version too; scripts/slurm_lab.sh trixie sid brings it.
VERSIONS = list(ROOTS) if SWEEP else ["22.05", "24.11"]
# What a fleet's services do takes minutes; no fleet has a version as old as 22.05.
FLEET_VERSIONS = list(ROOTS) if SWEEP else ["24.11"]
# It needs the newest.
collect_ignore = [] if SWEEP else ["test_first_start.py"]

# The preset's own times would make a test of preemption take six minutes.
SHORT_TIMES = {
    "partitions": {"normal": {"grace_seconds": 8}, "priority": {"grace_seconds": 8}},
    "scheduler": {"kill_wait_seconds": 5},
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.slurm)


@pytest.fixture(scope="session", params=VERSIONS)
def slurm_root(request: pytest.FixtureRequest) -> Path:
    """Root of the programs of one Slurm version."""
    return _root(str(request.param))


@pytest.fixture(scope="session", params=FLEET_VERSIONS)
def fleet_root(request: pytest.FixtureRequest) -> Path:
    """Root of the programs of the version that is nearest to those of both fleets."""
    return _root(str(request.param))


@pytest.fixture(scope="session")
def accounting(slurm_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A head node with database and slurmdbd, without slurmctld."""
    with Lab(tmp_path_factory.mktemp("accounting"), slurm_root) as lab:
        cluster = Cluster(lab)
        # No partition of it names a QOS, so slurmctld starts on an empty database.
        policy = SlurmPolicy()
        write_policy(cluster, parallelcluster_conf(policy, cluster.version), policy)
        cluster.start_accounting()
        cluster.learn_resources()
        cluster.save_accounting()
        yield cluster


@pytest.fixture
def database(accounting: Cluster) -> Cluster:
    """The head node of ``accounting`` with nothing in its database but the cluster."""
    accounting.restore_accounting()
    return accounting


@pytest.fixture(scope="session")
def seed_session(slurm_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster under the seed's policy to the letter."""
    with Lab(tmp_path_factory.mktemp("seed"), slurm_root) as lab:
        yield _started(Cluster(lab), policy_for_lab("kait-seed"))


@pytest.fixture(scope="session")
def hardened_session(
    slurm_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster under the hardened policy, with a short grace time."""
    with Lab(tmp_path_factory.mktemp("hardened"), slurm_root) as lab:
        yield _started(Cluster(lab), policy_for_lab("kait-hardened", **SHORT_TIMES))


@pytest.fixture
def seed(seed_session: Cluster) -> Iterator[Cluster]:
    """The cluster under the seed's policy, empty before and after."""
    yield seed_session
    seed_session.cancel_all()


@pytest.fixture(scope="session")
def one_minute_job(hardened_session: Cluster) -> str:
    """A debug job of erin's with a limit of a minute; it runs while other tests do."""
    # On the node that no test asks for by name.
    options = ("-p", "debug", "-t", "1", "--gres=gpu:1", "-c", "1", "-w", NODES[3])
    return hardened_session.submit("erin", *options)


@pytest.fixture
def hardened(hardened_session: Cluster, one_minute_job: str) -> Iterator[Cluster]:
    """The cluster under the hardened policy, empty before and after."""
    yield hardened_session
    hardened_session.cancel_all()


def _root(version: str) -> Path:
    root = ROOTS[version]
    assert (root / "usr/sbin/slurmctld").exists(), "run scripts/slurm_lab.sh trixie sid"
    return root


def _started(cluster: Cluster, policy: SlurmPolicy) -> Cluster:
    """Start a cluster in the two phases that Slurm needs."""
    write_policy(cluster, parallelcluster_conf(policy, cluster.version), policy)
    cluster.start_accounting()
    cluster.apply(policy)
    cluster.start()
    # slurmctld has made the resource gres/gpu known; now its caps can be set.
    cluster.apply(policy)
    return cluster
