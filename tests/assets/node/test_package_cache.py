"""package_cache.sh puts packages, their index, containers and checksums into one file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from trainshed._assets import asset


@pytest.fixture
def fakes(tmp_path: Path) -> Path:
    """A mirror with one package, whose control file dpkg-deb reads."""
    directory = tmp_path / "fakes"
    directory.mkdir()
    for name, body in {
        "apt-get": """all="$*"
case $all in *Archives=*)
  all=${all#*Archives=}
  echo deb >"${all%% *}/a_1.deb"
esac""",
        "apt-cache": "echo '  Candidate: 23.11.4-1.2ubuntu5'",
        "dpkg-deb": "printf 'Package: a\\nVersion: 1\\n'",
    }.items():
        (directory / name).write_text(f"#!/bin/bash\n{body}\n")
        (directory / name).chmod(0o755)
    return directory


def make(fakes: Path, out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", asset("node", "package_cache.sh"), str(out), *arguments],
        env={"PATH": f"{fakes}:/usr/sbin:/usr/bin:/bin", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def containers(tmp_path: Path) -> Path:
    """What build_containers.sh has made."""
    made = tmp_path / "built"
    (made / "root/usr/bin").mkdir(parents=True)
    (made / "root/usr/bin/enroot").write_text("#!/bin/sh\n")
    (made / "root/usr/bin/enroot").chmod(0o755)
    (made / "slurm-version").write_text("23.11")
    return made


def test_a_cache_has_packages_and_containers_with_their_checksums(
    fakes: Path, containers: Path, tmp_path: Path
) -> None:
    done = make(fakes, tmp_path / "cache.tar", "23.11", str(containers))
    assert done.returncode == 0, done.stderr
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    subprocess.run(["tar", "-xf", tmp_path / "cache.tar", "-C", unpacked], check=True)
    assert (unpacked / "containers/root/usr/bin/enroot").stat().st_mode & 0o777 == 0o755
    sums = (unpacked / "SHA256SUMS").read_text()
    assert {line.split("  ")[1] for line in sums.splitlines()} == {
        "Packages",
        "a_1.deb",
        "containers/root/usr/bin/enroot",
        "containers/slurm-version",
    }
    check = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    subprocess.run(check, cwd=unpacked, check=True)
    assert "Filename: ./a_1.deb\nSize: 4\n" in (unpacked / "Packages").read_text()


def test_the_same_packages_make_the_same_file(
    fakes: Path, containers: Path, tmp_path: Path
) -> None:
    outs = [tmp_path / f"{number}.tar" for number in (1, 2)]
    said = [make(fakes, out, "23.11", str(containers)).stdout for out in outs]
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert said[0] == said[1] and said[0].startswith("package_cache: 1 packages, SHA-256 ")


def test_another_slurm_makes_no_cache(fakes: Path, tmp_path: Path) -> None:
    done = make(fakes, tmp_path / "cache.tar", "24.11")
    assert (done.returncode, done.stderr) == (
        1,
        "package_cache: the mirror has Slurm 23.11.4-1.2ubuntu5, the fleet is pinned to 24.11\n",
    )
    assert not (tmp_path / "cache.tar").exists()
