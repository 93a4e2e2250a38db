"""Throw-away copies of a root, without a network, in which a script of the node runs as root."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .image import CACHE

_SCRIPT = Path(__file__).with_name("sandbox.sh")
BUILD_ROOTS = {
    "22.05": CACHE / "root-build-bookworm",
    "24.11": CACHE / "root-build-trixie",
}
"""Roots with a compiler and the headers of a Slurm version; scripts/slurm_lab.sh makes them."""


def run(root: Path, work: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command on a copy of a root.

    Args:
        root: The root.
        work: Directory of the caller's, at ``/mnt`` there; what is written lies in ``upper``.
        command: The command.
    """
    namespaces = ["unshare", "--mount", "--net", "--pid", "--fork"]
    return subprocess.run(
        [*namespaces, str(_SCRIPT), str(root), str(work), *command],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/root"},
    )
