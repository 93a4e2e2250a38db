"""What may be a line of slurm.conf, whoever runs it: a name and a value that stays one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..config.faults import Fault, KeyPath
from ..facts.parallelcluster import SettingsLevel, denied_settings
from ..records import is_token

# slurm.conf(5), read 2026-11-29: "Include" is a line of its own kind, "\\" continues a line, and a
# line may hold several settings with blanks between them.
INCLUDE = "include"
LINES_OF_SEVERAL = frozenset({"downnodes", "nodename", "nodeset", "partitionname"})
"""Names, in lower case, that begin a line of several settings and may come more than once."""


def setting_faults(
    settings: Mapping[str, str | int],
    at: KeyPath,
    level: SettingsLevel,
    *,
    database: bool = False,
) -> Iterator[Fault]:
    """Yield what of a mapping of settings ParallelCluster would refuse, or Slurm read otherwise.

    Args:
        settings: Settings of slurm.conf, which does not regard case.
        at: Where they are.
        level: Where they end up: ``SlurmSettings``, a queue or a compute resource.
        database: Whether ``SlurmSettings.Database`` is given.
    """
    for name in denied_settings(settings, level, database=database):
        reason = "is a setting that ParallelCluster keeps for itself; leave it out"
        yield Fault((*at, name), reason)
    yield from line_faults(settings, at)


def line_faults(settings: Mapping[str, str | int], at: KeyPath) -> Iterator[Fault]:
    """Yield what of a mapping of settings Slurm would read otherwise.

    Args:
        settings: Settings of slurm.conf, which does not regard case.
        at: Where they are.
    """
    spellings: dict[str, str] = {}
    for name, value in settings.items():
        first = spellings.setdefault(name.lower(), name)
        if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
            yield Fault(
                (*at, name),
                f"{name!r} is no name of a setting; use one such as MaxJobCount, and give "
                "each setting a key of its own",
            )
        elif name.lower() == INCLUDE:
            yield Fault(
                (*at, name), "reads a file that no check sees; write its lines as settings here"
            )
        elif first != name:
            yield Fault(
                (*at, name), f"is {first} once more, since case does not count; keep one of them"
            )
        if isinstance(value, str) and not is_token(value):
            yield from _value_faults(value, (*at, name))


def _value_faults(value: str, at: KeyPath) -> Iterator[Fault]:
    if not value.isprintable():
        yield Fault(at, f"{value!r} has a character that does not print; write it on one line")
    elif value.endswith("\\"):
        yield Fault(at, f"{value!r} ends in a backslash, which takes in the next line; remove it")
    elif further := re.search(r"\s(\w+)\s*=", value):
        yield Fault(
            at,
            f"{value!r} holds a setting of its own, {further[1]}; give that one a key of its own",
        )
