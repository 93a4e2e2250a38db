"""Rules on a slurm.conf include and on what ParallelCluster keeps for itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ...facts.parallelcluster import denied_settings
from ..parallelcluster import keys_of
from .finding import Finding, Subject

_PARTITION = re.compile(r"^\s*PartitionName=(\S+)", re.IGNORECASE)
# Keys of a partition or node line; they may stand on many lines.
_MANY = frozenset(["partitionname", "nodename", "nodeset", "downnodes"])


def managed_keys(subject: Subject) -> Iterator[Finding]:
    """T11, pitfall 103: ParallelCluster does not look into an included file."""
    if not subject.parallelcluster:
        return
    for number, key in keys_of(subject.include):
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
    for number, line in enumerate(subject.include.splitlines(), start=1):
        if found := _PARTITION.match(line):
            written.append((f"include line {number}", found[1]))
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
        line.split("=", 1)[0].strip().lower()
        for line in subject.include.splitlines()
        if "=" in line and not line.lstrip().startswith("#")
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


RULES = (managed_keys, native_partition_redefined, written_twice)
