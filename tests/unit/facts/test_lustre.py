from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

import botocore.session
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainshed.facts import lustre

COMBINATIONS: list[tuple[lustre.DeploymentType, lustre.StorageType, int | None, bool]] = [
    ("SCRATCH_1", "SSD", None, False),
    ("SCRATCH_2", "SSD", None, False),
    *(("PERSISTENT_1", "SSD", tier, False) for tier in (50, 100, 200)),
    *(("PERSISTENT_1", "HDD", tier, False) for tier in (12, 40)),
    *(
        ("PERSISTENT_2", "SSD", tier, efa)
        for tier in (125, 250, 500, 1000)
        for efa in (False, True)
    ),
]


def fsx_model() -> Any:
    return botocore.session.get_session().get_service_model("fsx")


def documentation(shape: str, member: str) -> str:
    """What botocore says of a member, without markup."""
    text = fsx_model().shape_for(shape).members[member].documentation
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text))


def valid(
    deployment_type: str, storage_type: str, throughput: int | None, efa: bool, gib: int
) -> bool:
    """The rules of the API's StorageCapacity and of the guide, written out once more."""
    if gib <= 0:
        return False
    if efa:
        return gib % {125: 38_400, 250: 19_200, 500: 9_600, 1000: 4_800}[throughput or 0] == 0
    if storage_type == "HDD":
        return gib % (6_000 if throughput == 12 else 1_800) == 0
    if deployment_type == "SCRATCH_1":
        return gib in (1_200, 2_400) or gib % 3_600 == 0
    return gib == 1_200 or gib % 2_400 == 0


@settings(deadline=None)
@given(st.sampled_from(COMBINATIONS), st.integers(-5, 4_000).map(lambda n: n * 100))
def test_neighbours_are_valid_and_nothing_valid_lies_between(
    combination: tuple[lustre.DeploymentType, lustre.StorageType, int | None, bool], gib: int
) -> None:
    deployment_type, storage_type, throughput, efa = combination
    below, above = lustre.capacity_neighbours_gib(
        gib, deployment_type, storage_type, throughput_mbps_per_tib=throughput, efa=efa
    )
    assert above is not None
    assert (below or gib) <= gib <= above
    assert all(valid(*combination, near) for near in (below, above) if near is not None)
    assert (below == gib) == (above == gib) == valid(*combination, gib)
    between = [*range((below or 0) + 100, gib, 100), *range(gib + 100, above, 100)]
    assert not any(valid(*combination, other) for other in between)


@settings(deadline=None)
@given(st.sampled_from(COMBINATIONS), st.integers(-5, 500_000))
def test_a_capacity_is_refused_exactly_if_it_is_not_valid(
    combination: tuple[lustre.DeploymentType, lustre.StorageType, int | None, bool], gib: int
) -> None:
    deployment_type, storage_type, throughput, efa = combination
    fault = lustre.capacity_fault(
        gib, deployment_type, storage_type, throughput_mbps_per_tib=throughput, efa=efa
    )
    assert (fault is None) == valid(*combination, gib)


