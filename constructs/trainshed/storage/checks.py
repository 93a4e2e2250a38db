"""What a file system refuses of its arguments."""

from __future__ import annotations

from collections.abc import Mapping

from .._given import check_records, check_value
from ..config.faults import refuse
from ..config.link_rules import link_faults
from ..config.mount_rules import mount_dir_faults
from ..config.storage import Bucket, LinkName, Lustre, S3Link
from ..config.texts import MountDirectory


def check_given(mount_dir: str, links: Mapping[str, S3Link], lustre: Lustre | None) -> None:
    """Refuse what the institution file would refuse for the same keys."""
    check_value("mount_dir", mount_dir, MountDirectory)
    check_records("links", links, S3Link)
    for name in links:
        check_value(f"links[{name!r}]", name, LinkName)
    refuse([*mount_dir_faults(mount_dir), *link_faults(links, Bucket(), lustre)])
