"""Which of trainshed's scripts a node of ParallelCluster runs at boot, and with which arguments."""

from __future__ import annotations

from dataclasses import dataclass

# ParallelCluster's computemgtd and loginmgtd run as this user and ask the metadata service
# (aws-parallelcluster-cookbook, parallelcluster_supervisord.conf.erb, read 2026-11-29). Nobody
# logs in as it.
METADATA_USERS = ("pcluster-admin",)

LIST_RUNNER = "pc_actions.sh"
"""Runs what an SSM parameter lists: the one script that head and login nodes ever have."""
OPTIONAL_RUNNER = "pc_optional.sh"
"""Runs a script without which a node still works."""
POLICY_RUNNER = "pc_slurm_policy.sh"
"""Keeps the accounting database at the policy, around each start of slurmctld."""
RELEASE_RUNNER = "pc_release.sh"
"""Brings trainshed's own programs to a node and runs one of them."""
HEAD_PROGRAM, COMPUTE_PROGRAM = "pc_head.sh", "pc_compute.sh"
"""What it runs on head and compute nodes."""
POLICY_PROGRAM = "slurm_accounts.py"
"""What it runs."""
POLICY_DOCUMENT = "policy.json"
"""What that program brings the database to."""


@dataclass(frozen=True, slots=True)
class BootScript:
    """One script of ``assets/node``.

    Args:
        name: File name.
        args: Arguments, in order.
        optional: A node whose script fails goes on without it.
    """

    name: str
    args: tuple[str, ...] = ()
    optional: bool = False


def head_scripts(mount_dir: str) -> tuple[BootScript, ...]:
    """Return what the head node runs; ParallelCluster itself restricts its metadata service."""
    return BootScript("hold_kernel.sh"), BootScript("lustre_tuning.sh", (mount_dir,))


def head_start_scripts(cluster_name: str, region: str) -> tuple[BootScript, ...]:
    """Return what the head node runs before slurmctld is there.

    It is the same with and without a policy: ParallelCluster never runs it again.

    Args:
        cluster_name: Name of the cluster.
        region: AWS Region.
    """
    parameter = policy_parameter_name(cluster_name)
    return (BootScript(POLICY_RUNNER, ("install", parameter, region)),)


def policy_scripts(cluster_name: str, region: str, content: str) -> tuple[BootScript, ...]:
    """Return what the head node of a cluster with a policy runs as well, now and at each change.

    Args:
        cluster_name: Name of the cluster.
        region: AWS Region.
        content: Another text for another policy.
    """
    parameter = policy_parameter_name(cluster_name)
    return (BootScript(POLICY_RUNNER, ("apply", parameter, region, content)),)


def login_scripts(mount_dir: str) -> tuple[BootScript, ...]:
    """Return what login nodes run."""
    return (*head_scripts(mount_dir), BootScript("restrict_imds.sh", METADATA_USERS))


def compute_start_scripts(mount_dir: str, *, efa: bool) -> tuple[BootScript, ...]:
    """Return what compute nodes run before file systems are mounted.

    Lustre's module options count from the next load of its modules, and a mount that was made over
    TCP stays on TCP.

    Args:
        mount_dir: Where the file system will be.
        efa: The node reaches it over EFA.
    """
    tuning = BootScript("lustre_tuning.sh", (mount_dir,))
    return (tuning, BootScript("lustre_efa_client.sh", optional=True)) if efa else (tuning,)


def compute_configured_scripts(mount_dir: str) -> tuple[BootScript, ...]:
    """Return what compute nodes run once they are set up."""
    return login_scripts(mount_dir)


def list_parameter_name(cluster_name: str, who: str) -> str:
    """Return the SSM parameter that lists scripts of head or login nodes; it never changes."""
    return f"/trainshed/{cluster_name}/{who}-actions"


def policy_parameter_name(cluster_name: str) -> str:
    """Return the SSM parameter that lists the policy's files; it never changes."""
    return f"/trainshed/{cluster_name}/slurm-policy"


def topic_parameter_name(cluster_name: str) -> str:
    """Return the SSM parameter that has the topic that people are told by; it never changes."""
    return f"/trainshed/{cluster_name}/alarm-topic"
