"""``trainshed gate`` against an emulated account; tests/slurm/fleet has a real head node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import moto
import pytest
import yaml
from moto.ssm.models import SimpleSystemManagerBackend

from trainshed.cli import gate, main
from trainshed.config import load

INSTITUTIONS = Path(__file__).parents[3] / "institutions"
BARE = INSTITUTIONS / "bare.yaml"
REGION = "us-east-1"
PASSED = "train: passed: 369.86 GB/s at 16 GiB, least 258.9; train-a, train-b"


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setattr(gate, "_POLL_SECONDS", 0.0)
    with moto.mock_aws():
        yield


def launch(role: str, cluster: str = "bare") -> str:
    return started({"trainshed:cluster": cluster, "trainshed:role": role})


def started(tags: dict[str, str], region: str = REGION) -> str:
    ec2 = boto3.client("ec2", region_name=region)
    made = ec2.run_instances(
        ImageId=ec2.register_image(Name="base")["ImageId"],
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[
            {
                "ResourceType": "instance",
                "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
            }
        ],
    )
    return str(made["Instances"][0]["InstanceId"])


def answer(
    monkeypatch: pytest.MonkeyPatch, code: int, out: str, error: str = "", status: str = ""
) -> list[dict[str, Any]]:
    """Let the head node answer, the second time that it is asked; return what it was told."""
    told: list[dict[str, Any]] = []
    real = SimpleSystemManagerBackend.get_command_invocation

    def invocation(backend: Any, command_id: str, instance_id: str, plugin_name: str | None) -> Any:
        found = real(backend, command_id, instance_id, plugin_name)
        (sent,) = backend._commands
        told.append({"instance": instance_id, "parameters": sent.parameters})
        over = status or ("Success" if code == 0 else "Failed")
        return {
            **found,
            "Status": over if len(told) > 1 else "InProgress",
            "ResponseCode": code,
            "StandardOutputContent": out,
            "StandardErrorContent": error,
        }

    monkeypatch.setattr(SimpleSystemManagerBackend, "get_command_invocation", invocation)
    return told


@pytest.mark.parametrize(
    ("code", "out", "error"),
    [
        (0, f"{PASSED}\n", ""),
        (1, "train: failed: 212.5 GB/s\n", "failed to run commands: exit status 1"),
        (3, "train: not over after 5 minutes\n", "failed to run commands: exit status 3"),
    ],
    ids=["passed", "failed", "not over"],
)
def test_the_head_nodes_answer_is_printed_and_decides(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    code: int,
    out: str,
    error: str,
) -> None:
    launch("compute")
    launch("head", cluster="other")
    head = launch("head")
    told = answer(monkeypatch, code, out, error)
    assert main(["gate", str(BARE), "--wait", "5", "--queue", "train"]) == code
    assert capsys.readouterr().out == out
    assert told[0]["instance"] == head
    assert told[0]["parameters"] == {
        "commands": ["/usr/local/sbin/trainshed-gate --wait 5 train"],
        "executionTimeout": ["420"],
    }


@pytest.fixture
def cluster_file(tmp_path: Path) -> Path:
    """An institution whose ParallelCluster has a gate."""
    document = yaml.safe_load((INSTITUTIONS / "kait.yaml").read_text())
    options = document["fleet"].setdefault("parallelcluster", {})
    options["gate"] = {"all_reduce_perf": "/fsx/nccl-tests/build/all_reduce_perf"}
    path = tmp_path / "kait.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def test_the_head_node_of_parallelcluster_is_found_by_its_own_tags(
    cluster_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    institution = load(cluster_file)
    name = institution.cluster_name
    for other in ("Compute", "LoginNode"):
        tags = {"parallelcluster:cluster-name": name, "parallelcluster:node-type": other}
        started(tags, institution.region)
    started(
        {"parallelcluster:cluster-name": "other", "parallelcluster:node-type": "HeadNode"},
        institution.region,
    )
    head = started(
        {"parallelcluster:cluster-name": name, "parallelcluster:node-type": "HeadNode"},
        institution.region,
    )
    told = answer(monkeypatch, 0, f"{PASSED}\n")
    assert main(["gate", str(cluster_file), "--wait", "5"]) == 0
    assert capsys.readouterr().out == f"{PASSED}\n"
    assert told[0]["instance"] == head
    assert told[0]["parameters"]["commands"] == ["/usr/local/sbin/trainshed-gate --wait 5"]


def test_a_queue_is_opened_by_hand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    launch("head")
    told = answer(monkeypatch, 0, "train: open within seconds")
    assert main(["gate", str(BARE), "--open", "train"]) == 0
    assert told[0]["parameters"]["commands"] == ["/usr/local/sbin/trainshed-gate --open train"]
    assert capsys.readouterr().out == "train: open within seconds\n"


def test_a_command_that_the_agent_gave_up_has_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    launch("head")
    answer(monkeypatch, -1, "", "the agent was stopped", status="Cancelled")
    assert main(["gate", str(BARE)]) == 1
    assert capsys.readouterr().out == "the agent was stopped\n"


def test_a_head_node_that_says_nothing_is_not_waited_for_for_ever() -> None:
    def nothing(**_: Any) -> dict[str, Any]:
        raise LookupError

    silent = SimpleNamespace(
        send_command=lambda **_: {"Command": {"CommandId": "c-1"}},
        get_command_invocation=nothing,
        exceptions=SimpleNamespace(InvocationDoesNotExist=LookupError),
    )
    clock = iter(range(0, 1000, 50))
    code, said = gate.run_on(
        silent, "i-1", "gate", 60, clock=lambda: float(next(clock)), sleep=lambda _: None
    )
    assert (code, said) == (3, "i-1 has not ended gate (Pending); command c-1")


def test_a_cluster_that_does_not_run_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gate", str(BARE)]) == 1
    assert capsys.readouterr().err == (
        "no head node of cluster bare runs in us-east-1; is it deployed, and in this account?\n"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--queue", "x"], "there is no queue x; queues are train"),
        (["--open", "x"], "there is no queue x; queues are train"),
        (["--wait", "0"], "--wait is 0; use 1 or more minutes"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gate", str(BARE), *arguments]) == 1
    assert capsys.readouterr().err == f"{told}\n"


def test_fleets_without_a_gate_are_told_where_to_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = yaml.safe_load(BARE.read_text())
    document["fleet"]["slurm"]["gate"] = {"enabled": False}
    path = tmp_path / "bare.yaml"
    path.write_text(yaml.safe_dump(document))
    assert main(["gate", str(path)]) == 1
    assert "gate.enabled is false, so there is no gate to run" in capsys.readouterr().err
    assert main(["gate", str(INSTITUTIONS / "kait.yaml")]) == 1
    assert capsys.readouterr().err == (
        "fleet.parallelcluster.gate is not given, so there is no gate to run\n"
    )
