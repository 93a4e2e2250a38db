"""An account in moto with a fleet's groups, and what CDK's framework does with both handlers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from moto import mock_aws
from moto.autoscaling.models import autoscaling_backends

from assets.functions.slurm_fleet import handler

CONTEXT = SimpleNamespace(log_stream_name="2026/11/29/[$LATEST]abc")
SERVICES = ("ec2", "autoscaling", "ssm")
PATH = "/trainshed/kait/slurm"
ID = "trainshed-slurm-fleet/kait"
# What CDK's framework adds to a reason: log address, stack trace and ids.
FRAMEWORK_BYTES = 1300


class Account:
    """EC2, Auto Scaling and SSM of one account, with a hand on what a real one does by itself."""

    def __init__(self) -> None:
        self.ec2, self.autoscaling, self.ssm = (_client(name) for name in SERVICES)
        self.calls: list[str] = []
        self.activities: list[dict[str, Any]] = []
        self.reservations: dict[str, str] = {}
        self.throttled: dict[str, int] = {}
        self.refused: dict[str, list[str]] = {}
        subnet = self.ec2.describe_subnets()["Subnets"][0]
        self.subnet = subnet["SubnetId"]
        image = self.ec2.register_image(Name="base")["ImageId"]
        self.template = self.ec2.create_launch_template(
            LaunchTemplateName="train",
            LaunchTemplateData={"ImageId": image, "InstanceType": "p5en.48xlarge"},
        )["LaunchTemplate"]["LaunchTemplateId"]
        head = self.ec2.run_instances(
            ImageId=image, MinCount=1, MaxCount=1, SubnetId=self.subnet, InstanceType="m7i.2xlarge"
        )
        self.head = head["Instances"][0]["InstanceId"]
        self.make_group("kait-train")
        self._listeners = [_listen(handler._client(name), self) for name in SERVICES]

    def make_group(self, name: str) -> None:
        self.autoscaling.create_auto_scaling_group(
            AutoScalingGroupName=name,
            LaunchTemplate={"LaunchTemplateId": self.template, "Version": "1"},
            MinSize=0,
            MaxSize=8,
            DesiredCapacity=0,
            VPCZoneIdentifier=self.subnet,
            NewInstancesProtectedFromScaleIn=True,
        )

    def group(self, name: str = "kait-train") -> dict[str, Any]:
        found = self.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])
        return dict(found["AutoScalingGroups"][0])

    def instances(self, name: str = "kait-train") -> list[str]:
        return [each["InstanceId"] for each in self.group(name)["Instances"]]

    def set(self, capacity: int, name: str = "kait-train") -> None:
        self.autoscaling.set_desired_capacity(AutoScalingGroupName=name, DesiredCapacity=capacity)

    def lose(self, instance: str) -> None:
        """Take an instance out of its group, as if it could not be launched."""
        group = autoscaling_backends["123456789012"]["us-east-2"].autoscaling_groups["kait-train"]
        group.instance_states = [
            state for state in group.instance_states if state.instance.id != instance
        ]

    def put(self, name: str, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        self.ssm.put_parameter(Name=f"{PATH}/{name}", Type="String", Value=text, Overwrite=True)

    def parameter(self, name: str) -> Any:
        try:
            found = self.ssm.get_parameter(Name=f"{PATH}/{name}")
        except self.ssm.exceptions.ParameterNotFound:
            return None
        return json.loads(found["Parameter"]["Value"])

    def publish(self, document: str, phase: str, **more: Any) -> None:
        """Write a status as the keeper does."""
        status = {"schema": 1, "generation": generation(document), "phase": phase, "nodes": []}
        self.put("status", {**status, **more})

    def record(self, instance: str, at: datetime | None = None, **more: Any) -> None:
        """Write what a node does that gives up booting."""
        record = {
            "schema": 1,
            "instance_id": instance,
            "role": "compute",
            "node": f"train-{instance[2:]}",
            "step": "mount_fsx",
            "reason": "mount: fs-1 does not answer",
            "remedy": "open port 988 to the file system",
            "tail": "mount.lustre: timed out",
            "at": (at or datetime.now(UTC)).isoformat(),
        }
        self.put(f"nodes/{instance}", {**record, **more})

    def fail_launch(self, message: str) -> None:
        now = datetime.now(UTC) + timedelta(seconds=1)
        self.activities.insert(
            0,
            {
                "ActivityId": "1",
                "AutoScalingGroupName": "kait-train",
                "Cause": "an instance was started in response to a difference",
                "StartTime": now,
                "StatusCode": "Failed",
                "StatusMessage": message,
            },
        )

    def head_state(self) -> str:
        found = self.ec2.describe_instances(InstanceIds=[self.head])
        return str(found["Reservations"][0]["Instances"][0]["State"]["Name"])

    def close(self) -> None:
        for stop in self._listeners:
            stop()

    def before(self, model: Any, params: Any, **_: Any) -> Any:
        """Note a call, and answer those that moto does not."""
        self.calls.append(model.name)
        if codes := self.refused.get(model.name):
            error = {"Code": codes.pop(0), "Message": "wait"}
            return SimpleNamespace(status_code=400), {"Error": error, "ResponseMetadata": {}}
        ok = SimpleNamespace(status_code=200)
        if model.name == "DescribeScalingActivities":
            return ok, {"Activities": self.activities}
        if model.name == "DescribeCapacityReservations":
            id = params["body"]["CapacityReservationId.1"]
            if id in self.reservations:
                found = {"CapacityReservationId": id, "State": self.reservations[id]}
                return ok, {"CapacityReservations": [found]}
            code = {"Code": "InvalidCapacityReservationId.NotFound", "Message": id}
            return SimpleNamespace(status_code=400), {"Error": code, "ResponseMetadata": {}}
        return None

    def throttle(self, request: Any, event_name: str, **_: Any) -> Any:
        operation = event_name.rpartition(".")[2]
        if not self.throttled.get(operation):
            return None
        self.throttled[operation] -= 1
        error = b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'
        raw = SimpleNamespace(stream=lambda **_: iter([error]), release_conn=lambda: None)
        return AWSResponse(request.url, 400, HTTPHeaders(), raw)


@cache
def _client(service: str) -> Any:
    return boto3.client(service)


def _listen(client: Any, account: Account) -> Callable[[], None]:
    """Let an account see a client's calls, until what is returned is called."""
    events = client.meta.events
    events.register_first("before-call", account.before)
    events.register_first("before-send", account.throttle)

    def stop() -> None:
        events.unregister("before-call", account.before)
        events.unregister("before-send", account.throttle)

    return stop


