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


def test_a_directory_has_no_name_until_all_of_it_is_on_disk(bucket: tuple[Path, str]) -> None:
    work, sha256 = bucket
    fakes = fake(
        work / "fakes", "sync", f'echo "$*" >"{work}/synced"; ls "$2" >>"{work}/synced"; exit 1'
    )
    assert fetch(bucket, sha256).returncode
    new = work / f"files-{sha256[:12]}.new"
    assert (work / "synced").read_text() == f"--file-system {new}\nslurm.conf\n"
    assert not new.with_suffix("").exists()
    (fakes / "sync").unlink()
    assert fetch(bucket, sha256).returncode == 0
    assert (work / "files/slurm.conf").read_text() == "ClusterName=kait\n"


def test_a_nodes_scripts_are_on_disk_before_they_run(tmp_path: Path) -> None:
    fakes = fake(tmp_path / "fakes", "sync", f'echo "sync $* in $PWD" >>"{tmp_path}/calls"')
    fake(fakes, "flock", f'echo "$*" >>"{tmp_path}/calls"')
    assert run("boot.sh", "head", fakes=fakes).returncode == 0
    assert (tmp_path / "calls").read_text().splitlines() == [
        f"sync --file-system . in {Path(asset('node')).resolve()}",
        "/run/trainshed-boot.lock python3 -m boot head",
    ]


def test_an_object_that_may_not_be_read_has_a_code_of_its_own(bucket: tuple[Path, str]) -> None:
    work, sha256 = bucket
    (work / "bucket/files.zip").unlink()
    done = fetch(bucket, sha256)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        75,
        "fetch: cannot fetch s3://b/files.zip",
    )
    assert not (work / "files").exists()


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
    fake(fakes, "chown", "")
    done = run("check_image.sh", kernel, "", "", fakes=fakes, ROOT_DIR=str(tmp_path))
    assert done.stderr == said.format(kernel)


def test_a_node_that_has_joined_is_held_to_the_lock_of_then(tmp_path: Path) -> None:
    """Its boot for a document with another image failed until its jobs had ended."""
    fakes = fake(tmp_path / "fakes", "uname", "echo 6.8.0-1040-aws")
    fake(fakes, "chown", "")

    def check(kernel: str) -> int:
        arguments = ("check_image.sh", kernel, "", "")
        return run(*arguments, fakes=fakes, ROOT_DIR=str(tmp_path)).returncode

    assert check("6.9") == 1, "it does not join"
    assert check("6.8.0-1040-aws") == 0
    assert check("6.9") == 0
    fake(fakes, "uname", "echo 6.9")
    assert check("6.9") == 1, "another kernel than it has joined with"


@pytest.mark.parametrize(
    "line",
    [
        "NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U16)  "
        "Tue Sep 23 09:55:41 UTC 2025",
        "NVIDIA UNIX x86_64 Kernel Module  580.95.05  Wed Oct  1 10:00:00 UTC 2025",
    ],
    ids=["open", "closed"],
)
def test_the_driver_is_read_from_either_of_its_kernel_modules(tmp_path: Path, line: str) -> None:
    (tmp_path / "version").write_text(f"NVRM version: {line}\nGCC version:  gcc 13.3.0  x\n")
    script = asset("node", "check_image.sh")
    source = f"sed '$d; s#/proc/driver/nvidia/version#{tmp_path}/version#' '{script}'"
    text = f"source <({source}); nvidia_driver"
    done = subprocess.check_output(["/bin/bash", "-c", text, script], text=True)
    assert done == "580.95.05\n"


def test_every_difference_from_the_lock_is_named_at_once(tmp_path: Path) -> None:
    fakes = fake(tmp_path / "fakes", "uname", "echo 6.8.0-1040-aws")
    lock = ("6.9", "580.95.05", "1.43.2")
    done = run("check_image.sh", *lock, fakes=fakes, ROOT_DIR=str(tmp_path))
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


