"""The records of a policy: partitions, quality of service, accounts and users."""

from typing import Annotated, Literal

from pydantic import Field

from ..records import OnChange, Record
from .texts import (
    ExemptTime,
    NodeExpression,
    PlainText,
    QueueName,
    SlurmName,
    TimeLimit,
)

Count = Annotated[int, Field(ge=0, le=1_000_000)]
Minutes = Annotated[int, Field(ge=0, le=1_000_000_000)]
PreemptMode = Literal["OFF", "REQUEUE", "CANCEL"]


class Partition(Record):
    """A partition: nodes, time, and who may use them. Nodes are shared by all partitions."""

    queues: Annotated[tuple[QueueName, ...], OnChange.LIVE] = ()
    """Queues whose nodes it has. Default: every queue."""
    node_names: Annotated[NodeExpression | None, OnChange.LIVE] = None
    """Nodes by name, instead of queues. A name that the fleet does not have stops slurmctld."""
    nodes: Annotated[int | None, Field(ge=1, le=10_000), OnChange.LIVE] = None
    """Nodes' worth of GPUs and CPUs that all its jobs together may use. Default: all of them.

    It is a limit of the partition's QOS, not a list of nodes, so a replaced node changes nothing.
    """
    nodes_per_job: Annotated[int | None, Field(ge=1, le=10_000), OnChange.LIVE] = None
    """Most nodes of one job. Default: no limit."""
    default: Annotated[bool, OnChange.LIVE] = False
    """Where jobs without ``-p`` go. One partition at most."""
    max_time: Annotated[TimeLimit, OnChange.LIVE] = "1-00:00:00"
    """Longest time limit a job may ask for."""
    default_time: Annotated[TimeLimit | None, OnChange.LIVE] = None
    """Time limit of a job that asks for none. Default: max_time, which blinds backfill."""
    priority_tier: Annotated[int, Field(ge=1, le=65_533), OnChange.LIVE] = 1
    """Jobs of a higher tier go first and may preempt those of a lower one."""
    priority_job_factor: Annotated[int, Field(ge=0, le=65_533), OnChange.LIVE] = 1
    """Its share in a job's priority, over the largest factor of any partition."""
    qos: Annotated[SlurmName | None, OnChange.LIVE] = None
    """QOS whose limits hold for every job in it, beside those of the job's own QOS."""
    allow_qos: Annotated[tuple[SlurmName, ...], OnChange.LIVE] = ()
    """QOS a job must have. Default: any. Users then type ``--qos``; prefer ``qos``."""
    allow_accounts: Annotated[tuple[SlurmName, ...], OnChange.LIVE] = ()
    """Accounts whose jobs may enter, with the accounts below them. Default: any."""
    whole_node: Annotated[bool, OnChange.LIVE] = False
    """Give a job all of each node it is on."""
    preempt_mode: Annotated[PreemptMode | None, OnChange.LIVE] = None
    """How its own jobs are preempted. Default: as the scheduler's preempt_mode says."""
    grace_seconds: Annotated[int, Field(ge=0, le=86_400), OnChange.LIVE] = 0
    """Time between the first signal to a preempted job and its end, before kill_wait_seconds."""
    root_only: Annotated[bool, OnChange.LIVE] = False
    """Only root may submit to it."""
    hidden: Annotated[bool, OnChange.LIVE] = False
    """Leave it out of sinfo and squeue by default."""


