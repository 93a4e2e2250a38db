"""The table for people has every limit of a policy."""

from __future__ import annotations

from typing import Any

from trainshed.slurm import SlurmPolicy, policy_table


def line(name: str, **over: Any) -> str:
    """Return the line of an entry in the table of the hardened preset with something changed."""
    table = policy_table(SlurmPolicy.model_validate({"preset": "kait-hardened", **over}))
    (found,) = [text for text in table.splitlines() if text.startswith(f"| {name} ")]
    return found


def test_limits_that_few_policies_have_stand_in_one_column() -> None:
    limits = {
        "max_jobs_per_account": 4000,
        "max_submit_jobs_per_account": 9,
        "group_jobs": 6,
        "min_gpus_per_job": 8,
        "max_time": "12:00:00",
        "preempt_exempt_time": "01:00:00",
        "group_gpu_minutes": 600_000,
    }
    assert line("priority_qos", qos={"priority_qos": limits}) == (
        "| priority_qos |  |  |  | 16 |  |  | 960 | 4,000 running jobs an account; 9 submitted an "
        "account; 6 running jobs of all; at least 8 GPUs a job; 12:00:00 a job; not preempted for "
        "01:00:00; 10,000 GPU hours of all |"
    )


def test_the_column_is_left_out_where_it_is_empty() -> None:
    assert line("priority_qos") == "| priority_qos |  |  |  | 16 |  |  | 960 |"
    assert line("general").endswith("| 0 |")


def test_the_gpu_hours_of_an_account_are_shown() -> None:
    assert line("general", accounts={"general": {"gpu_minutes": 7200}}).endswith("| 0 | 120 |")


def test_who_preempts_by_qos_is_shown_there() -> None:
    over = {
        "scheduler": {"preempt_by": "qos"},
        "qos": {"exclusive_qos": {"preempts": ["debug_qos", "normal_qos"]}},
    }
    assert line("debug", **over).endswith("| QOS, see below (requeue) |")
    assert line("exclusive_qos", **over).endswith("| preempts debug_qos, normal_qos |")
    assert line("debug").endswith("| nobody |")
