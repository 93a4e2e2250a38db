"""What a file system refuses of its arguments, and what it warns of."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Annotations
from aws_cdk import aws_s3 as s3
from constructs import IConstruct

from .._given import check_all_present, check_records, check_value
from ..config.faults import refuse
from ..config.link_rules import link_faults
from ..config.lustre_rules import storage_warnings
from ..config.mount_rules import mount_dir_faults
from ..config.storage import Bucket, LinkName, Lustre, S3Link
from ..config.texts import MountDirectory


def check_given(
    mount_dir: str,
    links: Mapping[str, S3Link],
    link_buckets: Mapping[str, s3.IBucket],
    lustre: Lustre | None,
) -> None:
    """Refuse what the institution file would refuse for the same keys."""
    check_all_present(links=links, link_buckets=link_buckets)
    check_value("mount_dir", mount_dir, MountDirectory)
    check_records("links", links, S3Link)
    for name in links:
        check_value(f"links[{name!r}]", name, LinkName)
    refuse([*mount_dir_faults(mount_dir), *link_faults(links, Bucket(), lustre)])


def warn(storage: IConstruct, lustre: Lustre | None, links: Mapping[str, S3Link]) -> None:
    """Warn of what FSx takes and its users may not expect."""
    for id, text in storage_warnings(lustre, links).items():
        Annotations.of(storage).add_warning_v2(f"trainshed:{id}", text)
