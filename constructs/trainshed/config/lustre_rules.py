"""Rules about the shared file system, and what is allowed but worth a word.

They follow FSx's own rules, so that a file is refused here and not an hour into a deployment.
Key paths start at the record that a function is given. Rules about links: ``link_rules``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from ..facts import lustre as fsx
from ..facts.grid import either
from ..records import is_token
from .faults import Fault
from .mount_rules import mount_dir_faults

if TYPE_CHECKING:
    from .storage import Lustre, RootSquash, S3Link, Storage

# FSx API, LustreRootSquashConfiguration and LustreNoSquashNids, botocore 1.44.8: four numbers or
# ranges.
_NID_PART = r"(?:[0-9]{1,3}|\[[0-9]{1,3}(?:-[0-9]{1,3})?\])"
_NID = re.compile(rf"{_NID_PART}(?:\.{_NID_PART}){{3}}@tcp")
_MOST_NIDS = 64


def deployment(lustre: Lustre) -> fsx.DeploymentType:
    """Return the deployment type as FSx writes it."""
    return cast("fsx.DeploymentType", lustre.deployment_type.upper())


def storage_kind(lustre: Lustre) -> fsx.StorageType:
    """Return the storage type as FSx writes it."""
    return cast("fsx.StorageType", lustre.storage_type.upper())


def lustre_faults(lustre: Lustre) -> list[Fault]:
    """Return what FSx would refuse in a new file system."""
    return [
        *_shape_faults(lustre),
        *_metadata_faults(lustre),
        *_scratch_faults(lustre),
        *_root_squash_faults(lustre.root_squash),
    ]


def _shape_faults(lustre: Lustre) -> Iterator[Fault]:
    """Storage, EFA, throughput and capacity; each grid depends on the ones before."""
    kind = lustre.deployment_type
    if lustre.hdd_read_cache and lustre.storage_type != "hdd":
        yield Fault.at(
            "hdd_read_cache", reason="is a cache for hdd and storage_type is ssd; leave it out"
        )
    efa_fits = not lustre.efa or kind == "persistent_2"
    if not efa_fits:
        yield Fault.at(
            "efa", reason=f"{kind} has no EFA; use deployment_type persistent_2, or leave efa out"
        )
    if lustre.storage_type == "hdd" and kind != "persistent_1":
        yield Fault.at(
            "storage_type",
            reason=f"hdd is for persistent_1 alone and deployment_type is {kind}; use ssd",
        )
        return
    tiers = fsx.throughput_tiers(deployment(lustre), storage_kind(lustre))
    throughput = lustre.throughput_mb_s_per_tib
    if throughput not in (tiers or (None,)):
        yield _throughput_fault(lustre, tiers)
        if lustre.efa or lustre.storage_type == "hdd":
            return  # Their sizes come in steps that depend on the throughput.
        throughput = tiers[0] if tiers else None
    if efa_fits:
        yield from _capacity_faults(lustre, throughput)


def _capacity_faults(lustre: Lustre, throughput: int | None) -> Iterator[Fault]:
    reason = fsx.capacity_fault(
        lustre.capacity_gib,
        deployment(lustre),
        storage_kind(lustre),
        throughput_mbps_per_tib=throughput,
        efa=lustre.efa,
    )
    if reason:
        yield Fault.at("capacity_gib", reason=reason)


def _throughput_fault(lustre: Lustre, tiers: tuple[int, ...]) -> Fault:
    throughput, kind = lustre.throughput_mb_s_per_tib, lustre.deployment_type
    key = "throughput_mb_s_per_tib"
    if not tiers:
        return Fault.at(key, reason=f"{key} is {throughput}; {kind} has a fixed one: leave it out")
    given = "missing" if throughput is None else str(throughput)
    return Fault.at(
        key,
        reason=f"{key} is {given}; {kind} {lustre.storage_type} takes {either(tiers)}: "
        f"use {_nearest(throughput or 0, tiers)}",
    )


def _nearest(value: int, choices: tuple[int, ...]) -> int:
    return min(choices, key=lambda choice: abs(choice - value))


def _metadata_faults(lustre: Lustre) -> Iterator[Fault]:
    if lustre.metadata_iops is None:
        return
    if lustre.deployment_type != "persistent_2":
        yield Fault.at(
            "metadata_iops",
            reason=f"is for persistent_2 and deployment_type is {lustre.deployment_type}; "
            "leave metadata_iops out",
        )
        return
    reason = fsx.metadata_iops_fault(lustre.metadata_iops, lustre.capacity_gib)
    if reason:
        yield Fault.at("metadata_iops", reason=reason)


def _scratch_faults(lustre: Lustre) -> Iterator[Fault]:
    if fsx.is_persistent(deployment(lustre)):
        return
    kind = lustre.deployment_type
    if lustre.backups is not None:
        yield Fault.at(
            "backups", reason=f"{kind} has no backups; use persistent_2, or leave backups out"
        )
    if lustre.kms_key_arn is not None:
        yield Fault.at(
            "kms_key_arn",
            reason=f"{kind} is encrypted with a key of FSx's own; use persistent_2, "
            "or leave kms_key_arn out",
        )


def _root_squash_faults(squash: RootSquash | None) -> Iterator[Fault]:
    if squash is None:
        return
    if (squash.uid == 0) != (squash.gid == 0):
        yield Fault.at(
            "root_squash",
            reason=f"uid is {squash.uid} and gid is {squash.gid}; use two numbers above 0 to "
            "squash root, or 0 for both to stop squashing",
        )
    nids = squash.no_squash_nids
    if len(nids) > _MOST_NIDS:
        yield Fault.at(
            "root_squash",
            "no_squash_nids",
            reason=f"{len(nids)} network ids, above {_MOST_NIDS}; "
            "write ranges, such as 10.0.[1-3].[1-255]@tcp",
        )
    for index, nid in enumerate(nids):
        if not is_token(nid) and not _is_nid(nid):
            yield Fault.at(
                "root_squash",
                "no_squash_nids",
                index,
                reason=f"{nid!r} is not a Lustre network id; "
                "write an address or a range, such as 10.0.1.[4-9]@tcp",
            )


def _is_nid(nid: str) -> bool:
    if not _NID.fullmatch(nid):
        return False
    spans = [[int(n) for n in re.findall("[0-9]+", part)] for part in nid[:-4].split(".")]
    return all(span[0] <= span[-1] <= 255 for span in spans)


def existing_faults(storage: Storage) -> list[Fault]:
    """Return what is wrong with where the file system comes from and where it is mounted."""
    return [*_source_faults(storage), *mount_dir_faults(storage.mount_dir)]


def _source_faults(storage: Storage) -> Iterator[Fault]:
    if (storage.lustre is None) == (storage.existing is None):
        yield Fault.at(
            reason="needs exactly one of lustre and existing; lustre makes a file system, "
            "existing mounts one that is there"
        )
    existing = storage.existing
    if existing is None or is_token(existing.dns_name) or is_token(existing.file_system_id):
        return
    if not existing.dns_name.startswith(f"{existing.file_system_id}.fsx."):
        yield Fault.at(
            "existing",
            "dns_name",
            reason=f"{existing.dns_name!r} is not the DNS name of {existing.file_system_id}; "
            f"write {existing.file_system_id}.fsx.REGION.amazonaws.com",
        )


def storage_warnings(lustre: Lustre | None, links: Mapping[str, S3Link]) -> dict[str, str]:
    """Return what is allowed and still worth a reviewer's eye: texts by an id of their own."""
    warnings = {
        f"export-deletions-{name}": f"link {name} exports deletions: 'rm -rf' below {link.path} "
        f"also deletes the objects under {link.prefix!r}; leave export_deletions out unless the "
        "bucket is meant to follow"
        for name, link in links.items()
        if link.export_deletions
    }
    if lustre is None:
        return warnings
    quota = fsx.capacity_quota(deployment(lustre), storage_kind(lustre))
    if lustre.capacity_gib > quota.default_gib:
        warnings["quota"] = (
            f"{lustre.capacity_gib} GiB are above the default quota {quota.name!r} "
            f"({quota.code}), {quota.default_gib} GiB; ask for more before you deploy"
        )
    if lustre.root_squash is not None and lustre.root_squash.uid != 0:
        warnings.update(_root_squash_warnings(lustre, lustre.root_squash))
    return warnings


def _root_squash_warnings(lustre: Lustre, squash: RootSquash) -> dict[str, str]:
    warnings = {}
    if not squash.no_squash_nids:
        warnings["root-squash-everywhere"] = (
            "root_squash holds on every node, so node set-up and administrators cannot write to "
            "folders of others; name the head node in no_squash_nids"
        )
    if lustre.backups is not None:
        # FSx for Lustre user guide "Lustre root squash", snapshot of 2023.
        warnings["root-squash-backups"] = (
            "root_squash stands in the way of backups that a client takes as root; name that "
            "client in no_squash_nids"
        )
    return warnings
