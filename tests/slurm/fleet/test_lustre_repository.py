"""lustre_client.sh installs FSx's client from a signed repository by apt, or says why it cannot."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.lab.machines import Machine

from .bench import SCRIPTS, Bench, Signer, make_package, make_repository

SCRIPT = f"{SCRIPTS}/lustre_client.sh"
KEYS = "fsx-lustre-client-repo-public-keys.s3.amazonaws.com"
PACKAGES = "fsx-lustre-client-repo.s3.amazonaws.com"
KERNEL = os.uname().release
OTHERS = ("6.8.0-1039-aws", "6.8.0-1040-aws")
# Any module that modinfo can read.
_MODULE = next(Path("/usr/lib/uml/modules").rglob("raid0.ko"))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bench, Signer]]:
    """FSx's repository, signed with a key of the lab's."""
    work = tmp_path_factory.mktemp("lustre")
    with Bench(work, (KEYS, PACKAGES)) as bench:
        signer = Signer(work / "gpg")
        (bench.site / KEYS / "fsx-ubuntu-public-key.asc").write_bytes(signer.public)
        root = bench.site / PACKAGES / "ubuntu"
        root.mkdir()
        make_package(root, "lustre-client-utils", {"usr/sbin/mount.lustre": b"#!/bin/sh\n"})
        for kernel in (KERNEL, *OTHERS):
            files = {
                f"usr/lib/modules/{kernel}/updates/lustre.ko": _MODULE.read_bytes(),
                "DEBIAN/postinst": f"#!/bin/sh\nexec depmod {kernel}\n".encode(),
            }
            make_package(
                root, f"lustre-client-modules-{kernel}", files, Depends="lustre-client-utils"
            )
        make_repository(root, "noble", signer)
        yield bench, signer
        signer.close()


@pytest.fixture
def machine(repository: tuple[Bench, Signer]) -> Iterator[Machine]:
    """An Ubuntu without a Lustre client, which knows the lab's key as FSx's."""
    bench, signer = repository
    machine = bench.start()
    release = machine.files / "usr/lib/os-release"
    release.write_text('ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n')
    for program in ("usr/sbin/mount.lustre", "usr/local/sbin/modinfo"):
        (machine.files / program).unlink()
    script = machine.files / SCRIPT.lstrip("/")
    lines = [
        f"readonly FINGERPRINT={signer.fingerprint}" if "FINGERPRINT=" in line else line
        for line in script.read_text().splitlines()
    ]
    script.write_text("\n".join([*lines, ""]))
    yield machine
    machine.power_off()


def test_the_client_of_the_running_kernel_is_installed_once(machine: Machine) -> None:
    said = machine.run(SCRIPT)
    assert said.splitlines()[-1] == f"lustre_client: installed for kernel {KERNEL}"
    assert machine.run("modinfo", "-F", "filename", "lustre").endswith("updates/lustre.ko")
    held = machine.run("apt-mark", "showhold").split()
    assert {f"lustre-client-modules-{KERNEL}", "lustre-client-utils"} <= set(held)
    again = machine.try_run(SCRIPT)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_a_kernel_that_fsx_does_not_have_is_named_with_those_that_it_has(machine: Machine) -> None:
    uname = machine.files / "usr/local/sbin/uname"
    uname.write_text("#!/bin/sh\necho 7.0.0-1014-aws\n")
    uname.chmod(0o755)
    said = machine.try_run("env", "PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", SCRIPT)
    found = re.fullmatch(
        r"lustre_client: FSx has no Lustre client for kernel 7\.0\.0-1014-aws of Ubuntu noble, "
        r"only for (.*); take an image of a kernel that it has",
        said.stderr.splitlines()[-1],
    )
    assert found and set(found[1].split()) == {KERNEL, *OTHERS}


def test_lists_that_somebody_changed_are_not_taken(
    repository: tuple[Bench, Signer], machine: Machine
) -> None:
    bench, _ = repository
    lists = bench.site / PACKAGES / "ubuntu/dists/noble/InRelease"
    good = lists.read_bytes()
    lists.write_bytes(good.replace(b"Suite: noble", b"Suite: other"))
    try:
        said = machine.try_run(SCRIPT)
    finally:
        lists.write_bytes(good)
    assert said.returncode == 1
    assert said.stderr.splitlines()[-1] == (
        "lustre_client: this image has no Lustre client and the list of FSx's packages cannot be "
        "had, see above"
    )
    assert not (machine.files / "usr/sbin/mount.lustre").exists()
