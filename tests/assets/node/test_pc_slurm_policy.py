"""The policy step of a ParallelCluster head node, with commands that note how they were called."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "assets" / "node" / "pc_slurm_policy.sh"
POLICY = '{"qos": {"normal_qos": {"GrpTRES": "gres/gpu=8"}}}'
PROGRAM = """\
import sys, pathlib
home = pathlib.Path(sys.argv[0]).parent
with (home / "ran").open("a") as log:
    log.write(f"{sys.argv[1]} {pathlib.Path(sys.argv[2]).read_text()}\\n")
sys.exit((home / "fails").exists())
"""


class Head:
    """A head node's commands, S3 and its parameter, and a directory in place of its root."""

    def __init__(self, directory: Path) -> None:
        self.root, self.objects = directory / "root", directory / "s3"
        self.commands, self.log = directory / "bin", directory / "calls"
        self.parameter = directory / "parameter"
        for made in (self.root, self.objects, self.commands):
            made.mkdir()
        self.log.touch()
        self.parameter.write_text("none")
        self.command("systemctl")
        self.command("sacctmgr", "case $* in *tres*) echo 'gres|gpu' ;; *) echo kait ;; esac")
        self.command(
            "aws",
            f'case "$1 $2" in\n"ssm get-parameter") cat "{self.parameter}" ;;\n'
            f'"s3 cp") cp "{self.objects}/$(basename "$6")" "$7" ;;\nesac',
        )

    @property
    def home(self) -> Path:
        return self.root / "opt/trainshed/slurm-policy"

    @property
    def ran(self) -> list[str]:
        log = self.home / "ran"
        return log.read_text().splitlines() if log.exists() else []

    def command(self, name: str, body: str = "") -> None:
        path = self.commands / name
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>"{self.log}"\n{body}\n')
        path.chmod(0o755)

    def deploy(self, policy: str = POLICY, program: str = PROGRAM) -> None:
        lines = []
        for name, text in (("slurm_accounts.py", program), ("policy.json", policy)):
            (self.objects / name).write_text(text)
            lines.append(f"{hashlib.sha256(text.encode()).hexdigest()} s3://b/{name}")
        self.parameter.write_text("\n".join(lines))

    def run(self, *args: str, script: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(script or SCRIPT), *args],
            capture_output=True,
            text=True,
            check=False,
            env={
                "PATH": f"{self.commands}:{os.environ['PATH']}",
                "ROOT_DIR": str(self.root),
                "WAIT_SECONDS": "1",
            },
        )

    def start_slurmctld(self) -> list[subprocess.CompletedProcess[str]]:
        """Run what the drop-in runs before and after slurmctld."""
        unit = (self.root / "etc/systemd/system/slurmctld.service.d/trainshed.conf").read_text()
        lines = [line.partition("=-")[2] for line in unit.splitlines() if "=-" in line]
        return [self.run(action, script=Path(run)) for run, action in map(str.split, lines)]


@pytest.fixture
def head(tmp_path: Path) -> Head:
    return Head(tmp_path)


