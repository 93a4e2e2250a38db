"""Availability Zones by name and by id, which must not be mixed up.

A zone name (``us-east-1a``) means another place in another account; a zone id (``use1-az4``) is
the same place everywhere, and what reservations and partner tickets quote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# Local Zones (us-east-1-dfw-2a, use1-dfw2-az1) too: P6e-GB200 UltraServers stand in one.
_NAME = re.compile(r"(?P<region>[a-z]+(?:-[a-z]+)+-[0-9]+)(?:-[a-z]+-[0-9]+)?[a-z]")
_ID = re.compile(r"(?P<prefix>[a-z]+[0-9]+)(?:-[a-z]+[0-9]+)?-az[0-9]+")

# "AWS Availability Zones" of the AWS Regions guide and DescribeAvailabilityZones as recorded in
# moto 5.2.5, both read 2026-11-29. A Region that is not here is not checked.
ZONE_ID_PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "af-south-1": "afs1",
        "ap-east-1": "ape1",
        "ap-east-2": "ape2",
        "ap-northeast-1": "apne1",
        "ap-northeast-2": "apne2",
        "ap-northeast-3": "apne3",
        "ap-south-1": "aps1",
        "ap-south-2": "aps2",
        "ap-southeast-1": "apse1",
        "ap-southeast-2": "apse2",
        "ap-southeast-3": "apse3",
        "ap-southeast-4": "apse4",
        "ap-southeast-5": "apse5",
        "ap-southeast-6": "apse6",
        "ap-southeast-7": "apse7",
        "ca-central-1": "cac1",
        "ca-west-1": "caw1",
        "cn-north-1": "cnn1",
        "cn-northwest-1": "cnnw1",
        "eu-central-1": "euc1",
        "eu-central-2": "euc2",
        "eu-north-1": "eun1",
        "eu-south-1": "eus1",
        "eu-south-2": "eus2",
        "eu-west-1": "euw1",
        "eu-west-2": "euw2",
        "eu-west-3": "euw3",
        "il-central-1": "ilc1",
        "me-central-1": "mec1",
        "me-south-1": "mes1",
        "mx-central-1": "mxc1",
        "sa-east-1": "sae1",
        "us-east-1": "use1",
        "us-east-2": "use2",
        "us-gov-east-1": "usge1",
        "us-gov-west-1": "usgw1",
        "us-west-1": "usw1",
        "us-west-2": "usw2",
    }
)
"""How the zone ids of each Region begin."""


@dataclass(frozen=True, slots=True)
class ZoneName:
    """A zone as one account calls it, such as ``us-east-1a``; a CDK token passes.

    Raises:
        ValueError: The value is a zone id, or not a zone at all.
    """

    value: str

    def __post_init__(self) -> None:
        if _is_token(self.value) or _NAME.fullmatch(self.value):
            return
        if _ID.fullmatch(self.value):
            raise ValueError(
                f"{self.value!r} is a zone id, not a zone name; "
                f'write ZoneId("{self.value}") (zone_id in the institution file)'
            )
        raise ValueError(f"{self.value!r} is not a zone name; one looks like 'us-east-1a'")


@dataclass(frozen=True, slots=True)
class ZoneId:
    """A zone as AWS calls it in every account, such as ``use1-az4``; a CDK token passes.

    Raises:
        ValueError: The value is a zone name, or not a zone at all.
    """

    value: str

    def __post_init__(self) -> None:
        if _is_token(self.value) or _ID.fullmatch(self.value):
            return
        if _NAME.fullmatch(self.value):
            raise ValueError(
                f"{self.value!r} is a zone name, not a zone id; "
                f'write ZoneName("{self.value}") (zone in the institution file)'
            )
        raise ValueError(f"{self.value!r} is not a zone id; one looks like 'use1-az4'")


Zone = ZoneName | ZoneId


def region_of(zone: Zone) -> str | None:
    """Return the Region that a zone is in; None for a token or an id of an unknown Region."""
    if isinstance(zone, ZoneName):
        name = _NAME.fullmatch(zone.value)
        return name["region"] if name else None
    prefix = zone.value.partition("-")[0]
    return next((region for region, known in ZONE_ID_PREFIXES.items() if known == prefix), None)


def check_zone(zone: Zone, region: str) -> None:
    """Refuse a zone that is not in a Region.

    Tokens are not checked, nor zone ids where :data:`ZONE_ID_PREFIXES` lacks the Region.

    Args:
        zone: Name or id.
        region: Such as ``us-east-1``.

    Raises:
        ValueError: The zone is in another Region.
    """
    if _is_token(zone.value) or _is_token(region):
        return
    if isinstance(zone, ZoneName):
        actual = region_of(zone)
        if actual != region:
            raise ValueError(f"zone {zone.value!r} is in {actual}, not in {region}")
        return
    prefix = ZONE_ID_PREFIXES.get(region)
    if prefix is not None and not zone.value.startswith(f"{prefix}-"):
        raise ValueError(
            f"zone {zone.value!r} is not in {region}, whose zone ids begin with {prefix}-"
        )


def _is_token(value: str) -> bool:
    # As trainshed.records.is_token, whose module would bring pydantic in.
    return "${Token[" in value