@pytest.fixture
def database_node(tmp_path: Path) -> Path:
    """Programs of a head node whose secret is in a file; what Python is called with is kept."""
    fakes = fake(tmp_path / "fakes", "aws", f'cat "{tmp_path}/secret"')
    fake(fakes, "python3", f'echo "$*" >>"{tmp_path}/calls"; exec /usr/bin/python3 "$@"')
    fake(fakes, "mariadb", f'echo "$*" >>"{tmp_path}/calls"')
    # The first thing that is done with a good password; nothing more can be tried here.
    return fake(fakes, "install", f'echo "$*" >"{tmp_path}/went-on"; exit 9')


def external_database(fakes: Path, secret: str) -> subprocess.CompletedProcess[str]:
    (fakes.parent / "secret").write_text(secret)
    return run("accounting_database.sh", "r", "h", "3306", "slurm", "arn:s", "d", fakes=fakes)


@pytest.mark.parametrize("bad", ["a b", "a#b", 'a"b', "a\\b"], ids=ascii)
def test_a_password_that_slurmdbd_would_cut_off_is_refused(bad: str, database_node: Path) -> None:
    done = external_database(database_node, bad)
    assert (done.returncode, done.stderr) == (
        1,
        "accounting_database: the password in arn:s has a blank, a quote, a # or a backslash, "
        "which slurmdbd.conf cannot hold; give the user another\n",
    )
    assert not (database_node.parent / "went-on").exists()


def test_a_password_is_no_argument_of_a_program(database_node: Path) -> None:
    assert external_database(database_node, '{"password": "hunter2=!"}').returncode == 9
    calls = (database_node.parent / "calls").read_text()
    assert "json.load" in calls and "hunter2" not in calls


@pytest.mark.parametrize(
    ("code", "words"), [(0, ""), (1, "does not grow to the size of /dev/x: no")], ids=["", "not"]
)
def test_the_file_system_grows_with_its_volume(code: int, words: str, tmp_path: Path) -> None:
    fakes = fake(tmp_path / "fakes", "findmnt", "echo /dev/x")
    fake(fakes, "resize2fs", f'echo "$*" >"{tmp_path}/grown"; echo no; exit {code}')
    for name in ("mountpoint", "install", "chown"):
        fake(fakes, name, "")
    fake(fakes, "sed", "echo i-0")
    done = run("state_volume.sh", "us-east-2", "kait", "vol-1", fakes=fakes)
    assert done.returncode == 0, done.stderr
    assert words in done.stderr and bool(done.stderr) == bool(words)
    assert (tmp_path / "grown").read_text() == "/dev/x\n"


