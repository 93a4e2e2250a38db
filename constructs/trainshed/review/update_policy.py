"""What ParallelCluster does with a changed cluster configuration.

The same conditions as ``pcluster.config.update_policy`` of ParallelCluster 3.16.1 (read
2026-11-29); tests/peers/pcluster runs both on every key of the schema and compares.

It asks nothing of the cluster: the compute fleet is taken to run, and each login pool to have the
nodes that its configuration says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .effects import Effect
from .update_changes import Change, Config, changes

DEFAULT_MIN_COUNT, DEFAULT_MAX_COUNT = 0, 10
STOP_FLEET = "COMPUTE_FLEET_STOP"


@dataclass(frozen=True)
class Judge:
    """Says what each change between two configurations does."""

    base: Config
    head: Config

    @cached_property
    def changes(self) -> list[Change]:
        """Every changed key."""
        return changes(self.base, self.head)

    def judge(self, change: Change) -> Effect:
        """Return what a change does while the fleet runs."""
        return _RULES.get(change.policy, _never)(self, change)

    @property
    def strategy(self) -> str:
        """What an update does with nodes whose queue changed: that of the new configuration."""
        settings = self.head.get("Scheduling", {}).get("SlurmSettings") or {}
        return str(settings.get("QueueUpdateStrategy", STOP_FLEET))

    def by_strategy(self) -> Effect:
        """Return what the strategy does with the nodes of a changed queue."""
        kinds = {"DRAIN": Effect.DRAINS_NODES, "TERMINATE": Effect.REPLACES_NODES}
        return kinds.get(self.strategy, Effect.STOPS_FLEET)

    def login_nodes_run(self, pool_name: str | None = None) -> bool:
        """Tell whether login nodes run, in one pool or in any."""
        pools = (self.base.get("LoginNodes") or {}).get("Pools") or []
        return any(
            pool.get("Count", 1) > 0 for pool in pools if pool_name in (None, pool.get("Name"))
        )


def _live(_: Judge, __: Change) -> Effect:
    return Effect.LIVE


def _never(_: Judge, __: Change) -> Effect:
    return Effect.REFUSED


def _fleet_stop(_: Judge, __: Change) -> Effect:
    return Effect.STOPS_FLEET


def _unless_secret_region(judge: Judge, _: Change) -> Effect:
    is_adc = str(judge.head.get("Region", "")).startswith("us-iso")
    return Effect.REFUSED if is_adc else Effect.LIVE


def _queue_strategy(judge: Judge, change: Change) -> Effect:
    return judge.by_strategy() if change.in_queue else Effect.STOPS_FLEET


def _resize(judge: Judge, change: Change) -> Effect:
    if change.is_item:
        grows = change.is_added
    elif change.key == "MaxCount":
        grows = _count(change.after, DEFAULT_MAX_COUNT) >= _count(change.before, DEFAULT_MAX_COUNT)
    else:
        grows = _max_grows_as_much(judge, change)
    if grows:
        return Effect.LIVE
    return Effect.REPLACES_NODES if judge.strategy == "TERMINATE" else Effect.STOPS_FLEET


def _max_grows_as_much(judge: Judge, change: Change) -> bool:
    """Tell whether the MaxCount beside a MinCount changes by as much, or more."""
    for other in judge.changes:
        if other.path == change.path and other.key == "MaxCount":
            most = _count(other.after, DEFAULT_MAX_COUNT) - _count(other.before, DEFAULT_MAX_COUNT)
            return most >= (
                _count(change.after, DEFAULT_MIN_COUNT) - _count(change.before, DEFAULT_MIN_COUNT)
            )
    return False


def _count(value: Any, default: int) -> int:
    return default if value is None else int(value)


def _stop_on_remove(_: Judge, change: Change) -> Effect:
    added = change.is_item and change.in_queue and change.is_added
    return Effect.LIVE if added else Effect.STOPS_FLEET


def _placement_group(judge: Judge, change: Change) -> Effect:
    if _has_managed_group(judge.base, change) and not _has_managed_group(judge.head, change):
        return Effect.STOPS_FLEET
    return _queue_strategy(judge, change)


def _has_managed_group(config: Config, change: Change) -> bool:
    queue = _item(config.get("Scheduling") or {}, "SlurmQueues", change)
    resource = _item(queue, "ComputeResources", change)
    networks = [part.get("Networking") or {} for part in (resource, queue)]
    group: Config = networks[0].get("PlacementGroup") or networks[1].get("PlacementGroup") or {}
    return bool(group.get("Enabled")) and not (group.get("Name") or group.get("Id"))


def _item(section: Config, key: str, change: Change) -> Config:
    for item in section.get(key) or []:
        if f"{key}[{item.get('Name')}]" in change.path:
            found: Config = item
            return found
    return {}


def _subnets(judge: Judge, change: Change) -> Effect:
    if _managed_lustre(judge.base) & _managed_lustre(judge.head):
        return Effect.REFUSED
    before, after = change.before, change.after or []
    if change.in_queue and isinstance(before, list) and all(each in after for each in before):
        return Effect.LIVE
    return _queue_strategy(judge, change)


def _managed_lustre(config: Config) -> set[Any]:
    return {
        storage.get("Name")
        for storage in config.get("SharedStorage") or []
        if storage.get("StorageType") == "FsxLustre"
        and "FileSystemId" not in (storage.get("FsxLustreSettings") or {})
    }


def _shared_storage(judge: Judge, change: Change) -> Effect:
    if not change.is_item:
        # pcluster 3.16.1 stumbles over a changed MountDir (AttributeError) while anything runs.
        return Effect.STOPS_FLEET
    values = [value for value in (change.before, change.after) if value]
    if any(value.get("MountDir") in ("home", "/home") for value in values):
        return Effect.REFUSED
    storage = change.after or change.before
    kind = storage.get("StorageType")
    settings = storage.get(f"{kind}Settings") or {}
    # Mounted and unmounted while nodes run: existing EFS and FSx (STORAGE_TYPES_SUPPORTING_LIVE_…).
    if kind in LIVE_STORAGE and {"VolumeId", "FileSystemId", "FileCacheId"} & settings.keys():
        return Effect.LIVE
    if judge.strategy == STOP_FLEET:
        return Effect.STOPS_FLEET
    return Effect.STOPS_LOGIN_NODES if judge.login_nodes_run() else judge.by_strategy()


LIVE_STORAGE = {"Efs", "FsxLustre", "FsxOntap", "FsxOpenZfs", "FileCache"}


def _login_pools(judge: Judge, change: Change) -> Effect:
    if change.is_item and change.key == "Pools" and change.is_added:
        return Effect.LIVE
    return _login_stop(judge, change)


def _login_stop(judge: Judge, _: Change) -> Effect:
    return Effect.STOPS_LOGIN_NODES if judge.login_nodes_run() else Effect.LIVE


def _login_pool_stop(judge: Judge, change: Change) -> Effect:
    names = [step[6:-1] for step in change.path if step.startswith("Pools[")]
    runs = judge.login_nodes_run(names[0] if names else None)
    return Effect.STOPS_LOGIN_NODES if runs else Effect.LIVE


def _chef_attributes(_: Judge, change: Change) -> Effect:
    before, after = (dict(_leaves(_parsed(value))) for value in (change.before, change.after))
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    return Effect.LIVE if changed <= LIVE_CHEF_ATTRIBUTES else Effect.REFUSED


LIVE_CHEF_ATTRIBUTES = {
    "cluster.slurm.reconfigure_timeout",
    "cluster.cluster_readiness_check_enabled",
    "cluster.cluster_readiness_check_ignore_failure",
}


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return {}


def _leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _leaves(value, f"{path}.{key}" if path else key)
    else:
        yield path, node


_RULES: Mapping[str, Callable[[Judge, Change], Effect]] = {
    "IGNORED": _live,
    "SUPPORTED": _live,
    "SUPPORTED_UNLESS_ADC": _unless_secret_region,
    "QUEUE_UPDATE_STRATEGY": _queue_strategy,
    "RESIZE_UPDATE_STRATEGY_ON_REMOVE": _resize,
    "COMPUTE_FLEET_STOP": _fleet_stop,
    "COMPUTE_AND_LOGIN_NODES_STOP": _fleet_stop,
    "COMPUTE_FLEET_STOP_ON_REMOVE": _stop_on_remove,
    "MANAGED_PLACEMENT_GROUP": _placement_group,
    "MANAGED_FSX": _subnets,
    "SHARED_STORAGE_UPDATE_POLICY": _shared_storage,
    "LOGIN_NODES_STOP": _login_stop,
    "LOGIN_NODES_POOL_STOP": _login_pool_stop,
    "LOGIN_NODES_POOLS_UPDATE_POLICY": _login_pools,
    "EXTRA_CHEF_ATTRIBUTES": _chef_attributes,
}
