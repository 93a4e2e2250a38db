"""How trainshed's programs come to a ParallelCluster node; tests/slurm runs them on Slurm."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from trainshed import facts
from trainshed.config import OnDemand, Queue
from trainshed.pcluster.release import COMPUTE_FILES, HEAD_FILES, compute_document, release

SCRIPTS = Path(__file__).parents[3] / "assets" / "node"
AWS = """\
#!/bin/bash
echo "aws $*" >>"$CALLS"
cp "$S3/$(basename "$6")" "$7"
"""
PROGRAM = '#!/bin/bash\necho "{said} $(cat "$1") ${{*:2}} $(python3 -c \'print("python")\')"\n'


class Node:
    """A node's root, and objects in S3."""

    def __init__(self, directory: Path) -> None:
        self.root, self.s3, self.calls = (directory / name for name in ("root", "s3", "calls"))
        for made in (self.root, self.s3, directory / "bin"):
            made.mkdir()
        self.calls.touch()
        aws = directory / "bin" / "aws"
        aws.write_text(AWS)
        aws.chmod(0o755)
        self.environment = {
            "PATH": f"{aws.parent}:{os.environ['PATH']}",
            "ROOT_DIR": str(self.root),
            "CALLS": str(self.calls),
            "S3": str(self.s3),
        }

    def upload(self, name: str, content: bytes) -> tuple[str, str]:
        (self.s3 / name).write_bytes(content)
        return hashlib.sha256(content).hexdigest(), f"s3://bucket/{name}"

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(SCRIPTS / "pc_release.sh"), "us-east-2", "run.sh", *args],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def programs(tmp_path: Path, said: str) -> bytes:
    (tmp_path / "run.sh").write_text(PROGRAM.format(said=said))
    return release(tmp_path, ["run.sh"]).data


def test_a_program_gets_its_document_its_arguments_and_a_new_enough_python(
    node: Node, tmp_path: Path
) -> None:
    given = (*node.upload("a.zip", programs(tmp_path, "one")), *node.upload("d.json", b"{}"))
    done = node.run(*given, "/fsx")
    assert (done.returncode, done.stdout) == (0, "one {} /fsx python\n"), done.stderr
    assert (node.root / "opt/trainshed/bin/python3").is_symlink()


def test_a_second_run_fetches_the_document_alone_and_a_change_both(
    node: Node, tmp_path: Path
) -> None:
    first = node.upload("a.zip", programs(tmp_path, "one"))
    assert node.run(*first, *node.upload("d.json", b"1")).returncode == 0
    node.calls.write_text("")
    assert node.run(*first, *node.upload("e.json", b"2")).stdout == "one 2  python\n"
    assert ["e.json" in line for line in node.calls.read_text().splitlines()] == [True]
    second = node.upload("b.zip", programs(tmp_path, "two"))
    assert node.run(*second, *node.upload("e.json", b"2")).stdout == "two 2  python\n"
    current = node.root / "opt/trainshed/current"
    assert current.readlink() == Path(second[0][:12])


def test_a_release_has_no_name_until_all_of_it_is_on_disk(node: Node, tmp_path: Path) -> None:
    zip_ = node.upload("a.zip", programs(tmp_path, "one"))
    given = (*zip_, *node.upload("d.json", b"{}"))
    sync, synced = tmp_path / "bin" / "sync", tmp_path / "synced"
    sync.write_text(f'#!/bin/bash\necho "$*" >"{synced}"; ls "$2" >>"{synced}"; exit 1\n')
    sync.chmod(0o755)
    done = node.run(*given)
    assert (done.returncode, done.stdout) == (1, "")
    new = node.root / f"opt/trainshed/{zip_[0][:12]}.new"
    assert synced.read_text() == f"--file-system {new}\nrun.sh\n"
    assert not new.with_suffix("").exists()
    sync.unlink()
    assert node.run(*given).stdout == "one {}  python\n"


@pytest.mark.parametrize("wrong", [0, 1], ids=["programs", "document"])
def test_what_is_not_what_was_deployed_is_not_run(node: Node, tmp_path: Path, wrong: int) -> None:
    given = [node.upload("a.zip", programs(tmp_path, "one")), node.upload("d.json", b"{}")]
    given[wrong] = ("0" * 64, given[wrong][1])
    done = node.run(*(word for each in given for word in each))
    url = given[wrong][1]
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"pc_release: {url} is not the file that was deployed; its SHA-256 is another\n"
    )


def test_a_program_that_fails_fails_the_boot(node: Node, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/bash\nexit 7\n")
    data = release(tmp_path, ["run.sh"]).data
    assert node.run(*node.upload("a.zip", data), *node.upload("d.json", b"{}")).returncode == 7


@pytest.mark.parametrize(
    ("files", "program"), [(HEAD_FILES, "pc_head.sh"), (COMPUTE_FILES, "pc_compute.sh")]
)
def test_a_release_has_all_that_its_program_names(
    tmp_path: Path, files: tuple[str, ...], program: str
) -> None:
    text = (SCRIPTS / program).read_text()
    named = {word for word in files if word.endswith(".sh")}
    assert program in named
    for script in sorted(named - {program, "common.sh"}):
        assert script in text
    assert "templates" in files and "resume" in files
    assert release(SCRIPTS, files).sha256 == release(SCRIPTS, files).sha256


def test_a_compute_node_expects_the_hardware_of_its_queue() -> None:
    queue = Queue(instance_type="p5en.48xlarge", capacity=OnDemand(), max_nodes=1)
    kind = facts.instance_type("p5en.48xlarge")
    place = {"cluster_name": "kait", "mount_dir": "/fsx"}
    document = compute_document(queue, kind, **place)
    assert (document["gpus"], document["efa_interfaces"], document["mounts"]) == (8, 16, ["/fsx"])
    without = compute_document(queue.model_copy(update={"efa": False}), kind, **place)
    assert without["efa_interfaces"] == 0
