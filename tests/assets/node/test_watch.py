"""The watch of a node, and a head node that is replaced."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from trainshed._assets import asset


@pytest.fixture
def node(tmp_path: Path) -> Path:
    for name, text in (
        ("getent", "cat address"),
        ("systemctl", 'echo "$*" >>calls'),
        ("chown", ""),
    ):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    (tmp_path / "calls").touch()
    return tmp_path


def follow(node: Path, address: str, port: int) -> list[str]:
    """Look at the head node's name once; return what was done since the beginning."""
    (node / "address").write_text(f"{address} STREAM head\n")
    script = asset("node", "watch.sh")
    # All of it but the call of main.
    source = f"sed '$d; s#/run/trainshed#{node}#; s#PORT=6817#PORT={port}#' '{script}'"
    subprocess.run(
        ["/bin/bash", "-c", f"source <({source}); follow_head head", script],
        env={"PATH": f"{node}/bin:/usr/bin:/bin"},
        cwd=node,
        check=True,
    )
    return (node / "calls").read_text().splitlines()


def test_slurmd_follows_another_head_node_once_that_has_slurmctld(node: Path) -> None:
    with socket.create_server(("127.0.0.3", 0)) as slurmctld:
        port = slurmctld.getsockname()[1]
        assert follow(node, "127.0.0.2", port) == []
        assert follow(node, "127.0.0.2", port) == []
        assert follow(node, "127.0.0.3", port) == ["restart slurmd.service"]
        assert follow(node, "127.0.0.3", port) == ["restart slurmd.service"]


def test_slurmd_stays_with_the_old_head_node_while_the_new_one_boots(node: Path) -> None:
    with socket.create_server(("127.0.0.3", 0)) as other:
        port = other.getsockname()[1]
        follow(node, "127.0.0.2", port)
        for _ in range(2):
            assert follow(node, "127.0.0.4", port) == []
        assert (node / "head-address").read_text() == "127.0.0.2\n"
        assert follow(node, "127.0.0.3", port) == ["restart slurmd.service"]
