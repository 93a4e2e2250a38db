"""What the storage section refuses, each with the message that a user reads."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from trainshed.config.faults import FaultsError
from trainshed.config.lustre_rules import storage_warnings
from trainshed.config.storage import Bucket, Lustre, S3Link, Storage
from trainshed.facts.lustre import EFA_STEP_GIB

TOKEN = "${Token[TOKEN.1]}"
KEY = "arn:aws:kms:us-east-1:111122223333:key/abc"
SSD = {"capacity_gib": 1200, "throughput_mb_s_per_tib": 125}
SCRATCH = {"capacity_gib": 1200, "deployment_type": "scratch_2"}
HDD = {"deployment_type": "persistent_1", "storage_type": "hdd", "throughput_mb_s_per_tib": 12}
EXISTING = {
    "file_system_id": "fs-0123456789abcdef0",
    "dns_name": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
    "mount_name": "abcdef01",
    "security_group_id": "sg-0123456789abcdef0",
}


def link(path: str = "/data", prefix: str = "data/", direction: str = "import", **more: Any) -> Any:
    return {"path": path, "prefix": prefix, "direction": direction, **more}


def faults(record: type[Lustre | Storage], keys: dict[str, Any]) -> list[str]:
    """Return the faults of a record, one line each; none for a good one."""
    try:
        record.model_validate(keys)
    except ValidationError as error:
        (only,) = error.errors()
        cause = only["ctx"]["error"]
        assert isinstance(cause, FaultsError)
        return str(cause).splitlines()
    return []


@pytest.mark.parametrize(
    ("keys", "messages"),
    [
        pytest.param(
            {**SSD, "capacity_gib": 1300},
            [
                "capacity_gib: capacity_gib is 1300; an SSD file system takes 1200 or a multiple "
                "of 2400: use 1200 or 2400"
            ],
            id="D38 ssd between two sizes",
        ),
        pytest.param(
            {**SSD, "capacity_gib": 0},
            [
                "capacity_gib: capacity_gib is 0; an SSD file system takes 1200 or a multiple of "
                "2400: use 1200"
            ],
            id="D38 nothing",
        ),
        pytest.param(
            {**SSD, "capacity_gib": -2400},
            [
                "capacity_gib: capacity_gib is -2400; an SSD file system takes 1200 or a multiple "
                "of 2400: use 1200"
            ],
            id="D38 below zero",
        ),
        pytest.param(
            {**SCRATCH, "capacity_gib": 3600},
            [
                "capacity_gib: capacity_gib is 3600; an SSD file system takes 1200 or a multiple "
                "of 2400: use 2400 or 4800"
            ],
            id="D38 scratch_2",
        ),
        pytest.param(
            {"capacity_gib": 4800, "deployment_type": "scratch_1"},
            [
                "capacity_gib: capacity_gib is 4800; a SCRATCH_1 file system takes 1200, 2400 or "
                "a multiple of 3600: use 3600 or 7200"
            ],
            id="D38 scratch_1",
        ),
        pytest.param(
            {**HDD, "capacity_gib": 7000},
            [
                "capacity_gib: capacity_gib is 7000; an HDD file system of 12 MB/s per TiB takes "
                "a multiple of 6000: use 6000 or 12000"
            ],
            id="D38 hdd of 12 MB/s",
        ),
        pytest.param(
            {**HDD, "capacity_gib": 6000, "throughput_mb_s_per_tib": 40},
            [
                "capacity_gib: capacity_gib is 6000; an HDD file system of 40 MB/s per TiB takes "
                "a multiple of 1800: use 5400 or 7200"
            ],
            id="D38 hdd of 40 MB/s",
        ),
        pytest.param(
            {"capacity_gib": 1200},
            [
                "throughput_mb_s_per_tib: throughput_mb_s_per_tib is missing; persistent_2 ssd "
                "takes 125, 250, 500 or 1000: use 125"
            ],
            id="D39 throughput missing",
        ),
        pytest.param(
            {**SSD, "throughput_mb_s_per_tib": 300},
            [
                "throughput_mb_s_per_tib: throughput_mb_s_per_tib is 300; persistent_2 ssd takes "
                "125, 250, 500 or 1000: use 250"
            ],
            id="D39 throughput between two",
        ),
        pytest.param(
            {**SSD, "deployment_type": "persistent_1"},
            [
                "throughput_mb_s_per_tib: throughput_mb_s_per_tib is 125; persistent_1 ssd takes "
                "50, 100 or 200: use 100"
            ],
            id="D39 throughput of the other generation",
        ),
        pytest.param(
            {**HDD, "capacity_gib": 6000, "throughput_mb_s_per_tib": 100},
            [
                "throughput_mb_s_per_tib: throughput_mb_s_per_tib is 100; persistent_1 hdd takes "
                "12 or 40: use 40"
            ],
            id="D39 throughput of ssd for hdd",
        ),
        pytest.param(
            {**SCRATCH, "throughput_mb_s_per_tib": 200},
            [
                "throughput_mb_s_per_tib: throughput_mb_s_per_tib is 200; scratch_2 has a fixed "
                "one: leave it out"
            ],
            id="D39 throughput of scratch",
        ),
        pytest.param(
            {**SSD, "efa": True},
            [
                "capacity_gib: capacity_gib is 1200; an EFA file system of 125 MB/s per TiB takes "
                "a multiple of 38400: use 38400"
            ],
            id="D40 efa too small",
        ),
        pytest.param(
            {"capacity_gib": 230_000, "throughput_mb_s_per_tib": 250, "efa": True},
            [
                "capacity_gib: capacity_gib is 230000; an EFA file system of 250 MB/s per TiB "
                "takes a multiple of 19200: use 211200 or 230400"
            ],
            id="T29 the seed's 230 TiB taken for GiB",
        ),
        pytest.param(
            {"capacity_gib": 1200, "efa": True},
            [
                "throughput_mb_s_per_tib: throughput_mb_s_per_tib is missing; persistent_2 ssd "
                "takes 125, 250, 500 or 1000: use 125"
            ],
            id="D40 efa without throughput says nothing on the size",
        ),
        pytest.param(
            {
                "capacity_gib": 1200,
                "throughput_mb_s_per_tib": 50,
                "deployment_type": "persistent_1",
                "efa": True,
            },
            [
                "efa: persistent_1 has no EFA; use deployment_type persistent_2, or leave efa out",
            ],
            id="D41 efa on persistent_1",
        ),
        pytest.param(
            {**SCRATCH, "efa": True},
            ["efa: scratch_2 has no EFA; use deployment_type persistent_2, or leave efa out"],
            id="D41 efa on scratch",
        ),
        pytest.param(
            {**SSD, "storage_type": "hdd"},
            [
                "storage_type: hdd is for persistent_1 alone and deployment_type is persistent_2; "
                "use ssd"
            ],
            id="D38 hdd on persistent_2",
        ),
        pytest.param(
            {**SSD, "hdd_read_cache": True},
            ["hdd_read_cache: is a cache for hdd and storage_type is ssd; leave it out"],
            id="read cache before ssd",
        ),
        pytest.param(
            {**SCRATCH, "metadata_iops": 1500},
            [
                "metadata_iops: is for persistent_2 and deployment_type is scratch_2; "
                "leave metadata_iops out"
            ],
            id="D42 metadata on scratch",
        ),
        pytest.param(
            {**SSD, "metadata_iops": 2000},
            [
                "metadata_iops: metadata_iops is 2000; it is 1500, 3000, 6000 or a multiple of "
                "12000 up to 192000: use 1500 or 3000"
            ],
            id="D43 metadata between two",
        ),
        pytest.param(
            {**SSD, "capacity_gib": 2400, "metadata_iops": 1500},
            [
                "metadata_iops: metadata_iops is 1500; 2400 GiB come with 3000, and less cannot "
                "be had: use 3000 or more, or leave metadata_iops out"
            ],
            id="D43 metadata below what the size brings",
        ),
        pytest.param(
            {**SCRATCH, "backups": {}},
            ["backups: scratch_2 has no backups; use persistent_2, or leave backups out"],
            id="D51 backups on scratch",
        ),
        pytest.param(
            {**SCRATCH, "kms_key_arn": KEY},
            [
                "kms_key_arn: scratch_2 is encrypted with a key of FSx's own; use persistent_2, "
                "or leave kms_key_arn out"
            ],
            id="D51 key on scratch",
        ),
        pytest.param(
            {**SSD, "root_squash": {"uid": 0, "gid": 100}},
            [
                "root_squash: uid is 0 and gid is 100; use two numbers above 0 to squash root, or "
                "0 for both to stop squashing"
            ],
            id="D60 half a squash",
        ),
        pytest.param(
            {**SSD, "root_squash": {"no_squash_nids": ("10.0.1.4@tcp", "10.0.1.5")}},
            [
                "root_squash.no_squash_nids[1]: '10.0.1.5' is not a Lustre network id; "
                "write an address or a range, such as 10.0.1.[4-9]@tcp"
            ],
            id="D60 address without network",
        ),
        pytest.param(
            {
                **SSD,
                "root_squash": {
                    "no_squash_nids": ("10.0.0.[1-9]@tcp", "10.0.0.[9-1]@tcp", "10.0.[[.1@tcp")
                },
            },
            [
                "root_squash.no_squash_nids[1]: '10.0.0.[9-1]@tcp' is not a Lustre network id; "
                "write an address or a range, such as 10.0.1.[4-9]@tcp",
                "root_squash.no_squash_nids[2]: '10.0.[[.1@tcp' is not a Lustre network id; "
                "write an address or a range, such as 10.0.1.[4-9]@tcp",
            ],
            id="D53 ranges that are none",
        ),
        pytest.param(
            {**SSD, "root_squash": {"no_squash_nids": ("999.0.0.1@tcp",)}},
            [
                "root_squash.no_squash_nids[0]: '999.0.0.1@tcp' is not a Lustre network id; "
                "write an address or a range, such as 10.0.1.[4-9]@tcp"
            ],
            id="D53 an address that is none",
        ),
        pytest.param(
            {**SSD, "root_squash": {"no_squash_nids": tuple(f"10.0.0.{n}@tcp" for n in range(65))}},
            [
                "root_squash.no_squash_nids: 65 network ids, above 64; "
                "write ranges, such as 10.0.[1-3].[1-255]@tcp"
            ],
            id="D60 too many addresses",
        ),
        pytest.param(
            {"capacity_gib": 1300, "throughput_mb_s_per_tib": 300, "metadata_iops": 2},
            [
                "throughput_mb_s_per_tib: throughput_mb_s_per_tib is 300; persistent_2 ssd takes "
                "125, 250, 500 or 1000: use 250",
                "capacity_gib: capacity_gib is 1300; an SSD file system takes 1200 or a multiple "
                "of 2400: use 1200 or 2400",
                "metadata_iops: metadata_iops is 2; it is 1500, 3000, 6000 or a multiple of "
                "12000 up to 192000: use 1500",
            ],
            id="all faults at once",
        ),
    ],
)
def test_fsx_would_refuse_this_file_system(keys: dict[str, Any], messages: list[str]) -> None:
    assert faults(Lustre, keys) == messages


@pytest.mark.parametrize(
    ("keys", "messages"),
    [
        pytest.param(
            {},
            [
                ": needs exactly one of lustre and existing; lustre makes a file system, existing "
                "mounts one that is there"
            ],
            id="no file system",
        ),
        pytest.param(
            {"lustre": SSD, "existing": EXISTING},
            [
                ": needs exactly one of lustre and existing; lustre makes a file system, existing "
                "mounts one that is there"
            ],
            id="two file systems",
        ),
        pytest.param(
            {"existing": {**EXISTING, "file_system_id": "fs-0123456789abcdef1"}},
            [
                "existing.dns_name: 'fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com' is not the "
                "DNS name of fs-0123456789abcdef1; write "
                "fs-0123456789abcdef1.fsx.REGION.amazonaws.com"
            ],
            id="D57 name of another file system",
        ),
        pytest.param(
            {"lustre": SSD, "mount_dir": "/opt"},
            ["mount_dir: /opt belongs to the system; use another, such as /fsx"],
            id="I115 reserved directory",
        ),
        pytest.param(
            {"lustre": SSD, "mount_dir": "/proc/fsx"},
            [
                "mount_dir: /proc/fsx lies below /proc, which is emptied at each boot; "
                "use another, such as /fsx"
            ],
            id="I115 below a kernel file system",
        ),
        pytest.param(
            {"lustre": SSD, "mount_dir": "/usr/local"},
            [
                "mount_dir: /usr/local belongs to the system, as all of /usr does; "
                "use another, such as /fsx"
            ],
            id="I115 below a directory of the system",
        ),
        pytest.param(
            {"lustre": SSD, "mount_dir": "/opt/aws"},
            [
                "mount_dir: /opt/aws belongs to the system, as all of /opt/aws does; "
                "use another, such as /fsx"
            ],
            id="I115 tools of ParallelCluster",
        ),
        pytest.param(
            {"lustre": SSD, "mount_dir": "/tmp/fsx"},
            [
                "mount_dir: /tmp/fsx lies below /tmp, which is emptied at each boot; "
                "use another, such as /fsx"
            ],
            id="I115 below what is emptied at boot",
        ),
        pytest.param(
            {"lustre": SSD, "mount_dir": f"/{'a' * 5000}"},
            ["mount_dir: has 5001 characters; a path has 4095 at most"],
            id="I115 longer than a path",
        ),
        pytest.param(
            {"lustre": SSD, "links": {"A": link(f"/{'a' * 5000}")}},
            ["links.A.path: has 5001 characters; a path has 4095 at most"],
            id="D46 longer than a path",
        ),
        pytest.param(
            {"lustre": SSD, "links": {"A": link(prefix=f"{'a' * 1100}/")}},
            [
                "links.A.prefix: has 1101 bytes, and a key of S3 has 1024 at most, its last name "
                "included; use a shorter one"
            ],
            id="D46 longer than a key",
        ),
        pytest.param(
            {"lustre": SSD, "links": {"A": link(prefix="a//b/")}},
            [
                "links.A.prefix: 'a//b/' has an empty name, '.' or '..' between its slashes, as "
                "no folder is called; use another"
            ],
            id="D46 prefix that no folder can have",
        ),
        pytest.param(
            {
                "lustre": SSD,
                "links": {"A": link("/a", "a/", bucket="other"), "ABucket": link("/b", "b/")},
            },
            [
                "links.ABucket: is the name of link A but for 'Bucket' at the end, which the "
                "bucket of a link is called here; take another name"
            ],
            id="two names for one construct id of a bucket",
        ),
        pytest.param(
            {"lustre": SSD, "mount_dir": "/fsx/../opt"},
            ["mount_dir: /fsx/../opt has '.' or '..' in it; write it out"],
            id="I115 around a reserved directory",
        ),
        pytest.param(
            {"lustre": SSD, "links": {f"L{n}": link(f"/l{n}", f"l{n}/") for n in range(9)}},
            ["links: 9 links; a file system takes 8: link a folder that holds several of them"],
            id="D46 nine links",
        ),
        pytest.param(
            {
                "lustre": SSD,
                "links": {"Raw": link("/data", "raw/"), "Clean": link("/data/clean", "clean/")},
            },
            [
                "links.Clean.path: /data/clean overlaps /data of link Raw; "
                "link folders that lie beside each other"
            ],
            id="D46 folder in a linked folder",
        ),
        pytest.param(
            {
                "lustre": SSD,
                "links": {"Clean": link("/data/clean", "clean/"), "Raw": link("/data", "raw/")},
            },
            [
                "links.Raw.path: /data overlaps /data/clean of link Clean; "
                "link folders that lie beside each other"
            ],
            id="D46 folder around a linked folder",
        ),
        pytest.param(
            {"lustre": SSD, "links": {"A": link("/a", "x/"), "B": link("/b", "x/y/")}},
            [
                "links.B.prefix: 'x/y/' overlaps 'x/' of link A in the same bucket; "
                "link prefixes that lie beside each other"
            ],
            id="D46 prefix in a linked prefix",
        ),
        pytest.param(
            {"lustre": SSD, "links": {"A": link("/a", ""), "B": link("/b", "b/")}},
            [
                "links.B.prefix: 'b/' overlaps '' of link A in the same bucket; "
                "link prefixes that lie beside each other"
            ],
            id="D46 whole bucket and a prefix",
        ),
        pytest.param(
            {
                "lustre": SSD,
                "bucket": {"existing": "lab-data"},
                "links": {"A": link("/a", "a/"), "B": link("/b", "a/", bucket="lab-data")},
            },
            [
                "links.B.prefix: 'a/' overlaps 'a/' of link A in the same bucket; "
                "link prefixes that lie beside each other"
            ],
            id="D46 same bucket by its name",
        ),
        pytest.param(
            {"lustre": SSD, "links": {"data": link("/a", "a/"), "Data": link("/b", "b/")}},
            [
                "links.Data: differs from link data in its first letter's case alone; "
                "take another name"
            ],
            id="two names for one construct id",
        ),
        pytest.param(
            {"lustre": SSD, "links": {"A": link("/a/../b")}},
            ["links.A.path: /a/../b has '.' or '..' in it; write it out"],
            id="D46 path with dots",
        ),
        pytest.param(
            {
                "lustre": {"capacity_gib": 1200, "deployment_type": "scratch_1"},
                "links": {"A": link()},
            },
            [
                "links: scratch_1 cannot be linked to S3; "
                "use scratch_2, persistent_1 or persistent_2"
            ],
            id="D45 links of scratch_1",
        ),
        pytest.param(
            {"lustre": {**SSD, "backups": {}}, "links": {"A": link()}},
            [
                "lustre.backups: FSx does not back up a file system with links to S3; leave "
                "backups out (the bucket is versioned), or remove links"
            ],
            id="D51 backups beside links",
        ),
        pytest.param(
            {"lustre": SSD, "links": {"A": link(export_deletions=True)}},
            [
                "links.A.export_deletions: is for links that export, and direction is import; "
                "leave it out"
            ],
            id="T24 export of deletions by a link that imports",
        ),
        pytest.param(
            {"lustre": SSD, "links": {"A": link(direction="export", import_deletions=False)}},
            [
                "links.A.import_deletions: is for links that import, and direction is export; "
                "leave it out"
            ],
            id="D53 import of deletions by a link that exports",
        ),
        pytest.param(
            {"lustre": SSD, "bucket": {"existing": "lab-data", "noncurrent_days": 30}},
            [
                "bucket.noncurrent_days: is for a bucket made here; "
                "set a lifecycle rule on lab-data itself"
            ],
            id="lifecycle of a bucket that is not ours",
        ),
    ],
)
def test_this_storage_is_refused(keys: dict[str, Any], messages: list[str]) -> None:
    assert faults(Storage, keys) == messages


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(
            {"lustre": {"capacity_gib": 230_400, "throughput_mb_s_per_tib": tier, "efa": True}},
            id=f"T29 the seed's file system at {tier} MB/s",
        )
        for tier in EFA_STEP_GIB
    ]
    + [
        pytest.param({"lustre": {**HDD, "capacity_gib": 6000, "hdd_read_cache": True}}, id="hdd"),
        pytest.param({"lustre": {**SCRATCH, "capacity_gib": 4800}}, id="scratch_2"),
        pytest.param({"existing": EXISTING, "links": {"A": link()}}, id="existing with a link"),
        pytest.param(
            {"existing": {**EXISTING, "dns_name": TOKEN, "file_system_id": TOKEN}}, id="tokens"
        ),
        pytest.param({"lustre": SSD, "mount_dir": TOKEN}, id="mount directory token"),
        pytest.param({"lustre": SSD, "mount_dir": "/home"}, id="the users' homes"),
        pytest.param({"lustre": SSD, "mount_dir": "/opt/data"}, id="beside the system's"),
        pytest.param(
            {"lustre": SSD, "links": {"A": link("/a", "a/"), "B": link("/ab", "ab/")}},
            id="D46 names that begin alike do not overlap",
        ),
        pytest.param(
            {
                "lustre": SSD,
                "links": {"A": link("/a", "x/"), "B": link("/b", "x/", bucket="other-data")},
            },
            id="D46 same prefix in two buckets",
        ),
        pytest.param(
            {"lustre": SSD, "links": {"A": link(TOKEN, TOKEN), "B": link(TOKEN, TOKEN)}},
            id="links of tokens",
        ),
        pytest.param({"lustre": {**SSD, "root_squash": {"uid": 0, "gid": 0}}}, id="squashing off"),
    ],
)
def test_this_storage_is_accepted(keys: dict[str, Any]) -> None:
    assert faults(Storage, keys) == []


def test_a_plain_file_system_needs_no_warning() -> None:
    links = {"A": S3Link(path="/a", prefix="a/", direction="both")}
    assert storage_warnings(Lustre.model_validate(SSD), links) == {}


def test_a_size_above_the_default_quota_is_named_with_the_quota() -> None:
    lustre = Lustre(capacity_gib=230_400, throughput_mb_s_per_tib=125, efa=True)
    assert storage_warnings(lustre, {}) == {
        "quota": "230400 GiB are above the default quota 'Lustre Persistent_2 storage capacity' "
        "(L-8F1B9C74), 100800 GiB; ask for more before you deploy"
    }


def test_a_link_that_exports_deletions_is_named() -> None:
    links = {"Out": S3Link(path="/out", prefix="o/", direction="export", export_deletions=True)}
    assert storage_warnings(None, links) == {
        "export-deletions-Out": "link Out exports deletions: 'rm -rf' below /out also deletes the "
        "objects under 'o/'; leave export_deletions out unless the bucket is meant to follow"
    }


def test_root_squash_on_every_node_and_beside_backups_is_named() -> None:
    lustre = Lustre.model_validate({**SSD, "root_squash": {}, "backups": {}})
    assert storage_warnings(lustre, {}) == {
        "root-squash-everywhere": "root_squash holds on every node, so node set-up and "
        "administrators cannot write to folders of others; name the head node in no_squash_nids",
        "root-squash-backups": "root_squash stands in the way of backups that a client takes as "
        "root; name that client in no_squash_nids",
    }


def test_links_know_their_directions() -> None:
    both = S3Link(path="/a", prefix="a/", direction="both")
    assert both.imports
    assert both.exports
    assert Bucket().noncurrent_days == 90