def install(head: Head) -> None:
    done = head.run("install", "/trainshed/kait/slurm-policy", "us-east-2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_first_boot_puts_itself_around_slurmctld(head: Head) -> None:
    install(head)
    unit = head.root / "etc/systemd/system/slurmctld.service.d/trainshed.conf"
    assert unit.read_text() == (
        "[Unit]\nAfter=slurmdbd.service\n\n[Service]\n"
        f"ExecStartPre=-{head.home}/run before\n"
        f"ExecStartPost=-{head.home}/run after\n"
        "TimeoutStartSec=600\n"
    )
    assert (head.home / "run").read_bytes() == SCRIPT.read_bytes()
    assert head.log.read_text() == "systemctl daemon-reload\n"


def test_without_a_policy_slurmctld_starts_as_ever(head: Head) -> None:
    install(head)
    assert [done.returncode for done in head.start_slurmctld()] == [0, 0]
    assert head.ran == []
    assert "sacctmgr" not in head.log.read_text()


def test_the_policy_is_fetched_and_applied_before_slurmctld_and_again_after(head: Head) -> None:
    install(head)
    head.deploy()
    assert [done.returncode for done in head.start_slurmctld()] == [0, 0]
    assert head.ran == [f"apply {POLICY}"] * 2
    assert (
        "aws ssm get-parameter --region us-east-2 --name /trainshed/kait/slurm-policy "
        "--query Parameter.Value --output text" in head.log.read_text()
    )


def test_a_restart_brings_a_policy_that_was_deployed_meanwhile(head: Head) -> None:
    install(head)
    head.deploy()
    head.start_slurmctld()
    head.deploy(policy="{}")
    head.start_slurmctld()
    assert head.ran[2:] == ["apply {}"] * 2


def test_an_update_applies_the_policy_once_more(head: Head) -> None:
    head.deploy()
    done = head.run("apply", "/trainshed/kait/slurm-policy", "us-east-2", "some-hash")
    assert done.returncode == 0
    assert head.ran == [f"apply {POLICY}"]


def test_a_policy_that_cannot_be_applied_fails_an_update(head: Head) -> None:
    head.deploy()
    head.home.mkdir(parents=True)
    (head.home / "fails").touch()
    assert head.run("apply", "/p", "us-east-2").returncode == 1


def test_a_document_that_is_not_the_deployed_one_is_not_applied(head: Head) -> None:
    install(head)
    head.deploy()
    head.start_slurmctld()
    (head.objects / "policy.json").write_text("{}")
    before, _ = head.start_slurmctld()
    assert before.stderr == (
        "pc_slurm_policy: s3://b/policy.json is not the file that was deployed; "
        "its SHA-256 is another\n"
        "pc_slurm_policy: the last policy that was fetched is kept\n"
    )
    assert head.ran == [f"apply {POLICY}"] * 4
    done = head.run("apply", "/p", "us-east-2")
    assert done.returncode == 1


def test_without_the_parameter_the_last_policy_is_kept(head: Head) -> None:
    install(head)
    head.deploy()
    head.start_slurmctld()
    head.command("aws", "exit 255")
    before, _ = head.start_slurmctld()
    assert before.returncode == 0
    assert "cannot read the SSM parameter /trainshed/kait/slurm-policy" in before.stderr
    assert len(head.ran) == 4


def test_slurmdbd_is_waited_for_and_then_named(head: Head) -> None:
    install(head)
    head.deploy()
    head.command("sacctmgr", "exit 1")
    before, _ = head.start_slurmctld()
    assert before.returncode == 1
    assert before.stderr == "pc_slurm_policy: waited 1 s for slurmdbd\n"
    assert head.ran == []


def test_a_policy_that_was_taken_away_is_forgotten(head: Head) -> None:
    install(head)
    head.deploy()
    head.start_slurmctld()
    head.parameter.write_text("none")
    head.start_slurmctld()
    assert len(head.ran) == 2
    assert not (head.home / "policy.json").exists()


def test_an_old_python_is_passed_over_for_parallelclusters_own(head: Head) -> None:
    head.deploy()
    own = head.root / "opt/parallelcluster/pyenv/versions/3.9.20/bin/python3"
    own.parent.mkdir(parents=True)
    own.symlink_to(
        subprocess.run(
            ["bash", "-c", "command -v python3"], capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    head.command("python3", "exit 1")
    assert head.run("apply", "/p", "us-east-2").returncode == 0
    assert head.ran == [f"apply {POLICY}"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "usage: pc_slurm_policy.sh install|apply|before|after ..."),
        (("go",), "go is none of install, apply, before, after"),
        (
            ("install", "/p"),
            "usage: pc_slurm_policy.sh install|apply SSM_PARAMETER REGION [CONTENT_HASH]",
        ),
    ],
    ids=["nothing", "unknown", "no region"],
)
def test_a_wrong_call_is_refused(head: Head, args: tuple[str, ...], message: str) -> None:
    done = head.run(*args)
    assert (done.returncode, done.stderr) == (1, f"pc_slurm_policy: {message}\n")
