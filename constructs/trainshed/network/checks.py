"""What a network refuses of its arguments."""

from __future__ import annotations

from typing import Literal

from aws_cdk import aws_ec2 as ec2

from .. import facts
from .._given import check_value
from ..config.network import LogRetentionDays
from ..subnets import check_addresses
from .known import known, name_of, told_apart


def check_zone_type(zone: object) -> None:
    """Refuse a zone that does not say whether it is a name or an id."""
    if isinstance(zone, facts.ZoneName | facts.ZoneId):
        return
    if not isinstance(zone, str):
        use = 'facts.ZoneName("us-east-1a") or facts.ZoneId("use1-az4")'
    else:
        use = f'facts.{"ZoneId" if "-az" in zone else "ZoneName"}("{zone}")'
    raise ValueError(f"zone is {zone!r}, which may be a name or an id; use {use}")


def check_efa_group(group: ec2.ISecurityGroup | None, allows_itself: bool) -> None:
    """Refuse a group whose rules nobody states."""
    if group is not None and not allows_itself:
        raise ValueError(
            "efa_security_group is given and its rules cannot be seen at synth; if it allows all "
            "traffic to and from itself, ingress and egress, say efa_group_allows_itself=True, "
            "else leave it out and one is made"
        )
    if group is None and allows_itself:
        raise ValueError(
            "efa_group_allows_itself is True without efa_security_group; leave it out, "
            "the group that is made here has both rules"
        )


def refuse_beside_vpc(**for_new_vpc: object) -> None:
    """Refuse what is for a new VPC beside an existing one."""
    given = [key for key, value in for_new_vpc.items() if value is not None]
    if given:
        raise ValueError(
            f"{' and '.join(given)} given beside vpc; an existing VPC is not changed, leave it out"
        )


def check_existing(
    vpc: ec2.IVpc, subnet: ec2.ISubnet, zone: facts.Zone, compute_addresses: int
) -> None:
    """Refuse a subnet that is public, small, or known to be in another VPC or zone."""
    outer = subnet.node.scope
    if isinstance(outer, ec2.Vpc):
        _check_same_vpc(f"compute_subnet {name_of(subnet)}", outer.vpc_id, vpc)
    if subnet.subnet_id in [public.subnet_id for public in vpc.public_subnets]:
        raise ValueError(
            f"compute_subnet {name_of(subnet)} is a public subnet, and instances with several "
            "network interfaces get no public address; use a private subnet with a NAT gateway"
        )
    place = known(lambda: subnet.availability_zone)
    if place and isinstance(zone, facts.ZoneName) and place != zone.value:
        raise ValueError(
            f"compute_subnet {name_of(subnet)} is in {place} and zone is {zone.value}; "
            "a cluster stands in the zone of its capacity"
        )
    cidr = known(lambda: subnet.ipv4_cidr_block)
    if cidr:
        fix = "use a larger subnet, EFA interfaces of type efa-only, or fewer nodes"
        check_addresses(cidr, compute_addresses, fix=fix)


def check_groups(vpc: ec2.IVpc, **groups: ec2.ISecurityGroup | None) -> None:
    """Refuse a group that is known to be of another VPC."""
    for name, group in groups.items():
        resource = group.node.default_child if group else None
        if isinstance(resource, ec2.CfnSecurityGroup) and resource.vpc_id:
            _check_same_vpc(f"{name} {resource.node.path}", resource.vpc_id, vpc)


def _check_same_vpc(what: str, vpc_id: str, vpc: ec2.IVpc) -> None:
    differing = told_apart(vpc.vpc_id, vpc_id)
    if differing:
        here, there = differing
        raise ValueError(f"{what} is in VPC {there} and vpc is {here}; take one of vpc")


def check_numbers(
    internet: str, flow_log_retention_days: int | None, compute_addresses: int
) -> None:
    """Refuse what the institution file would refuse for the same keys."""
    check_value("internet", internet, Literal["nat", "isolated"])
    if flow_log_retention_days is not None:
        check_value("flow_log_retention_days", flow_log_retention_days, LogRetentionDays)
    if compute_addresses < 0:
        raise ValueError(f"compute_addresses is {compute_addresses}; use 0 to compare nothing")


def range_of(vpc: ec2.IVpc) -> str:
    """Return the address range of a VPC; refuse one that does not tell it."""
    try:
        return vpc.vpc_cidr_block
    except RuntimeError:
        raise ValueError(
            "vpc does not say its address range, which the egress group allows; give "
            "vpc_cidr_block to from_vpc_attributes, or an egress_security_group"
        ) from None
