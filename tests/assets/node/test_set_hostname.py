"""A node knows its own names without a resolver."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from trainshed._assets import asset

LOCAL = "127.0.0.1 localhost\n"
DNS_NAME = "head.kait.trainshed.internal"
OWN = f"10.0.0.9 head\n10.0.0.9 {DNS_NAME}\n"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node as EC2 starts it, at 10.0.0.9."""
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    shutil.copy(asset("node", "common.sh"), bin_dir)
    text = Path(asset("node", "set_hostname.sh")).read_text()
    (bin_dir / "set_hostname.sh").write_text(text.replace("/etc/", f"{tmp_path}/etc/"))
    for name, body in (
        ("hostname", f'[[ $# == 1 ]] && echo "$1" >"{tmp_path}/kernel" || cat "{tmp_path}/kernel"'),
        ("ip", 'echo "$5 via 10.0.0.1 dev ens5 src 10.0.0.9 uid 0"'),
        ("chown", ""),
    ):
        (bin_dir / name).write_text(f"#!/bin/bash\n{body}\n")
        (bin_dir / name).chmod(0o755)
    (tmp_path / "kernel").write_text("ip-10-0-0-9\n")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hosts").write_text(f"{LOCAL}127.0.1.1 ip-10-0-0-9\n")
    return tmp_path


def run(node: Path, *names: str) -> str:
    """Run the step; return /etc/hosts."""
    subprocess.run(
        ["/bin/bash", node / "bin/set_hostname.sh", *names],
        env={"PATH": f"{node}/bin:/usr/bin:/bin"},
        check=True,
    )
    return (node / "etc/hosts").read_text()


def test_a_head_node_has_its_dns_name_in_its_own_file(node: Path) -> None:
    assert run(node, "head", DNS_NAME) == LOCAL + OWN
    assert (node / "kernel").read_text() == (node / "etc/hostname").read_text() == "head\n"


def test_another_node_has_its_name_alone(node: Path) -> None:
    assert run(node, "train-0abc") == f"{LOCAL}10.0.0.9 train-0abc\n"


@pytest.mark.parametrize(
    "found",
    [
        LOCAL + OWN,
        f"{LOCAL}10.0.0.9 head\n",
        f"{LOCAL}10.0.0.8 head\n10.0.0.8 {DNS_NAME}\n",
        f"{LOCAL}127.0.1.1 head\n",
    ],
    ids=["whole", "an older release's", "of another address", "cloud-init's own"],
)
def test_a_second_boot_ends_with_the_same_lines(node: Path, found: str) -> None:
    (node / "etc/hosts").write_text(found)
    assert run(node, "head", DNS_NAME) == LOCAL + OWN
    inode = (node / "etc/hosts").stat().st_ino
    run(node, "head", DNS_NAME)
    assert (node / "etc/hosts").stat().st_ino == inode, "and then writes nothing"