@pytest.mark.parametrize("answers", [True, False], ids=["all", "all but one"])
def test_a_repository_of_others_that_does_not_answer_keeps_no_node_from_booting(
    answers: bool, tmp_path: Path
) -> None:
    update = "" if answers else 'case "$*" in *update*) exit 100 ;; esac'
    fakes = fake(tmp_path / "fakes", "apt-get", f'{update}\necho "$*" >>"{tmp_path}/calls"')
    fake(fakes, "apt-cache", "echo '  Candidate: 23.11.4-1.2ubuntu5'")
    fake(fakes, "dpkg-query", 'case "$*" in *Version*) echo 23.11.4 ;; esac')
    fake(fakes, "mktemp", f'echo "{tmp_path}/new"')
    for name in ("apt-mark", "systemctl", "mkdir", "chmod", "chown", "mv", "rm"):
        fake(fakes, name, "")
    done = run("install_packages.sh", "login", "23.11", fakes=fakes)
    assert done.returncode == 0, done.stderr
    assert ("going on with the repositories that answer" in done.stderr) is not answers
    assert "install --no-install-recommends slurm-client" in (tmp_path / "calls").read_text()


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A mounted scratch directory that everybody may write to, as an image may have it."""
    fakes = fake(tmp_path / "fakes", "mountpoint", "")
    fake(fakes, "systemctl", "")
    (tmp_path / "nvme").mkdir()
    (tmp_path / "nvme").chmod(0o777)
    return tmp_path / "nvme"


def test_nobody_can_take_the_place_of_a_scratch_directory(scratch: Path) -> None:
    done = run("nvme_scratch.sh", str(scratch), fakes=scratch.parent / "fakes")
    assert done.returncode == 0, done.stderr
    for path in (scratch, scratch / "enroot", scratch / "enroot/cache"):
        assert path.stat().st_mode & 0o7777 == 0o1777, path


def test_a_link_in_scratch_opens_no_directory_of_the_system(scratch: Path) -> None:
    system = scratch.parent / "etc"
    system.mkdir(mode=0o755)
    (scratch / "enroot").symlink_to(system)
    done = run("nvme_scratch.sh", str(scratch), fakes=scratch.parent / "fakes")
    assert (done.returncode, done.stderr) == (
        1,
        f"nvme_scratch: {scratch}/enroot is a link, which is none of ours; "
        "see whose it is, and remove it\n",
    )
    assert system.stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize(
    ("efa", "nvlink", "lines"),
    [
        ("efa", "nvlink", ["FI_EFA_USE_HUGE_PAGE=0"]),
        ("efa", "no-nvlink", ["FI_EFA_USE_HUGE_PAGE=0", "NCCL_P2P_DISABLE=1"]),
        ("no-efa", "no-nvlink", ["NCCL_P2P_DISABLE=1"]),
        ("no-efa", "nvlink", []),
    ],
    ids=["p5en", "g6 with EFA", "g6", "NVLink alone"],
)
def test_gpus_talk_to_each_other_directly_only_where_they_have_nvlink(
    efa: str, nvlink: str, lines: list[str]
) -> None:
    assert environment(f"lines {efa} {nvlink}") == ["NCCL_SOCKET_IFNAME=^lo,docker,veth", *lines]


def environment(call: str, plugins: str = "/nowhere") -> list[str]:
    """Return what a function of training_environment.sh prints."""
    script = asset("node", "training_environment.sh")
    # All of it but the call of main.
    text = f"source <(sed '$d; s#/opt/amazon/ofi-nccl/lib #{plugins} #' '{script}'); {call}"
    return subprocess.check_output(["/bin/bash", "-c", text, script], text=True).splitlines()


def test_a_container_keeps_its_own_path_to_libraries(tmp_path: Path) -> None:
    (tmp_path / "libnccl-net.so").touch()
    of_node = environment("lines efa nvlink", str(tmp_path))
    assert f"LD_LIBRARY_PATH={tmp_path}:/opt/amazon/efa/lib" in of_node
    of_containers = environment("lines efa nvlink | of_containers", str(tmp_path))
    assert of_containers == [line for line in of_node if "LD_LIBRARY_PATH" not in line] != []


def test_in_a_container_a_job_has_its_own_values_for_what_the_node_sets(tmp_path: Path) -> None:
    of_node = tmp_path / "50-trainshed.env"
    of_node.write_text("\n".join([*environment("lines efa no-nvlink | of_containers"), ""]))
    # What Enroot has by then: the node's, and after it what the user has set for containers.
    environ = tmp_path / "environ"
    environ.write_text(before := f"{of_node.read_text()}NCCL_P2P_DISABLE=0\n")
    hook = Path(asset("node", "enroot_environment.sh")).read_text()
    hook = hook.replace("/etc/enroot/environ.d/50-trainshed.env", str(of_node))
    job = {
        "NCCL_SOCKET_IFNAME": "=eth9 eth1",
        "FI_EFA_USE_HUGE_PAGE": "",
        "NCCL_P2P_DISABLE": "1",  # as task_prolog.sh gave it to the batch script
        "LD_LIBRARY_PATH": "/m",
    }
    command = ["/bin/bash", "-c", hook]
    subprocess.run(command, env={**job, "ENROOT_ENVIRON": str(environ)}, check=True)
    assert environ.read_text() == (
        f"{before}NCCL_SOCKET_IFNAME==eth9 eth1\nFI_EFA_USE_HUGE_PAGE=\n"
    )
