"""Custom resource and keeper together: a fleet is made, changed, refused, mended and deleted.

The handler is the one of the Lambda function, the keeper runs as the head node's service, and both
meet in the same stand-in for AWS. Nodes boot by the scripts that ship.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from assets.functions.slurm_fleet import handler
from tests.slurm.fleet.files import CLUSTER, QUEUE
from tests.slurm.fleet.lab import FLEET_PARAMETER, FleetLab, Node
from tests.waiting import wait_until

GROUP = f"{CLUSTER}-{QUEUE}"
PATH = FLEET_PARAMETER.rpartition("/")[0]
CONTEXT = SimpleNamespace(log_stream_name="abc")


class Stack:
    """What CloudFormation does with the fleet's custom resource."""

    def __init__(self, lab: FleetLab, head: Node) -> None:
        self.lab, self.head, self.last = lab, head, ""

    def request(self, kind: str) -> dict[str, Any]:
        """Start a request; its document is the lab's."""
        text = self.lab.ssm.get_parameter(Name=FLEET_PARAMETER)["Parameter"]["Value"]
        properties = {
            "SchemaVersion": "1",
            "ClusterName": CLUSTER,
            "FleetParameterName": FLEET_PARAMETER,
            "StatusParameterName": f"{PATH}/status",
            "NodesPath": f"{PATH}/nodes",
            "CommandParameterName": f"{PATH}/command",
            "FleetDocument": text,
            "HeadInstanceId": self.head.instance_id,
            "BootTimeoutMinutes": "30",
        }
        event = {
            "RequestType": kind,
            "PhysicalResourceId": f"trainshed-slurm-fleet/{CLUSTER}",
            "ResourceProperties": properties,
            "OldResourceProperties": {**properties, "FleetDocument": self.last or text},
        }
        self.last = text
        return {**event, **handler.on_event(event, CONTEXT)}

    def wait(self, event: dict[str, Any], seconds: float = 300) -> dict[str, Any]:
        """Poll until a request is done; return its attributes."""
        done = wait_until(
            lambda: (answer := handler.is_complete(event, CONTEXT))["IsComplete"] and answer,
            lambda: f"{event['RequestType']}: {self.status()}",
            seconds,
            every=1,
        )
        return dict(done.get("Data", {}))

    def status(self) -> dict[str, Any]:
        """Return the status document."""
        found = self.lab.ssm.get_parameter(Name=f"{PATH}/status")
        return dict(json.loads(found["Parameter"]["Value"]))


@pytest.fixture
def stack(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    with FleetLab(tmp_path) as lab:
        monkeypatch.setattr(handler, "_client", lab.aws.client)
        lab.document["queues"][QUEUE]["nodes"] = 2
        lab.publish()
        image = lab.ec2.register_image(Name="base")["ImageId"]
        data = {"ImageId": image, "InstanceType": "p5en.48xlarge"}
        lab.ec2.create_launch_template(LaunchTemplateName=QUEUE, LaunchTemplateData=data)
        tags = {"cluster": CLUSTER, "role": "compute", "queue": QUEUE}
        lab.aws.client("autoscaling").create_auto_scaling_group(
            AutoScalingGroupName=GROUP,
            LaunchTemplate={"LaunchTemplateName": QUEUE, "Version": "1"},
            MinSize=0,
            MaxSize=4,
            DesiredCapacity=0,
            AvailabilityZones=["us-east-2a"],
            NewInstancesProtectedFromScaleIn=True,
            Tags=[
                {"Key": f"trainshed:{key}", "Value": value, "PropagateAtLaunch": True}
                for key, value in tags.items()
            ],
        )
        yield Stack(lab, lab.launch("head"))


def boot_group(lab: FleetLab) -> list[Node]:
    """Start the machines of instances that Auto Scaling has made."""
    found = lab.aws.client("autoscaling").describe_auto_scaling_groups(
        AutoScalingGroupNames=[GROUP]
    )
    ids = [each["InstanceId"] for each in found["AutoScalingGroups"][0]["Instances"]]
    return [lab.launch("compute", QUEUE, id) for id in ids if id not in lab.nodes]


def test_a_fleet_from_its_creation_to_its_deletion(stack: Stack) -> None:
    lab = stack.lab
    create = stack.request("Create")
    nodes = boot_group(lab)
    made = stack.wait(create)
    assert made["Nodes"] == "2" and made["FirstJobId"]
    assert {lab.states()[node.name] for node in nodes} == {"idle"}

    job = stack.head.machine.run(
        *("sbatch", "--parsable", "-p", "trainshed", "-N1", "-o", "/dev/null"),
        stdin="#!/bin/bash\nsleep 3000\n",
    )
    lab.files.settings["MaxArraySize"] = 2222
    lab.publish()
    stack.wait(stack.request("Update"))
    config = ("scontrol", "show", "config")
    assert "MaxArraySize            = 2222" in stack.head.machine.run(*config)

    lab.files.settings["NoSuchKey"] = "1"
    lab.publish()
    refused = stack.request("Update")
    with pytest.raises(handler.FleetError) as failure:
        stack.wait(refused)
    assert "is failed: slurm.conf: " in str(failure.value)
    assert "NoSuchKey" in str(failure.value)
    del lab.files.settings["NoSuchKey"]
    lab.publish()
    stack.wait(stack.request("Update"))
    files = stack.head.machine.run(
        "cat", "/etc/trainshed/files/slurm.conf", "/etc/slurm/slurm.conf"
    )
    assert "NoSuchKey" not in files
    state = stack.head.machine.run("squeue", "-hj", job, "-o", "%T")
    assert state == "RUNNING"

    queues, lab.document["queues"] = lab.document["queues"], {}
    lab.publish()
    with pytest.raises(handler.FleetError, match="queue train is removed while 1 of its nodes"):
        stack.request("Update")
    assert stack.head.machine.run("squeue", "-hj", job, "-o", "%T") == "RUNNING"
    lab.document["queues"] = queues
    lab.publish()
    stack.wait(stack.request("Update"))
    stack.head.machine.run("scancel", job)
    wait_until(lambda: stack.status()["queues"][QUEUE]["busy"] == 0, "the end of the job", 60)
    lab.document["queues"] = {}
    lab.publish()
    stack.wait(stack.request("Update"))
    for node in nodes:
        node.machine.power_off()
    names = {node.name for node in nodes}
    wait_until(lambda: not lab.states().keys() & names, "Slurm to forget the nodes")
    stack.wait(stack.request("Delete"))
    assert boot_group(lab) == []
    states = lab.ec2_states()
    assert {states[node.instance_id] for node in nodes} == {"terminated"}
    assert states[stack.head.instance_id] == "running"
