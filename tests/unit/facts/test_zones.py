from __future__ import annotations

import botocore.session
import pytest
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend

from trainshed.facts import (
    ZONE_ID_PREFIXES,
    Zone,
    ZoneId,
    ZoneName,
    check_zone,
    region_of,
)

TOKEN = "${Token[TOKEN.123]}"
# Regions that are not in moto's list; their zone ids are not checked.
WITHOUT_PREFIX = {
    "eu-isoe-west-1",
    "eusc-de-east-1",
    "us-iso-east-1",
    "us-iso-west-1",
    "us-isob-east-1",
    "us-isob-west-1",
    "us-isof-east-1",
    "us-isof-south-1",
}
RECORDED = [
    (region, zone.name, zone.zone_id)
    for region, zones in RegionsAndZonesBackend.zones.items()
    for zone in zones
]


@pytest.mark.parametrize(
    ("region", "name", "zone_id"), RECORDED, ids=[zone_id for _, _, zone_id in RECORDED]
)
def test_every_recorded_zone_is_in_its_region(region: str, name: str, zone_id: str) -> None:
    for zone in (ZoneName(name), ZoneId(zone_id)):
        assert region_of(zone) == region
        check_zone(zone, region)


def test_only_these_regions_have_no_prefix() -> None:
    session = botocore.session.get_session()
    regions = {
        region
        for partition in session.get_available_partitions()
        for region in session.get_available_regions("ec2", partition)
    }
    assert regions - ZONE_ID_PREFIXES.keys() == WITHOUT_PREFIX


def test_no_two_regions_share_a_prefix() -> None:
    assert len(set(ZONE_ID_PREFIXES.values())) == len(ZONE_ID_PREFIXES)


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        (ZoneName("us-east-1-dfw-2a"), "us-east-1"),
        (ZoneId("use1-dfw2-az1"), "us-east-1"),
        (ZoneName("eusc-de-east-1a"), "eusc-de-east-1"),
    ],
    ids=["name of a local zone", "id of a local zone", "sovereign cloud"],
)
def test_unusual_zones_are_in_their_region(zone: Zone, region: str) -> None:
    assert region_of(zone) == region
    check_zone(zone, region)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "use1-az4",
            "'use1-az4' is a zone id, not a zone name; "
            'write ZoneId("use1-az4") (zone_id in the institution file)',
        ),
        ("us-east-1", "'us-east-1' is not a zone name; one looks like 'us-east-1a'"),
        ("us-east-1a\n", "'us-east-1a\\n' is not a zone name; one looks like 'us-east-1a'"),
        ("", "'' is not a zone name; one looks like 'us-east-1a'"),
    ],
    ids=["id", "region", "line end", "nothing"],
)
def test_what_is_not_a_zone_name_is_refused(value: str, message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        ZoneName(value)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "us-east-1a",
            "'us-east-1a' is a zone name, not a zone id; "
            'write ZoneName("us-east-1a") (zone in the institution file)',
        ),
        ("use1", "'use1' is not a zone id; one looks like 'use1-az4'"),
        ("use1-az4\n", "'use1-az4\\n' is not a zone id; one looks like 'use1-az4'"),
    ],
    ids=["name", "half an id", "line end"],
)
def test_what_is_not_a_zone_id_is_refused(value: str, message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        ZoneId(value)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("zone", "message"),
    [
        (ZoneName("us-west-2a"), "zone 'us-west-2a' is in us-west-2, not in us-east-1"),
        (
            ZoneId("use2-az1"),
            "zone 'use2-az1' is not in us-east-1, whose zone ids begin with use1-",
        ),
    ],
    ids=["name", "id"],
)
def test_a_zone_of_another_region_is_refused(zone: Zone, message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        check_zone(zone, "us-east-1")
    assert str(refusal.value) == message


def test_a_name_and_an_id_are_never_equal() -> None:
    assert {ZoneName(TOKEN), ZoneId(TOKEN)} == {ZoneName(TOKEN), ZoneId(TOKEN)}
    assert len({ZoneName(TOKEN), ZoneId(TOKEN)}) == 2


@pytest.mark.parametrize("zone", [ZoneName(TOKEN), ZoneId(TOKEN)], ids=["name", "id"])
def test_tokens_pass(zone: Zone) -> None:
    assert region_of(zone) is None
    check_zone(zone, "us-east-1")


@pytest.mark.parametrize("zone", [ZoneName("us-west-2a"), ZoneId("usw2-az1")], ids=["name", "id"])
def test_a_region_known_only_at_deploy_time_is_not_checked(zone: Zone) -> None:
    check_zone(zone, TOKEN)


def test_an_id_of_an_unknown_region_is_not_checked() -> None:
    check_zone(ZoneId("xyz9-az1"), "eusc-de-east-1")
    assert region_of(ZoneId("xyz9-az1")) is None
