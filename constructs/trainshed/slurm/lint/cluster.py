"""Rules on what is one value for the whole cluster."""

from __future__ import annotations

from collections.abc import Iterator

from ..nodes import with_gpus
from .finding import Finding, Subject

# slurm.conf(5) of Slurm 22.05.8 and 24.11.5, read 2026-11-29.
_SCHEDULER_PARAMETERS = """
allow_zero_lic assoc_limit_stop batch_sched_delay bb_array_stage_cnt bf_allow_magnetic_slot
bf_busy_nodes bf_continue bf_hetjob_immediate bf_hetjob_prio bf_interval
bf_job_part_count_reserve bf_licenses bf_max_job_array_resv bf_max_job_assoc bf_max_job_part
bf_max_job_start bf_max_job_test bf_max_job_user bf_max_job_user_part bf_max_time
bf_min_age_reserve bf_min_prio_reserve bf_node_space_size bf_one_resv_per_job bf_resolution
bf_running_job_reserve bf_topopt_enable bf_topopt_iterations bf_window bf_window_linear
bf_yield_interval bf_yield_sleep build_queue_timeout correspond_after_task_cnt
default_queue_depth defer defer_batch delay_boot disable_hetjob_steps disable_job_shrink
enable_hetjob_steps enable_job_state_cache enable_user_top extra_constraints
ignore_constraint_validation ignore_prefer_validation max_array_tasks max_rpc_cnt max_sched_time
max_script_size max_submit_line_size max_switch_wait no_backup_scheduling no_env_cache
nohold_on_prolog_fail pack_serial_at_end partition_job_depth preempt_reorder_count
preempt_send_user_signal preempt_strict_order preempt_youngest_first reduce_completing_frag
requeue_setup_env_fail salloc_wait_nodes sbatch_wait_nodes sched_interval sched_max_job_start
sched_min_interval spec_cores_first step_retry_count step_retry_time time_min_as_soft_limit
whole_hetjob
"""
KNOWN_SCHEDULER_PARAMETERS = frozenset(_SCHEDULER_PARAMETERS.split())


def accounting_after_slurmctld(subject: Subject) -> Iterator[Finding]:
    """T10, finding 2: slurmctld starts before the database knows the QOS."""
    if not subject.policy.scheduler.accounting_first:
        yield Finding(
            "accounting-after-slurmctld",
            "error",
            "scheduler.accounting_first",
            "slurmctld stops at its first start when slurmdbd is down or lacks a partition's QOS, "
            "and refuses every job where it does start",
            "set it to true: QOS, accounts and users first",
        )


def partition_limits_not_enforced(subject: Subject) -> Iterator[Finding]:
    """Finding 3: what a partition forbids is accepted and waits for ever."""
    if subject.policy.scheduler.enforce_partition_limits != "ALL":
        yield Finding(
            "partition-limits-not-enforced",
            "error",
            "scheduler.enforce_partition_limits",
            "a job over a partition's limit is accepted, waits for ever and counts as submitted",
            "use ALL",
        )


def limits_not_enforced(subject: Subject) -> Iterator[Finding]:
    """Limits in the database that slurmctld does not look at."""
    enforced = subject.policy.scheduler.enforce_accounting
    missing = sorted({"associations", "limits", "qos"} - set(enforced))
    if missing:
        yield Finding(
            "limits-not-enforced",
            "error",
            "scheduler.enforce_accounting",
            f"{', '.join(missing)} are left out: unregistered users may run, or limits do not hold",
            "use associations, limits, qos and safe",
        )


def memory_not_shared(subject: Subject) -> Iterator[Finding]:
    """Findings 5 and 14: memory that is not shared out, or all given to the first job."""
    scheduler = subject.policy.scheduler
    if not scheduler.select.endswith("_Memory"):
        yield Finding(
            "memory-not-shared",
            "error",
            "scheduler.select",
            f"{scheduler.select} does not share out memory; memory_per_gpu_mib does nothing",
            f"use {scheduler.select}_Memory",
        )
    if scheduler.memory_per_cpu_mib == 0:
        yield Finding(
            "memory-not-shared",
            "warning",
            "scheduler.memory_per_cpu_mib",
            "a job without GPUs and without --mem takes all memory of its node",
            "leave it out: a CPU's share of the node",
        )


