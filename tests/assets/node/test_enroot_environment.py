"""Enroot's hook: what a job has set of the node's values reaches its container, nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from trainshed._assets import asset

HOOK = asset("node", "enroot_environment.sh")
NODES = "# of the node\n\nNCCL_SOCKET_IFNAME=^lo,docker,veth\nFI_EFA_USE_HUGE_PAGE=0\n"
IMAGES = "PATH=/usr/bin\nNCCL_SOCKET_IFNAME=ib0\n"


def written(folder: Path, job: dict[str, str], after: str = "") -> str:
    """Run the hook on what Enroot has written so far; return what it adds."""
    nodes, file = folder / "50-trainshed.env", folder / "environ"
    nodes.write_text(NODES)
    before = IMAGES + "".join(f"{line}\n" for line in NODES.splitlines() if "=" in line) + after
    file.write_text(before)
    subprocess.run(
        [HOOK, nodes],
        env={"PATH": "/usr/bin:/bin", "ENROOT_ENVIRON": str(file), **job},
        check=True,
    )
    return file.read_text().removeprefix(before)


@pytest.mark.parametrize(
    ("job", "after", "adds"),
    [
        pytest.param({}, "", "", id="nothing"),
        pytest.param({"NCCL_SOCKET_IFNAME": "^lo,docker,veth"}, "", "", id="the node's own value"),
        pytest.param({"NCCL_SOCKET_IFNAME": "eth 0"}, "", "NCCL_SOCKET_IFNAME=eth 0\n", id="set"),
        pytest.param({"FI_EFA_USE_HUGE_PAGE": ""}, "", "FI_EFA_USE_HUGE_PAGE=\n", id="empty"),
        pytest.param({"NCCL_DEBUG": "INFO"}, "", "", id="a value that the node has not"),
        pytest.param(
            {"NCCL_SOCKET_IFNAME": "eth0"},
            "NCCL_SOCKET_IFNAME=eth1\n",
            "",
            id="set, and set for the container by the user",
        ),
    ],
)
def test_a_container_has_what_its_job_has_set(
    tmp_path: Path, job: dict[str, str], after: str, adds: str
) -> None:
    assert written(tmp_path, job, after) == adds


def test_a_node_without_values_has_nothing_for_a_container(tmp_path: Path) -> None:
    subprocess.run([HOOK, tmp_path / "none"], env={"PATH": "/usr/bin:/bin"}, check=True)
