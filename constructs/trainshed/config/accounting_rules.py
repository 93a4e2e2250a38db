"""Where a database that is made for Slurm's accounting stands: RDS takes two zones or nothing."""

from __future__ import annotations

from collections.abc import Iterator

from .. import facts
from ..subnets import subnet_plan
from .accounting import NewDatabase
from .faults import Fault
from .fleet import Fleet
from .network import ExistingVpc, Network, NewVpc

_AT = ("fleet", "accounting", "create")


def database_has_two_zones(region: str, network: Network, fleet: Fleet) -> Iterator[Fault]:
    """A new database has a subnet in each of two zones."""
    database = fleet.accounting.create if fleet.accounting else None
    if database is None:
        return
    match network.source:
        case NewVpc() as vpc:
            yield from _in_new_vpc(database, vpc, network.place, region)
        case ExistingVpc():
            yield from _in_existing_vpc(database)


def _in_new_vpc(
    database: NewDatabase, vpc: NewVpc, zone: facts.Zone, region: str
) -> Iterator[Fault]:
    if database.subnet_ids:
        yield Fault(
            (*_AT, "subnet_ids"), "is for an existing VPC; in a new one give second_zone instead"
        )
    if not subnet_plan(vpc.cidr).databases:
        yield Fault(
            ("network", "vpc", "cidr"),
            f"{vpc.cidr} has no room for the two subnets of the accounting database; "
            "use a /26 or larger",
        )
    if (reason := _unlike(database.second_zone, zone, region)) is not None:
        yield Fault((*_AT, "second_zone"), reason)


def _unlike(second: str | None, zone: facts.Zone, region: str) -> str | None:
    """Return why a second zone is not one of the network's Region, written as its own zone is."""
    form, likes = (
        ("name", (f"{region}b", f"{region}a"))
        if isinstance(zone, facts.ZoneName)
        else ("id", tuple(f"{zone.value.partition('-')[0]}-az{number}" for number in (2, 1)))
    )
    like = next(like for like in likes if like != zone.value)
    mend = f"name another zone of {region} than {zone.value}, such as {like}"
    if second is None:
        return f"required, but not given; a database stands in two zones: {mend}"
    if second == zone.value:
        return f"{second} is the network's own zone; {mend}"
    try:
        given = type(zone)(second)
    except ValueError:
        return f"{second!r} is no zone {form}, as the network's own zone is written; {mend}"
    try:
        facts.check_zone(given, region)
    except ValueError as error:
        return f"{error}; {mend}"
    return None


def _in_existing_vpc(database: NewDatabase) -> Iterator[Fault]:
    if database.second_zone is not None:
        yield Fault(
            (*_AT, "second_zone"), "is for a new VPC; in an existing one give subnet_ids instead"
        )
    subnets = len(set(database.subnet_ids))
    if subnets < 2:
        yield Fault(
            (*_AT, "subnet_ids"),
            f"has {subnets}; a database stands in two zones: give two private subnets of the VPC, "
            "each in another zone",
        )
