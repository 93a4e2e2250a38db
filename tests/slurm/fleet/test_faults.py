"""Faults at boot: the record names node, step and remedy; once mended, the same boot ends well."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.waiting import wait_until
from trainshed.slurm_fleet.archive import archive

from .files import HEAD_HOST
from .lab import FleetLab, Node

LOCK = """\
import fcntl, pathlib, time
with open("/var/lib/dpkg/lock-frontend", "r+b") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    pathlib.Path("/run/lab-held").touch()
    time.sleep(600)
"""


@pytest.fixture
def spare(fleet: tuple[FleetLab, Node, list[Node]]) -> Iterator[tuple[FleetLab, Node]]:
    """A node of the fleet for a fault, booted and idle again after it."""
    lab, _, nodes = fleet
    node = nodes[-1]
    yield lab, node
    lab.boot_again(node)
    assert lab.failure(node) is None, "a boot that ends well takes the record away"
    lab.wait_idle(node)


def failed_step(lab: FleetLab, node: Node, step: str) -> str:
    """Boot a node again; return what its record says of the step that has failed."""
    lab.boot_again(node)
    record = lab.failure(node)
    assert record is not None, lab.boot_log(node)
    assert (record["node"], record["instance_id"], record["step"]) == (
        node.name,
        node.instance_id,
        step,
    ), record
    assert record["remedy"] and record["tail"].endswith(record["reason"] + "\n")
    return str(record["reason"])


def test_another_munge_key_is_named(spare: tuple[FleetLab, Node]) -> None:
    lab, node = spare
    secrets = lab.aws.client("secretsmanager")
    right = secrets.get_secret_value(SecretId=lab.munge_secret)["SecretString"]
    secrets.put_secret_value(SecretId=lab.munge_secret, SecretString="0" * 128)
    try:
        node.machine.run("systemctl", "stop", "slurmd")
        reason = failed_step(lab, node, "slurmd")
    finally:
        secrets.put_secret_value(SecretId=lab.munge_secret, SecretString=right)
    assert reason == (
        f"slurmd: the head node {HEAD_HOST} refuses the credentials of {node.name}: "
        "another munge key, or a clock that is off"
    )


def test_a_munge_key_that_is_too_short_is_refused(spare: tuple[FleetLab, Node]) -> None:
    lab, node = spare
    secrets = lab.aws.client("secretsmanager")
    right = secrets.get_secret_value(SecretId=lab.munge_secret)["SecretString"]
    secrets.put_secret_value(SecretId=lab.munge_secret, SecretString="short")
    try:
        reason = failed_step(lab, node, "munge")
    finally:
        secrets.put_secret_value(SecretId=lab.munge_secret, SecretString=right)
    assert "has 5 bytes; a munge key has 32 or more" in reason


def test_a_clock_that_is_ten_minutes_off_keeps_a_node_out(spare: tuple[FleetLab, Node]) -> None:
    lab, node = spare
    lab.aws.clock_offset_seconds = 600
    try:
        reason = failed_step(lab, node, "clock")
    finally:
        lab.aws.clock_offset_seconds = 0
    found = re.fullmatch(
        r"wait_clock: the clock is (-?\d+)\.\d+ s off 169\.254\.169\.123 after 30 s", reason
    )
    assert found and abs(int(found[1])) in (599, 600), reason


def test_a_file_system_that_does_not_answer_is_named(spare: tuple[FleetLab, Node]) -> None:
    lab, node = spare
    node.machine.run("umount", "/fsx")
    shared = lab.work / "fsx" / "fs"
    shared.rename(shared.with_name("away"))
    try:
        reason = failed_step(lab, node, "mount-fsx")
    finally:
        shared.with_name("away").rename(shared)
    assert reason == "mount_lustre: fs@tcp:/lab cannot be mounted at /fsx"
    assert "No route to host" in lab.boot_log(node)


def test_a_package_manager_that_is_held_is_named_with_its_holder(
    spare: tuple[FleetLab, Node],
) -> None:
    _, node = spare
    node.machine.run("systemd-run", "--unit=held", "python3", "-c", LOCK)
    wait_until((node.machine.files / "run/lab-held").exists, "the lock")
    script = "/opt/trainshed/current/wait_apt.sh"
    try:
        said = node.machine.try_run(script, "3", seconds=60)
    finally:
        node.machine.run("systemctl", "stop", "held")
    assert said.returncode == 1
    assert said.stderr.startswith(
        "wait_apt: /var/lib/dpkg/lock-frontend is held after 3 s by process "
    )
    assert "python3" in said.stderr
    assert node.machine.run(script, "3", seconds=60) == "wait_apt: free"


def test_scripts_with_another_checksum_do_not_run(spare: tuple[FleetLab, Node]) -> None:
    lab, node = spare
    scripts = lab.document["scripts"]
    lab.document["scripts"] = {**scripts, "sha256": "0" * 64}
    lab.write_document()
    try:
        reason = failed_step(lab, node, "scripts")
    finally:
        lab.document["scripts"] = scripts
        lab.write_document()
    assert "is not the file that was deployed; its SHA-256 is another" in reason


def test_a_file_that_may_not_be_read_yet_is_waited_for(spare: tuple[FleetLab, Node]) -> None:
    lab, node = spare
    files = lab.document["files"]
    newer = lab.put("files.zip", archive({**lab.files.written(), "newer": b""}).data)
    # The document of an update, before the node's role has the right to what it names.
    lab.document["files"] = newer
    lab.aws.refuse = lambda action: "AccessDenied" if newer["key"] in action else None
    try:
        lab.write_document()
        node.machine.run("systemctl", "restart", "--no-block", "trainshed-boot")
        waits = "the fleet document is read again in 15 s"
        wait_until(lambda: waits in lab.boot_log(node), lambda: lab.boot_log(node))
        assert lab.failure(node) is None
        lab.aws.refuse = lambda action: None
        lab.wait_booted(node)
        assert (node.machine.files / "etc/trainshed/files/newer").exists()
    finally:
        lab.aws.refuse = lambda action: None
        lab.document["files"] = files
        lab.write_document()
    asked = [action for action in lab.aws.calls if newer["key"] in action]
    # A busy machine takes more readings; none asks more than a few times for one file.
    readings = lab.boot_log(node).count(waits) + 1
    assert len(asked) <= 10 * readings, asked