class Qos(Record):
    """A quality of service: limits and priority. None: no limit."""

    priority: Annotated[int, Field(ge=0, le=1_000_000_000), OnChange.LIVE] = 0
    """Its share in a job's priority, over the largest priority of any QOS."""
    max_jobs_per_user: Annotated[Count | None, OnChange.LIVE] = None
    """Jobs of one user that run at a time."""
    max_submit_jobs_per_user: Annotated[Count | None, OnChange.LIVE] = None
    """Jobs of one user that run or wait."""
    max_jobs_per_account: Annotated[Count | None, OnChange.LIVE] = None
    """Jobs of one account that run at a time."""
    max_submit_jobs_per_account: Annotated[Count | None, OnChange.LIVE] = None
    """Jobs of one account that run or wait."""
    group_jobs: Annotated[Count | None, OnChange.LIVE] = None
    """Jobs of everybody together that run at a time."""
    gpus_per_job: Annotated[Count | None, OnChange.LIVE] = None
    """GPUs of one job."""
    gpus_per_user: Annotated[Count | None, OnChange.LIVE] = None
    """GPUs of one user's running jobs together."""
    gpus_per_account: Annotated[Count | None, OnChange.LIVE] = None
    """GPUs of one account's running jobs together."""
    group_gpus: Annotated[Count | None, OnChange.LIVE] = None
    """GPUs of everybody's running jobs together."""
    cpus_follow_gpus: Annotated[bool, OnChange.LIVE] = False
    """Each cap on GPUs caps CPUs and memory too, at the node's share per GPU."""
    min_gpus_per_job: Annotated[Count | None, OnChange.LIVE] = None
    """Fewest GPUs of a job."""
    gpu_minutes_per_job: Annotated[Minutes | None, OnChange.LIVE] = None
    """GPUs times minutes of one job."""
    group_gpu_minutes: Annotated[Minutes | None, OnChange.LIVE] = None
    """GPUs times minutes of everybody, decaying as the scheduler's half-life says."""
    max_time: Annotated[TimeLimit | None, OnChange.LIVE] = None
    """Longest time limit; the shorter of this and the partition's holds."""
    preempts: Annotated[tuple[SlurmName, ...], OnChange.LIVE] = ()
    """QOS whose jobs it may preempt; only with the scheduler's preempt_by ``qos``."""
    preempt_exempt_time: Annotated[ExemptTime | None, OnChange.LIVE] = None
    """Time a job runs before it may be preempted."""
    deny_on_limit: Annotated[bool, OnChange.LIVE] = False
    """Refuse at submit what a limit on GPUs would leave waiting for ever."""


class Account(Record):
    """An account: an institution, a department or a group of users, in a tree."""

    description: Annotated[PlainText, OnChange.LIVE]
    """What it is, for reports. Slurm keeps it in lower case."""
    organization: Annotated[PlainText | None, OnChange.LIVE] = None
    """Organisation it belongs to. Default: the account's name."""
    parent: Annotated[SlurmName | None, OnChange.LIVE] = None
    """Account above it. Default: the root of the tree."""
    fairshare: Annotated[int, Field(ge=1, le=1_000_000), OnChange.LIVE] = 1
    """Its share among the accounts with the same parent."""
    qos: Annotated[tuple[SlurmName, ...], OnChange.LIVE] = ()
    """QOS its users may have. Default: those of the account above."""
    default_qos: Annotated[SlurmName | None, OnChange.LIVE] = None
    """QOS of a job that asks for none. Default: that of the account above."""
    gpus: Annotated[Count | None, OnChange.LIVE] = None
    """GPUs of its running jobs, accounts below it included. Default: no limit."""
    gpu_minutes: Annotated[Minutes | None, OnChange.LIVE] = None
    """GPUs times minutes, accounts below it included, decaying. Default: no limit."""


class User(Record):
    """A user: the Slurm accounts it may charge, and on the bare fleet its Unix account."""

    account: Annotated[SlurmName, OnChange.LIVE]
    """Account of jobs that name none."""
    more_accounts: Annotated[tuple[SlurmName, ...], OnChange.LIVE] = ()
    """Other accounts the user may name."""
    uid: Annotated[int | None, Field(ge=1000, le=4_000_000_000), OnChange.LIVE] = None
    """Unix user id; the bare fleet makes the user on every node, ParallelCluster on none.

    Default: the user is there by other means, such as a directory.
    """
    fairshare: Annotated[int, Field(ge=1, le=1_000_000), OnChange.LIVE] = 1
    """Share among the users of the same account."""
    admin: Annotated[Literal["None", "Operator", "Administrator"], OnChange.LIVE] = "None"
    """Rights over the accounting database."""
