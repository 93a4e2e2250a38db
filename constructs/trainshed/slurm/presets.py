"""Two policies as data: the KAIT blog post's to the letter, and the same one without its holes.

``kait-seed`` keeps every value of the post, with the holes they leave: it is there to be compared
and measured, the linter objects to it. ``kait-hardened`` keeps the post's partitions, times,
priorities and job limits, and closes the holes. Numbers marked "ours" are not in the post: an
institution should set its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KAIT_SEED: dict[str, Any] = {
    "partitions": {
        "debug": {
            "node_names": "compute-st-kait-gpu-1",
            "max_time": "00:30:00",
            "priority_tier": 100,
            "priority_job_factor": 100,
            "allow_qos": ("debug_qos",),
        },
        "normal": {
            "node_names": "compute-st-kait-gpu-1",
            "default": True,
            "max_time": "1-00:00:00",
            "priority_tier": 200,
            "priority_job_factor": 200,
            "allow_qos": ("normal_qos",),
        },
        "priority": {
            "node_names": "compute-st-kait-gpu-[1-4]",
            "max_time": "5-00:00:00",
            "priority_tier": 300,
            "priority_job_factor": 300,
            "allow_qos": ("priority_qos",),
        },
        "exclusive": {
            "node_names": "compute-st-kait-gpu-[1-4]",
            "max_time": "14-00:00:00",
            "priority_tier": 1000,
            "priority_job_factor": 1000,
            "allow_qos": ("exclusive_qos",),
            "preempt_mode": "REQUEUE",
        },
    },
    "qos": {
        "debug_qos": {"priority": 1000, "max_jobs_per_user": 1, "max_submit_jobs_per_user": 1},
        "normal_qos": {"priority": 2000, "max_jobs_per_user": 4, "max_submit_jobs_per_user": 8},
        "priority_qos": {"priority": 3000},
        "exclusive_qos": {
            "priority": 10000,
            "max_jobs_per_user": 1,
            "max_submit_jobs_per_user": 2,
        },
    },
    # "normal" is Slurm's own QOS without limits: the post adds its QOS to it (qos+=).
    "accounts": {
        "general": {
            "description": "general user group",
            "qos": ("normal", "debug_qos", "normal_qos"),
            "default_qos": "normal_qos",
        },
        "priority": {
            "description": "priority user group",
            "qos": ("normal", "debug_qos", "normal_qos", "priority_qos", "exclusive_qos"),
            "default_qos": "priority_qos",
        },
    },
    "scheduler": {
        "preempt_by": "partition_prio",
        "preempt_mode": "REQUEUE",
        "weights": {"partition": 100_000, "qos": 1000, "fairshare": 100},
        "enforce_partition_limits": "NO",
        "enforce_accounting": ("associations", "limits", "qos"),
        "unkillable_timeout_seconds": 300,
        "cpus_per_gpu": 16,
        "memory_per_gpu_mib": 200_000,
        "memory_per_cpu_mib": 0,
        "usage_gatherer": "linux",
        "job_completion_file": "/home/slurm/slurm-job-completions.txt",
        "confine_devices": False,
        "confine_memory": False,
        "confine_cores": False,
        "return_to_service": 1,
        "mail_program": None,
        "accounting_first": False,
        "close_native_partitions": False,
    },
}

_KAIT_HARDENED: dict[str, Any] = {
    "partitions": {
        "debug": {
            "nodes": 1,
            "max_time": "00:30:00",
            "default_time": "00:10:00",  # ours
            "priority_tier": 100,
            "priority_job_factor": 100,
            "qos": "debug_qos",
            # Interactive work is lost when it is preempted; 30 minutes are short enough to wait.
            "preempt_mode": "OFF",
        },
        "normal": {
            "nodes": 1,
            "default": True,
            "max_time": "1-00:00:00",
            "default_time": "04:00:00",  # ours
            "priority_tier": 200,
            "priority_job_factor": 200,
            "qos": "normal_qos",
            "preempt_mode": "REQUEUE",
            "grace_seconds": 120,  # ours: time to write a checkpoint
        },
        "priority": {
            "max_time": "5-00:00:00",
            "default_time": "1-00:00:00",  # ours
            "priority_tier": 300,
            "priority_job_factor": 300,
            "qos": "priority_qos",
            "allow_accounts": ("priority",),
            "preempt_mode": "REQUEUE",
            "grace_seconds": 300,  # ours
        },
        "exclusive": {
            "max_time": "14-00:00:00",
            "default_time": "1-00:00:00",  # ours
            "priority_tier": 1000,
            "priority_job_factor": 1000,
            "qos": "exclusive_qos",
            "allow_accounts": ("priority",),
            "whole_node": True,
            "preempt_mode": "OFF",
        },
    },
    "qos": {
        # A job is held to the limits of its own QOS and of its partition's. Its own has none, so
        # that the limits of one partition do not count in another.
        "member_qos": {},
        "debug_qos": {
            "priority": 1000,
            "max_jobs_per_user": 1,
            "max_submit_jobs_per_user": 1,
            "cpus_follow_gpus": True,
        },
        "normal_qos": {
            "priority": 2000,
            "max_jobs_per_user": 4,
            "max_submit_jobs_per_user": 8,
            "gpus_per_user": 4,  # ours
            "cpus_follow_gpus": True,
        },
        "priority_qos": {
            "priority": 3000,
            "gpus_per_user": 16,  # ours
            "gpu_minutes_per_job": 57_600,  # ours: 8 GPUs for the 5 days
            "cpus_follow_gpus": True,
        },
        "exclusive_qos": {
            "priority": 10000,
            "max_jobs_per_user": 1,
            "max_submit_jobs_per_user": 2,
            "gpu_minutes_per_job": 645_120,  # ours: 32 GPUs for the 14 days
        },
    },
    "accounts": {
        "general": {
            "description": "general user group",
            "qos": ("member_qos",),
            "default_qos": "member_qos",
        },
        "priority": {
            "description": "priority user group",
            "qos": ("member_qos",),
            "default_qos": "member_qos",
        },
    },
    "scheduler": {
        "preempt_by": "partition_prio",
        "preempt_mode": "REQUEUE",
        "send_user_signal": True,
        # Fair share and age are ours: with the post's 100 and 0 neither can change an order.
        "weights": {"partition": 100_000, "qos": 1000, "fairshare": 20_000, "age": 10_000},
        "enforce_partition_limits": "ALL",
        "kill_wait_seconds": 60,  # ours
        "unkillable_timeout_seconds": 300,
    },
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "kait-seed": _KAIT_SEED,
    "kait-hardened": _KAIT_HARDENED,
}
"""Values of each preset by its name, in the form ``SlurmPolicy`` loads."""