def generation(document: str) -> str:
    return hashlib.sha256(document.encode()).hexdigest()[:16]


def document(**changed: Any) -> str:
    """Return a fleet document; keywords change its queue."""
    queue = {
        "asg": "kait-train",
        "launch_template": "lt-1",
        "version": "1",
        "nodes": 4,
        "instance_type": "p5en.48xlarge",
        "reservation_id": None,
        "start": None,
        "end": None,
        "drain_minutes": 40,
        **changed,
    }
    queues = {} if changed.get("nodes") == "none" else {"train": queue}
    return json.dumps({"schema": 1, "cluster": "kait", "queues": queues}, sort_keys=True)


class Framework:
    """Calls the handlers as CDK's provider framework does."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self._original = dict(request)

    def start(self) -> dict[str, Any]:
        """Run on_event; its answer is merged into what is_complete sees."""
        answer = handler.on_event(self._original, CONTEXT)
        if "PhysicalResourceId" in self._original:
            assert answer["PhysicalResourceId"] == self._original["PhysicalResourceId"]
        self.request = {**self._original, **answer}
        assert response_bytes(self.request) < 4096
        return answer

    def poll(self, minutes: int = 0) -> dict[str, Any]:
        """Run is_complete, so many minutes after the request."""
        started = datetime.fromisoformat(self.request["Started"]) - timedelta(minutes=minutes)
        answer = handler.is_complete({**self.request, "Started": started.isoformat()}, CONTEXT)
        assert answer["IsComplete"] or set(answer) == {"IsComplete"}
        assert response_bytes(self.request, Data=answer.get("Data", {})) < 4096
        return answer

    def failure(self, minutes: int = 0) -> str:
        """Return the reason of a poll that fails."""
        with pytest.raises(handler.FleetError) as failed:
            self.poll(minutes)
        reason = str(failed.value)
        assert response_bytes(self.request, Reason=reason) + FRAMEWORK_BYTES < 4096
        return reason

    def refusal(self) -> str:
        """Return the reason of a start that fails."""
        with pytest.raises(handler.FleetError) as failed:
            self.start()
        reason = str(failed.value)
        assert response_bytes(self._original, Reason=reason) + FRAMEWORK_BYTES < 4096
        return reason


def response_bytes(event: dict[str, Any], **more: Any) -> int:
    names = ("StackId", "RequestId", "LogicalResourceId", "PhysicalResourceId")
    ids = {name: event.get(name, ID) for name in names}
    response = {"Status": "SUCCESS", **ids, **more}
    return len(json.dumps(response, ensure_ascii=False).encode())


def properties(account: Account, text: str, **changed: Any) -> dict[str, Any]:
    return {
        "ServiceToken": "arn:aws:lambda:us-east-2:123456789012:function:framework",
        "SchemaVersion": "1",
        "ClusterName": "kait",
        "FleetParameterName": f"{PATH}/fleet",
        "StatusParameterName": f"{PATH}/status",
        "NodesPath": f"{PATH}/nodes/",
        "CommandParameterName": f"{PATH}/command",
        "FleetDocument": text,
        "HeadInstanceId": account.head,
        "BootTimeoutMinutes": "30",
        **changed,
    }


def request(
    account: Account, kind: str, text: str, old: str | None = None, **changed: Any
) -> Framework:
    """Return a request of CloudFormation for our resource."""
    id = changed.pop("physical_id", ID)
    event: dict[str, Any] = {
        "RequestType": kind,
        "RequestId": "11111111-request",
        "StackId": "arn:aws:cloudformation:us-east-2:123456789012:stack/kait-cluster/0f1e2d3c",
        "LogicalResourceId": "ClusterFleet",
        "ResourceType": "Custom::TrainshedSlurmFleet",
        "ResponseURL": "https://example.invalid",
        "ResourceProperties": properties(account, text, **changed),
    }
    if kind != "Create":
        event["PhysicalResourceId"] = id
    if kind == "Update":
        event["OldResourceProperties"] = properties(account, old or text)
    return Framework(event)


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    # moto would read thousands of images for each test.
    monkeypatch.setattr("moto.ec2.models.amis.AmiBackend._load_amis", lambda self: None)
    with mock_aws():
        made = Account()
        yield made
        made.close()
