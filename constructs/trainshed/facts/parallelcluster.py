"""What AWS ParallelCluster 3.16.1 takes, refuses and ships.

Read 2026-11-29 in the wheel ``aws_parallelcluster-3.16.1``, in the file that each comment names.
Lists are upstream's; ParallelCluster compares Slurm settings without regard to case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

VERSION = "3.16.1"
SLURM_VERSION = "25.11.8"
"""The Slurm that its images carry (release notes of 3.16.1)."""

Platform = Literal["Linux/UNIX", "Red Hat Enterprise Linux"]
SettingsLevel = Literal["SlurmConf", "Queue", "ComputeResource"]


@dataclass(frozen=True, slots=True)
class OperatingSystem:
    """An operating system of the nodes, ``Image.Os``.

    Args:
        name: As the configuration spells it.
        default_user: Administrator that SSH keys are for.
        image_name_part: What the names of official images say between version and architecture.
        official_image: Whether AWS publishes one; else ``Image.CustomAmi`` is needed.
        reservation_platform: Platform that a capacity reservation must have.
        on_gb200: Whether p6e-gb200 instances run it.
    """

    name: str
    default_user: str
    image_name_part: str
    official_image: bool = True
    reservation_platform: Platform = "Linux/UNIX"
    on_gb200: bool = True


# constants.py: SUPPORTED_OSES, OS_MAPPING, OS_TO_IMAGE_NAME_PART_MAP, PRIVATE_OSES,
# CAPACITY_RESERVATION_OS_MAP, UNSUPPORTED_OSES_FOR_P6E_GB200.
OPERATING_SYSTEMS: Mapping[str, OperatingSystem] = MappingProxyType(
    {
        system.name: system
        for system in (
            OperatingSystem("alinux2023", "ec2-user", "amzn2023-hvm"),
            OperatingSystem("ubuntu2204", "ubuntu", "ubuntu-2204-lts-hvm"),
            OperatingSystem("ubuntu2404", "ubuntu", "ubuntu-2404-lts-hvm"),
            OperatingSystem(
                "rhel8",
                "ec2-user",
                "rhel8-hvm",
                reservation_platform="Red Hat Enterprise Linux",
                on_gb200=False,
            ),
            OperatingSystem("rocky8", "rocky", "rocky8-hvm", official_image=False, on_gb200=False),
            OperatingSystem(
                "rhel9",
                "ec2-user",
                "rhel9-hvm",
                reservation_platform="Red Hat Enterprise Linux",
                on_gb200=False,
            ),
            OperatingSystem("rocky9", "rocky", "rocky9-hvm", official_image=False),
        )
    }
)

# constants.py: PCLUSTER_NAME_REGEX and its lengths. The names of Slurm's accounting tables begin
# with the cluster's, and MariaDB takes 64 characters.
CLUSTER_NAME_PATTERN = "[a-zA-Z][a-zA-Z0-9-]*"
"""Of the whole name."""
MAX_CLUSTER_NAME = 60
MAX_CLUSTER_NAME_WITH_ACCOUNTING = 40

# validators/cluster_validators.py: NAME_REGEX, NAME_MAX_LENGTH, NameValidator,
# SHARED_STORAGE_NAME_MAX_LENGTH.
QUEUE_NAME_PATTERN = "[a-z][a-z0-9-]*"
"""Of the whole name of a queue, compute resource or login pool."""
MAX_QUEUE_NAME = 25
RESERVED_QUEUE_NAMES = frozenset({"default"})
MAX_SHARED_STORAGE_NAME = 30

# constants.py.
MAX_QUEUES = 50
MAX_COMPUTE_RESOURCES = 50
"""Of the cluster, and so of one queue."""
MAX_LOGIN_POOLS = 10
MAX_TAGS = 40
"""Of the cluster, with those of a queue and its compute resource."""
MAX_IAM_NAME_PREFIX = 30
ULTRASERVER_BLOCK_SIZES: Mapping[str, tuple[int, ...]] = MappingProxyType({"p6e-gb200": (9, 18)})
"""By family: instances that a Capacity Block of one UltraServer has."""
DEFAULT_BOOTSTRAP_TIMEOUT_SECONDS = 2100
"""Of head and compute nodes, unless DevSettings says otherwise."""

# schemas/cluster_schema.py: CloudWatchLogsSchema.
LOG_RETENTION_DAYS = (0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653)
"""What ``RetentionInDays`` takes; 0 keeps the logs for ever."""
DEFAULT_LOG_RETENTION_DAYS = 180

# validators/cluster_validators.py: SharedStorageMountDirValidator.
RESERVED_MOUNT_DIRS = frozenset(
    {
        "/bin",
        "/boot",
        "/dev",
        "/etc",
        "/lib",
        "/lib64",
        "/media",
        "/mnt",
        "/opt",
        "/opt/intel",
        "/opt/parallelcluster",
        "/opt/parallelcluster/shared",
        "/opt/parallelcluster/shared_login_nodes",
        "/opt/slurm",
        "/proc",
        "/root",
        "/run",
        "/sbin",
        "/srv",
        "/sys",
        "/tmp",  # noqa: S108, a name to refuse and not a path to use
        "/usr",
        "/var",
    }
)
"""Directories that shared storage must not be mounted on; others below them are allowed."""

# validators/slurm_settings_validator.py: SLURM_SETTINGS_DENY_LIST.
DENIED_SETTINGS: Mapping[SettingsLevel, frozenset[str]] = MappingProxyType(
    {
        "SlurmConf": frozenset(
            {
                "epilog",
                "grestypes",
                "launchparameters",
                "prolog",
                "reconfigflags",
                "resumefailprogram",
                "resumeprogram",
                "resumetimeout",
                "slurmctldhost",
                "slurmctldlogfile",
                "slurmctldparameters",
                "slurmdlogfile",
                "slurmuser",
                "suspendexcnodes",
                "suspendprogram",
                "suspendtime",
                "taskplugin",
                "treewidth",
            }
        ),
        "Queue": frozenset(
            {"nodes", "partitionname", "resumetimeout", "state", "suspendtime", "oversubscribe"}
        ),
        "ComputeResource": frozenset(
            {"cpus", "gres", "nodeaddr", "nodehostname", "nodename", "state", "weight"}
        ),
    }
)
"""By level: settings, in lower case, that ParallelCluster writes itself."""
DENIED_SETTINGS_WITH_DATABASE = frozenset(
    {
        "accountingstoragetype",
        "accountingstoragehost",
        "accountingstorageport",
        "accountingstorageuser",
        "jobacctgathertype",
    }
)
"""The same at level SlurmConf, once ``SlurmSettings.Database`` is given."""
RESERVED_NODE_NAME_PARTS = ("-st-", "-dy-")
"""What the names of static and dynamic nodes contain, and no other node's may."""