def gpu_defaults_do_not_fit(subject: Subject) -> Iterator[Finding]:
    """T9: defaults per GPU that leave CPUs idle or ask for more than the node has."""
    scheduler = subject.policy.scheduler
    for group in with_gpus(subject.groups):
        for key, value, share in (
            ("cpus_per_gpu", scheduler.cpus_per_gpu, group.shape.cpus_per_gpu),
            ("memory_per_gpu_mib", scheduler.memory_per_gpu_mib, group.shape.memory_per_gpu_mib),
        ):
            if value is not None and value > share:
                yield Finding(
                    "gpu-defaults-do-not-fit",
                    "error",
                    f"scheduler.{key}",
                    f"{value} on each of {group.shape.gpus} GPUs is more than a node of queue "
                    f"{group.name} has: a whole-node job never starts",
                    f"use {share} or leave it out",
                )
            elif key == "cpus_per_gpu" and value is not None and value < share:
                yield Finding(
                    "gpu-defaults-do-not-fit",
                    "warning",
                    f"scheduler.{key}",
                    f"{value} on each of {group.shape.gpus} GPUs leaves "
                    f"{group.shape.cpus - value * group.shape.gpus} of {group.shape.cpus} CPUs of "
                    f"a node of queue {group.name} idle",
                    f"use {share} or leave it out",
                )


def gpus_not_tracked(subject: Subject) -> Iterator[Finding]:
    """Finding 12: GPUs that accounting does not know cannot be capped or reported."""
    if "gres/gpu" not in subject.policy.scheduler.tracked_resources:
        yield Finding(
            "gpus-not-tracked",
            "error",
            "scheduler.tracked_resources",
            "gres/gpu is left out: no report shows GPUs and no cap on them holds",
            "add gres/gpu",
        )


def usage_from_proc(subject: Subject) -> Iterator[Finding]:
    """Finding 13: usage read from /proc misses processes that left their tree."""
    if subject.policy.scheduler.usage_gatherer != "cgroup":
        yield Finding(
            "usage-from-proc",
            "warning",
            "scheduler.usage_gatherer",
            "usage is read from /proc and misses what left the job's process tree",
            "use cgroup",
        )


def not_confined(subject: Subject) -> Iterator[Finding]:
    """Findings 13 and 14: a job that reaches beyond what it was given."""
    scheduler = subject.policy.scheduler
    for key, confined, consequence in (
        ("confine_devices", scheduler.confine_devices, "every job can use every GPU of its node"),
        ("confine_memory", scheduler.confine_memory, "a job may use the memory of others"),
        ("confine_cores", scheduler.confine_cores, "a job may run on the cores of others"),
    ):
        if not confined:
            yield Finding(
                "not-confined",
                "error" if key == "confine_devices" else "warning",
                f"scheduler.{key}",
                consequence,
                "set it to true",
            )


def return_to_service(subject: Subject) -> Iterator[Finding]:
    """Finding 14: a node that restarted stays down."""
    value = subject.policy.scheduler.return_to_service
    if value != 2:
        yield Finding(
            "return-to-service",
            "warning",
            "scheduler.return_to_service",
            f"{value} leaves a node down that restarted by itself, until somebody looks",
            "use 2; health checks keep bad nodes out",
        )


def completion_file(subject: Subject) -> Iterator[Finding]:
    """T12e, finding 1: a file beside the database that already has every job."""
    path = subject.policy.scheduler.job_completion_file
    if path is not None:
        yield Finding(
            "completion-file",
            "warning",
            "scheduler.job_completion_file",
            f"slurmctld does not start when the directory of {path} is missing; the file grows "
            "without end and repeats the database",
            "leave it out",
        )


def unknown_scheduler_parameter(subject: Subject) -> Iterator[Finding]:
    """Finding 8: Slurm says nothing of an option that it does not know."""
    for token in subject.policy.scheduler.parameters:
        if token.split("=", 1)[0] not in KNOWN_SCHEDULER_PARAMETERS:
            yield Finding(
                "unknown-scheduler-parameter",
                "warning",
                "scheduler.parameters",
                f"{token} is no option of Slurm 22.05 or 24.11, which ignore it without a word",
                "correct it or leave it out",
            )


def mail_program(subject: Subject) -> Iterator[Finding]:
    """Finding 15: slurmctld logs an error at each start for /bin/mail."""
    if subject.policy.scheduler.mail_program is None:
        yield Finding(
            "mail-program",
            "note",
            "scheduler.mail_program",
            "slurmctld logs 'Configured MailProg is invalid' on a node without /bin/mail",
            "leave it out, or name a program",
        )


RULES = (
    accounting_after_slurmctld,
    partition_limits_not_enforced,
    limits_not_enforced,
    memory_not_shared,
    gpu_defaults_do_not_fit,
    gpus_not_tracked,
    usage_from_proc,
    not_confined,
    return_to_service,
    completion_file,
    unknown_scheduler_parameter,
    mail_program,
)
