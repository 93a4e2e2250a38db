"""The frames around the cluster: Region, VPC, zone, subnet, and the way out."""

from __future__ import annotations

from collections.abc import Iterator

from ..config import ExistingVpc, Institution
from ..subnets import subnet_plan
from .places import (
    HEADER,
    INNER_LEFT,
    INNER_RIGHT,
    REGION_LEFT,
    REGION_RIGHT,
    VPC_LEFT,
    VPC_RIGHT,
    Places,
)
from .svg import arrow, box, element, group, words


def frames(institution: Institution, places: Places) -> Iterator[str]:
    """Draw the frames, the outermost first."""
    network = institution.network
    source = network.source
    region_end, vpc_end, zone_end = places.end + 52, places.end + 34, places.end + 16
    existing = isinstance(source, ExistingVpc)
    vpc = f"existing VPC {source.vpc_id}" if isinstance(source, ExistingVpc) else "VPC"
    yield box(REGION_LEFT, HEADER, REGION_RIGHT - REGION_LEFT, region_end - HEADER, "region", 16)
    yield words(
        REGION_LEFT + 20, HEADER + 24, f"AWS Region {institution.region}", "frame-label quiet"
    )
    top = HEADER + 36
    yield box(VPC_LEFT, top, VPC_RIGHT - VPC_LEFT, vpc_end - top, "vpc", 14)
    yield words(VPC_LEFT + 18, top + 24, f"{vpc} {source.cidr}", "frame-label quiet")
    zone = places.way_out - 2
    yield element(
        "rect",
        x=VPC_LEFT + 16,
        y=zone,
        width=VPC_RIGHT - VPC_LEFT - 32,
        height=zone_end - zone,
        rx=12,
        class_="zone dashed",
    )
    yield words(
        VPC_LEFT + 34,
        zone + 26,
        f"Availability Zone {network.place.value}",
        "frame-label quiet",
    )
    yield box(
        VPC_LEFT + 32,
        places.subnet,
        VPC_RIGHT - VPC_LEFT - 64,
        places.end - places.subnet,
        "subnet",
    )
    where = source.compute_subnet_id if isinstance(source, ExistingVpc) else _range(source.cidr)
    yield words(INNER_LEFT, places.subnet + 26, f"Private subnet {where}", "frame-label quiet")
    yield from _way_out(institution, places, existing=existing)


def _range(cidr: str) -> str:
    return str(subnet_plan(cidr).compute)


def _way_out(institution: Institution, places: Places, *, existing: bool) -> Iterator[str]:
    right = INNER_RIGHT + 16
    if institution.network.source.internet == "isolated":
        text = "VPC endpoints to AWS services, no way to the internet"
    else:
        text = "NAT gateway of the VPC" if existing else "NAT gateway in a public subnet"
    width = len(text) * 7.4 + 36
    y = places.way_out + 10
    yield group(
        [
            box(right - width, y, width, 38, "card", 19),
            words(right - width / 2, y + 24, text, "body ink", anchor="middle"),
        ],
        label=text,
    )
    if institution.network.source.internet == "nat":
        centre = right - width / 2
        yield arrow(centre, y, centre, HEADER - 16, "quiet-wire")
        yield words(centre, HEADER - 26, "Internet", "body quiet", anchor="middle")
