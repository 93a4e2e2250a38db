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
    if not re.fullmatch(r"[^|\"'\\\n\t,=:]{1,200}", value):
        raise ValueError(
            f"{value!r} is not a plain description; leave out | \" ' \\ , = : and line ends, "
            "and stay below 201 characters"
        )
    return value


def _node_expression(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.\[\],-]*", value):
        raise ValueError(f"{value!r} is not a Slurm node expression, such as compute-st-gpu-[1-4]")
    return value


SlurmTime = Annotated[str, BeforeValidator(_quoted), AfterValidator(_time)]
"""A time, ``[D-]HH:MM:SS`` or ``UNLIMITED``; in quotes in YAML."""
TimeLimit = Annotated[str, BeforeValidator(_quoted), AfterValidator(_time_limit)]
"""Whole minutes above zero, ``[D-]HH:MM:SS`` or ``UNLIMITED``; in quotes in YAML."""
SlurmName = Annotated[str, AfterValidator(_name)]
"""The name of an account or a QOS."""
PartitionName = Annotated[str, AfterValidator(_partition_name)]
UserName = Annotated[str, AfterValidator(_user_name)]
PlainText = Annotated[str, AfterValidator(_plain_text)]
NodeExpression = Annotated[str, AfterValidator(_node_expression)]
QueueName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,24}$")]
"""The name of a queue: the node set ``<queue>_nodes`` and the feature of its nodes."""
