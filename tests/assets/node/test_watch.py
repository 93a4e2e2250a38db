"""The watch of a node: a head node that is replaced, and one whose boot has failed."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest

from trainshed._assets import asset

SYSTEMCTL = """\
case $1 in
show) cat "$3" ;;
is-active) [[ -e keeper ]] ;;
*) echo "$*" >>calls ;;
esac"""
AGAIN = ["--no-block start trainshed-boot.service"]


@pytest.fixture
def node(tmp_path: Path) -> Path:
    for name, text in (
        ("getent", "cat address"),
        ("systemctl", SYSTEMCTL),
        ("aws", "cat holder"),
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
    return watch(node, "follow_head head", f"s/PORT=6817/PORT={port}/")


def watch(node: Path, call: str, changed: str = "") -> list[str]:
    """Call a function of the script; return what was done since the beginning."""
    script = asset("node", "watch.sh")
    # All of it but the call of main.
    places = "s#/run/trainshed#.#; s#/etc/trainshed#.#; s#/var/lib/trainshed#.#"
    source = f"sed '$d; {places}; {changed}' '{script}'"
    subprocess.run(
        ["/bin/bash", "-c", f"source <({source}); {call}", script],
        env={"PATH": f"{node}/bin:/usr/bin:/bin"},
        cwd=node,
        check=True,
    )
    return (node / "calls").read_text().splitlines()


@pytest.fixture
def head(node: Path) -> Path:
    """A head node, whose first boot failed more than five minutes ago, before it had its volume."""
    (node / "node.env").write_text(
        "TRAINSHED_ROLE='head'\nTRAINSHED_REGION='r'\nTRAINSHED_INSTANCE_ID='i-0new'\n"
    )
    (node / "fleet.json").write_text(json.dumps({"head": {"state_volume_id": "vol-1"}}))
    (node / "holder").write_text("None\n")
    boot_ended(node, "failed", 400)
    return node


def boot_ended(node: Path, state: str, seconds_ago: int) -> None:
    up = float(Path("/proc/uptime").read_text().split()[0])
    (node / "ActiveState").write_text(f"{state}\n")
    ended = int((up - seconds_ago) * 1_000_000)
    (node / "InactiveEnterTimestampMonotonic").write_text(f"{ended}\n")


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


@pytest.mark.parametrize("holder", ["None", "i-0new"], ids=["nobody", "this one"])
def test_a_head_node_whose_first_boot_failed_boots_again(head: Path, holder: str) -> None:
    (head / "holder").write_text(f"{holder}\n")
    assert watch(head, "main") == AGAIN


@pytest.mark.parametrize(
    ("state", "seconds_ago"),
    [("failed", 200), ("inactive", 400), ("activating", 400)],
    ids=["just failed", "ended well", "boots"],
)
def test_a_boot_that_did_not_fail_a_while_ago_is_left_alone(
    head: Path, state: str, seconds_ago: int
) -> None:
    boot_ended(head, state, seconds_ago)
    assert watch(head, "main") == []


def test_a_head_node_that_a_rollback_may_take_away_does_not_stop_the_one_that_serves(
    head: Path,
) -> None:
    (head / "holder").write_text("i-0old\n")
    assert watch(head, "main") == []
    (head / "bin/aws").write_text("#!/bin/bash\nexit 1\n")
    assert watch(head, "main") == [], "nor where it cannot be seen"


def test_a_boot_for_a_new_document_is_the_keepers_to_repeat(head: Path) -> None:
    (head / "keeper").touch()
    assert watch(head, "main") == []
    (head / "applied").touch()
    assert watch(head, "main") == AGAIN, "one that failed after a reboot"
