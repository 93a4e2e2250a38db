"""Institution files of backend slurm: what is rendered of them, and what is refused at its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainshed.cli import main
from trainshed.cli.checked import load_checked
from trainshed.config import ConfigError

BARE = Path(__file__).parents[3] / "institutions" / "bare.yaml"


def changed(folder: Path, old: str, new: str) -> Path:
    text = BARE.read_text()
    assert text.count(old) == 1
    path = folder / "bare.yaml"
    path.write_text(text.replace(old, new))
    return path


def test_every_file_of_a_cluster_is_rendered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", str(BARE), "--out", str(tmp_path)]) == 0
    written = {Path(line) for line in capsys.readouterr().out.split()}
    assert written == {path for path in tmp_path.rglob("[!.]*") if path.is_file()}
    document = json.loads((tmp_path / "fleet.json").read_text())
    assert document["queues"]["train"]["asg"] == "${Group-train}"
    assert document["queues"]["train"]["start"] == "2027-03-01T11:30:00Z"
    assert "NodeSet=train_nodes" in (tmp_path / "slurm.conf").read_text()
    assert (tmp_path / "expect" / "p5en.48xlarge.json").exists()
    assert not (tmp_path / "cluster-config.yaml").exists()


def test_a_database_that_is_made_has_names_in_the_place_of_what_aws_gives(tmp_path: Path) -> None:
    path = changed(
        tmp_path,
        "  slurm:\n",
        "  accounting: {create: {second_zone: us-east-1b}}\n  slurm:\n",
    )
    assert main(["render", str(path), "--out", str(tmp_path / "out")]) == 0
    document = json.loads((tmp_path / "out" / "fleet.json").read_text())
    assert document["accounting"]["host"].startswith("${")
    assert document["accounting"]["user"] == "slurm"


REFUSED = {
    "another backend's key": (
        "  slurm:\n",
        "  parallelcluster: {removal: retain}\n  slurm:\n",
        "fleet.parallelcluster.removal: is for backend parallelcluster, and backend is slurm; "
        "leave it out, or change backend",
    ),
    "isolated without packages": (
        "  vpc: {cidr: 10.1.0.0/16}",
        "  vpc: {cidr: 10.1.0.0/16, internet: isolated}",
        "fleet.slurm.packages: is missing, and nodes without internet have nowhere to install "
        "Slurm from; build a package cache and name it here",
    ),
    "key of ParallelCluster": (
        "      max_nodes: 4\n",
        "      max_nodes: 4\n      resource_name: gpu\n",
        "fleet.queues.train.resource_name: is gpu; nodes are called train and their instance id: "
        "leave it out",
    ),
    "policy": (
        "  slurm:\n",
        "  policy: {partitions: {every: {node_names: 'train-[1-4]'}}}\n  slurm:\n",
        "fleet.policy.partitions.every.node_names: is train-[1-4]; nodes of the bare fleet come "
        "and go under new names: use queues",
    ),
}


@pytest.mark.parametrize(("old", "new", "message"), REFUSED.values(), ids=list(REFUSED))
def test_it_is_refused_at_its_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = changed(tmp_path, old, new)
    with pytest.raises(ConfigError) as refused:
        load_checked(path)
    lines = [line for line in str(refused.value).splitlines() if line.endswith(message)]
    assert len(lines) == 1
    assert int(lines[0].removeprefix(f"{path}:").split(":")[0]) > 1


def test_the_cluster_may_be_called_like_a_stack(tmp_path: Path) -> None:
    """Only ParallelCluster makes a stack of the cluster's name."""
    path = changed(tmp_path, "  backend: slurm", "  backend: slurm\n  cluster_name: bare-cluster")
    assert load_checked(path).cluster_name == "bare-cluster"
