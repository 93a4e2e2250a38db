"""Packages from the mirror and from the cache, and a cache that is damaged."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import wait_until

from .image import PACKAGES, bare_image
from .lab import FleetLab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetLab]:
    """A lab whose image has no Slurm, and a mirror that has what the cache has."""
    work = tmp_path_factory.mktemp("packages")
    mirror = tmp_path_factory.mktemp("mirror")
    subprocess.run(["tar", "-xf", str(PACKAGES), "-C", str(mirror)], check=True)
    with FleetLab(work, bare_image(work)) as lab:
        lab.aws.packages = mirror
        yield lab


def damaged() -> tuple[bytes, str]:
    """Return a package cache with a flipped bit in one package, and the name of that."""
    made = io.BytesIO()
    name = ""
    with tarfile.open(PACKAGES) as good, tarfile.open(fileobj=made, mode="w") as bad:
        for entry in good:
            file = good.extractfile(entry)
            data = file.read() if file else b""
            if entry.name.startswith("./munge_"):
                name, data = entry.name.removeprefix("./"), bytes([data[0] ^ 1]) + data[1:]
            bad.addfile(entry, io.BytesIO(data) if file else None)
    return made.getvalue(), name


def test_a_damaged_package_is_named_and_nothing_installed(lab: FleetLab) -> None:
    data, name = damaged()
    lab.document["packages"] = lab.put("packages.tar", data)
    lab.publish()
    node = lab.launch("login")
    record = lab.wait_failed(node)
    assert (record["node"], record["step"]) == (node.name, "packages")
    assert record["reason"] == (
        "install_packages: the package cache is damaged, see above; nothing was installed"
    )
    assert f"{name}: FAILED" in record["tail"]
    assert "fleet.slurm.packages" in record["remedy"]
    assert node.machine.try_run("dpkg-query", "-W", "munge").returncode
    lab.document["packages"] = lab.put("packages.tar", PACKAGES.read_bytes())
    lab.publish()
    lab.boot_again(node)
    lab.wait_booted(node)
    assert lab.failure(node) is None
    assert node.machine.run("sinfo", "--version") == "slurm-wlm 24.11.5"
    lab.power_off(node)


def test_an_installation_that_is_killed_is_finished_by_the_next_boot(lab: FleetLab) -> None:
    lab.document["packages"] = lab.put("packages.tar", PACKAGES.read_bytes())
    lab.publish()
    node = lab.launch("login")
    unpacked = node.machine.files / "usr/sbin/munged"
    wait_until(unpacked.exists, lambda: lab.boot_log(node), 120, 0.002)
    assert lab.kill_boot(node)
    assert node.machine.run("dpkg", "--audit"), "dpkg was not in the middle of it"
    wait_until(lambda: lab.boot_ended(node), "the end of the boot", 60)
    lab.boot_again(node)
    lab.wait_booted(node)
    assert node.machine.run("dpkg", "--audit") == ""
    assert node.machine.run("sinfo", "--version") == "slurm-wlm 24.11.5"
    lab.power_off(node)


def test_the_mirror_serves_a_node_without_a_cache(lab: FleetLab) -> None:
    lab.document["packages"] = None
    lab.publish()
    node = lab.launch("login")
    lab.wait_booted(node)
    assert node.machine.run("sinfo", "--version") == "slurm-wlm 24.11.5"
    held = node.machine.run("apt-mark", "showhold").split()
    assert {"munge", "slurm-client", "linux-image-aws"} <= set(held)
    # Nothing has been left that would keep other packages from starting their daemons.
    assert not (node.machine.files / "usr/sbin/policy-rc.d").exists()
    lab.power_off(node)


def test_another_slurm_than_the_pinned_one_is_refused(lab: FleetLab) -> None:
    lab.document["slurm_version"] = "23.11"
    lab.publish()
    node = lab.launch("login")
    record = lab.wait_failed(node)
    assert record["reason"] == (
        "install_packages: the packages offered have Slurm 24.11.5-4+deb13u1, "
        "the fleet is pinned to 23.11"
    )
    assert Path(node.machine.files / "usr/bin/sinfo").exists() is False
    lab.power_off(node)
