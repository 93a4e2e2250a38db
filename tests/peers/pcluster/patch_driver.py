"""Ask ParallelCluster's own ConfigPatch what it thinks of changed configurations.

Runs inside the venv of aws-parallelcluster, as ``python -m tests.peers.pcluster.patch_driver``.
Standard input is a JSON list of cases, each with ``base`` and ``head`` (configurations) and
``states`` (pairs of: the compute fleet runs, login nodes run). Standard output is a JSON list: for
each case, and each of its states, whether the update is allowed.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-2")

from pcluster.config.config_patch import ConfigPatch  # type: ignore[import-not-found]


@dataclass
class Cluster:
    """What ConfigPatch asks of a cluster that is there."""

    base: Mapping[str, Any]
    fleet_runs: bool
    login_nodes_run: bool
    name: str = "llm"
    stack_name: str = "llm"

    def has_running_capacity(self, updated_value: bool = False) -> bool:
        return self.fleet_runs

    def has_running_login_nodes(self, pool_name: str | None = None) -> bool:
        pools = (self.base.get("LoginNodes") or {}).get("Pools") or []
        return self.login_nodes_run and any(
            pool.get("Count", 1) > 0 for pool in pools if pool_name in (None, pool.get("Name"))
        )


STUMBLES = (AttributeError, KeyError, TypeError)


def verdicts(case: Mapping[str, Any]) -> list[bool]:
    """Tell for each state whether ParallelCluster would update; its own crash is a refusal."""
    os.environ["AWS_DEFAULT_REGION"] = case["base"].get("Region", "us-east-2")
    states = [Cluster(case["base"], *state) for state in case["states"]]
    try:
        patch = ConfigPatch(states[0], case["base"], case["head"])
    except STUMBLES:
        return [False for _ in states]
    return [is_allowed(patch, state) for state in states]


def is_allowed(patch: Any, cluster: Cluster) -> bool:
    patch.cluster = cluster
    try:
        allowed, _ = patch.check()
    except STUMBLES:
        return False
    return bool(allowed)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    cases = json.load(sys.stdin)
    json.dump([verdicts(case) for case in cases], sys.stdout)
