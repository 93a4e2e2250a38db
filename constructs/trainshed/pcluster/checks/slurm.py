"""Checks of what goes into slurm.conf."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from ...config.faults import Fault, KeyPath
from ...facts.parallelcluster import RESERVED_NODE_NAME_PARTS, SettingsLevel
from ..slurm_lines import setting_faults
from .surroundings import Surroundings, queues_of, resources_of, slurm_settings_of

SETTINGS = ("Scheduling", "SlurmSettings", "CustomSlurmSettings")

# aws-parallelcluster-cookbook, templates/default/slurm/slurm.conf.erb, read 2026-11-29: 60 s, where
# Slurm's own default is 10 s. slurm.conf(5): UnkillableStepTimeout is at least five times as long.
DEFAULT_MESSAGE_TIMEOUT_SECONDS = 60
UNKILLABLE_TIMES_MESSAGE_TIMEOUT = 5


def settings_are_ours_to_set(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """Each setting is one, by name and by value, and none that ParallelCluster writes itself."""
    database = "Database" in slurm_settings_of(config)
    places: list[tuple[KeyPath, Mapping[str, Any], SettingsLevel]] = [
        ((*SETTINGS, index), line, "SlurmConf") for index, line in enumerate(_lines(config))
    ]
    for at, queue in queues_of(config):
        settings = queue.get("CustomSlurmSettings", {})
        places.append(((*at, "CustomSlurmSettings"), settings, "Queue"))
    for at, _queue, resource in resources_of(config):
        settings = resource.get("CustomSlurmSettings", {})
        places.append(((*at, "CustomSlurmSettings"), settings, "ComputeResource"))
    for key_path, settings, level in places:
        yield from setting_faults(settings, key_path, level, database=database)


def settings_are_visible(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """Settings stand in the configuration: nothing reads an include file before slurmctld does."""
    if "CustomSlurmSettingsIncludeFile" in slurm_settings_of(config):
        yield Fault.at(
            "Scheduling",
            "SlurmSettings",
            "CustomSlurmSettingsIncludeFile",
            reason="is not read by any check before slurmctld reads it; "
            "write its lines under CustomSlurmSettings",
        )


def nodes_keep_their_names(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """No line defines a node with a name like those that ParallelCluster gives."""
    for index, line in enumerate(_lines(config)):
        for key, value in line.items():
            reserved = [part for part in RESERVED_NODE_NAME_PARTS if part in str(value)]
            if key.lower() == "nodename" and reserved:
                yield Fault(
                    (*SETTINGS, index, key),
                    f"{value} contains {reserved[0]!r}, as only ParallelCluster's own nodes may; "
                    "rename it",
                )


def partitions_have_nodes(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """Partitions name nodes that exist: slurmctld does not start otherwise."""
    groups = dict(_managed_nodes(config))
    names = {name for expression in groups.values() for name in expand(expression)}
    names |= {f"{queue['Name']}_nodes" for _, queue in queues_of(config)} | {"ALL"}
    lines = [
        {key.lower(): (key, str(value)) for key, value in line.items()} for line in _lines(config)
    ]
    for line in lines:
        for kind in ("nodeset", "nodename"):
            if kind in line and "partitionname" not in line:
                names |= set(expand(line[kind][1]))
    for index, line in enumerate(lines):
        if "partitionname" in line and "nodes" in line:
            key, nodes = line["nodes"]
            unknown = [name for name in expand(nodes) if name not in names]
            if unknown:
                yield Fault(
                    (*SETTINGS, index, key),
                    f"{unknown[0]} is no node of this cluster; its nodes are "
                    f"{', '.join(sorted(groups.values()))}",
                )


def stuck_steps_get_time(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """A step that does not die gets five message timeouts, or its node is drained for nothing."""
    seconds = {
        key.lower(): (index, key, int(value))
        for index, line in enumerate(_lines(config))
        for key, value in line.items()
        if str(value).isdigit()
    }
    message = seconds.get("messagetimeout", (0, "", DEFAULT_MESSAGE_TIMEOUT_SECONDS))[2]
    least = message * UNKILLABLE_TIMES_MESSAGE_TIMEOUT
    if "unkillablesteptimeout" in seconds and seconds["unkillablesteptimeout"][2] < least:
        index, key, given = seconds["unkillablesteptimeout"]
        yield Fault(
            (*SETTINGS, index, key),
            f"{given} is below five times MessageTimeout, {message}; use {least} or more",
        )


def expand(expression: str) -> Iterator[str]:
    """Yield the names that a Slurm node expression stands for: ``gpu-[1-2],login`` is three."""
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", expression):
        pieces = re.split(r"\[([^\]]*)\]", part.strip())
        choices = [
            list(_numbers(piece)) if position % 2 else [piece]
            for position, piece in enumerate(pieces)
        ]
        yield from ("".join(chosen) for chosen in product(*choices))


def _numbers(ranges: str) -> Iterator[str]:
    for span in ranges.split(","):
        first, _, last = span.partition("-")
        if not (first.isdigit() and (last or first).isdigit()):
            yield span
            continue
        for number in range(int(first), int(last or first) + 1):
            yield str(number).zfill(len(first))


def _managed_nodes(config: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str, str], str]]:
    for _, queue, resource in resources_of(config):
        static = resource.get("MinCount", 0)
        counts = {"st": static, "dy": resource.get("MaxCount", 10) - static}
        for kind, count in counts.items():
            if count > 0:
                name = f"{queue['Name']}-{kind}-{resource['Name']}"
                nodes = f"{name}-[1-{count}]" if count > 1 else f"{name}-1"
                yield (queue["Name"], kind, resource["Name"]), nodes


def _lines(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    lines: list[Mapping[str, Any]] = slurm_settings_of(config).get("CustomSlurmSettings", [])
    return lines
