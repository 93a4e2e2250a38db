"""The steps of a node's boot in their order, from the fleet document. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FILES_DIR = "/etc/trainshed/files"
PACKAGES_DIR = "/opt/trainshed/packages"
_CLOCK_SECONDS = "30"
_APT_SECONDS = "600"


@dataclass(frozen=True)
class Step:
    """One script of the boot.

    Args:
        name: Name that people read, also of the log.
        command: Script beside this package, and its arguments.
        remedy: What a person does when it fails.
    """

    name: str
    command: tuple[str, ...]
    remedy: str


@dataclass(frozen=True)
class Node:
    """The node that boots.

    Args:
        role: ``head``, ``compute`` or ``login``.
        queue: Queue of a compute node; empty for others.
        instance_id: EC2 instance id.
        instance_type: EC2 instance type.
    """

    role: str
    queue: str
    instance_id: str
    instance_type: str

    @property
    def name(self) -> str:
        """Host name, and name in Slurm."""
        short = self.instance_id.removeprefix("i-")
        return {"head": "head", "compute": f"{self.queue}-{short}"}.get(
            self.role, f"{self.role}-{short}"
        )


def steps(document: Mapping[str, Any], node: Node) -> list[Step]:
    """Return the steps of a node.

    Args:
        document: The fleet document.
        node: The node.

    Raises:
        ValueError: The document has no queue of that name.
    """
    if node.role == "compute" and node.queue not in document["queues"]:
        raise ValueError(
            f"the fleet document has no queue {node.queue!r}, only "
            f"{', '.join(sorted(document['queues']))}"
        )
    return [
        # A compute node whose first boot fails is replaced. The others boot again.
        *(() if node.role == "compute" else (_watch(),)),
        *_host(document, node),
        *_software(document, node),
        *_secrets_and_storage(document, node),
        *(_head(document) if node.role == "head" else ()),
        *(_compute(document, node) if node.role == "compute" else ()),
        *(_login(document) if node.role == "login" else ()),
        _resume(document),
        Step(
            "agent",
            (
                "cloudwatch_agent.sh",
                f"{FILES_DIR}/cloudwatch-agent-{node.role}.json",
                document["region"],
            ),
            "see /opt/aws/amazon-cloudwatch-agent/logs; metrics and logs of the node are missing",
        ),
    ]


def _host(document: Mapping[str, Any], node: Node) -> Iterator[Step]:
    names = (node.name, document["head"]["host"]) if node.role == "head" else (node.name,)
    yield Step("hostname", ("set_hostname.sh", *names), "see hostnamectl")
    yield Step("hold", ("hold_kernel.sh",), "see apt-mark showhold")
    lock = document["image"] or {}
    # The driver is not loaded where there is no GPU, and says no version there.
    has_gpus = node.role == "compute" and document["queues"][node.queue]["gpus"]
    versions = (
        lock.get("kernel") or "",
        (lock.get("nvidia_driver") or "") if has_gpus else "",
        lock.get("efa_installer") or "",
    )
    if node.role != "head" and any(versions):
        yield Step(
            "image",
            ("check_image.sh", *versions),
            "the image is not the one of the lock: renew the lock (trainshed image), or deploy "
            "the image that it names",
        )
    yield Step("needrestart", ("exclude_needrestart.sh",), "see /etc/needrestart/conf.d")
    yield Step("rotation", ("rotate_logs.sh",), "see /etc/logrotate.d/trainshed")
    yield Step(
        "clock",
        ("wait_clock.sh", _CLOCK_SECONDS),
        "see chronyc tracking and sources; munge refuses credentials of a clock that is off",
    )


def _software(document: Mapping[str, Any], node: Node) -> Iterator[Step]:
    region, packages = document["region"], document["packages"]
    if packages:
        yield Step(
            "cache",
            ("fetch.sh", region, *_object(packages), PACKAGES_DIR),
            "upload the package cache again and put its SHA-256 into the institution file",
        )
    yield Step(
        "apt",
        ("wait_apt.sh", _APT_SECONDS),
        "see which program holds the lock; unattended-upgrades ends by itself",
    )
    yield Step(
        "packages",
        (
            "install_packages.sh",
            node.role,
            document["slurm_version"],
            PACKAGES_DIR if packages else "",
        ),
        "see whether the node reaches the package mirror, or give it a package cache "
        "(fleet.slurm.packages)",
    )
    yield Step("limits", ("set_limits.sh",), "see /etc/security/limits.d and sysctl")
    yield Step(
        "files",
        ("fetch.sh", region, *_object(document["files"]), FILES_DIR),
        "deploy again: the bucket's file must be the one that the fleet document names",
    )


def _secrets_and_storage(document: Mapping[str, Any], node: Node) -> Iterator[Step]:
    region = document["region"]
    yield Step(
        "munge",
        ("munge_key.sh", region, document["munge_secret_arn"]),
        "see whether the secret has a key of 32 bytes or more and the node may read it",
    )
    efa = node.role == "compute" and document["queues"][node.queue]["efa"]
    for mount in document["mounts"]:
        path = mount["path"]
        yield Step(
            f"mount-{path.strip('/').replace('/', '-')}",
            ("mount_lustre.sh", path, mount["dns_name"], mount["mount_name"])
            + (("efa",) if efa and mount["efa"] else ()),
            "see whether the file system is available, in this VPC, and its security group lets "
            "the nodes in on ports 988 and 1018-1023",
        )
    home = document["mounts"][0]["path"] if document["mounts"] else ""
    yield Step(
        "users",
        ("unix_users.sh", f"{FILES_DIR}/policy.json", home),
        "give each user of the policy a uid that no other user of the image has",
    )


def _head(document: Mapping[str, Any]) -> Iterator[Step]:
    region, cluster = document["region"], document["cluster"]
    yield Step(
        "state-volume",
        ("state_volume.sh", region, cluster, document["head"]["state_volume_id"]),
        "see the volume in the EC2 console: it must be in the head node's zone and free",
    )
    # sacctmgr reads slurm.conf too.
    yield _slurm_files(document)
    database = document["accounting"]
    external = (
        (
            database["host"],
            str(database["port"]),
            database["user"],
            database["password_secret_arn"],
            database["database"],
        )
        if database
        else ()
    )
    yield Step(
        "database",
        ("accounting_database.sh", region, *external),
        "see journalctl -u mariadb and -u slurmdbd, and the free space of /state"
        if not database
        else "see journalctl -u slurmdbd, and whether the database lets the head node in",
    )
    yield Step(
        "slurmctld",
        ("slurmctld.sh", cluster, f"{FILES_DIR}/policy.json"),
        "see /var/log/slurm/slurmctld.log",
    )
    yield Step("keeper", ("keeper_service.sh",), "see journalctl -u trainshed-keeper")
    yield Step("recovery", ("recovery_service.sh",), "see journalctl -u trainshed-recovery")
    # Last, so that Slurm runs even where they cannot be had.
    yield from _containers(document)


def _compute(document: Mapping[str, Any], node: Node) -> Iterator[Step]:
    queue = document["queues"][node.queue]
    if queue["nvme_dir"]:
        yield Step(
            "nvme",
            ("nvme_scratch.sh", queue["nvme_dir"]),
            "see lsblk and dmesg; replace the instance if a disk is missing",
        )
    yield from _containers(document)
    yield Step(
        "environment",
        (
            "training_environment.sh",
            "efa" if queue["efa"] else "no-efa",
            "nvlink" if queue["nvlink"] else "no-nvlink",
        ),
        "see /etc/trainshed/training.env",
    )
    # No job may read the credentials of the node's role.
    yield Step("metadata", ("restrict_imds.sh",), "see iptables -S")
    yield Step(
        "health",
        ("health/install_health.sh", f"{FILES_DIR}/expect/{node.instance_type}.json"),
        "see the message; a node that is not whole is replaced",
    )
    if not queue["gpus"] and any(other["gpus"] for other in document["queues"].values()):
        yield Step(
            "no-gpus", ("no_gpus.sh", f"{FILES_DIR}/gres.conf"), f"see {FILES_DIR}/gres.conf"
        )
    host = document["head"]["host"]
    # A node that joins drained stays so until its checks have passed: keeper/recovery.
    held = " State=DRAIN" if document.get("gate") else ""
    yield Step(
        "slurmd",
        ("slurmd.sh", node.name, host, queue["node_conf"] + held),
        "see /var/log/slurm/slurmd.log here and slurmctld.log on the head node",
    )
    # Without a gate, too: a node that is reset or rebooted is checked before it serves again.
    yield Step(
        "gate",
        ("node_gate.sh", node.name),
        "see journalctl -u trainshed-node-gate; a node that fails its checks stays out of use",
    )
    yield _watch(host, node.name)


def _login(document: Mapping[str, Any]) -> Iterator[Step]:
    yield _slurm_files(document)
    yield from _containers(document)
    yield Step("metadata", ("restrict_imds.sh",), "see iptables -S")


# Every node that srun is called on needs the plugin, which knows its options.
def _containers(document: Mapping[str, Any]) -> Iterator[Step]:
    if document["containers"]:
        yield Step(
            "containers",
            ("install_containers.sh", PACKAGES_DIR if document["packages"] else ""),
            "see whether the node reaches github.com and git.musl-libc.org, or give it a package "
            "cache that has containers (fleet.slurm.packages), or set fleet.slurm.containers to "
            "false",
        )


def _slurm_files(document: Mapping[str, Any]) -> Step:
    containers = ("containers",) if document["containers"] else ()
    return Step("slurm-files", ("slurm_files.sh", FILES_DIR, *containers), "see /etc/slurm")


def _resume(document: Mapping[str, Any]) -> Step:
    shared = document["mounts"][0]["path"] if document["mounts"] else ""
    return Step("resume", ("install_resume.sh", shared), "see /usr/local/bin/trainshed-resume")


def _watch(*head_and_node: str) -> Step:
    return Step(
        "watch", ("watch_service.sh", *head_and_node), "see systemctl status trainshed-watch.timer"
    )


def _object(stored: Mapping[str, str]) -> tuple[str, str, str]:
    return stored["bucket"], stored["key"], stored["sha256"]
