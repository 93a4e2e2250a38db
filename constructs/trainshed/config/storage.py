"""The shared file system of a cluster and its links to S3."""

from typing import Annotated, Literal, Self, cast

from pydantic import Field, model_validator

from ..records import OnChange, Record
from .faults import refuse
from .link_rules import link_faults
from .lustre_rules import existing_faults, lustre_faults
from .texts import (
    BucketName,
    FileSystemId,
    Form,
    KeyArn,
    MountDirectory,
    RegionName,
    SecurityGroupId,
)


class RootSquash(Record):
    """Root on a client is turned into an ordinary user on the file system.

    CloudFormation cannot set it: trainshed calls FSx. Taking the key out of the file changes
    nothing; 0 for both ids turns squashing off.
    """

    uid: Annotated[int, Field(ge=0, le=4294967294), OnChange.LIVE] = 65534
    """User id that root becomes."""
    gid: Annotated[int, Field(ge=0, le=4294967294), OnChange.LIVE] = 65534
    """Group id that root becomes."""
    no_squash_nids: Annotated[tuple[str, ...], OnChange.LIVE] = ()
    """Lustre network ids of clients whose root stays root: ``10.0.1.[4-9]@tcp``. At most 64."""


class Backups(Record):
    """Daily backups that FSx makes by itself."""

    retention_days: Annotated[int, Field(ge=1, le=90), OnChange.LIVE] = 14
    """How many days a backup is kept, 1 to 90."""
    start_time: Annotated[
        str,
        Form(r"([01]\d|2[0-3]):[0-5]\d", "a time of day in UTC, such as '03:00'"),
        OnChange.LIVE,
    ] = "18:00"
    """When the daily window opens, UTC, in quotes: ``"18:00"``."""


class Lustre(Record):
    """An FSx for Lustre file system made with the foundation stack. Retained when it is deleted."""

    # FSx API, StorageCapacity, botocore 1.44.8.
    capacity_gib: Annotated[int, Field(le=2_147_483_647), OnChange.LIVE]
    """Size in GiB. It can grow later and never shrink; the valid steps depend on the kind."""
    deployment_type: Annotated[
        Literal["persistent_2", "persistent_1", "scratch_2", "scratch_1"], OnChange.REPLACES_DATA
    ] = "persistent_2"
    """Generation and durability; scratch loses data with a failed server."""
    storage_type: Annotated[Literal["ssd", "hdd"], OnChange.REPLACES_DATA] = "ssd"
    """Kind of disks; hdd only with persistent_1."""
    throughput_mb_s_per_tib: Annotated[int | None, OnChange.REPLACES_DATA] = None
    """Throughput in MB/s a TiB, for persistent ones. A change makes a new file system."""
    efa: Annotated[bool, OnChange.REPLACES_DATA] = False
    """Serve nodes over EFA, with GPUDirect Storage (persistent_2 ssd). Fixes the throughput."""
    metadata_iops: Annotated[int | None, OnChange.LIVE] = None
    """Metadata operations a second (persistent_2). Default: automatic, in step with capacity."""
    compression: Annotated[Literal["lz4", "none"], OnChange.LIVE] = "lz4"
    """Compression of what is written from now on."""
    hdd_read_cache: Annotated[bool, OnChange.REPLACES_DATA] = False
    """An SSD read cache of 20 % of the capacity (hdd only)."""
    root_squash: Annotated[RootSquash | None, OnChange.LIVE] = None
    """Take root's rights from clients. Default: root stays root, as node set-up needs."""
    backups: Annotated[Backups | None, OnChange.LIVE] = None
    """Daily backups. Default: none; refused on scratch and beside S3 links."""
    maintenance: Annotated[
        str,
        Form(
            r"[1-7]:([01]\d|2[0-3]):[0-5]\d",
            "a weekly time in UTC, day:hour:minute from Monday = 1, such as '7:03:00'",
        ),
        OnChange.LIVE,
    ] = "7:18:00"
    """Start of the weekly maintenance window, UTC: ``"7:18:00"`` is Sunday 18:00."""
    log_level: Annotated[Literal["disabled", "warn", "error", "warn_error"], OnChange.LIVE] = (
        "warn_error"
    )
    """Which events of the S3 links are logged to CloudWatch."""
    kms_key_arn: Annotated[KeyArn | None, OnChange.REPLACES_DATA] = None
    """Key that encrypts the data. Default: the account's ``aws/fsx`` key."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse(lustre_faults(self))
        return self


class ExistingLustre(Record):
    """A file system that is there already. It is never changed and never deleted."""

    file_system_id: Annotated[FileSystemId, OnChange.REFUSED]
    """Id of the file system."""
    dns_name: Annotated[
        str,
        Form(
            r"fs-[0-9a-f]{8,40}\.fsx\.[a-z0-9-]+\.[a-z0-9.-]*[a-z]",
            "the DNS name of a file system, such as "
            "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        ),
        OnChange.REFUSED,
    ]
    """DNS name: ``fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com``."""
    mount_name: Annotated[
        str,
        Form(
            r"[a-z0-9]{1,8}", "a mount name; the FSx console shows it, such as 'fsx' or 'ab3tzbev'"
        ),
        OnChange.REFUSED,
    ]
    """Mount name of the file system; it is not always ``fsx``."""
    security_group_id: Annotated[SecurityGroupId, OnChange.DRAINS_NODES]
    """Security group of the file system's interfaces."""
    efa: Annotated[bool, OnChange.DRAINS_NODES] = False
    """The file system was made with EFA."""
    capacity_gib: Annotated[int | None, Field(ge=1200), OnChange.LIVE] = None
    """Its size in GiB, for alarms on free space. Default: none are made."""
    throughput_mb_s_per_tib: Annotated[int | None, Field(ge=12, le=1000), OnChange.LIVE] = None
    """Its throughput in MB/s a TiB, with ``capacity_gib`` for an alarm on it. Default: none."""
    metadata_iops: Annotated[int | None, Field(ge=1500, le=192_000), OnChange.LIVE] = None
    """Its metadata operations a second, for an alarm on them. Default: none is made."""


