"""Checks of the queues: how many, out of which capacity, and what an update may take away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...config.faults import Fault
from ...facts.parallelcluster import MAX_QUEUES
from .surroundings import Surroundings, queues_of, resources_of, slurm_settings_of


def queues_are_few(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """A cluster has at most fifty queues."""
    count = len(config["Scheduling"]["SlurmQueues"])
    if count > MAX_QUEUES:
        yield Fault.at(
            "Scheduling",
            "SlurmQueues",
            reason=f"{count} queues; ParallelCluster takes {MAX_QUEUES}: join some, "
            "or make a second cluster",
        )


def blocks_are_launched_as_blocks(
    config: Mapping[str, Any], around: Surroundings
) -> Iterator[Fault]:
    """A Capacity Block is launched as one: as On-Demand or Spot EC2 refuses it."""
    for at, queue, resource in resources_of(config):
        key_path, target = (
            (*at[:3], "CapacityReservationTarget"),
            queue.get("CapacityReservationTarget"),
        )
        if "CapacityReservationTarget" in resource:
            key_path = (*at, "CapacityReservationTarget")
            target = resource["CapacityReservationTarget"]
        reservation = (target or {}).get("CapacityReservationId")
        capacity_type = queue.get("CapacityType", "ONDEMAND")
        if reservation in around.capacity_block_ids and capacity_type != "CAPACITY_BLOCK":
            yield Fault(
                (*key_path, "CapacityReservationId"),
                f"{reservation} is a Capacity Block and the queue's CapacityType is "
                f"{capacity_type}; EC2 refuses the launch: use CAPACITY_BLOCK",
            )


def blocks_are_used_whole(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """A queue on a Capacity Block is static and has no placement group."""
    for at, queue, resource in resources_of(config):
        if queue.get("CapacityType") != "CAPACITY_BLOCK":
            continue
        least, most = resource.get("MinCount", 0), resource.get("MaxCount", 10)
        if least != most:
            yield Fault(
                (*at, "MinCount"),
                f"{least} is not MaxCount, {most}; a Capacity Block is paid for as a whole: "
                "make them equal",
            )
        if queue["Networking"].get("PlacementGroup", {}).get("Enabled"):
            yield Fault(
                (*at[:3], "Networking", "PlacementGroup"),
                "is enabled on a Capacity Block, which is already placed; leave it out",
            )


def nodes_stay_under_drain(config: Mapping[str, Any], around: Surroundings) -> Iterator[Fault]:
    """An update under ``DRAIN`` takes no node away: ParallelCluster refuses it while nodes run."""
    strategy = slurm_settings_of(config).get("QueueUpdateStrategy")
    if around.previous is None or strategy != "DRAIN":
        return
    at_fault = "; stop the fleet first, or use TERMINATE for this update"
    now = {(q["Name"], r["Name"]): (at, r) for at, q, r in resources_of(config)}
    kept = {queue["Name"] for _, queue in queues_of(config)}
    for _, queue, before in resources_of(around.previous):
        name = queue["Name"]
        if name not in kept:
            reason = f"queue {name} is gone, which DRAIN does not allow while nodes run{at_fault}"
            yield Fault(("Scheduling", "SlurmQueues"), reason)
        elif (name, before["Name"]) not in now:
            reason = f"{before['Name']} of queue {name} is gone, which DRAIN does not allow"
            yield Fault(("Scheduling", "SlurmQueues"), f"{reason} while nodes run{at_fault}")
        else:
            at, after = now[name, before["Name"]]
            for key in ("MinCount", "MaxCount"):
                if after[key] < before[key]:
                    reason = f"{before[key]} becomes {after[key]}, which DRAIN does not allow"
                    yield Fault((*at, key), f"{reason} while nodes run{at_fault}")
