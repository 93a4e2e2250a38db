"""Finds what in a policy does not do what it looks like."""

from __future__ import annotations

from collections.abc import Sequence

from ..nodes import NodeGroup
from ..policy import SlurmPolicy
from . import access, bounds, cluster, include, limits, preemption
from .finding import Finding, Rule, Severity, Subject

RULES: tuple[Rule, ...] = (
    *access.RULES,
    *limits.RULES,
    *bounds.RULES,
    *preemption.RULES,
    *cluster.RULES,
    *include.RULES,
)
"""Every rule, in the order of the findings."""

_ORDER: tuple[Severity, ...] = ("error", "warning", "note")


def lint(
    policy: SlurmPolicy,
    groups: Sequence[NodeGroup] = (),
    *,
    parallelcluster: bool = True,
    database: bool = True,
    include: str = "",
) -> tuple[Finding, ...]:
    """Return what every rule finds, errors first.

    Args:
        policy: The policy.
        groups: Nodes of the cluster; rules about hardware are silent without them.
        parallelcluster: The cluster is one of AWS ParallelCluster.
        database: Its configuration has ``SlurmSettings/Database``.
        include: Text of a file that slurm.conf includes, such as ParallelCluster's
            ``CustomSlurmSettingsIncludeFile``.
    """
    subject = Subject(policy, tuple(groups), parallelcluster, database, include)
    found = [finding for rule in RULES for finding in rule(subject)]
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


__all__ = ["RULES", "Finding", "Rule", "Severity", "Subject", "lint"]
