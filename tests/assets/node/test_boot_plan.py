"""Which steps a node boots with, and what it says when one fails."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assets.node.boot import __main__ as boot
from assets.node.boot import record
from assets.node.boot.plan import Node, Step, steps
from trainshed._assets import ASSETS

HOST = "head.kait.trainshed.internal"
HEAD = Node("head", "", "i-0aaa", "m7i.2xlarge")
COMPUTE = Node("compute", "train", "i-0123456789abcdef0", "p5en.48xlarge")
LOGIN = Node("login", "", "i-0bbb", "m7i.xlarge")
STORED = {"bucket": "b", "key": "k.zip", "sha256": "f" * 64}


def document(**over: Any) -> dict[str, Any]:
    queue = {
        "node_conf": "CPUs=192 Gres=gpu:h200:8 Feature=train",
        "gpus": 8,
        "efa": True,
        "nvlink": True,
        "nvme_dir": "/opt/dlami/nvme",
    }
    return {
        "cluster": "kait",
        "region": "us-east-2",
        "files": STORED,
        "packages": None,
        "slurm_version": "23.11",
        "containers": True,
        "image": {"kernel": "6.8.0-1040-aws", "nvidia_driver": "580.95.05", "efa_installer": None},
        "head": {"host": HOST, "state_volume_id": "vol-1"},
        "munge_secret_arn": "arn:munge",
        "accounting": None,
        "mounts": [{"path": "/fsx", "dns_name": "fs-1", "mount_name": "abc", "efa": True}],
        "queues": {"train": queue},
        **over,
    }


def names(node: Node, **over: Any) -> list[str]:
    return [step.name for step in steps(document(**over), node)]


def command(node: Node, name: str, **over: Any) -> tuple[str, ...]:
    return next(step.command for step in steps(document(**over), node) if step.name == name)


def test_the_database_stands_before_slurmctld_and_the_state_volume_before_both() -> None:
    assert names(HEAD)[-9:] == [
        "state-volume",
        "slurm-files",
        "database",
        "slurmctld",
        "keeper",
        "recovery",
        "containers",
        "resume",
        "agent",
    ]


def test_a_compute_node_joins_after_everything_that_its_jobs_need() -> None:
    assert names(COMPUTE) == [
        "hostname",
        "hold",
        "image",
        "needrestart",
        "rotation",
        "clock",
        "apt",
        "packages",
        "limits",
        "files",
        "munge",
        "mount-fsx",
        "users",
        "nvme",
        "containers",
        "environment",
        "metadata",
        "health",
        "slurmd",
        "gate",
        "watch",
        "resume",
        "agent",
    ]


def test_a_login_node_has_files_and_no_daemon() -> None:
    assert {"slurmd", "slurmctld", "state-volume"}.isdisjoint(names(LOGIN))
    ends = ["slurm-files", "containers", "metadata", "resume", "agent"]
    assert names(LOGIN)[-5:] == ends


@pytest.mark.parametrize("node", [HEAD, LOGIN], ids=["head", "login"])
def test_a_node_that_is_not_replaced_is_watched_from_the_first_step_on(node: Node) -> None:
    assert names(node)[0] == "watch"
    assert command(node, "watch") == ("watch_service.sh",)


def test_every_node_that_calls_srun_has_its_plugin() -> None:
    for node in (HEAD, COMPUTE, LOGIN):
        assert "containers" in names(node)
        assert "containers" not in names(node, containers=False)


@pytest.mark.parametrize(
    ("node", "name"),
    [(HEAD, "head"), (COMPUTE, "train-0123456789abcdef0"), (LOGIN, "login-0bbb")],
    ids=["head", "compute", "login"],
)
def test_a_node_is_called_by_its_role(node: Node, name: str) -> None:
    assert node.name == name
    dns_name = ("head.kait.trainshed.internal",) if node == HEAD else ()
    assert command(node, "hostname") == ("set_hostname.sh", name, *dns_name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("image", ("check_image.sh", "6.8.0-1040-aws", "580.95.05", "")),
        ("packages", ("install_packages.sh", "compute", "23.11", "")),
        ("files", ("fetch.sh", "us-east-2", "b", "k.zip", "f" * 64, "/etc/trainshed/files")),
        ("mount-fsx", ("mount_lustre.sh", "/fsx", "fs-1", "abc", "efa")),
        ("users", ("unix_users.sh", "/etc/trainshed/files/policy.json", "/fsx")),
        ("environment", ("training_environment.sh", "efa", "nvlink")),
        (
            "slurmd",
            (
                "slurmd.sh",
                "train-0123456789abcdef0",
                HOST,
                "CPUs=192 Gres=gpu:h200:8 Feature=train",
            ),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arguments_come_from_the_document(name: str, expected: tuple[str, ...]) -> None:
    assert command(COMPUTE, name) == expected


def test_a_node_without_gpus_is_asked_for_no_driver() -> None:
    prepare = {"prepare": {**document()["queues"]["train"], "gpus": 0}}
    node = Node("compute", "prepare", "i-0ccc", "c7i.24xlarge")
    kernel = ("check_image.sh", "6.8.0-1040-aws", "", "")
    assert command(node, "image", queues=prepare) == command(LOGIN, "image") == kernel
    driver_alone = {"kernel": None, "nvidia_driver": "580.95.05", "efa_installer": None}
    assert "image" not in names(LOGIN, image=driver_alone)
    assert command(COMPUTE, "image", image=driver_alone)[1:] == ("", "580.95.05", "")
    assert "image" not in names(HEAD)


def test_a_package_cache_is_fetched_and_used() -> None:
    cached = names(COMPUTE, packages=STORED)
    assert cached.index("cache") < cached.index("packages")
    assert command(COMPUTE, "packages", packages=STORED)[-1] == "/opt/trainshed/packages"
    assert command(COMPUTE, "containers", packages=STORED)[-1] == "/opt/trainshed/packages"


def test_an_external_database_is_named_to_slurmdbd() -> None:
    database = {
        "host": "db.internal",
        "port": 3306,
        "user": "slurm",
        "password_secret_arn": "arn:db",
        "database": "slurm_acct_db",
    }
    assert command(HEAD, "database", accounting=database) == (
        "accounting_database.sh",
        "us-east-2",
        "db.internal",
        "3306",
        "slurm",
        "arn:db",
        "slurm_acct_db",
    )


def test_what_is_not_asked_for_is_left_out() -> None:
    queue = {**document()["queues"]["train"], "nvme_dir": None, "efa": False, "nvlink": False}
    left = names(COMPUTE, containers=False, image=None, mounts=[], queues={"train": queue})
    assert {"containers", "image", "mount-fsx", "nvme"}.isdisjoint(left)
    assert command(COMPUTE, "environment", queues={"train": queue})[1:] == ("no-efa", "no-nvlink")
    assert command(COMPUTE, "mount-fsx", queues={"train": queue})[-1] == "abc"
    assert command(COMPUTE, "users", mounts=[])[-1] == ""


def test_a_node_without_gpus_has_the_names_that_gres_conf_wants_before_it_joins() -> None:
    train = document()["queues"]["train"]
    prepare = {**train, "gpus": 0}
    node = Node("compute", "prepare", "i-0ccc", "c7i.24xlarge")
    beside = names(node, queues={"train": train, "prepare": prepare})
    assert beside.index("no-gpus") < beside.index("slurmd")
    assert "no-gpus" not in names(node, queues={"prepare": prepare})
    assert "no-gpus" not in names(COMPUTE, queues={"train": train, "prepare": prepare})


def test_a_queue_that_the_document_lacks_is_named() -> None:
    with pytest.raises(ValueError, match=r"^the fleet document has no queue 'debug', only train$"):
        steps(document(), Node("compute", "debug", "i-0", "g6.48xlarge"))


def test_every_script_of_a_step_is_there_and_executable() -> None:
    for node in (HEAD, COMPUTE, LOGIN):
        for step in steps(document(), node):
            path = ASSETS / "node" / step.command[0]
            assert path.exists() and path.stat().st_mode & 0o111, step


def test_node_env_is_read_as_a_shell_reads_it() -> None:
    text = "TRAINSHED_QUEUE='a b'\nTRAINSHED_ROLE=head\n"
    assert boot.environment(text) == {"TRAINSHED_QUEUE": "a b", "TRAINSHED_ROLE": "head"}


def test_user_data_fits_twice_into_what_ec2_takes() -> None:
    # EC2 user guide "Run commands when you launch an EC2 instance with user data input", read
    # 2026-11-29: 16 KB before it is base64-encoded.
    assert (ASSETS / "node/user_data/bootstrap.sh").stat().st_size < 8192


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(boot, "SCRIPTS", tmp_path)
    monkeypatch.setattr(boot, "LOGS", tmp_path / "logs")
    for name, text in (("good.sh", "echo well"), ("bad.sh", "echo one; echo bad: two >&2; exit 3")):
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def test_a_failed_step_ends_the_boot_and_is_recorded(
    scripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = [Step("a", ("good.sh",), ""), Step("b", ("bad.sh", "x y"), "mend it")]
    plan.append(Step("c", ("good.sh",), ""))
    progress = boot.Progress(scripts / "steps.json", [step.name for step in plan])
    with pytest.raises(boot.StepError) as failed:
        boot.run(plan, progress, 1)
    rows = json.loads((scripts / "steps.json").read_text())
    assert [(row["step"], row["state"]) for row in rows] == [
        ("a", "done"),
        ("b", "failed"),
        ("c", "waiting"),
    ]
    assert (scripts / "logs/b.log").read_text().endswith("bad.sh 'x y'\none\nbad: two\n")
    calls: list[list[str]] = []

    def call(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        calls.append(list(command))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", call)
    made = record.FailedBoot.of(COMPUTE, failed.value.step, failed.value.output)
    record.publish(made, "kait", "us-east-2")
    value = json.loads(calls[0][calls[0].index("--value") + 1])
    assert value.pop("at").endswith("Z")
    assert value == {
        "schema": 1,
        "instance_id": "i-0123456789abcdef0",
        "role": "compute",
        "queue": "train",
        "node": "train-0123456789abcdef0",
        "step": "b",
        "reason": "bad: two",
        "remedy": "mend it",
        "tail": "one\nbad: two\n",
    }
    assert "/trainshed/kait/slurm/nodes/i-0123456789abcdef0" in calls[0]


def test_a_step_that_wants_a_newer_document_is_no_failure_yet(
    scripts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (scripts / "bad.sh").write_text("#!/bin/bash\necho bad: not readable\nexit 75\n")
    monkeypatch.setattr(boot, "planned", lambda node: ([Step("files", ("bad.sh",), "mend it")], 1))
    monkeypatch.setattr(boot, "PROGRESS", scripts / "steps.json")
    monkeypatch.setattr(boot, "publish", lambda *_: pytest.fail("a record ends a deployment"))
    node = {"QUEUE": "", "INSTANCE_ID": "i-0", "INSTANCE_TYPE": "t", "CLUSTER": "c", "REGION": "r"}
    variables = {f"TRAINSHED_{name}": value for name, value in node.items()}
    assert boot.main(["login"], variables) == 75
    assert "boot: login-0: step files failed: bad: not readable" in capsys.readouterr().err


def test_a_record_is_short_enough_for_a_parameter_whatever_the_step_says() -> None:
    made = record.FailedBoot.of(COMPUTE, Step("a", ("x",), "mend"), "y" * 9000)
    # SSM: a standard parameter's value has at most 4 KB.
    assert len(json.dumps(made.__dict__)) < 4096
    assert record.FailedBoot.of(COMPUTE, Step("a", ("x",), ""), "").reason == "it said nothing"


@pytest.mark.parametrize("output", ["\x1b[31m" * 900, "é…" * 2000, "{{" * 900], ids=ascii)
def test_a_record_fits_its_parameter_whatever_its_characters(output: str) -> None:
    text = record.FailedBoot.of(COMPUTE, Step("a", ("x",), "mend"), output).written()
    assert len(text) <= 4000
    assert "{{" not in text
    tail = json.loads(text)["tail"]
    assert tail and output.endswith(tail)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"queues": {"train": {}}}', "the fleet document has no queue 'debug', only train"),
        ("{", "JSONDecodeError"),
        ('{"queues": null}', "TypeError"),
    ],
    ids=["queue gone", "cut off", "of another form"],
)
def test_a_document_that_cannot_be_used_is_told_of_as_a_failed_boot(
    text: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[record.FailedBoot] = []
    monkeypatch.setattr(boot, "CONFIG", tmp_path)
    monkeypatch.setattr(boot, "publish", lambda failed, *_: told.append(failed))
    (tmp_path / "fleet.json").write_text(text)
    variables = {"CLUSTER": "kait", "REGION": "us-east-2", "QUEUE": "debug"}
    variables |= {"INSTANCE_ID": "i-0", "INSTANCE_TYPE": "g6.48xlarge"}
    given = {f"TRAINSHED_{key}": value for key, value in variables.items()}
    assert boot.main(["compute"], given) == 1
    assert (told[0].step, told[0].node) == ("document", "debug-0")
    assert reason in told[0].reason


def test_in_a_gated_fleet_a_node_joins_held_and_is_checked() -> None:
    joins = command(COMPUTE, "slurmd", gate=True)
    assert joins[-1] == "CPUs=192 Gres=gpu:h200:8 Feature=train State=DRAIN"
    assert names(COMPUTE, gate=True)[-5:] == ["slurmd", "gate", "watch", "resume", "agent"]
    assert command(COMPUTE, "gate", gate=True) == ("node_gate.sh", COMPUTE.name)
    ends = ["keeper", "recovery", "containers", "resume", "agent"]
    assert names(HEAD, gate=True)[-5:] == ends


def test_a_fleet_without_shared_storage_has_no_records() -> None:
    assert command(LOGIN, "resume") == ("install_resume.sh", "/fsx")
    assert command(LOGIN, "resume", mounts=[]) == ("install_resume.sh", "")
