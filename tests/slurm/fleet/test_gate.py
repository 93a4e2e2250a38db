"""Held nodes, real checks, the gate and where its result goes, on machines that boot by themselves.

What nvidia-smi, DCGM, EFA and NCCL say is recorded; the scripts, Slurm and the command lines of AWS
are real.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from moto.cloudwatch.models import MetricDatum, cloudwatch_backends

from tests.deploy.institutions import bare
from tests.fixtures.health.node import fault
from tests.waiting import wait_until
from trainshed.cli import main

from .agents import CommandAgent, start_cloudwatch_agent
from .aws import REGION
from .files import CLUSTER, QUEUE
from .lab import FleetLab, Node

SLOW = 212.5


class Gated:
    """A fleet of two nodes with a gate.

    Args:
        lab: The lab.
        work: Directory for the institution file.
    """

    def __init__(self, lab: FleetLab, work: Path) -> None:
        self.lab = lab
        self.sqs = lab.aws.client("sqs")
        self.mail = self.sqs.create_queue(QueueName="mail")["QueueUrl"]
        wanted = {"QueueUrl": self.mail, "AttributeNames": ["QueueArn"]}
        arn = self.sqs.get_queue_attributes(**wanted)["Attributes"]["QueueArn"]
        sns = lab.aws.client("sns")
        topic = sns.create_topic(Name="alerts")["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
        lab.files.hardware = True
        lab.document.update(gate={"minutes": 25, "strict": True}, alarm_topic_arn=topic)
        lab.document["queues"][QUEUE]["nodes"] = 2
        lab.publish()
        self.told: list[tuple[str, str]] = []
        self.institution = work / "kait.yaml"
        self.institution.write_text(yaml.safe_dump(bare(CLUSTER)))
        self.nodes: list[Node] = []

    def shown(self, node: Node) -> str:
        """Return state, features, reason and comment of a node."""
        said = self.lab.head.machine.try_run("scontrol", "--oneliner", "show", "node", node.name)
        fields = "State|ActiveFeatures|Reason|Comment"
        return " ".join(re.findall(rf" ((?:{fields})=.*?)(?= \w+=|$)", said.stdout))

    def has_feature(self, node: Node, name: str) -> None:
        """Wait until a node has a feature beside that of its queue."""
        wanted = f"ActiveFeatures={QUEUE},{name} "
        wait_until(lambda: wanted in f"{self.shown(node)} ", lambda: self.shown(node), 60, every=1)

    def hears(self, subject: str) -> str:
        """Return the text of the message with a subject."""

        def look() -> list[str]:
            got = self.sqs.receive_message(QueueUrl=self.mail, MaxNumberOfMessages=10)
            for each in got.get("Messages", []):
                body = json.loads(each["Body"])
                self.told.append((body["Subject"], body["Message"]))
                handle = {"QueueUrl": self.mail, "ReceiptHandle": each["ReceiptHandle"]}
                self.sqs.delete_message(**handle)
            return [text for found, text in self.told if found == subject]

        def said() -> str:
            head = self.lab.head.machine.try_run("journalctl", "-u", "trainshed-recovery", "-n9")
            return f"{subject}; {self.told} {[self.shown(n) for n in self.nodes]} {head.stdout}"

        return str(wait_until(look, said, 300, every=1)[-1])

    def metric(self, name: str) -> float | None:
        """Return the last value of a metric of the head node in CloudWatch."""
        wanted = {"ClusterName": CLUSTER, "Role": "head"}
        found = [
            each.value
            for each in cloudwatch_backends[self.lab.aws.account][REGION].metric_data
            if isinstance(each, MetricDatum)
            and (each.namespace, each.name) == ("Trainshed", name)
            and {of.name: of.value for of in each.dimensions} == wanted
        ]
        return found[-1] if found else None

    def records(self) -> list[dict[str, Any]]:
        """Return the records on the shared file system, the oldest first."""
        folder = self.lab.work / "fsx" / "fs" / "trainshed" / "gate"
        return [json.loads(path.read_text()) for path in sorted(folder.glob(f"*-{QUEUE}.json"))]

    def verb(self, *arguments: str) -> int:
        """Run ``trainshed gate`` on this machine, with Systems Manager between."""
        with pytest.MonkeyPatch.context() as patch, CommandAgent(self.lab):
            patch.setenv("AWS_ENDPOINT_URL", self.lab.aws.endpoint)
            return main(["gate", str(self.institution), *arguments])


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gated]:
    """Two nodes, one with a fault, in a fleet whose all-reduce is slow."""
    with FleetLab(tmp_path_factory.mktemp("gated")) as lab:
        fleet = Gated(lab, tmp_path_factory.mktemp("institution"))
        lab.hardware.all_reduce(SLOW)
        lab.launch("head")
        fleet.nodes = [lab.launch("compute", QUEUE) for _ in range(2)]
        lab.hardware.become(fleet.nodes[1].name, fault("double-bit-ecc"))
        for node in (lab.head, *fleet.nodes):
            lab.wait_booted(node)
        taken = "/etc/trainshed/files/cloudwatch-agent-head.json"
        start_cloudwatch_agent(lab.head.machine, taken)
        yield fleet


def test_a_node_with_a_fault_is_held_reset_and_released_once_it_is_well(gated: Gated) -> None:
    good, bad = gated.nodes
    wait_until(lambda: "ecc [reset] " in gated.shown(bad), lambda: gated.shown(bad), 240, every=1)
    # Before the head node orders the reset, after which it is checked once more.
    gated.lab.hardware.become(bad.name)
    assert "DRAIN" in gated.shown(bad)
    wait_until(lambda: "DRAIN" not in gated.shown(good), lambda: gated.shown(good), 120, every=1)
    assert "Comment=trainshed: passed basic 20" in gated.shown(good)
    wait_until(lambda: gated.metric("nodes_held") is not None, "a metric", 60, every=1)
    assert gated.metric("queues_closed") == 1
    wait_until(lambda: "DRAIN" not in gated.shown(bad), lambda: gated.shown(bad), 240, every=1)
    history = gated.lab.head.machine.run("cat", "/state/recovery/history.jsonl")
    (event,) = [json.loads(line) for line in history.splitlines()]
    assert (event["node"], event["action"]) == (bad.name, "reset")


def test_a_slow_all_reduce_keeps_users_out_and_tells_it_everywhere(gated: Gated) -> None:
    text = gated.hears(f"Queue {QUEUE}: the all-reduce over 2 nodes failed")
    assert text.startswith("212.5 GB/s at 16 GiB, least 258.9 (measured 369.86: AWS awsome-")
    assert text.endswith(
        "Users are kept out. Mend it, then on the head node: sudo trainshed-gate; to let users in "
        "all the same: sudo trainshed-gate --open QUEUE"
    )
    record = gated.records()[-1]
    assert (record["queue"], record["verdict"]) == (QUEUE, "failed")
    assert sorted(record["nodes"]) == sorted(node.name for node in gated.nodes)
    assert record["text"].startswith("212.5 GB/s at 16 GiB, least 258.9")
    folder = gated.lab.work / "fsx" / "fs" / "trainshed" / "gate"
    said = (folder / f"nccl-gate-{record['job']}.txt").read_text()
    assert said.count("Selected provider is efa") == 16
    for node in gated.nodes:
        gated.has_feature(node, "gate_failed")
        assert "Comment=trainshed: passed; gate failed 20" in gated.shown(node)
    assert gated.metric("queues_closed") == 1
    job = submit(gated)
    assert gated.lab.head.machine.run("squeue", "-haj", job, "-o", "%T") == "PENDING"
    gated.lab.head.machine.run("scancel", job)


def test_the_command_runs_it_again_and_users_get_in(
    gated: Gated, capsys: pytest.CaptureFixture[str]
) -> None:
    gated.lab.hardware.all_reduce(None)
    assert gated.verb("--wait", "5") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{QUEUE}: the gate runs within seconds"
    assert said[1].startswith(f"{QUEUE}: passed: 369.86 GB/s at 16 GiB, least 258.9")
    for node in gated.nodes:
        gated.has_feature(node, "gate_passed")
    job = submit(gated)
    show = ("sacct", "-nXP", "-j", job, "-o", "State")
    wait_until(
        lambda: gated.lab.head.machine.run(*show) == "COMPLETED", "the user's job", 120, every=1
    )
    assert gated.hears(f"Queue {QUEUE}: the all-reduce over 2 nodes passed")
    wait_until(lambda: gated.metric("queues_closed") == 0, "an open queue", 60, every=1)


def test_the_command_tells_a_failure_and_closes_the_queue(
    gated: Gated, capsys: pytest.CaptureFixture[str]
) -> None:
    gated.lab.hardware.all_reduce(SLOW)
    assert gated.verb("--wait", "5", "--queue", QUEUE) == 1
    assert f"{QUEUE}: failed: 212.5 GB/s at 16 GiB" in capsys.readouterr().out
    wait_until(lambda: gated.metric("queues_closed") == 1, "a closed queue", 60, every=1)
    assert gated.verb("--open", QUEUE) == 0
    wait_until(lambda: gated.metric("queues_closed") == 0, "an open queue", 60, every=1)
    assert gated.records()[-1]["verdict"] == "opened by hand"


def submit(gated: Gated) -> str:
    """Submit a job as a user of the policy."""
    options = (
        "-p",
        "normal",
        "--gres=gpu:1",
        "-D",
        "/tmp",
        "-o",
        "/dev/null",
        "--wrap",
        "hostname",
    )
    return gated.lab.head.machine.run("sbatch", "--parsable", *options, user="alice")
