"""What the linter finds in a fleet's Slurm policy, for every backend: errors refuse it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..slurm import Finding, NodeGroup, SlurmPolicy, lint
from ..slurm.fleet_rules import misfits
from ..slurm.keys import key_path
from .faults import Fault, KeyPath, dotted


def policy_findings(
    policy: SlurmPolicy,
    groups: Sequence[NodeGroup],
    *,
    parallelcluster: bool,
    database: bool,
) -> tuple[list[Fault], list[str]]:
    """Return the errors of a policy as faults, and its warnings as lines to show.

    Args:
        policy: The policy.
        groups: Nodes of the fleet.
        parallelcluster: The fleet is one of AWS ParallelCluster.
        database: It has an accounting database.

    Returns:
        Faults, and warnings. Key paths begin at the fleet, most of them with ``policy``.
    """
    faults = [fault.below("policy") for fault in misfits(policy, groups)]
    if faults:
        return faults, []
    warnings = []
    for finding in lint(policy, groups, parallelcluster=parallelcluster, database=database):
        at = _key_path(policy, finding)
        reason = f"{finding.consequence}; {finding.fix} [{finding.rule}]"
        if finding.severity == "error":
            faults.append(Fault(at, reason))
        else:
            warnings.append(f"{dotted(('fleet', *at))}: {reason}")
    return faults, warnings


def _key_path(policy: SlurmPolicy, finding: Finding) -> KeyPath:
    """Return the path below the fleet: what is found of a queue is the fleet's own."""
    if finding.key.startswith("queues."):
        return tuple(finding.key.split("."))
    return ("policy", *key_path(policy, finding.key))
