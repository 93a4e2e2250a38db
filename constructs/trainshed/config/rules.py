"""Rules across the sections of an institution. Each runs as soon as its sections are right.

A rule is a function whose arguments are the sections it reads, by their names in the file; it
yields faults with the key path from the top of the file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .. import facts
from .account_rules import ACCOUNT_RULES
from .accounting_rules import database_has_two_zones
from .faults import Fault
from .fleet import Fleet
from .fleet_rules import FLEET_RULES
from .mount_rules import overlap
from .network import Network
from .storage import Storage

Rule = Callable[..., Iterator[Fault]]


def zone_is_in_region(region: str, network: Network) -> Iterator[Fault]:
    """The zone belongs to the institution's Region."""
    try:
        facts.check_zone(network.place, region)
    except ValueError as error:
        key = "zone" if network.zone else "zone_id"
        yield Fault.at("network", key, reason=f"{error}; change it, or region")


def import_is_from_the_same_region(region: str, storage: Storage) -> Iterator[Fault]:
    """FSx imports new objects by itself only from a bucket in its own Region."""
    if storage.bucket.region in (None, region):
        return
    for name, link in storage.links.items():
        if link.imports and link.bucket in (None, storage.bucket.existing):
            yield Fault.at(
                "storage",
                "links",
                name,
                "direction",
                reason=f"{link.direction!r} needs a bucket in {region}, and "
                f"storage.bucket is in {storage.bucket.region}; use direction export, "
                "or copy the bucket",
            )


def directories_are_apart(storage: Storage, fleet: Fleet) -> Iterator[Fault]:
    """No mount lies below another one: the inner one would hide, or be hidden."""
    for name, queue in fleet.queues.items():
        if queue.nvme_dir and overlap(storage.mount_dir, queue.nvme_dir):
            yield Fault.at(
                "fleet",
                "queues",
                name,
                "nvme_dir",
                reason=f"{queue.nvme_dir} and storage.mount_dir, {storage.mount_dir}, overlap; "
                "mount them apart, such as /opt/dlami/nvme and /fsx",
            )


def new_bucket_is_in_the_region(storage: Storage) -> Iterator[Fault]:
    """A bucket made here is made in the Region of the file system."""
    if storage.bucket.region and not storage.bucket.existing:
        yield Fault.at(
            "storage",
            "bucket",
            "region",
            reason="is for an existing bucket; a new one is made in the institution's region",
        )


RULES: tuple[Rule, ...] = (
    zone_is_in_region,
    import_is_from_the_same_region,
    *ACCOUNT_RULES,
    directories_are_apart,
    new_bucket_is_in_the_region,
    database_has_two_zones,
    *FLEET_RULES,
)


def faults_by(rules: Iterable[Rule], sections: Mapping[str, Any]) -> list[Fault]:
    """Return the faults that the given sections have together.

    Args:
        rules: The rules; those that need a section that is not given do not run.
        sections: Sections of an institution by name.
    """
    faults: list[Fault] = []
    for rule in rules:
        needs = list(inspect.signature(rule).parameters)
        if all(need in sections for need in needs):
            faults += rule(**{need: sections[need] for need in needs})
    return faults
