"""Small steps of a node's boot, in a directory that stands for a node or with programs that do."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from pathlib import Path

import pytest

from trainshed._assets import asset


def run(
    script: str, *args: str, fakes: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    path = f"{fakes}:/usr/sbin:/usr/bin:/bin" if fakes else "/usr/sbin:/usr/bin:/bin"
    return subprocess.run(
        ["/bin/bash", asset("node", script), *args],
        env={"PATH": path, "LC_ALL": "C", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def fake(directory: Path, name: str, body: str) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/bash\n{body}\n")
    (directory / name).chmod(0o755)
    return directory


@pytest.fixture
def bucket(tmp_path: Path) -> tuple[Path, str]:
    """A bucket's directory with a zip of one file in it, and the zip's checksum."""
    objects = tmp_path / "bucket"
    objects.mkdir()
    with zipfile.ZipFile(objects / "files.zip", "w") as made:
        made.writestr("slurm.conf", "ClusterName=kait\n")
    fake(tmp_path / "fakes", "aws", f'cp "{objects}/${{6##*/}}" "$7"')
    return tmp_path, hashlib.sha256((objects / "files.zip").read_bytes()).hexdigest()


def fetch(where: tuple[Path, str], sha256: str) -> subprocess.CompletedProcess[str]:
    arguments = ("us-east-2", "b", "files.zip", sha256, str(where[0] / "files"))
    return run("fetch.sh", *arguments, fakes=where[0] / "fakes")


def test_an_object_becomes_a_directory_behind_a_link(bucket: tuple[Path, str]) -> None:
    work, sha256 = bucket
    done = fetch(bucket, sha256)
    assert done.returncode == 0, done.stderr
    assert (work / "files/slurm.conf").read_text() == "ClusterName=kait\n"
    assert (work / "files").readlink() == Path(f"files-{sha256[:12]}")
    (work / "bucket/files.zip").unlink()
    assert fetch(bucket, sha256).returncode == 0, "what is there is not fetched again"


def test_an_object_with_another_checksum_is_not_unpacked(bucket: tuple[Path, str]) -> None:
    work, sha256 = bucket
    done = fetch(bucket, "0" * 64)
    assert (done.returncode, done.stderr) == (
        1,
        f"fetch: s3://b/files.zip has the SHA-256 {sha256[:12]}… and not 000000000000…\n",
    )
    assert not (work / "files").exists()


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("6.8.0-1040-aws", ""),
        ("6.8.0-1099-aws", "check_image: this image has kernel 6.8.0-1040-aws and not {0}\n"),
    ],
    ids=["the lock's", "another"],
)
def test_the_kernel_is_compared_with_the_lock(tmp_path: Path, kernel: str, said: str) -> None:
    fakes = fake(tmp_path / "fakes", "uname", "echo 6.8.0-1040-aws")
    assert run("check_image.sh", kernel, "", "", fakes=fakes).stderr == said.format(kernel)


def test_every_difference_from_the_lock_is_named_at_once(tmp_path: Path) -> None:
    fakes = fake(tmp_path / "fakes", "uname", "echo 6.8.0-1040-aws")
    done = run("check_image.sh", "6.9", "580.95.05", "1.43.2", fakes=fakes)
    assert done.stderr == (
        "check_image: this image has kernel 6.8.0-1040-aws and not 6.9, "
        "NVIDIA driver none and not 580.95.05, EFA installer none and not 1.43.2\n"
    )


def test_the_packages_of_each_role_are_listed() -> None:
    lists = {
        role: set(run("install_packages.sh", "--list", role).stdout.split())
        for role in ("head", "compute", "login")
    }
    assert "slurmctld" in lists["head"] and "slurmctld" not in lists["compute"]
    assert "slurmd" in lists["compute"] and "slurmd" not in lists["login"]
    assert {"slurm-client", "munge"} <= lists["head"] & lists["compute"] & lists["login"]


def test_an_unknown_role_is_refused() -> None:
    assert run("install_packages.sh", "--list", "gpu").stderr == (
        "install_packages: the role is 'gpu'; use head, compute or login\n"
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, ""), (1, "is not at 107519944221822ea1dace4db8e7234b2eaa4cd5")],
    ids=["right", "wrong"],
)
def test_sources_are_of_the_pinned_commit_or_are_not_built(
    tmp_path: Path, code: int, words: str
) -> None:
    pins = {"enroot": "bd51f53b6fa954805ae3e1985c5dc7594ff66d05"}
    pins["pyxis"] = "107519944221822ea1dace4db8e7234b2eaa4cd5" if code == 0 else "b" * 40
    heads = "\n".join(
        f'case "$*" in *"/{name} rev-parse"*) echo {commit} ;; esac'
        for name, commit in pins.items()
    )
    fakes = fake(tmp_path / "fakes", "git", heads)
    fake(fakes, "apt-get", "")
    fake(fakes, "make", "")
    fake(fakes, "dpkg-query", "echo 23.11.4-1.2ubuntu5")
    done = run("build_containers.sh", str(tmp_path / "out"), fakes=fakes)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    if code == 0:
        assert (tmp_path / "out/slurm-version").read_text() == "23.11\n"
