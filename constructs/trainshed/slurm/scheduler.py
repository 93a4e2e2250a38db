"""How Slurm schedules, accounts and confines: what is one value for the whole cluster."""

from typing import Annotated, Literal

from pydantic import Field

from ..records import OnChange, Record
from .records import PreemptMode
from .texts import ExemptTime, HalfLife, PlainPath, SchedulerParameter, SlurmTime, TrackedResource

Weight = Annotated[int, Field(ge=0, le=1_000_000_000)]


class Weights(Record):
    """What a job's priority is made of; each factor, 0 to 1, is multiplied by its weight."""

    partition: Annotated[Weight, OnChange.LIVE] = 0
    """Weight of the partition's priority_job_factor."""
    qos: Annotated[Weight, OnChange.LIVE] = 0
    """Weight of the QOS priority."""
    fairshare: Annotated[Weight, OnChange.LIVE] = 0
    """Weight of what the account has used against its share."""
    age: Annotated[Weight, OnChange.LIVE] = 0
    """Weight of the time a job has waited."""
    job_size: Annotated[Weight, OnChange.LIVE] = 0
    """Weight of the size of a job."""
    max_age: Annotated[SlurmTime, OnChange.LIVE] = "7-00:00:00"
    """Waiting time at which the age factor is 1."""
    decay_half_life: Annotated[HalfLife, OnChange.LIVE] = "7-00:00:00"
    """Time in which past usage counts half; ``UNLIMITED`` never forgets."""


class Scheduler(Record):
    """Preemption, priority, signals, accounting and confinement."""

    preempt_by: Annotated[Literal["partition_prio", "qos", "none"], OnChange.LIVE] = (
        "partition_prio"
    )
    """What decides who preempts whom: the partitions' tiers, the QOS lists, or nobody."""
    preempt_mode: Annotated[PreemptMode, OnChange.LIVE] = "REQUEUE"
    """How a job is preempted where its partition does not say."""
    preempt_exempt_time: Annotated[ExemptTime | None, OnChange.LIVE] = None
    """Time every job runs before it may be preempted."""
    send_user_signal: Annotated[bool, OnChange.LIVE] = False
    """A preempted job gets the signal of its ``--signal`` at the start of the grace time."""
    weights: Annotated[Weights, OnChange.LIVE] = Weights()
    """What a job's priority is made of."""
    enforce_partition_limits: Annotated[Literal["ALL", "ANY", "NO"], OnChange.LIVE] = "ALL"
    """Refuse at submit what a partition's limits forbid; ``NO`` lets it wait for ever."""
    enforce_accounting: Annotated[
        tuple[Literal["associations", "limits", "qos", "safe"], ...], OnChange.LIVE
    ] = ("associations", "limits", "qos", "safe")
    """What of the accounting database is enforced. ``safe`` starts no job it cannot finish."""
    kill_wait_seconds: Annotated[int, Field(ge=1, le=65_533), OnChange.LIVE] = 30
    """Time between SIGTERM and SIGKILL."""
    # slurmctld objects below five times MessageTimeout, which ParallelCluster sets to 60 s.
    unkillable_timeout_seconds: Annotated[int, Field(ge=300, le=65_533), OnChange.LIVE] = 300
    """Time after SIGKILL when a node with a process that is still there is drained."""
    cpus_per_gpu: Annotated[int | None, Field(ge=1, le=1024), OnChange.LIVE] = None
    """CPUs a job gets for each GPU. Default: the node's share, from the instance type."""
    memory_per_gpu_mib: Annotated[int | None, Field(ge=1, le=10_000_000), OnChange.LIVE] = None
    """Memory a job gets for each GPU. Default: the node's share, from the instance type."""
    memory_per_cpu_mib: Annotated[int | None, Field(ge=0, le=10_000_000), OnChange.LIVE] = None
    """Memory a job without GPUs gets for each CPU. Default: the node's share; 0: all of it."""
    parameters: Annotated[tuple[SchedulerParameter, ...], OnChange.LIVE] = ()
    """More SchedulerParameters, such as ``bf_continue``. Slurm ignores the ones it cannot read."""
    select: Annotated[
        Literal["CR_Core_Memory", "CR_CPU_Memory", "CR_Core", "CR_CPU"], OnChange.STOPS_FLEET
    ] = "CR_CPU_Memory"
    """What is shared out. Without memory a job may take all of a node's memory."""
    tracked_resources: Annotated[tuple[TrackedResource, ...], OnChange.LIVE] = ("gres/gpu",)
    """Resources in accounting beside cpu, mem, energy, node and billing."""
    usage_gatherer: Annotated[Literal["cgroup", "linux"], OnChange.DRAINS_NODES] = "cgroup"
    """Where a job's usage is read."""
    job_completion_file: Annotated[PlainPath | None, OnChange.LIVE] = None
    """File with a line for each finished job. Default: none, the database has them."""
    confine_devices: Annotated[bool, OnChange.DRAINS_NODES] = True
    """A job sees its own GPUs only."""
    confine_memory: Annotated[bool, OnChange.DRAINS_NODES] = True
    """A job that takes more memory than it has is killed."""
    confine_cores: Annotated[bool, OnChange.DRAINS_NODES] = True
    """A job runs on its own cores only."""
    return_to_service: Annotated[Literal[0, 1, 2], OnChange.LIVE] = 2
    """When a node that was down comes back by itself: 0 never, 1 if it was lost, 2 always."""
    mail_program: Annotated[PlainPath | None, OnChange.LIVE] = "/bin/true"
    """What ``--mail-user`` runs. Default: nothing is sent; None is Slurm's /bin/mail."""
    accounting_first: Annotated[bool, OnChange.LIVE] = True
    """QOS, accounts and users are in the database before slurmctld reads the partitions."""
    close_native_partitions: Annotated[bool, OnChange.LIVE] = True
    """Close to users the partition that ParallelCluster makes of each queue."""
