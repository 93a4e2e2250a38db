"""The lab's machines for the instances of an emulator: started, stopped and named as it says."""

from __future__ import annotations

import base64
import http.client
import ssl
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIEnvironment

from tests.deploy.emulator.process import Emulator
from tests.slurm.fleet.aws import ADDRESSES, REGION, Aws, Instance
from tests.slurm.fleet.hardware import Hardware
from tests.slurm.fleet.lab import FleetLab, Node
from tests.slurm.fleet.volumes import Volumes
from tests.slurm.lab.machines import Lab
from tests.waiting import Repeating

_ON = {"pending", "running"}
_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class EmulatedAws(Aws):
    """The stand-ins around the lab's machines, whose APIs are those of the emulator."""

    url = ""
    certificate: Path | None = None
    """Of an emulator that speaks TLS."""

    def _call(self, app: Any, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        headers = {
            key.removeprefix("HTTP_").replace("_", "-"): value
            for key, value in environ.items()
            if key.startswith("HTTP_") or key == "CONTENT_TYPE"
        }
        target = urlsplit(self.url)
        connection = self._connection(target.hostname or "", target.port)
        path = environ.get("REQUEST_URI") or environ["PATH_INFO"]
        body = environ["wsgi.input"].read(length)
        connection.request(environ["REQUEST_METHOD"], path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        kept = [(key, value) for key, value in answer.getheaders() if key.lower() not in _HOP]
        start(f"{answer.status} {answer.reason}", [*kept, ("Content-Length", str(len(data)))])
        connection.close()
        return [data]

    def _connection(self, host: str, port: int | None) -> http.client.HTTPConnection:
        if self.certificate is None:
            return http.client.HTTPConnection(host, port, timeout=60)
        context = ssl.create_default_context(cafile=str(self.certificate))
        return http.client.HTTPSConnection(host, port, timeout=60, context=context)


@dataclass
class InstanceInRole(Instance):
    """What instance metadata says, with the credentials of the instance's role."""

    credentials: str = ""

    def metadata(self, address: str) -> dict[str, str]:
        """Return what is below ``/latest/meta-data/``."""
        told = super().metadata(address)
        return {**told, "iam/security-credentials/node": self.credentials}


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
        self._watch = Repeating(self._follow, every_seconds=0.3)
        self.faults: list[str] = []
        """What went wrong while machines were started or stopped."""

    def __enter__(self) -> EmulatedFleet:
        """Start the network, and a machine for each instance that there is and will be."""
        Lab.__enter__(self)
        try:
            self._listen()
        except BaseException:
            Lab.__exit__(self)
            raise
        self._watch.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        """End everything."""
        self._watch.__exit__()
        super().__exit__(*exc)

    def _listen(self) -> None:
        for address in ADDRESSES:
            command = [*self.in_switch(), "ip", "address", "add", address, "dev", "br0"]
            subprocess.run(command, check=True)
        (self.work / "fsx").mkdir(parents=True, exist_ok=True)
        self.hardware = Hardware(self.work / "fsx")
        self.aws = EmulatedAws(self.network)
        self.aws.url = self.emulator.url
        if self.emulator.enforce:
            self.aws.certificate = self.emulator.work / "certificate.pem"
        self.aws.__enter__()
        self.ec2 = self.emulator.client("ec2", REGION)
        self.ssm = self.emulator.client("ssm", REGION)
        self.volumes = Volumes(self)

    def _follow(self) -> None:
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
        known = {*self.volumes._devices}
        for volume in there - known:
            self.volumes.create(volume)
        for volume in known - there:
            self.volumes.delete(volume)

    def _metadata(self, id: str, instance_type: str, user_data: str) -> Instance:
        if not self.emulator.enforce:
            return Instance(id, instance_type, user_data)
        credentials = (self.emulator.credentials / id).read_text()
        return InstanceInRole(id, instance_type, user_data, credentials=credentials)

    def _start(self, instance: dict[str, Any]) -> None:
        id, address = instance["InstanceId"], instance["PrivateIpAddress"]
        tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
        role, queue = tags["trainshed:role"], tags.get("trainshed:queue", "")
        answer = self.ec2.describe_instance_attribute(InstanceId=id, Attribute="userData")
        user_data = base64.b64decode(answer["UserData"]["Value"]).decode()
        self.aws.instances[address] = self._metadata(id, instance["InstanceType"], user_data)
        if role == "head":
            self.aws.names[f"head.{self.cluster}.trainshed.internal"] = address
        machine = self._power_on(id, address, role)
        self.nodes[id] = Node(id, address, role, queue, machine)
        with suppress(Exception):
            self.volumes.show()
