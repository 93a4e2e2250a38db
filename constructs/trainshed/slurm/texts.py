"""Texts that Slurm gives a form: times and names."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

UNLIMITED = "UNLIMITED"
_TIME = re.compile(r"(?:(\d{1,4})-)?(\d{2}):(\d{2}):(\d{2})")


def seconds(time: str) -> int | None:
    """Return the seconds of a Slurm time; None for ``UNLIMITED``.

    Raises:
        ValueError: The text is neither ``[D-]HH:MM:SS`` nor ``UNLIMITED``.
    """
    if time == UNLIMITED:
        return None
    found = _TIME.fullmatch(time)
    if not found:
        raise ValueError(
            f"{time!r} is not a time; write [D-]HH:MM:SS or UNLIMITED, such as 00:30:00 or "
            "5-00:00:00"
        )
    days, hours, minutes, secs = (int(part or 0) for part in found.groups())
    if hours > 23 or minutes > 59 or secs > 59:
        raise ValueError(
            f"{time!r} is not a time; hours go to 23, minutes and seconds to 59: "
            f"write {slurm_time(((days * 24 + hours) * 60 + minutes) * 60 + secs)}"
        )
    return ((days * 24 + hours) * 60 + minutes) * 60 + secs


def slurm_time(total_seconds: int) -> str:
    """Write seconds as Slurm does: ``1-00:00:00``, ``00:30:00``."""
    days, rest = divmod(total_seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def _quoted(value: object) -> object:
    # YAML 1.1 reads an unquoted 12:00:00 as the number 43200.
    if isinstance(value, int) and not isinstance(value, bool):
        raise ValueError(
            f"{value} is a number, not a time; write the time in quotes: "
            f'"{slurm_time(max(value, 0))}"'
        )
    return value


def _time(value: str) -> str:
    seconds(value)
    return value


def _time_limit(value: str) -> str:
    total = seconds(value)
    if total == 0:
        raise ValueError(f"{value!r} leaves a job no time; write 00:01:00 or more")
    if total is not None and total % 60:
        raise ValueError(
            f"{value!r} has seconds, and Slurm limits jobs by the minute; "
            f"write {slurm_time((total // 60 + 1) * 60)}"
        )
    return value


def _exempt_time(value: str) -> str:
    # slurm.conf(5), PreemptExemptTime: -1, which UNLIMITED is, is no such time.
    if seconds(value) is None:
        raise ValueError(
            f"{value!r} is to Slurm that there is no such time, and jobs are preempted at once; "
            "write a time, or preempt_mode OFF on the partitions that are safe"
        )
    return value


def _half_life(value: str) -> str:
    # slurmctld, every version: "You have to either have PriorityDecayHalfLife != 0 or ...", fatal.
    if seconds(value) == 0:
        raise ValueError(
            f"{value!r} stops slurmctld; write UNLIMITED for usage that is never forgotten"
        )
    return value


def _name(value: str) -> str:
    # slurmdbd lowers the names of accounts and QOS; a comma, a blank or "=" splits Slurm's lines.
    if not re.fullmatch(r"[a-z][a-z0-9_.-]{0,39}", value):
        raise ValueError(
            f"{value!r} is not a name Slurm keeps; use up to 40 of a-z 0-9 _ . -, a letter first"
        )
    return value


def _partition_name(value: str) -> str:
    # "DEFAULT" sets defaults of the lines below it, and "all" is a word of scontrol.
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,39}", value) or value.upper() in _RESERVED:
        raise ValueError(
            f"{value!r} is not a partition name; use up to 40 of A-Z a-z 0-9 _ -, a letter first, "
            f"and none of {', '.join(_RESERVED)}"
        )
    return value


_RESERVED = ("ALL", "DEFAULT")


def _user_name(value: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_.-]{0,31}", value):
        raise ValueError(
            f"{value!r} is not a Unix user name; use up to 32 of a-z 0-9 _ . -, a letter or _ first"
        )
    return value


def _plain_text(value: str) -> str:
    # sacctmgr prints columns between bars and keeps quotes as part of a value.
    # 26.05 leaves blanks at the ends out.
    plain = re.fullmatch(r"[^|\"'\\,=:]{1,200}", value) and value.isprintable()
    if not plain or value != value.strip():
        raise ValueError(
            f"{value!r} is not a plain description; leave out | \" ' \\ , = :, blanks at its ends "
            "and what does not print, and stay below 201 characters"
        )
    return value


def _node_expression(value: str) -> str:
    ranges = re.findall(r"(\d+)-(\d+)(?=[,\]])", value)
    if not _NODES.fullmatch(value) or any(int(low) > int(high) for low, high in ranges):
        raise ValueError(f"{value!r} is not a Slurm node expression, such as compute-st-gpu-[1-4]")
    return value


_RANGES = r"\[\d{1,6}(?:-\d{1,6})?(?:,\d{1,6}(?:-\d{1,6})?)*\]"
_NODE = rf"[A-Za-z][A-Za-z0-9_.-]*(?:{_RANGES}[A-Za-z0-9_.-]*)?"
_NODES = re.compile(rf"{_NODE}(?:,{_NODE})*", re.ASCII)


def _scheduler_parameter(value: str) -> str:
    # A blank, a comma or "#" ends the line of slurm.conf or the option.
    if not re.fullmatch(r"[A-Za-z_]+(=[A-Za-z0-9_.:+-]+)?", value):
        raise ValueError(
            f"{value!r} is not one option of SchedulerParameters; write an entry for each, such as "
            "bf_continue or bf_window=1440"
        )
    name, _, number = value.partition("=")
    if re.fullmatch(_NUMBERED, name) and not re.fullmatch(r"-?\d{1,10}", number):
        raise ValueError(f"{value!r} stops slurmctld: {name} takes a whole number")
    return value


# slurm.conf(5) of Slurm 24.11 and 26.05, SchedulerParameters, read 2026-11-30: those with ``=#``.
_NUMBERED = (
    r"bf_(interval|job_part_count_reserve|max_(job_(array_resv|assoc|part|start|test|user|user_part)"
    r"|time)|min_(age|prio)_reserve|node_space_size|resolution|window(_linear)?|yield_(interval|sleep))"
    r"|max_(rpc_cnt|sched_time|script_size|submit_line_size|switch_wait)|step_retry_(count|time)"
    r"|sched_(interval|max_job_start|min_interval)|delay_boot|build_queue_timeout|default_queue_depth"
    r"|batch_sched_delay|bb_array_stage_cnt|correspond_after_task_cnt|partition_job_depth"
)


def _tracked_resource(value: str) -> str:
    if not re.fullmatch(_RESOURCE, value):
        raise ValueError(
            f"{value!r} is not a resource of accounting; use gres/gpu, or another of gres/, bb/, "
            "fs/, ic/ and license/ with its name"
        )
    return value


# slurm.conf(5) of Slurm 24.11, AccountingStorageTRES, read 2026-11-30.
_RESOURCE = (
    r"cpu|mem|energy|node|billing|pages|vmem|fs/(disk|lustre)|ic/ofed"
    r"|(gres|bb|license)/[A-Za-z0-9_.:-]+"
)


def _plain_path(value: str) -> str:
    if not re.fullmatch(r"/[A-Za-z0-9_./+-]+", value):
        raise ValueError(
            f"{value!r} is not a path that slurm.conf takes; use one of A-Z a-z 0-9 _ . / + - from "
            "the root on, such as /usr/bin/mail"
        )
    return value


SlurmTime = Annotated[str, BeforeValidator(_quoted), AfterValidator(_time)]
"""A time, ``[D-]HH:MM:SS`` or ``UNLIMITED``; in quotes in YAML."""
TimeLimit = Annotated[str, BeforeValidator(_quoted), AfterValidator(_time_limit)]
"""Whole minutes above zero, ``[D-]HH:MM:SS`` or ``UNLIMITED``; in quotes in YAML."""
ExemptTime = Annotated[str, BeforeValidator(_quoted), AfterValidator(_exempt_time)]
"""A time that ends, ``[D-]HH:MM:SS``; in quotes in YAML."""
HalfLife = Annotated[str, BeforeValidator(_quoted), AfterValidator(_half_life)]
"""A time above zero, ``[D-]HH:MM:SS`` or ``UNLIMITED``; in quotes in YAML."""
SlurmName = Annotated[str, AfterValidator(_name)]
"""The name of an account or a QOS."""
PartitionName = Annotated[str, AfterValidator(_partition_name)]
UserName = Annotated[str, AfterValidator(_user_name)]
PlainText = Annotated[str, AfterValidator(_plain_text)]
NodeExpression = Annotated[str, AfterValidator(_node_expression)]
SchedulerParameter = Annotated[str, AfterValidator(_scheduler_parameter)]
TrackedResource = Annotated[str, AfterValidator(_tracked_resource)]
PlainPath = Annotated[str, AfterValidator(_plain_path)]
QueueName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,24}$")]
"""The name of a queue: the node set ``<queue>_nodes`` and the feature of its nodes."""
