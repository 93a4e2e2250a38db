"""Rules about links between folders of the file system and prefixes of buckets.

FSx calls a link a data repository association. Key paths start at the ``storage`` section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from ..facts import lustre as fsx
from ..records import is_token
from .faults import Fault
from .lustre_rules import deployment
from .mount_rules import MOST_PATH_CHARACTERS, has_dots, overlap

if TYPE_CHECKING:
    from .storage import Bucket, Lustre, S3Link


# S3 user guide "Naming Amazon S3 objects", read 2026-11-29.
MOST_KEY_BYTES = 1024


def link_faults(links: Mapping[str, S3Link], bucket: Bucket, lustre: Lustre | None) -> list[Fault]:
    """Return what FSx would refuse in the links of one file system, seen from the storage.

    Args:
        links: Links by name.
        bucket: The bucket of links that name no other.
        lustre: The new file system; None for an existing one, of which less is known.
    """
    return [
        *_file_system_link_faults(links, lustre),
        *_bucket_faults(bucket),
        *_single_link_faults(links),
        *_clashes(links, bucket),
    ]


def _file_system_link_faults(links: Mapping[str, S3Link], lustre: Lustre | None) -> Iterator[Fault]:
    if len(links) > fsx.MAX_ASSOCIATIONS:
        yield Fault.at(
            "links",
            reason=f"{len(links)} links; a file system takes {fsx.MAX_ASSOCIATIONS}: "
            "link a folder that holds several of them",
        )
    if lustre is None or not links:
        return
    if not fsx.takes_associations(deployment(lustre), "2.15"):
        yield Fault.at(
            "links",
            reason=f"{lustre.deployment_type} cannot be linked to S3; "
            "use scratch_2, persistent_1 or persistent_2",
        )
    # CreateBackup in botocore 1.44.8 and in the FSx API reference, both read 2026-11-29: only of
    # file systems that are not linked to a data repository.
    if lustre.backups is not None:
        yield Fault.at(
            "lustre",
            "backups",
            reason="FSx does not back up a file system with links to S3; leave backups out "
            "(the bucket is versioned), or remove links",
        )


def _bucket_faults(bucket: Bucket) -> Iterator[Fault]:
    if bucket.existing is not None and "noncurrent_days" in bucket.model_fields_set:
        yield Fault.at(
            "bucket",
            "noncurrent_days",
            reason=f"is for a bucket made here; set a lifecycle rule on {bucket.existing} itself",
        )


def _single_link_faults(links: Mapping[str, S3Link]) -> Iterator[Fault]:
    for name, link in links.items():
        at = Fault.at("links", name, reason="").key_path
        if has_dots(link.path):
            yield Fault((*at, "path"), f"{link.path} has '.' or '..' in it; write it out")
        if len(link.path) > MOST_PATH_CHARACTERS:
            yield Fault(
                (*at, "path"),
                f"has {len(link.path)} characters; a path has {MOST_PATH_CHARACTERS} at most",
            )
        names = link.prefix.split("/")[:-1]
        if {"", ".", ".."} & {*names}:
            yield Fault(
                (*at, "prefix"),
                f"{link.prefix!r} has an empty name, '.' or '..' between its slashes, as no "
                "folder is called; use another",
            )
        size = len(link.prefix.encode())
        if size >= MOST_KEY_BYTES:
            yield Fault(
                (*at, "prefix"),
                f"has {size} bytes, and a key of S3 has {MOST_KEY_BYTES} at most, its last name "
                "included; use a shorter one",
            )
        if link.export_deletions and not link.exports:
            yield Fault(
                (*at, "export_deletions"),
                "is for links that export, and direction is import; leave it out",
            )
        if "import_deletions" in link.model_fields_set and not link.imports:
            yield Fault(
                (*at, "import_deletions"),
                "is for links that import, and direction is export; leave it out",
            )


def _clashes(links: Mapping[str, S3Link], bucket: Bucket) -> Iterator[Fault]:
    """Two associations may share neither folders nor objects. Told at the later link of a pair."""
    told: set[tuple[str, str]] = set()
    for (first_name, first), (name, link) in combinations(links.items(), 2):
        for key, reason in (
            ("", _same_name(first_name, first, name, link)),
            ("path", _path_clash(first_name, first, link)),
            ("prefix", _prefix_clash(first_name, first, link, bucket)),
        ):
            if reason and (name, key) not in told:
                told.add((name, key))
                yield Fault(("links", name, key) if key else ("links", name), reason)


def _same_name(first_name: str, first: S3Link, name: str, link: S3Link) -> str | None:
    one, other = _construct_ids(first_name, first), _construct_ids(name, link)
    if one[0] == other[0]:
        return f"differs from link {first_name} in its first letter's case alone; take another name"
    if {*one} & {*other}:
        return (
            f"is the name of link {first_name} but for 'Bucket' at the end, which the bucket of a "
            "link is called here; take another name"
        )
    return None


def _construct_ids(name: str, link: S3Link) -> tuple[str, ...]:
    # Names become construct ids, which start with a capital.
    own = name[0].upper() + name[1:]
    return (own, f"{own}Bucket") if link.bucket else (own,)


def _path_clash(first_name: str, first: S3Link, link: S3Link) -> str | None:
    if is_token(first.path) or is_token(link.path):
        return None
    if not overlap(first.path, link.path):
        return None
    return (
        f"{link.path} overlaps {first.path} of link {first_name}; "
        "link folders that lie beside each other"
    )


def _prefix_clash(first_name: str, first: S3Link, link: S3Link, bucket: Bucket) -> str | None:
    if is_token(first.prefix) or is_token(link.prefix):
        return None
    if (first.bucket or bucket.existing) != (link.bucket or bucket.existing):
        return None
    if not (first.prefix.startswith(link.prefix) or link.prefix.startswith(first.prefix)):
        return None
    return (
        f"{link.prefix!r} overlaps {first.prefix!r} of link {first_name} in the same bucket; "
        "link prefixes that lie beside each other"
    )
