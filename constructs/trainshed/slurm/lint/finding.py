"""What a rule of the linter looks at, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from ..nodes import NodeGroup
from ..policy import SlurmPolicy
from ..records import Partition

Severity = Literal["error", "warning", "note"]
"""error: the policy does not do what it says; warning: waste or surprise; note: untidy."""


@dataclass(frozen=True)
class Finding:
    """Something in a policy that does not do what it looks like.

    Args:
        rule: Name of the rule.
        severity: How bad it is.
        key: Key of the policy, or the line of an included file.
        consequence: What happens on a cluster.
        fix: What to write instead.
    """

    rule: str
    severity: Severity
    key: str
    consequence: str
    fix: str

    @property
    def message(self) -> str:
        """Key, consequence and fix in one line."""
        return f"{self.key}: {self.consequence}; {self.fix} [{self.rule}]"


@dataclass(frozen=True)
class Subject:
    """What is linted: a policy, the nodes it is for, and what lies beside it.

    Args:
        policy: The policy.
        groups: Nodes of the cluster; rules about hardware are silent without them.
        parallelcluster: The cluster is one of AWS ParallelCluster.
        database: The ParallelCluster configuration has ``SlurmSettings/Database``.
        include: Text of a file that slurm.conf includes.
    """

    policy: SlurmPolicy
    groups: tuple[NodeGroup, ...] = ()
    parallelcluster: bool = True
    database: bool = True
    include: str = ""

    def preemptors(self, name: str) -> list[str]:
        """Return the partitions whose jobs may preempt those of this one, by tier."""
        scheduler = self.policy.scheduler
        partition = self.policy.partitions[name]
        if scheduler.preempt_by != "partition_prio" or self.preempt_mode(partition) == "OFF":
            return []
        return sorted(
            other
            for other, candidate in self.policy.partitions.items()
            if candidate.priority_tier > partition.priority_tier
        )

    def preempt_mode(self, partition: Partition) -> str:
        """Return how jobs of a partition are preempted, with the cluster's default."""
        return partition.preempt_mode or self.policy.scheduler.preempt_mode

    def open_partitions(self) -> list[tuple[str, Partition]]:
        """Return the partitions that users may reach, in order of their names."""
        return [(n, p) for n, p in sorted(self.policy.partitions.items()) if not p.root_only]


Rule = Callable[[Subject], Iterator[Finding]]
"""A rule: one question put to a policy."""
