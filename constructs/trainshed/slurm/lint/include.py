"""Rules on a slurm.conf include and on what ParallelCluster keeps for itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ...facts.parallelcluster import denied_settings
from .finding import Finding, Subject

# slurm.conf(5) and src/common/parse_config.c of Slurm 24.11, read 2026-11-30: blanks may stand
# around "=", "+=" adds to a value, "\\" at the end of a line takes in the next one, "#" begins a
# comment unless it is escaped, and a value may be in quotes.
_SETTING = re.compile(r'(?:^|(?<=\s))([A-Za-z][\w.]*)\s*[-+*/]?=\s*("[^"]*"|\S*)', re.ASCII)
_COMMENT = re.compile(r"(?<!\\)#.*")
_INCLUDE = re.compile(r"\s*include\s+(\S+)", re.IGNORECASE)
# Keys of a partition or node line; they may stand on many lines.
_MANY = frozenset(["partitionname", "nodename", "nodeset", "downnodes"])


def managed_keys(subject: Subject) -> Iterator[Finding]:
    """T11, pitfall 103: ParallelCluster does not look into an included file."""
    if not subject.parallelcluster:
        return
    for number, line in _lines(subject.include):
        for key, _ in _settings(line):
            if denied_settings([key], "SlurmConf", database=subject.database):
                yield Finding(
                    "managed-keys",
                    "error",
                    f"include line {number}",
                    f"{key} is ParallelCluster's own; a second value breaks scaling or accounting",
                    "leave the line out",
                )


def native_partition_redefined(subject: Subject) -> Iterator[Finding]:
    """T11: a partition with the name of a queue."""
    if not subject.parallelcluster:
        return
    queues = {group.name for group in subject.groups}
    written = [(f"partitions.{name}", name) for name in sorted(subject.policy.partitions)]
    for number, line in _lines(subject.include):
        for key, value in _settings(line):
            if key.lower() == "partitionname":
                written.append((f"include line {number}", value))
    for key, name in written:
        if name in queues:
            yield Finding(
                "native-partition-redefined",
                "error",
                key,
                f"ParallelCluster makes a partition {name} of the queue, and slurmctld stops at "
                "the second one",
                "rename the partition",
            )


def written_twice(subject: Subject) -> Iterator[Finding]:
    """T11: of two lines with the same key only the last one counts."""
    counted = Counter(
        settings[0][0].lower()
        for _, line in _lines(subject.include)
        if (settings := list(_settings(line)))
    )
    for key, count in sorted(counted.items()):
        if count > 1 and key not in _MANY:
            yield Finding(
                "written-twice",
                "warning",
                f"include {key}",
                f"it stands {count} times, and only the last one counts",
                "keep one",
            )


def nested_include(subject: Subject) -> Iterator[Finding]:
    """T11: a file that an included file includes is looked at by nobody."""
    for number, line in _lines(subject.include):
        if found := _INCLUDE.match(line):
            yield Finding(
                "nested-include",
                "error" if subject.parallelcluster else "warning",
                f"include line {number}",
                f"what {found[1]} says is seen by no check, and without the file no Slurm command "
                "works",
                "write its lines here",
            )


def _lines(slurm_conf: str) -> Iterator[tuple[int, str]]:
    """Yield the lines as Slurm takes them, without comments, each with where it begins."""
    begun, so_far = 0, ""
    for number, line in enumerate(slurm_conf.splitlines(), start=1):
        begun = begun or number
        so_far += _COMMENT.sub("", line)
        if so_far.endswith("\\"):
            so_far = so_far[:-1]
            continue
        yield begun, so_far
        begun, so_far = 0, ""
    if so_far:
        yield begun, so_far


def _settings(line: str) -> Iterator[tuple[str, str]]:
    for key, value in _SETTING.findall(line):
        yield key, value.strip('"')


RULES = (managed_keys, native_partition_redefined, written_twice, nested_include)