@pytest.mark.parametrize("throughput", [125, 250, 500, 1000])
def test_the_seed_capacity_is_valid_with_efa_at_every_throughput(throughput: int) -> None:
    assert lustre.capacity_neighbours_gib(
        230_400, "PERSISTENT_2", throughput_mbps_per_tib=throughput, efa=True
    ) == (230_400, 230_400)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"capacity_gib": 1300, "deployment_type": "SCRATCH_2"},
            "capacity_gib is 1300; an SSD file system takes 1200 or a multiple of 2400: "
            "use 1200 or 2400",
        ),
        (
            {"capacity_gib": 0, "deployment_type": "SCRATCH_2"},
            "capacity_gib is 0; an SSD file system takes 1200 or a multiple of 2400: use 1200",
        ),
        (
            {"capacity_gib": 4800, "deployment_type": "SCRATCH_1"},
            "capacity_gib is 4800; a SCRATCH_1 file system takes 1200, 2400 or a multiple of 3600: "
            "use 3600 or 7200",
        ),
        (
            {
                "capacity_gib": 7000,
                "deployment_type": "PERSISTENT_1",
                "storage_type": "HDD",
                "throughput_mbps_per_tib": 12,
            },
            "capacity_gib is 7000; an HDD file system of 12 MB/s per TiB takes a multiple of 6000: "
            "use 6000 or 12000",
        ),
        (
            {
                "capacity_gib": 2400,
                "deployment_type": "PERSISTENT_2",
                "throughput_mbps_per_tib": 1000,
                "efa": True,
            },
            "capacity_gib is 2400; an EFA file system of 1000 MB/s per TiB takes a multiple of "
            "4800: use 4800",
        ),
    ],
    ids=["SSD", "nothing", "first scratch", "HDD", "EFA"],
)
def test_a_capacity_off_the_grid_is_answered_with_its_neighbours(
    arguments: dict[str, Any], message: str
) -> None:
    assert lustre.capacity_fault(**arguments) == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("SCRATCH_2", "HDD", None, False),
            "storage_type is HDD; SCRATCH_2 takes SSD alone: use SSD, or PERSISTENT_1",
        ),
        (
            ("SCRATCH_2", "SSD", 125, False),
            "throughput_mbps_per_tib is 125; SCRATCH_2 has a fixed one: leave it out",
        ),
        (
            ("PERSISTENT_2", "SSD", None, False),
            "throughput_mbps_per_tib is missing; PERSISTENT_2 SSD takes 125, 250, 500 or 1000: "
            "use one of them",
        ),
        (
            ("PERSISTENT_1", "HDD", 50, False),
            "throughput_mbps_per_tib is 50; PERSISTENT_1 HDD takes 12 or 40: use one of them",
        ),
        (
            ("PERSISTENT_1", "SSD", 125, True),
            "throughput_mbps_per_tib is 125; PERSISTENT_1 SSD takes 50, 100 or 200: "
            "use one of them; "
            "efa is true; PERSISTENT_1 has no EFA: use PERSISTENT_2, or leave efa out",
        ),
    ],
    ids=["HDD scratch", "tier on scratch", "no tier", "SSD tier on HDD", "two faults"],
)
def test_a_file_system_that_cannot_be_has_no_grid(
    arguments: tuple[lustre.DeploymentType, lustre.StorageType, int | None, bool], message: str
) -> None:
    deployment_type, storage_type, throughput, efa = arguments
    with pytest.raises(ValueError) as refusal:
        lustre.capacity_grid(
            deployment_type, storage_type, throughput_mbps_per_tib=throughput, efa=efa
        )
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("capacity_gib", "iops"),
    [
        (1_200, 1_500),
        (2_400, 3_000),
        (4_800, 6_000),
        (9_600, 6_000),
        (12_000, 12_000),
        (45_600, 12_000),
        (48_000, 24_000),
        (69_600, 24_000),
        (72_000, 36_000),
        (230_400, 108_000),
        (384_000, 192_000),
        (1_000_800, 192_000),
    ],
)
def test_metadata_iops_that_a_capacity_comes_with(capacity_gib: int, iops: int) -> None:
    assert lustre.minimum_metadata_iops(capacity_gib) == iops


@settings(deadline=None)
@given(st.integers(1, 500).map(lambda n: n * 2_400), st.integers(1, 500).map(lambda n: n * 2_400))
def test_more_capacity_never_comes_with_fewer_metadata_iops(one: int, more: int) -> None:
    least = lustre.minimum_metadata_iops(one)
    assert least in lustre.METADATA_IOPS
    assert lustre.metadata_iops_fault(least, one) is None
    assert lustre.minimum_metadata_iops(one + more) >= least


