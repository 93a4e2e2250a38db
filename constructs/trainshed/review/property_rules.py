"""What a changed property does, where CloudFormation changes it in place."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .effects import Effect
from .values import Path, at, days

Verdict = tuple[Effect, str] | None
Rule = Callable[[Any, Any], Verdict]


def _lustre_capacity(before: Any, after: Any) -> Verdict:
    if isinstance(before, int) and isinstance(after, int) and after < before:
        return Effect.REFUSED, "FSx for Lustre only grows: make a smaller file system beside it."
    # FSx for Lustre user guide "Managing storage capacity", read 2026-11-29.
    return Effect.LIVE, "Grows in place: jobs wait for some minutes, and it is slower for hours."


def _fewer_reserved(before: Any, after: Any) -> Verdict:
    if isinstance(before, int) and isinstance(after, int) and after < before:
        gone = before - after
        return Effect.LIVE, f"Gives up {gone} reserved instances; AWS may not have them again."
    return Effect.LIVE, "Reserves more instances, if AWS has them: the deployment fails otherwise."


def _shorter(before: Any, after: Any) -> Verdict:
    if isinstance(before, int) and isinstance(after, int) and after < before:
        return Effect.LIVE, f"What is older than {days(after)} is deleted."
    return None


def _versioning(before: Any, after: Any) -> Verdict:
    if before in ("Enabled", {"Status": "Enabled"}):
        return Effect.LIVE, "Objects that are overwritten or deleted from now on are gone for good."
    return None


def _no_backups(before: Any, after: Any) -> Verdict:
    if before and not after:
        return Effect.LIVE, "FSx makes no more backups."
    return _fewer_backups(before, after)


def _fewer_backups(before: Any, after: Any) -> Verdict:
    if isinstance(before, int) and isinstance(after, int) and after < before:
        return Effect.LIVE, f"Backups that are older than {days(after)} are deleted."
    return None


def _smaller_disk(before: Any, after: Any) -> Verdict:
    # CloudFormation's page of the volume, read 2026-11-30: EBS does not support sizing down.
    if isinstance(before, int) and isinstance(after, int) and after < before:
        return Effect.REFUSED, "EBS volumes only grow: make a smaller one beside it."
    return None


def _fixed(before: Any, after: Any) -> Verdict:
    return Effect.REFUSED, "EC2 cannot change this of a volume: make another one beside it."


def _disabled(before: Any, after: Any) -> Verdict:
    if after is False:
        return (
            Effect.STOPS_FLEET,
            "Nothing that is encrypted with it can be read until it is enabled again: what uses "
            "it stops.",
        )
    return None


def _deletions(before: Any, after: Any) -> Verdict:
    if "DELETED" in json.dumps(after) and "DELETED" not in json.dumps(before):
        return Effect.LIVE, "From now on what is deleted on one side is deleted on the other."
    return None


Days = dict[str, int]


def _lifecycle(before: Any, after: Any) -> Verdict:
    """Judge the lifecycle of a bucket, of which any part may be what changed."""
    sooner = _sooner(_ages(before, _EXPIRY), _ages(after, _EXPIRY))
    if sooner is not None:
        when = f"once they are {days(sooner)} old" if sooner else "on the day that a rule names"
        return Effect.LOSES_DATA, f"Objects are deleted {when}."
    sooner = _sooner(_ages(before, _OLD_EXPIRY), _ages(after, _OLD_EXPIRY))
    if sooner is not None:
        return (
            Effect.LIVE,
            f"What was overwritten or deleted is gone for good after {days(sooner)}.",
        )
    return None


_EXPIRY = (("ExpirationInDays",), ("ExpirationDate",))
_OLD_EXPIRY = (
    ("NoncurrentVersionExpiration", "NoncurrentDays"),
    ("NoncurrentVersionExpirationInDays",),
)


def _ages(value: Any, keys: tuple[Path, ...]) -> Days:
    """Return after how many days objects go, by what the rule is for; 0 where a date says it."""
    rules = value.get("Rules", []) if isinstance(value, Mapping) else value
    found: Days = {}
    for rule in rules if isinstance(rules, list) else []:
        if not isinstance(rule, Mapping) or rule.get("Status") != "Enabled":
            continue
        about = {key: rule[key] for key in ("Prefix", "TagFilters") if rule.get(key)}
        for age in (at(rule, key) for key in keys):
            if age is not None:
                number = int(age) if str(age).isdigit() else 0
                name = json.dumps(about, sort_keys=True)
                found[name] = min(number, found.get(name, number))
    return found


def _sooner(before: Days, after: Days) -> int | None:
    """Return the shortest time that is new or shorter; None where nothing goes sooner."""
    everywhere = before.get("{}")
    new = []
    for name, number in after.items():
        limit = before.get(name, everywhere)
        if limit is None or number < limit:
            new.append(number)
    return min(new, default=None)


RULES: dict[tuple[str, Path], Rule] = {
    ("AWS::FSx::FileSystem", ("StorageCapacity",)): _lustre_capacity,
    (
        "AWS::FSx::FileSystem",
        ("LustreConfiguration", "AutomaticBackupRetentionDays"),
    ): _no_backups,
    ("AWS::EC2::CapacityReservation", ("InstanceCount",)): _fewer_reserved,
    ("AWS::Logs::LogGroup", ("RetentionInDays",)): _shorter,
    ("AWS::S3::Bucket", ("VersioningConfiguration", "Status")): _versioning,
    ("AWS::S3::Bucket", ("VersioningConfiguration",)): _versioning,
    ("AWS::S3::Bucket", ("LifecycleConfiguration",)): _lifecycle,
    ("AWS::EC2::Volume", ("Size",)): _smaller_disk,
    # CloudFormation's page of the volume: "Updates are not supported".
    **{
        ("AWS::EC2::Volume", (key,)): _fixed
        for key in ("AvailabilityZone", "Encrypted", "KmsKeyId", "OutpostArn", "SnapshotId")
    },
    ("AWS::KMS::Key", ("Enabled",)): _disabled,
    ("AWS::FSx::DataRepositoryAssociation", ("S3",)): _deletions,
    ("AWS::RDS::DBCluster", ("BackupRetentionPeriod",)): _fewer_backups,
    ("AWS::RDS::DBInstance", ("BackupRetentionPeriod",)): _fewer_backups,
}


SIZES = {("MinSize",), ("MaxSize",), ("DesiredCapacity",)}


def _size(before: Any, after: Any) -> Verdict:
    try:
        fewer = int(after) < int(before)
    except (TypeError, ValueError):
        return None
    if fewer:
        return Effect.DRAINS_NODES, "Nodes that are too many finish their jobs, then go."
    return Effect.LIVE, "More nodes join while jobs run."


def property_verdict(resource_type: str, path: Path, before: Any, after: Any) -> Verdict:
    """Return what a changed property does that CloudFormation changes in place; None for nothing.

    Args:
        resource_type: Type of the resource.
        path: The property.
        before: Its value in the base; None where it had none.
        after: Its value in the head; None where it goes.
    """
    rule = _rule(resource_type, path)
    return rule(before, after) if rule else None


def _rule(resource_type: str, path: Path) -> Rule | None:
    if resource_type == "AWS::AutoScaling::AutoScalingGroup" and path in SIZES:
        return _size
    if resource_type in ("AWS::EC2::LaunchTemplate", "AWS::AutoScaling::AutoScalingGroup"):
        return lambda before, after: (
            Effect.DRAINS_NODES,
            "Nodes have it once they are replaced: each drains first.",
        )
    return next(
        (
            RULES[resource_type, path[:end]]
            for end in range(len(path), 0, -1)
            if (resource_type, path[:end]) in RULES
        ),
        None,
    )
