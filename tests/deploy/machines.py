"""The lab's machines for the instances of an emulator: started, stopped and named as it says."""

from __future__ import annotations

import base64
import http.client
import subprocess
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIEnvironment

from tests.deploy.emulator.process import Emulator
from tests.slurm.fleet.aws import ADDRESSES, REGION, Aws, Instance
from tests.slurm.fleet.lab import FleetLab, Node
from tests.slurm.fleet.volumes import Volumes
from tests.slurm.lab.machines import Lab

_ON = {"pending", "running"}
_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class EmulatedAws(Aws):
    """The stand-ins around the lab's machines, whose APIs are those of the emulator."""

    url = ""

    def _call(self, app: Any, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        headers = {
            key.removeprefix("HTTP_").replace("_", "-"): value
            for key, value in environ.items()
            if key.startswith("HTTP_") or key == "CONTENT_TYPE"
        }
        target = urlsplit(self.url)
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=60)
        path = environ.get("REQUEST_URI") or environ["PATH_INFO"]
        body = environ["wsgi.input"].read(length)
        connection.request(environ["REQUEST_METHOD"], path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        kept = [(key, value) for key, value in answer.getheaders() if key.lower() not in _HOP]
        start(f"{answer.status} {answer.reason}", [*kept, ("Content-Length", str(len(data)))])
        connection.close()
        return [data]


class EmulatedFleet(FleetLab):
    """A lab whose machines are the emulator's instances of one cluster. Use it as a context.

    Args:
        work: Empty directory for the machines' disks.
        emulator: The emulator, which the cluster is deployed to.
        cluster: Name of the cluster.
    """

    def __init__(self, work: Path, emulator: Emulator, cluster: str) -> None:
        super().__init__(work)
        # Metadata is answered late on a busy machine, and the tools give up after a second.
        patience = "AWS_METADATA_SERVICE_TIMEOUT=20 AWS_METADATA_SERVICE_NUM_ATTEMPTS=5"
        manager = self.work / "image/etc/systemd/system.conf.d/lab.conf"
        manager.write_text(f"{manager.read_text().rstrip()} {patience}\n")
        self.emulator = emulator
        self.cluster = cluster
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._follow, daemon=True)
        self.faults: list[str] = []
        """What went wrong while machines were started or stopped."""

    def __enter__(self) -> EmulatedFleet:
        """Start the network, and a machine for each instance that there is and will be."""
        Lab.__enter__(self)
        for address in ADDRESSES:
            command = [*self.in_switch(), "ip", "address", "add", address, "dev", "br0"]
            subprocess.run(command, check=True)
        (self.work / "fsx").mkdir(parents=True, exist_ok=True)
        self.aws = EmulatedAws(self.network)
        self.aws.url = self.emulator.url
        self.aws.__enter__()
        self.ec2 = self.emulator.client("ec2", REGION)
        self.ssm = self.emulator.client("ssm", REGION)
        self.volumes = Volumes(self)
        self._watch.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """End everything."""
        self._ended.set()
        self._watch.join()
        super().__exit__(*exc)

    def _follow(self) -> None:
        while not self._ended.wait(0.3):
            try:
                self._mirror()
            except Exception as error:
                self.faults.append(f"{type(error).__name__}: {error}")

    def _mirror(self) -> None:
        self._make_file_systems()
        self._make_volumes()
        for instance in self._instances():
            id, state = instance["InstanceId"], instance["State"]["Name"]
            node = self.nodes.get(id)
            if node is None and state in _ON:
                self._start(instance)
            elif node is not None and node.machine.alive and state not in _ON:
                node.machine.power_off()
        if self.volumes._devices:
            self.volumes.show()

    def _instances(self) -> list[dict[str, Any]]:
        wanted = [{"Name": "tag:trainshed:cluster", "Values": [self.cluster]}]
        pages = self.ec2.describe_instances(Filters=wanted)["Reservations"]
        return [instance for page in pages for instance in page["Instances"]]

    def _make_file_systems(self) -> None:
        for each in self.emulator.client("fsx", REGION).describe_file_systems()["FileSystems"]:
            (self.work / "fsx" / each["DNSName"]).mkdir(exist_ok=True)

    def _make_volumes(self) -> None:
        wanted = [{"Name": "tag:trainshed:cluster", "Values": [self.cluster]}]
        there = {v["VolumeId"] for v in self.ec2.describe_volumes(Filters=wanted)["Volumes"]}
        devices = self.volumes._devices
        for volume in there - devices.keys():
            self.volumes.create(volume)
        for volume in devices.keys() - there:
            # Deleted; a machine that is going may hold it a moment longer, and losetup waits.
            subprocess.run(["losetup", "--detach", devices.pop(volume)], check=False)

    def _start(self, instance: dict[str, Any]) -> None:
        id, address = instance["InstanceId"], instance["PrivateIpAddress"]
        tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
        role, queue = tags["trainshed:role"], tags.get("trainshed:queue", "")
        answer = self.ec2.describe_instance_attribute(InstanceId=id, Attribute="userData")
        user_data = base64.b64decode(answer["UserData"]["Value"]).decode()
        self.aws.instances[address] = Instance(id, instance["InstanceType"], user_data)
        if role == "head":
            self.aws.names[f"head.{self.cluster}.trainshed.internal"] = address
        machine = self._power_on(id, address, role)
        self.nodes[id] = Node(id, address, role, queue, machine)
        with suppress(Exception):
            self.volumes.show()
