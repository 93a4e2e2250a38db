"""What differs between two cluster configurations, key by key.

The same comparison as ``pcluster.config.config_patch`` of ParallelCluster 3.16.1 (read 2026-11-29),
on the schema that trainshed derives from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..pcluster import schema

Config = Mapping[str, Any]

# The key that tells the items of a list apart (pcluster 3.16.1, schemas/cluster_schema.py).
UPDATE_KEYS = {
    "AdditionalIamPolicies": "Policy",
    "ComputeResources": "Name",
    "DataRepositoryAssociations": "Name",
    "Instances": "InstanceType",
    "Pools": "Name",
    "S3Access": "BucketName",
    "SharedStorage": "Name",
    "SlurmQueues": "Name",
    "Tags": "Key",
}


@dataclass(frozen=True)
class Change:
    """A key of the configuration that is not what it was."""

    path: tuple[str, ...]
    """Sections above the key; items of lists as ``SlurmQueues[train]``."""
    key: str
    before: Any
    """None where it was not there."""
    after: Any
    """None where it is not there any more."""
    policy: str
    is_item: bool = False
    """A whole item of a list came or went."""

    @property
    def place(self) -> str:
        """The key with its path, as ParallelCluster writes it."""
        last = self.key
        if self.is_item:
            item = self.before if self.before is not None else self.after
            last = f"{self.key}[{item.get(UPDATE_KEYS[self.key], '')}]"
        return ".".join((*self.path, last))

    @property
    def in_queue(self) -> bool:
        """It is below a queue."""
        return any(step.startswith("SlurmQueues[") for step in self.path)

    @property
    def is_added(self) -> bool:
        """It was not there before."""
        return self.before is None and self.after is not None


def changes(base: Config, head: Config) -> list[Change]:
    """Return every changed key, in the order of the schema."""
    return list(_in_section(base, head, schema(), ()))


def _in_section(
    base: Config, head: Config, section: Config, path: tuple[str, ...]
) -> Iterator[Change]:
    for key, field in section["properties"].items():
        before, after = base.get(key), head.get(key)
        policy = field.get("x-update-policy", "UNSUPPORTED")
        if "properties" in field:
            if (before and after) or ((before or after) and policy == "IGNORED"):
                yield from _in_section(before or {}, after or {}, field, (*path, key))
            elif before or after:
                yield Change(path, key, before or None, after or None, policy)
        elif "properties" in field.get("items", {}):
            yield from _in_list(before or [], after or [], key, field, path)
        elif before != after:
            yield Change(path, key, before, after, policy)


def _in_list(
    base: list[Any], head: list[Any], key: str, field: Config, path: tuple[str, ...]
) -> Iterator[Change]:
    name = UPDATE_KEYS[key]
    policy = field.get("x-update-policy", "UNSUPPORTED")
    # S3Access may name a bucket several times; what is the same in both is no change.
    gone = [item for item in base if item not in head]
    come = [item for item in head if item not in base]
    for after in come:
        before = next((item for item in gone if item.get(name) == after.get(name)), None)
        if before is None:
            yield Change(path, key, None, after, policy, is_item=True)
        else:
            gone.remove(before)
            step = f"{key}[{after.get(name)}]"
            yield from _in_section(before, after, field["items"], (*path, step))
    for before in gone:
        yield Change(path, key, before, None, policy, is_item=True)