@pytest.mark.parametrize(
    ("iops", "message"),
    [
        (
            4_000,
            "metadata_iops is 4000; it is 1500, 3000, 6000 or a multiple of 12000 up to 192000: "
            "use 3000 or 6000",
        ),
        (
            204_000,
            "metadata_iops is 204000; it is 1500, 3000, 6000 or a multiple of 12000 up to 192000: "
            "use 192000",
        ),
        (
            3_000,
            "metadata_iops is 3000; 4800 GiB come with 6000, and less cannot be had: "
            "use 6000 or more, or leave metadata_iops out",
        ),
        (6_000, None),
    ],
    ids=["off the grid", "too many", "too few", "right"],
)
def test_metadata_iops_are_checked_against_the_capacity(iops: int, message: str | None) -> None:
    assert lustre.metadata_iops_fault(iops, 4_800) == message


@pytest.mark.parametrize(
    ("shape", "ours", "left_out"),
    [
        ("LustreDeploymentType", lustre.DEPLOYMENT_TYPES, set()),
        ("StorageType", lustre.STORAGE_TYPES, {"INTELLIGENT_TIERING"}),
        ("DataCompressionType", lustre.COMPRESSION_TYPES, set()),
        ("DriveCacheType", lustre.DRIVE_CACHE_TYPES, set()),
        ("MetadataConfigurationMode", lustre.METADATA_MODES, set()),
        ("EventType", lustre.ASSOCIATION_EVENTS, set()),
    ],
    ids=["deployment", "storage", "compression", "drive cache", "metadata mode", "events"],
)
def test_choices_are_those_of_the_fsx_api(
    shape: str, ours: tuple[str, ...], left_out: set[str]
) -> None:
    assert set(fsx_model().shape_for(shape).enum) - set(ours) == left_out
    assert set(ours) <= set(fsx_model().shape_for(shape).enum)


@pytest.mark.parametrize(
    ("words", "deployment_type", "storage_type"),
    [
        ("For PERSISTENT_1 SSD storage: 50, 100, 200 MB/s/TiB", "PERSISTENT_1", "SSD"),
        ("For PERSISTENT_1 HDD storage: 12, 40 MB/s/TiB", "PERSISTENT_1", "HDD"),
        ("For PERSISTENT_2 SSD storage: 125, 250, 500, 1000 MB/s/TiB", "PERSISTENT_2", "SSD"),
    ],
    ids=["first SSD", "HDD", "second SSD"],
)
def test_throughput_tiers_are_those_of_the_fsx_api(
    words: str, deployment_type: lustre.DeploymentType, storage_type: lustre.StorageType
) -> None:
    text = documentation("CreateFileSystemLustreConfiguration", "PerUnitStorageThroughput")
    assert words in text
    tiers = ", ".join(map(str, lustre.throughput_tiers(deployment_type, storage_type)))
    assert f"{storage_type} storage: {tiers} MB/s/TiB" in words


def test_the_fsx_api_still_documents_these_capacities() -> None:
    text = documentation("CreateFileSystemRequest", "StorageCapacity")
    assert (
        "For SCRATCH_2, PERSISTENT_2, and PERSISTENT_1 deployment types using SSD storage type, "
        "the valid values are 1200 GiB, 2400 GiB, and increments of 2400 GiB." in text
    )
    assert (
        "increments of 6000 GiB for 12 MB/s/TiB file systems and increments of 1800 GiB for "
        "40 MB/s/TiB file systems." in text
    )
    assert "1200 GiB, 2400 GiB, and increments of 3600 GiB." in text


def test_the_fsx_api_still_documents_these_metadata_iops() -> None:
    text = documentation("CreateFileSystemLustreMetadataConfiguration", "Iops")
    assert (
        "For SSD file systems, valid values are 1500, 3000, 6000, 12000, and multiples of 12000 "
        "up to a maximum of 192000." in text
    )
    assert "You can't provision fewer Metadata IOPS than AUTOMATIC mode provisions" in text
    iops = fsx_model().shape_for("MetadataIops").metadata
    assert (iops["min"], iops["max"]) == (min(lustre.METADATA_IOPS.small), 192_000)


