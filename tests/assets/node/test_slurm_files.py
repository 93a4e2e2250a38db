"""Which configuration a head node begins with: the deployed one, or that of the head before it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from trainshed._assets import asset

FILES = ("slurm.conf", "gres.conf", "cgroup.conf")
COMMON = "PartitionName=DEFAULT State=UP\nPartitionName=train Nodes=x\n"
PLACES = ("/etc/slurm", "/state/slurm", "/var/lib/trainshed")


@pytest.fixture
def head(tmp_path: Path) -> Path:
    """A head node that is to begin with another slurm.conf than the state volume keeps."""
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    shutil.copy(asset("node", "common.sh"), bin_dir)
    text = Path(asset("node", "slurm_files.sh")).read_text()
    for place in PLACES:
        text = text.replace(place, f"{tmp_path}{place}")
    (bin_dir / "slurm_files.sh").write_text(text)
    program(bin_dir / "systemctl", "exit 3")
    program(bin_dir / "chown", "")
    program(bin_dir / "dry_run.sh", "")
    for folder, kept in (("new", "deployed"), ("state/slurm", "kept")):
        (tmp_path / folder).mkdir(parents=True)
        for name in FILES:
            (tmp_path / folder / name).write_text(f"# {kept}\n{COMMON}")
    (tmp_path / "var/lib/trainshed").mkdir(parents=True)
    (tmp_path / "var/lib/trainshed/applied").touch()
    return tmp_path


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def begin(head: Path) -> tuple[str, str]:
    """Run the script; return what it said, and whose files are in place."""
    done = subprocess.run(
        ["/bin/bash", head / "bin/slurm_files.sh", head / "new"],
        env={"PATH": f"{head}/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    files = {(head / "etc/slurm" / name).read_text().split()[1] for name in FILES}
    assert len(files) == 1, "all of one deployment"
    return done.stdout, files.pop()


def test_a_head_node_that_loses_no_partition_begins_with_what_is_deployed(head: Path) -> None:
    with (head / "new/slurm.conf").open("a") as file:
        file.write("PartitionName=more Nodes=x\n")
    assert begin(head)[1] == "deployed"
    shutil.rmtree(head / "state")
    assert begin(head)[1] == "deployed", "the first of a cluster"


def test_a_head_node_keeps_a_partition_until_the_keeper_has_looked_for_its_jobs(
    head: Path,
) -> None:
    with (head / "state/slurm/slurm.conf").open("a") as file:
        file.write("  partitionname=b Nodes=x\nPartitionName=a,c Nodes=x\n")
    said, files = begin(head)
    assert files == "kept"
    assert said.startswith("slurm_files: partition a,b stays for now; the keeper takes it away")
    # Else the keeper of a head node that comes back would take what it has for what is deployed.
    assert not (head / "var/lib/trainshed/applied").exists()


def test_files_that_this_slurm_does_not_take_are_not_kept(head: Path) -> None:
    with (head / "state/slurm/slurm.conf").open("a") as file:
        file.write("PartitionName=a Nodes=x\n")
    program(head / "bin/dry_run.sh", "echo error: no such setting; exit 1")
    said, files = begin(head)
    assert files == "deployed" and "error: no such setting" in said
    assert (head / "var/lib/trainshed/applied").exists()
