"""Links between folders of a Lustre file system and prefixes of S3 buckets."""

from __future__ import annotations

from collections.abc import Mapping

import jsii
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_s3 as s3
from constructs import Construct, IValidation

from .._given import check_all_present
from .._stacks import stack_facts
from ..config.storage import S3Link
from ..facts.lustre import AssociationEvent
from ..records import is_token


class LustreLinks(Construct):
    """Data repository associations, made one after the other.

    Deleting a link leaves files and objects as they are. Its direction and what it does with
    deletions change in place. Path, prefix and bucket do not: CloudFormation would make a second
    link before it deletes the first, and FSx refuses two on one folder or one prefix. Remove the
    link in one deployment and add it anew in the next; files and objects stay.

    A new link shows as files what its prefix holds, also one that only exports: whether it does is
    fixed when it is made, and its direction would be fixed with it.

    Args:
        scope: Where it belongs.
        id: Its id there.
        file_system_id: Id of the file system.
        links: Links by name.
        bucket: Bucket of the links that name no other.
        link_buckets: Buckets of this app that links name, by name. Others are taken to exist.

    Raises:
        ValueError: A bucket has event notifications, a link imports from another Region, or
            ``link_buckets`` has a bucket that no link names. Notifications that are added later
            are refused at synthesis.
    """

    associations: Mapping[str, fsx.CfnDataRepositoryAssociation]
    """The associations, by the name of their link."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        links: Mapping[str, S3Link],
        bucket: s3.IBucket | None,
        link_buckets: Mapping[str, s3.IBucket],
    ) -> None:
        super().__init__(scope, id)
        check_all_present(links=links, link_buckets=link_buckets)
        unused = sorted(set(link_buckets) - {link.bucket for link in links.values()})
        if unused:
            raise ValueError(
                f"link_buckets has {unused[0]!r}, which no link names; "
                "name it as the bucket of a link, or leave it out"
            )
        self.associations = associations = {}
        names: dict[s3.IBucket, str] = {}
        near: set[s3.IBucket] = set()
        before: fsx.CfnDataRepositoryAssociation | None = None
        for name, link in sorted(links.items()):
            link_id = name[0].upper() + name[1:]
            linked = self._bucket_of(link, f"{link_id}Bucket", bucket, link_buckets)
            if linked not in names:
                refuse_notifications(name, linked)
                self.node.add_validation(_NoNotifications(name, linked))
                names[linked] = linked.bucket_name
            if link.imports and linked not in near:
                self._refuse_elsewhere(name, linked)
                near.add(linked)
            association = fsx.CfnDataRepositoryAssociation(
                self,
                link_id,
                file_system_id=file_system_id,
                file_system_path=link.path,
                data_repository_path=f"s3://{names[linked]}/{link.prefix}",
                # The same for every direction: a change of it would replace the link.
                batch_import_meta_data_on_create=True,
                s3=_policies(link),
            )
            # The bucket outlives the link, and its policy is in force before FSx checks it.
            association.node.add_dependency(linked)
            if before is not None:
                # FSx works on one association at a time and fails the second with a
                # permissions error (hashicorp/terraform-provider-aws#24678).
                association.add_resource_dependency(before)
            before = associations[name] = association

    def _refuse_elsewhere(self, name: str, bucket: s3.IBucket) -> None:
        """Refuse to import from a bucket that is known to be in another Region."""
        here, there = stack_facts(self).region, bucket.env.region
        if here != there and not (is_token(here) or is_token(there)):
            raise ValueError(
                f"link {name} imports, which takes a bucket in {here}, and {bucket.node.path} is "
                f"in {there}; use direction export, or copy the bucket"
            )

    def _bucket_of(
        self,
        link: S3Link,
        id: str,
        bucket: s3.IBucket | None,
        link_buckets: Mapping[str, s3.IBucket],
    ) -> s3.IBucket:
        if link.bucket is not None:
            return link_buckets.get(link.bucket) or s3.Bucket.from_bucket_name(
                self, id, link.bucket
            )
        if bucket is None:
            raise ValueError(f"a link to {link.prefix!r} names no bucket; pass bucket")
        return bucket


def _policies(link: S3Link) -> fsx.CfnDataRepositoryAssociation.S3Property:
    """Return which changes FSx carries over by itself, and in which direction."""
    both: list[AssociationEvent] = ["NEW", "CHANGED"]
    imported = [*both, "DELETED"] if link.import_deletions else both
    exported = [*both, "DELETED"] if link.export_deletions else both
    association = fsx.CfnDataRepositoryAssociation
    return association.S3Property(
        auto_import_policy=(
            association.AutoImportPolicyProperty(events=imported) if link.imports else None
        ),
        auto_export_policy=(
            association.AutoExportPolicyProperty(events=exported) if link.exports else None
        ),
    )


def notifications_fault(name: str, bucket: s3.IBucket) -> str | None:
    """Say why a bucket cannot be linked; None if it can, as far as this app shows."""
    # aws-cdk-lib makes this child with the first notification or with event_bridge_enabled; its
    # handler replaces the whole notification configuration, FSx's own entry included.
    node = bucket.node
    given = node.try_find_child("Notifications") is not None
    resource = node.default_child
    if isinstance(resource, s3.CfnBucket):
        given = given or resource.notification_configuration is not None
    if not given:
        return None
    return (
        f"the bucket of link {name}, {bucket.node.path}, has event notifications or EventBridge; "
        "they overwrite the one that FSx adds, and the link stops: use a second bucket for events"
    )


def refuse_notifications(name: str, bucket: s3.IBucket) -> None:
    """Refuse a bucket that has event notifications.

    Raises:
        ValueError: It has some.
    """
    fault = notifications_fault(name, bucket)
    if fault:
        raise ValueError(fault)


@jsii.implements(IValidation)
class _NoNotifications:
    """Looks again at synthesis, for notifications that were added after the link."""

    def __init__(self, name: str, bucket: s3.IBucket) -> None:
        self._name = name
        self._bucket = bucket

    def validate(self) -> list[str]:
        fault = notifications_fault(self._name, self._bucket)
        return [fault] if fault else []
