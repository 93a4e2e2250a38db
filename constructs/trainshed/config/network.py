"""The network of a cluster: one Availability Zone, nodes in a private subnet."""

import ipaddress
from collections.abc import Iterator
from typing import Annotated, Literal, Self, cast

from pydantic import AfterValidator, model_validator

from .. import facts
from ..records import OnChange, Record, is_token
from ..subnets import ipv4_network
from .faults import Fault, refuse
from .texts import NOT_A_BOOLEAN, SecurityGroupId, SubnetId, VpcId

# VPC user guide "VPC CIDR blocks", read 2026-11-29: private ranges, those of RFC 6598 and RFC 2544.
_FOR_NEW_VPCS = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15")
# The same page, and RFC 5735: no host of a VPC can have one of these.
_OF_NO_VPC = ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4")


def _range(value: str) -> str:
    """Check the address range of a VPC or subnet: /16 to /28, no host bits, not reserved."""
    if is_token(value):
        return value
    network = ipv4_network(value, said=f"{value!r} is not an address range")
    # VPC user guide "VPC CIDR blocks", read 2026-11-29: a VPC and a subnet are a /16 to a /28.
    if not 16 <= network.prefixlen <= 28:
        raise ValueError(f"{value} is a /{network.prefixlen}; VPCs and subnets take /16 to /28")
    reserved = _within(network, _OF_NO_VPC)
    if reserved:
        raise ValueError(
            f"{value} is in {reserved}, which no VPC can have; take a range of 10.0.0.0/8"
        )
    return value


def _new_range(value: str) -> str:
    if not is_token(value) and not _within(ipaddress.IPv4Network(value), _FOR_NEW_VPCS):
        *others, last = _FOR_NEW_VPCS
        raise ValueError(f"{value} is public; take a range of {', '.join(others)} or {last}")
    return value


def _within(network: ipaddress.IPv4Network, ranges: tuple[str, ...]) -> str | None:
    return next((r for r in ranges if network.subnet_of(ipaddress.IPv4Network(r))), None)


AddressRange = Annotated[str, AfterValidator(_range)]
NewAddressRange = Annotated[AddressRange, AfterValidator(_new_range)]

# CloudWatch Logs, PutRetentionPolicy, botocore 1.44.8: the days that a log group can keep events.
LogRetentionDays = Annotated[
    Literal[
        1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,
        3288, 3653,
    ],
    NOT_A_BOOLEAN,
]  # fmt: skip


class NewVpc(Record):
    """A VPC made with the foundation stack."""

    cidr: Annotated[NewAddressRange, OnChange.REFUSED] = "10.0.0.0/16"
    """Address range of the VPC, /16 to /28, private."""
    internet: Annotated[Literal["nat", "isolated"], OnChange.REFUSED] = "nat"
    """How nodes reach out: through a NAT gateway, or (isolated) only to AWS through endpoints."""
    flow_log_retention_days: Annotated[LogRetentionDays, OnChange.LIVE] = 365
    """How long the log of accepted and rejected connections is kept."""


class ExistingVpc(Record):
    """A VPC that is there already."""

    vpc_id: Annotated[VpcId, OnChange.REFUSED]
    """Id of the VPC. DNS support and DNS hostnames must be on in it."""
    cidr: Annotated[AddressRange, OnChange.REFUSED]
    """Address range of the VPC; of several, the one that holds the subnet below."""
    compute_subnet_id: Annotated[SubnetId, OnChange.REFUSED]
    """Private subnet for nodes and file system, in the cluster's zone."""
    compute_subnet_cidr: Annotated[AddressRange | None, OnChange.LIVE] = None
    """Address range of that subnet, to count addresses. Default: not counted."""
    internet: Annotated[Literal["nat", "isolated"], OnChange.LIVE] = "nat"
    """How its nodes reach out: through a NAT gateway, or only to AWS through endpoints."""
    efa_security_group_id: Annotated[SecurityGroupId | None, OnChange.REPLACES_NODES] = None
    """Group that allows all traffic to and from itself, both ways. Default: one is made."""
    efa_group_allows_itself: Annotated[bool, OnChange.LIVE] = False
    """States that the group above has both of these rules, which cannot be seen before deploy."""
    egress_security_group_id: Annotated[SecurityGroupId | None, OnChange.REPLACES_NODES] = None
    """Group that lets nodes reach the internet or the VPC's endpoints. Default: one is made."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse([*self._efa_group_faults(), *self._subnet_faults()])
        return self

    def _efa_group_faults(self) -> Iterator[Fault]:
        if self.efa_security_group_id and not self.efa_group_allows_itself:
            yield Fault.at(
                "efa_security_group_id",
                reason="its rules cannot be seen before deploy; if it allows all traffic to and "
                "from itself, ingress and egress, write efa_group_allows_itself: true, else leave "
                "it out",
            )
        if self.efa_group_allows_itself and not self.efa_security_group_id:
            yield Fault.at(
                "efa_group_allows_itself",
                reason="is for an existing efa_security_group_id; leave it out",
            )

        if self.efa_security_group_id == self.egress_security_group_id is not None:
            yield Fault.at(
                "egress_security_group_id",
                reason="is also efa_security_group_id, and a node takes a group once; leave it "
                "out and one is made",
            )

    def _subnet_faults(self) -> Iterator[Fault]:
        subnet = self.compute_subnet_cidr
        if subnet is None or is_token(subnet) or is_token(self.cidr):
            return
        if not ipaddress.IPv4Network(subnet).subnet_of(ipaddress.IPv4Network(self.cidr)):
            yield Fault.at(
                "compute_subnet_cidr",
                reason=f"{subnet} is not in cidr, {self.cidr}; correct one of them, and of a VPC "
                "with several ranges give the one that holds the subnet",
            )


class Network(Record):
    """Where the cluster stands. Exactly one of ``vpc`` and ``existing``; one zone."""

    zone: Annotated[str | None, OnChange.REFUSED] = None
    """Availability Zone by name, ``us-east-1a``. Names differ from account to account."""
    zone_id: Annotated[str | None, OnChange.REFUSED] = None
    """Availability Zone by id, ``use1-az4``: the same place in every account."""
    vpc: Annotated[NewVpc | None, OnChange.REFUSED] = None
    """A new VPC."""
    existing: Annotated[ExistingVpc | None, OnChange.REFUSED] = None
    """An existing VPC instead of a new one."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse(self._faults())
        return self

    def _faults(self) -> list[Fault]:
        faults = []
        if (self.vpc is None) == (self.existing is None):
            faults.append(
                Fault.at(
                    reason="needs exactly one of vpc and existing; "
                    "write 'vpc: {}' for a new VPC with its defaults"
                )
            )
        if (self.zone is None) == (self.zone_id is None):
            faults.append(
                Fault.at(
                    reason="needs exactly one of zone (us-east-1a) and zone_id "
                    "(use1-az4): the zone where the capacity is"
                )
            )
        for key, value, kind in (
            ("zone", self.zone, facts.ZoneName),
            ("zone_id", self.zone_id, facts.ZoneId),
        ):
            try:
                if value is not None:
                    kind(value)
            except ValueError as error:
                faults.append(Fault.at(key, reason=str(error)))
        return faults

    @property
    def place(self) -> facts.Zone:
        """The zone, as a name or as an id."""
        return facts.ZoneName(self.zone) if self.zone else facts.ZoneId(cast(str, self.zone_id))

    @property
    def source(self) -> NewVpc | ExistingVpc:
        """The one of ``vpc`` and ``existing`` that is given."""
        return self.vpc or cast(ExistingVpc, self.existing)
