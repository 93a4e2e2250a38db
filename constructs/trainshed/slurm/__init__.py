"""Slurm policy as data: records, presets, linter and rendering. Nothing here imports AWS CDK."""

from __future__ import annotations

from .accounting import (
    PARALLELCLUSTER_ACCOUNT,
    AccountingDocument,
    accounting_document,
)
from .bare import CHECKS_PARTITION, BareCluster, cgroup_conf, gres_conf, node_settings, slurm_conf
from .lint import Finding, Severity, lint
from .nodes import NodeGroup, NodeShape
from .parallelcluster import parallelcluster_settings
from .policy import SlurmPolicy
from .presets import PRESETS
from .records import Account, Partition, Qos, User
from .scheduler import Scheduler, Weights
from .table import policy_table

__all__ = [
    "CHECKS_PARTITION",
    "PARALLELCLUSTER_ACCOUNT",
    "PRESETS",
    "Account",
    "AccountingDocument",
    "BareCluster",
    "Finding",
    "NodeGroup",
    "NodeShape",
    "Partition",
    "Qos",
    "Scheduler",
    "Severity",
    "SlurmPolicy",
    "User",
    "Weights",
    "accounting_document",
    "cgroup_conf",
    "gres_conf",
    "lint",
    "node_settings",
    "parallelcluster_settings",
    "policy_table",
    "slurm_conf",
]