class S3Link(Record):
    """A folder of the file system that shows, and feeds, a prefix of a bucket."""

    path: Annotated[MountDirectory, OnChange.REFUSED]
    """Folder inside the file system: ``/datasets``. It is ``/fsx/datasets`` on the nodes.

    FSx cannot change it: remove the link in one deployment and add it in the next. Files and
    objects stay as they are.
    """
    prefix: Annotated[
        str,
        Form(r"([^/\s][^\s]*/)?", "a key prefix that ends with a slash, such as 'datasets/'"),
        OnChange.REFUSED,
    ]
    """Prefix in the bucket, ending with a slash: ``datasets/``. Empty for the whole bucket.

    FSx cannot change it: remove the link in one deployment and add it in the next. Files and
    objects stay as they are.
    """
    direction: Annotated[Literal["import", "export", "both"], OnChange.LIVE]
    """``import``: new objects appear as files. ``export``: new files become objects.

    Objects that the prefix holds when the link is made appear as files in any case.
    """
    bucket: Annotated[BucketName | None, OnChange.REFUSED] = None
    """Another bucket than the institution's own. Default: ``storage.bucket``. As for ``path``."""
    export_deletions: Annotated[bool, OnChange.LIVE] = False
    """Deleting a file deletes its object. A mistaken ``rm -rf`` then empties the bucket as well."""
    import_deletions: Annotated[bool, OnChange.LIVE] = True
    """Deleting an object deletes its file."""

    @property
    def imports(self) -> bool:
        """Objects become files."""
        return self.direction in ("import", "both")

    @property
    def exports(self) -> bool:
        """Files become objects."""
        return self.direction in ("export", "both")


NoncurrentDays = Annotated[int, Field(ge=1, le=3650)]


class Bucket(Record):
    """The bucket behind the links: versioned, TLS only, retained."""

    existing: Annotated[BucketName | None, OnChange.REPLACES_DATA] = None
    """Name of a bucket that is there already. Default: one is made."""
    region: Annotated[RegionName | None, OnChange.REPLACES_DATA] = None
    """Region of an existing bucket. Default: the institution's Region."""
    noncurrent_days: Annotated[NoncurrentDays, OnChange.LIVE] = 90
    """Days that overwritten and deleted objects can be brought back (bucket made here)."""


LinkName = Annotated[
    str,
    Form(r"[A-Za-z][A-Za-z0-9]{0,39}", "a link name: a letter, then up to 39 letters and digits"),
]


class Storage(Record):
    """The shared file system. Exactly one of ``lustre`` and ``existing``."""

    mount_dir: Annotated[MountDirectory, OnChange.REFUSED] = "/fsx"
    """Where nodes mount it."""
    lustre: Annotated[Lustre | None, OnChange.REPLACES_DATA] = None
    """A new file system."""
    existing: Annotated[ExistingLustre | None, OnChange.REFUSED] = None
    """An existing file system instead of a new one."""
    links: Annotated[dict[LinkName, S3Link], OnChange.LIVE] = Field(default_factory=dict)
    """Folders linked to S3, by a name of your own. At most eight."""
    bucket: Annotated[Bucket, OnChange.REPLACES_DATA] = Bucket()
    """The bucket that links use where they name no other."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse([*existing_faults(self), *link_faults(self.links, self.bucket, self.lustre)])
        return self

    @property
    def source(self) -> Lustre | ExistingLustre:
        """The one of ``lustre`` and ``existing`` that is given."""
        return self.lustre or cast(ExistingLustre, self.existing)
