"""Which configuration a head node begins with: the deployed one, or that of the head before it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from assets.node.keeper.apply import partitions
from tests.assets.programs import program
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


def run(head: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", head / "bin/slurm_files.sh", head / "new"],
        env={"PATH": f"{head}/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def begin(head: Path) -> tuple[str, str]:
    """Run the script; return what it said, and whose files are in place."""
    done = run(head)
    assert done.returncode == 0, done.stderr
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


def test_files_that_could_not_be_tried_are_tried_again(head: Path) -> None:
    """Else the partition went with its jobs because of a full /tmp."""
    with (head / "state/slurm/slurm.conf").open("a") as file:
        file.write("PartitionName=a Nodes=x\n")
    program(head / "bin/dry_run.sh", "echo slurmctld did not come up; exit 2")
    done = run(head)
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "slurmctld did not come up\n",
        f"slurm_files: partition a is kept in {head}/state/slurm, and whether this Slurm takes the "
        "files there could not be tried, see above: make room in /tmp and memory, it is tried "
        "again in 5 minutes; or take slurm.conf away there if no job runs in a\n",
    )
    assert (head / "var/lib/trainshed/applied").exists()
    assert not (head / "etc/slurm").exists()


@pytest.mark.parametrize("name", ["gres.conf", "cgroup.conf"])
def test_a_kept_file_that_is_missing_is_told_before_anything_changes(head: Path, name: str) -> None:
    with (head / "state/slurm/slurm.conf").open("a") as file:
        file.write("PartitionName=a Nodes=x\n")
    kept = head / "state/slurm"
    (kept / name).unlink()
    done = run(head)
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        f"slurm_files: partition a is kept in {kept}/slurm.conf, and {kept}/{name} is missing; "
        f"put it back (cp {head}/new/{name} {kept}/), or take slurm.conf away there if no job runs "
        "in a, and start trainshed-boot again\n",
    )
    assert (head / "var/lib/trainshed/applied").exists()
    assert not (head / "etc/slurm").exists()
    shutil.copy(head / "new" / name, kept)
    assert run(head).returncode == 0
    assert (head / "etc/slurm/slurm.conf").read_bytes() == (kept / "slurm.conf").read_bytes()


def test_a_kept_file_that_nothing_needs_may_be_missing(head: Path) -> None:
    (head / "state/slurm/gres.conf").unlink()
    assert begin(head)[1] == "deployed"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (COMMON, {"train"}),
        ("PartitionName=default State=UP\nPARTITIONNAME=Default\n", set()),
        ("  partitionname=b Nodes=x\n\tPartitionName=c\nPartitionName=b\n", {"b", "c"}),
        ("#PartitionName=a\nNodeName=x\nPartitionName=defaults", {"defaults"}),
        ("", set()),
        (None, set()),
    ],
)
def test_the_keeper_and_the_boot_see_the_same_partitions(
    tmp_path: Path, text: str | None, names: set[str]
) -> None:
    if text is not None:
        (tmp_path / "slurm.conf").write_text(text)
    script = asset("node", "slurm_files.sh")
    # All of it but the call of main.
    call = f"source <(sed '$d' '{script}'); partitions '{tmp_path}'"
    said = subprocess.check_output(["/bin/bash", "-c", call, script], text=True).split()
    assert said == sorted(names)
    assert partitions(tmp_path) == names
