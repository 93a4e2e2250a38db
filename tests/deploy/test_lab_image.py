"""The image of the lab's machines, whose making is stopped in the middle."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy.emulator.process import ROOT

pytestmark = pytest.mark.slurm
# Mounts as the real one does for the programs in the new root; the first is killed there.
MMDEBSTRAP = """#!/bin/sh
for root; do :; done
mkdir -p "$root/proc"
mount -t tmpfs none "$root/proc"
touch "$root/proc/mounted"
[ ! -e "$KILLED" ] || exit 0
touch "$KILLED"
kill -9 $PPID $$
"""


def test_what_a_killed_one_mounted_is_gone(tmp_path: Path) -> None:
    scripts, programs = tmp_path / "scripts", tmp_path / "bin"
    scripts.mkdir()
    programs.mkdir()
    shutil.copy(ROOT / "scripts" / "slurm_lab.sh", scripts)
    (programs / "mmdebstrap").write_text(MMDEBSTRAP)
    (programs / "mmdebstrap").chmod(0o755)
    made = tmp_path / ".cache" / "slurm" / "root-fleet.part"
    killed = tmp_path / "killed"

    def build() -> None:
        subprocess.run(
            ["scripts/slurm_lab.sh", "fleet"],
            cwd=tmp_path,
            env={"PATH": f"{programs}:{os.environ['PATH']}", "KILLED": str(killed)},
            capture_output=True,
            check=False,
        )

    build()
    try:
        assert killed.exists()
        assert str(made) not in Path("/proc/self/mounts").read_text()
        # The second begins anew, and is stopped by what this folder lacks.
        build()
        assert (made.with_name("root-fleet") / "packages").exists()
        assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
    finally:
        subprocess.run(["umount", "--lazy", str(made / "proc")], capture_output=True, check=False)
