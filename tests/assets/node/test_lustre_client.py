"""FSx's Lustre client where an image has one, has one for another kernel, or has none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assets.node.key_fingerprint import fingerprints
from trainshed._assets import asset

KEY = Path(__file__).parents[2] / "fixtures/openpgp/lab.asc"
# As gpg prints it.
FINGERPRINT = "6C8A09EA0EE7E7EE9947BA899A3AEA33E40436FC"
# An Ubuntu, by what the script reads of it.
UBUNTU = (
    'case "$2" in s/^ID=*) echo ubuntu ;; *VERSION*) echo noble ;; *) exec /bin/sed "$@" ;; esac'
)


def run(fakes: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", asset("node", "lustre_client.sh")],
        env={"PATH": f"{fakes}:/usr/sbin:/usr/bin:/bin", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def fakes(tmp_path: Path) -> Path:
    """Programs of an Ubuntu without a Lustre client, whose network is down."""
    fake(tmp_path, "uname", "echo 6.8.0-1040-aws")
    fake(tmp_path, "curl", "exit 6")
    fake(tmp_path, "modinfo", "exit 1")
    fake(tmp_path, "sed", UBUNTU)
    return tmp_path


def fake(directory: Path, name: str, body: str) -> None:
    (directory / name).write_text(f"#!/bin/bash\n{body}\n")
    (directory / name).chmod(0o755)


def test_an_image_with_a_client_for_its_kernel_keeps_it(fakes: Path) -> None:
    fake(fakes, "mount.lustre", "")
    fake(fakes, "modinfo", '[[ "$*" == "-k 6.8.0-1040-aws lustre" ]]')
    done = run(fakes)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_client_for_another_kernel_is_named(fakes: Path) -> None:
    fake(fakes, "mount.lustre", "")
    fake(fakes, "find", "echo /lib/modules/6.8.0-1039-aws/")
    assert run(fakes).stderr == (
        "lustre_client: this image's Lustre client is for kernel 6.8.0-1039-aws and not "
        "6.8.0-1040-aws, which runs and FSx's repository cannot be reached; take an image that "
        "has it\n"
    )


def test_a_node_that_gets_no_client_says_so(fakes: Path) -> None:
    done = run(fakes)
    assert (done.returncode, done.stderr) == (
        1,
        "lustre_client: this image has no Lustre client and FSx's repository cannot be reached; "
        "take an image that has it\n",
    )


def test_an_image_that_is_no_ubuntu_is_refused(fakes: Path) -> None:
    fake(fakes, "sed", "echo amzn")
    assert run(fakes).stderr == (
        "lustre_client: this image has no Lustre client, and it is not Ubuntu, for which one can "
        "be installed; take an image that has it\n"
    )


@pytest.mark.parametrize(
    ("curl", "said"),
    [
        ("echo '<Error>AccessDenied</Error>'", "what FSx's repository gives for its key is none"),
        (f"cat {KEY}", f"FSx's repository has the key {FINGERPRINT} and not 9C36DD9C"),
    ],
    ids=["no key", "another key"],
)
def test_a_repository_with_another_key_is_not_taken(fakes: Path, curl: str, said: str) -> None:
    fake(fakes, "curl", curl)
    fake(fakes, "apt-get", f'touch "{fakes}/called"')
    assert said in run(fakes).stderr
    assert not (fakes / "called").exists()


def test_a_fingerprint_is_the_one_that_gpg_prints() -> None:
    assert fingerprints(KEY.read_text()) == [FINGERPRINT]


@pytest.mark.parametrize("text", ["", "<html>", "-----BEGIN PGP PUBLIC KEY BLOCK-----"])
def test_what_is_no_key_has_no_fingerprint(text: str) -> None:
    with pytest.raises(ValueError, match=r"^this is no public key$"):
        fingerprints(text)
