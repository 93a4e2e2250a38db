"""Keys of one backend that a fleet of another would pass over in silence."""

from __future__ import annotations

from collections.abc import Iterator

from .faults import Fault
from .fleet import Fleet


def backend_faults(fleet: Fleet) -> Iterator[Fault]:
    """Yield the keys that are for another backend than the fleet's; key paths begin at it."""
    if fleet.backend == "slurm":
        yield from _of_other(fleet, "parallelcluster")
        return
    yield from _of_other(fleet, "slurm")
    if fleet.image.lock is not None:
        yield Fault.at(
            "image",
            "lock",
            reason="is for backend slurm; ParallelCluster has images of its own: leave it out, or "
            "give ami_id",
        )
    if fleet.image.latest:
        yield Fault.at(
            "image",
            "latest",
            reason="is for backend slurm; ParallelCluster's image follows from its version: leave "
            "it out",
        )


def _of_other(fleet: Fleet, other: str) -> Iterator[Fault]:
    for key in sorted(getattr(fleet, other).model_fields_set):
        yield Fault.at(
            other,
            key,
            reason=f"is for backend {other}, and backend is {fleet.backend}; "
            "leave it out, or change backend",
        )
