"""AWS ParallelCluster: a fleet's record as its configuration, and what would go wrong with it.

Pure: importing it imports neither the CDK nor ParallelCluster.
"""

from .checks import Surroundings, configuration_faults
from .configuration_schema import schema
from .fleet_rules import fleet_faults, has_own_boundary, unknown_types
from .gate import head_metrics
from .names import compute_resource_name, node_expression
from .placeholders import placeholders, with_named_database
from .policy import policy_warnings
from .references import NodeActions, References, Script
from .render import render, to_yaml

__all__ = [
    "NodeActions",
    "References",
    "Script",
    "Surroundings",
    "compute_resource_name",
    "configuration_faults",
    "fleet_faults",
    "has_own_boundary",
    "head_metrics",
    "node_expression",
    "placeholders",
    "policy_warnings",
    "render",
    "schema",
    "to_yaml",
    "unknown_types",
    "with_named_database",
]
