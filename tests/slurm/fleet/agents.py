"""AWS's agents of a lab's machines: CloudWatch's, by its configuration, and Systems Manager's."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING, Any

from moto.ssm.models import ssm_backends

from tests.slurm.lab.machines import Machine

from .aws import REGION

if TYPE_CHECKING:
    from .lab import FleetLab

# StatsD gauges as the agent takes them: the tags are dimensions, the last value counts. It sends
# each at once, and not each minute.
_AGENT = """\
import json, os, re, socket, sys
import boto3

config = json.load(open(sys.argv[1]))["metrics"]
host, port = config["metrics_collected"]["statsd"]["service_address"].split(":")
endpoint = os.environ["AWS_ENDPOINT_URL"]
cloudwatch = boto3.client("cloudwatch", region_name="us-east-2", endpoint_url=endpoint)
listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listening.bind((host, int(port)))
last = {}
while True:
    line = listening.recv(4096).decode()
    name, value, tags = re.fullmatch(r"([^:]+):([^|]+)[|]g[|]#(.*)", line).groups()
    if last.get((name, tags)) == value:
        continue
    last[name, tags] = value
    dimensions = [dict(zip(("Name", "Value"), tag.split(":", 1))) for tag in tags.split(",")]
    datum = {"MetricName": name, "Dimensions": dimensions, "Value": float(value)}
    cloudwatch.put_metric_data(Namespace=config["namespace"], MetricData=[datum])
"""


def start_cloudwatch_agent(machine: Machine, configuration: str) -> None:
    """Start what stands in for CloudWatch's agent on a machine that has boto3."""
    unit = ("systemd-run", "--quiet", "--unit", "lab-cloudwatch-agent")
    machine.run(*unit, "/usr/bin/python3", "-c", _AGENT, configuration)


class CommandAgent:
    """Runs what SendCommand is told on a lab's machines. Use it as a context."""

    def __init__(self, lab: FleetLab) -> None:
        self._lab = lab
        self._backend: Any = ssm_backends[lab.aws.account][REGION]
        self._real = self._backend.send_command
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> CommandAgent:
        """Take what moto would call done at once."""
        self._backend.send_command = self._send
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for what runs, and give moto its own back."""
        self._backend.send_command = self._real
        for thread in self._threads:
            thread.join()

    def _send(self, **given: Any) -> Any:
        made = self._real(**given)
        for invocation in made.invocations:
            invocation["Status"] = "InProgress"
            thread = threading.Thread(target=self._run, args=(invocation, made.parameters))
            thread.start()
            self._threads.append(thread)
        return made

    def _run(self, invocation: dict[str, Any], parameters: dict[str, list[str]]) -> None:
        machine = self._lab.nodes[invocation["InstanceId"]].machine
        done: subprocess.CompletedProcess[str] = machine.try_run(
            "bash", "-c", "\n".join(parameters["commands"]), seconds=600
        )
        invocation.update(
            ResponseCode=done.returncode,
            StandardOutputContent=done.stdout,
            StandardErrorContent=done.stderr,
            Status="Failed" if done.returncode else "Success",
        )