def test_the_fsx_api_still_documents_these_versions() -> None:
    text = documentation("CreateFileSystemRequest", "FileSystemTypeVersion")
    assert "Valid values are 2.10, 2.12, and 2.15" in text
    assert "2.10 is supported by the Scratch and Persistent_1 Lustre deployment types." in text
    assert "except for PERSISTENT_2 with a metadata configuration mode." in text


@pytest.mark.parametrize(
    ("deployment_type", "metadata", "versions"),
    [
        ("SCRATCH_1", False, ("2.10", "2.12", "2.15")),
        ("SCRATCH_2", False, ("2.10", "2.12", "2.15")),
        ("PERSISTENT_1", False, ("2.10", "2.12", "2.15")),
        ("PERSISTENT_2", False, ("2.12", "2.15")),
        ("PERSISTENT_2", True, ("2.15",)),
    ],
)
def test_lustre_versions_of_each_deployment_type(
    deployment_type: lustre.DeploymentType, metadata: bool, versions: tuple[str, ...]
) -> None:
    assert lustre.lustre_versions(deployment_type, metadata=metadata) == versions


@pytest.mark.parametrize(
    ("deployment_type", "version", "linked"),
    [
        ("SCRATCH_1", "2.15", False),
        ("SCRATCH_2", "2.12", True),
        ("PERSISTENT_1", "2.10", False),
        ("PERSISTENT_2", "2.15", True),
    ],
)
def test_which_file_systems_link_to_s3(
    deployment_type: lustre.DeploymentType, version: lustre.LustreVersion, linked: bool
) -> None:
    assert lustre.takes_associations(deployment_type, version) == linked


def test_the_smallest_file_system_is_what_cfn_lint_takes() -> None:
    rules = resources.files("cfnlint.data.schemas.extensions.aws_fsx_filesystem")
    (least,) = [
        rule["then"]["properties"]["StorageCapacity"]["minimum"]
        for rule in json.loads(rules.joinpath("storage_capacity.json").read_text())["allOf"]
        if rule["if"]["properties"]["FileSystemType"]["enum"] == ["LUSTRE"]
    ]
    smallest = [
        lustre.capacity_neighbours_gib(
            1, deployment_type, storage_type, throughput_mbps_per_tib=throughput, efa=efa
        )[1]
        for deployment_type, storage_type, throughput, efa in COMBINATIONS
    ]
    assert min(gib for gib in smallest if gib) == least


def test_only_persistent_file_systems_are_persistent() -> None:
    persistent = [kind for kind in lustre.DEPLOYMENT_TYPES if lustre.is_persistent(kind)]
    assert persistent == ["PERSISTENT_1", "PERSISTENT_2"]


@pytest.mark.parametrize(
    ("deployment_type", "storage_type", "code", "default_gib"),
    [
        ("SCRATCH_1", "SSD", "L-AD2FC696", 100_800),
        ("SCRATCH_2", "SSD", "L-AD2FC696", 100_800),
        ("PERSISTENT_1", "SSD", "L-C8640C82", 100_800),
        ("PERSISTENT_1", "HDD", "L-736F3D6F", 102_000),
        ("PERSISTENT_2", "SSD", "L-8F1B9C74", 100_800),
    ],
)
def test_quota_that_a_capacity_counts_against(
    deployment_type: lustre.DeploymentType,
    storage_type: lustre.StorageType,
    code: str,
    default_gib: int,
) -> None:
    quota = lustre.capacity_quota(deployment_type, storage_type)
    assert (quota.code, quota.default_gib) == (code, default_gib)
    assert quota.each_file_system == (storage_type == "HDD")


def test_ports_of_lustre() -> None:
    assert lustre.PORTS == ((988, 988), (1018, 1023))
