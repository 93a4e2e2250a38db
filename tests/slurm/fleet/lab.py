"""A bare Slurm fleet on this machine: instances with systemd that boot by the scripts that ship.

EC2, FSx, the metadata service and NVIDIA's devices are stood in for; everything on the machines is
real. A test launches instances, which boot by themselves, and looks at them and at AWS's APIs.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.slurm.lab.machines import Lab, Machine
from tests.waiting import wait_until
from trainshed._assets import ASSETS
from trainshed.slurm_fleet.archive import archive, archive_of_folder

from .aws import ADDRESSES, REGION, Aws, Instance
from .disk import Disk
from .files import (
    CLUSTER,
    CPU_GROUP,
    CPU_QUEUE,
    CPU_TYPE,
    HEAD_HOST,
    INSTANCE_TYPE,
    QUEUE,
    Files,
    fleet_document,
    queue_document,
)
from .hardware import Hardware
from .image import Image, installed_image
from .volumes import Volumes

FLEET_PARAMETER = f"/trainshed/{CLUSTER}/slurm/fleet"


@dataclass
class Node:
    """An instance of the lab.

    Args:
        instance_id: EC2 instance id.
        address: Private address.
        role: ``head``, ``compute`` or ``login``.
        queue: Queue of a compute node.
        machine: The machine, while it is on.
    """

    instance_id: str
    address: str
    role: str
    queue: str
    machine: Machine

    @property
    def name(self) -> str:
        """Name in Slurm."""
        short = self.instance_id.removeprefix("i-")
        return "head" if self.role == "head" else f"{self.queue or self.role}-{short}"


class FleetLab(Lab):
    """A network with AWS's stand-ins, and instances on it. Use it as a context.

    Args:
        work: Empty directory for the machines' disks.
        image: What instances start from. Default: with Slurm installed, as from the package cache.
    """

    kind = "systemd"

    def __init__(self, work: Path, image: Image | None = None) -> None:
        self.image = image or installed_image(work)
        super().__init__(work, self.image.layers[-1])
        self.nodes: dict[str, Node] = {}
        """Instances by id, those that are off as well."""
        self.files = Files()
        self.document: dict[str, Any] = {}
        """The fleet document; ``publish`` writes it."""
        self.children: list[subprocess.Popen[bytes]] = []
        """Processes that run beside the machines, and end with the lab."""
        self._last_address = 10

    def __enter__(self) -> FleetLab:
        """Start the network and AWS, and publish a fleet of four nodes."""
        super().__enter__()
        for address in ADDRESSES:
            command = [*self.in_switch(), "ip", "address", "add", address, "dev", "br0"]
            subprocess.run(command, check=True)
        (self.work / "fsx" / "fs").mkdir(parents=True)
        self.hardware = Hardware(self.work / "fsx")
        self.aws = Aws(self.network).__enter__()
        self.ec2 = self.aws.client("ec2")
        self.ssm = self.aws.client("ssm")
        self.volumes = Volumes(self)
        self.aws.after_call = self._after_call
        self.bucket = f"{CLUSTER}-scripts-{self.aws.account}"
        self.aws.client("s3").create_bucket(
            Bucket=self.bucket, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        self.munge_secret = self.aws.client("secretsmanager").create_secret(
            Name=f"trainshed/{CLUSTER}/munge", SecretString=secrets.token_hex(64)
        )["ARN"]
        volume = self.ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=100)["VolumeId"]
        self.volumes.create(volume)
        self.document = fleet_document(self.munge_secret, volume)
        self.publish()
        return self

    def __exit__(self, *exc: object) -> None:
        """End everything."""
        super().__exit__(*exc)
        for child in self.children:
            child.wait(timeout=30)
        self.aws.__exit__(*exc)
        self.volumes.remove()

    def add_cpu_queue(self) -> None:
        """Give the fleet a queue without GPUs beside the other; before its head node boots."""
        self.files.groups = (*self.files.groups, CPU_GROUP)
        self.document["queues"][CPU_QUEUE] = queue_document(CPU_GROUP, CPU_TYPE)
        self.publish()

    def publish(self) -> str:
        """Write the scripts, the files and the fleet document; return the document's generation."""
        self.document["scripts"] = self.put("scripts.zip", archive_of_folder(ASSETS / "node").data)
        self.document["files"] = self.put("files.zip", archive(self.files.written()).data)
        return self.write_document()

    def write_document(self) -> str:
        """Write the fleet document as it is; return its generation."""
        text = json.dumps(self.document, sort_keys=True, separators=(",", ":"))
        self.ssm.put_parameter(Name=FLEET_PARAMETER, Value=text, Type="String", Overwrite=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def put(self, name: str, data: bytes) -> dict[str, str]:
        """Put an object into the cluster's bucket; return it as the document names it."""
        sha256 = hashlib.sha256(data).hexdigest()
        stem, suffix = name.split(".", 1)
        key = f"{stem}-{sha256[:12]}.{suffix}"
        self.aws.client("s3").put_object(Bucket=self.bucket, Key=key, Body=data)
        return {"bucket": self.bucket, "key": key, "sha256": sha256}

    def launch(self, role: str, queue: str = "", instance_id: str | None = None) -> Node:
        """Start an instance; it boots by itself.

        Args:
            role: ``head``, ``compute`` or ``login``.
            queue: Queue of a compute node.
            instance_id: Instance that EC2 has already. Default: one is made.
        """
        instance_id = instance_id or self.run_instance(role, queue)
        self._last_address += 1
        address = f"10.77.0.{self._last_address}"
        self.aws.instances[address] = Instance(
            instance_id, _type_of(queue), self.user_data(role, queue)
        )
        if role == "head":
            # Route 53 has the new head node's address from the template.
            self.aws.names[HEAD_HOST] = address
        machine = self._power_on(instance_id, address, role, queue)
        node = Node(instance_id, address, role, queue, machine)
        self.nodes[instance_id] = node
        return node

    def reboot(self, node: Node) -> None:
        """Cut a node's power and start it again with its disk."""
        node.machine.power_off()
        node.machine = self._power_on(node.instance_id, node.address, node.role, node.queue)
        self.volumes.show()

    def power_off(self, node: Node) -> None:
        """Cut a node's power."""
        node.machine.power_off()

    def user_data(self, role: str, queue: str) -> str:
        """Return the user data of an instance, as the construct renders it."""
        text = (ASSETS / "node/user_data/bootstrap.sh").read_text()
        values = {"CLUSTER": CLUSTER, "REGION": REGION, "ROLE": role, "QUEUE": queue}
        for name, value in values.items():
            text = text.replace(f"@{name}@", value)
        return text

    def submit(self, *options: str, script: str) -> str:
        """Submit a job to the partition of every node and return its id."""
        quiet = ("--parsable", "-p", "trainshed", "--mem=10", "-o", "/dev/null")
        return self.head.machine.run("sbatch", *quiet, *options, "--wrap", script)

    def failure(self, node: Node) -> dict[str, Any] | None:
        """Return the record of a node's failed boot, or None."""
        name = f"/trainshed/{CLUSTER}/slurm/nodes/{node.instance_id}"
        try:
            value = self.ssm.get_parameter(Name=name)["Parameter"]["Value"]
        except self.ssm.exceptions.ParameterNotFound:
            return None
        return dict(json.loads(value))

    def wait_booted(self, node: Node, seconds: float = 300) -> None:
        """Wait until a node's boot has ended well.

        Raises:
            AssertionError: It failed.
        """
        state = wait_until(
            lambda: self.boot_ended(node),
            lambda: f"boot of {node.name}: {self.boot_log(node)}",
            seconds,
            every=0.5,
        )
        assert state == "inactive", f"{node.name}: {self.boot_log(node)}"

    def wait_failed(self, node: Node, seconds: float = 300) -> dict[str, Any]:
        """Wait until a node's boot has failed, and return the record that it wrote."""
        state = wait_until(
            lambda: self.boot_ended(node),
            lambda: f"boot of {node.name}: {self.boot_log(node)}",
            seconds,
            every=0.5,
        )
        assert state == "failed", f"{node.name}: {self.boot_log(node)}"
        record = self.failure(node)
        assert record is not None, self.boot_log(node)
        return record

    def boot_again(self, node: Node, seconds: float = 300) -> None:
        """Run a node's boot once more, to its end, well or not.

        Raises:
            TimeoutError: It has no end; the message is what it said.
        """
        boot = ("systemctl", "restart", "trainshed-boot.service")
        try:
            node.machine.try_run(*boot, seconds=seconds)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"boot of {node.name}: {self.boot_log(node)}") from error

    def kill_boot(self, node: Node) -> bool:
        """Kill every process of a node's boot; return False when it has none."""
        unit = "sys/fs/cgroup/system.slice/trainshed-boot.service"
        try:
            (node.machine.files / unit / "cgroup.kill").write_text("1")
        except FileNotFoundError:
            return False
        return True

    def boot_log(self, node: Node) -> str:
        """Return what a node's boot has said."""
        path = "var/log/trainshed/bootstrap.log"
        log = self.work / node.instance_id / "upper" / path
        return log.read_text(errors="replace")[-4000:] if log.exists() else "nothing"

    def steps(self, node: Node) -> list[dict[str, Any]]:
        """Return the steps of a node's last boot, with their seconds."""
        said = node.machine.run("cat", "/run/trainshed/steps.json")
        return list(json.loads(said))

    @property
    def head(self) -> Node:
        """The head node that was launched last."""
        return [node for node in self.nodes.values() if node.role == "head"][-1]

    def disk(self, node: Node) -> dict[str, tuple[str, int]]:
        """Return content and time of every file that a node has written to its disk, but logs."""
        return self._disk(node).contents_and_times()

    def disk_of_any(self, node: Node) -> dict[str, str]:
        """Return what a node has written, the same for nodes that differ in name and address."""
        return self._disk(node).contents_of_any()

    def _disk(self, node: Node) -> Disk:
        dashed = node.address.replace(".", "-")
        own = (node.name, node.instance_id.removeprefix("i-"), node.address, dashed)
        return Disk(self.work / node.instance_id / "upper", own)

    def daemons(self, node: Node) -> dict[str, str]:
        """Return when each daemon of a node was started."""
        units = ("munge", "mariadb", "slurmdbd", "slurmctld", "slurmd")
        shown = node.machine.run(
            "systemctl", "show", *units, "-p", "Id,ActiveEnterTimestampMonotonic"
        )
        blocks = [dict(line.split("=", 1) for line in b.splitlines()) for b in shown.split("\n\n")]
        return {block["Id"]: block["ActiveEnterTimestampMonotonic"] for block in blocks}

    def states(self) -> dict[str, str]:
        """Return the state of each node, as Slurm has it."""
        shown = self.head.machine.try_run("sinfo", "-ahN", "-o", "%N %T")
        return dict(line.split() for line in shown.stdout.splitlines())

    def wait_idle(self, *nodes: Node, seconds: float = 300) -> None:
        """Wait until Slurm has the nodes idle."""
        names = {node.name for node in nodes}
        wait_until(
            lambda: names <= {name for name, state in self.states().items() if state == "idle"},
            lambda: f"idle {names}, not {self.states()}",
            seconds,
            every=0.5,
        )

    def boot_ended(self, node: Node) -> str | None:
        """Return ``inactive`` or ``failed`` once a node's boot has ended."""
        fields = "ActiveState,ExecMainExitTimestampMonotonic"
        shown = node.machine.try_run("systemctl", "show", "trainshed-boot", "-p", fields).stdout
        found = dict(line.split("=", 1) for line in shown.splitlines())
        state, ended = (found.get(name, "") for name in fields.split(","))
        return state if state in ("inactive", "failed") and ended not in ("", "0") else None

    def run_instance(self, role: str, queue: str) -> str:
        """Make an instance in EC2 with the fleet's tags, and return its id."""
        tags = {"trainshed:cluster": CLUSTER, "trainshed:role": role}
        if queue:
            tags["trainshed:queue"] = queue
        made = self.ec2.run_instances(
            MinCount=1,
            MaxCount=1,
            InstanceType=_type_of(queue),
            TagSpecifications=[
                {
                    "ResourceType": "instance",
                    "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
                }
            ],
        )
        return str(made["Instances"][0]["InstanceId"])

    def _power_on(self, instance_id: str, address: str, role: str, queue: str = QUEUE) -> Machine:
        disk = self.work / instance_id
        if not disk.exists():
            (disk / "upper" / "etc").mkdir(parents=True)
            (disk / "upper/etc/hostname").write_text(f"ip-{address.replace('.', '-')}\n")
            (disk / "upper/etc/machine-id").write_text(f"{secrets.token_hex(16)}\n")
        (disk / "layers").write_text(self.image.lower)
        gpus = 8 if role == "compute" and queue != CPU_QUEUE else 0
        return self.boot(instance_id, address, gpus=gpus)

    def _after_call(self, action: str) -> None:
        if action in ("TerminateInstances", "StopInstances"):
            for instance_id, state in self.ec2_states().items():
                node = self.nodes.get(instance_id)
                if node and state in ("terminated", "stopped", "shutting-down", "stopping"):
                    self.power_off(node)
        if action in ("AttachVolume", "DetachVolume", "TerminateInstances", "StopInstances"):
            self.volumes.show()

    def ec2_states(self) -> dict[str, str]:
        """Return the state of each instance, as EC2 has it."""
        pages = self.ec2.describe_instances()["Reservations"]
        instances = [instance for page in pages for instance in page["Instances"]]
        return {i["InstanceId"]: i["State"]["Name"] for i in instances}


def _type_of(queue: str) -> str:
    return CPU_TYPE if queue == CPU_QUEUE else INSTANCE_TYPE