# Guide, "Slurm memory-based scheduling"; SchedulableMemoryValidator warns below it.
SCHEDULABLE_MEMORY_PERCENT = 95
"""Share of an instance's memory that Slurm hands out unless ``SchedulableMemory`` is set."""


def schedulable_memory_mib(memory_mib: int) -> int:
    """Return the ``RealMemory`` that ParallelCluster gives a node, in MiB.

    Args:
        memory_mib: Of the instance type, in MiB.
    """
    return memory_mib * SCHEDULABLE_MEMORY_PERCENT // 100


def denied_settings(
    names: Iterable[str], level: SettingsLevel, *, database: bool = False
) -> list[str]:
    """Return those settings that ParallelCluster refuses at a level, as they were spelled.

    Upstream overlooks them in an entry of several settings; this does not.

    Args:
        names: Names of Slurm settings, in any case.
        level: Where they are set: ``SlurmSettings``, a queue or a compute resource.
        database: Whether ``SlurmSettings.Database`` is given.
    """
    denied = DENIED_SETTINGS[level]
    if database and level == "SlurmConf":
        denied |= DENIED_SETTINGS_WITH_DATABASE
    return sorted(name for name in set(names) if name.lower() in denied)


def is_reserved_mount_dir(path: str) -> bool:
    """Tell whether shared storage must not be mounted on a directory.

    Args:
        path: With or without slashes at its ends.
    """
    return f"/{path.strip('/')}" in RESERVED_MOUNT_DIRS


def head_memory_gib(nodes: int) -> float:
    """Return the memory that ParallelCluster wants in a head node, in GiB.

    Args:
        nodes: Most compute nodes of all queues together.
    """
    # pcluster 3.16.1, HeadNodeMemorySizeValidator.
    return min(nodes / 25 + 0.6, 16)
