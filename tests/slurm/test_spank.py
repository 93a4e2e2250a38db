"""What build_containers.sh builds works in the Slurm whose headers it had, and in no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.conftest import ROOTS
from tests.slurm.fleet.containers import VERSIONS, build
from tests.slurm.lab.cluster import NODES, Cluster, parallelcluster_conf, write_policy
from tests.slurm.lab.machines import Lab
from trainshed.slurm import SlurmPolicy

IMAGE = ("timeout", "60", "srun", "--container-image=lab.sqsh", "--mem=10")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What the shipped script builds, by Slurm version."""
    return {version: build(version, tmp_path_factory.mktemp("build")) for version in VERSIONS}


@pytest.fixture(params=VERSIONS)
def cluster(
    request: pytest.FixtureRequest, tmp_path: Path, built: dict[str, Path]
) -> Iterator[tuple[str, Cluster]]:
    """A head node and a node of one version, with the plugins of both."""
    version = str(request.param)
    with Lab(tmp_path, ROOTS[version]) as lab:
        cluster = Cluster(lab)
        policy = SlurmPolicy()
        write_policy(cluster, parallelcluster_conf(policy, cluster.version), policy)
        for name, made in built.items():
            plugin = lab.work / "etc" / f"pyxis-{name}.so"
            plugin.write_bytes((made / "root/usr/local/lib/slurm/spank_pyxis.so").read_bytes())
        cluster.write_conf(
            plugstack_conf=f"optional /etc/slurm/pyxis-{version}.so runtime_path=/run/pyxis\n"
        )
        cluster.start_accounting()
        cluster.start(NODES[:1])
        yield version, cluster


def test_what_is_built_says_for_which_slurm(built: dict[str, Path]) -> None:
    for version, made in built.items():
        assert (made / "slurm-version").read_text().strip() == version
        # Nothing that is installed knows where it was built.
        assert "/mnt/built" not in (made / "root/usr/bin/enroot").read_text()


def test_a_job_reaches_the_plugin_of_its_own_slurm(cluster: tuple[str, Cluster]) -> None:
    version, made = cluster
    said = made.head.run(*IMAGE, "bash", "-c", "echo $LAB_IMAGE $LAB_RUNTIME")
    assert said == "lab.sqsh /run/pyxis"
    other = next(name for name in VERSIONS if name != version)
    made.write_conf(plugstack_conf=f"required /etc/slurm/pyxis-{other}.so\n")
    refused = made.head.try_run(*IMAGE, "true")
    assert refused.returncode and "Incompatible" in refused.stderr


def test_a_commit_that_is_not_there_is_not_built(tmp_path: Path) -> None:
    with pytest.raises(
        RuntimeError, match=r"build_containers: file:///mnt/pyxis has no commit b{40}"
    ):
        build("24.11", tmp_path, wrong_commit=True)
    assert not (tmp_path / "built").exists()
