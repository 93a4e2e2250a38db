"""The lab leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.slurm.lab.cluster import Cluster
from tests.slurm.lab.machines import Lab
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
CGROUPS = Path("/sys/fs/cgroup/pids")

# Boots a machine and waits to be killed.
VICTIM = """\
import sys, time
from pathlib import Path
from tests.slurm.lab.cluster import Cluster
from tests.slurm.lab.machines import Lab
with Lab(Path(sys.argv[1]), Path(sys.argv[2])) as lab:
    Cluster(lab)
    head = lab.boot("head", "10.77.0.1")
    head.start("munge")
    print("up", flush=True)
    time.sleep(600)
"""


def cgroups_of(pid: int) -> list[Path]:
    """Return the cgroups of a lab, named after the process that made it."""
    return list(CGROUPS.glob(f"trainshed-lab-{pid}-*"))


def processes_of(pid: int) -> list[str]:
    """Return the processes of a lab."""
    return [
        process
        for cgroup in cgroups_of(pid)
        for file in cgroup.rglob("cgroup.procs")
        for process in file.read_text().split()
    ]


def test_a_lab_that_is_killed_leaves_no_process_and_the_next_one_clears_up(
    slurm_root: Path, tmp_path: Path
) -> None:
    work = tmp_path / "victim"
    work.mkdir()
    victim = subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(work), str(slurm_root)],
        cwd=ROOT,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": f"{ROOT}:{ROOT}/constructs"},
        stdout=subprocess.PIPE,
        text=True,
    )
    with victim:
        assert victim.stdout is not None and victim.stdout.readline() == "up\n"
        assert processes_of(victim.pid)
        victim.kill()
    wait_until(lambda: not processes_of(victim.pid), "the end of the killed lab's processes")
    after = tmp_path / "after"
    after.mkdir()
    with Lab(after, slurm_root):
        assert cgroups_of(victim.pid) == []


def test_the_hosts_own_files_stay_as_they_are(slurm_root: Path, tmp_path: Path) -> None:
    before = Path("/etc/passwd").read_text(), Path("/etc/hosts").read_text()
    with Lab(tmp_path, slurm_root) as lab:
        Cluster(lab)
        head = lab.boot("head", "10.77.0.1")
        assert "mallory" in head.run("cat", "/etc/passwd")
        assert head.run("hostname") == "head"
    assert (Path("/etc/passwd").read_text(), Path("/etc/hosts").read_text()) == before
