"""How a VPC's address range is cut into subnets. Pure.

::

    10.0.0.0/16
    10.0.0.0/17       compute: nodes, file system, endpoints
    10.0.128.0/17     free, but for its last three /28:
    10.0.255.208/28     databases, in the cluster's zone
    10.0.255.224/28     databases, in a second zone
    10.0.255.240/28     public: the NAT gateway, nothing else

Every range follows from the VPC's alone, so no setting moves a subnet.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal

from .facts.endpoints import INTERFACE_ENDPOINTS
from .records import is_token

# VPC user guide "Subnet CIDR blocks", read 2026-11-29: a subnet is a /16 to a /28, and AWS keeps
# its first four addresses and its last one. "VPC CIDR blocks": a VPC is a /16 to a /28.
ADDRESSES_KEPT_BY_AWS = 5
LARGEST_PREFIX_LENGTH = 28
SMALLEST_VPC_PREFIX_LENGTH = 16
EXAMPLE = "10.0.0.0/16"


@dataclass(frozen=True, slots=True)
class SubnetPlan:
    """The subnets of a VPC.

    Args:
        compute: Half of the VPC; all of a /28.
        public: The last /28; None in a /28.
        databases: Room for a subnet in each of two zones; none in a /27 or /28. They are not
            made here.
    """

    compute: IPv4Network
    public: IPv4Network | None
    databases: tuple[IPv4Network, ...]


def subnet_plan(cidr: str) -> SubnetPlan:
    """Cut a VPC's address range into subnets.

    Args:
        cidr: Address range of the VPC, /16 to /28.

    Raises:
        ValueError: The range is a token, malformed, or of a size that a VPC cannot have.
    """
    vpc = _vpc(cidr)
    if vpc.prefixlen == LARGEST_PREFIX_LENGTH:
        return SubnetPlan(compute=vpc, public=None, databases=())
    compute, rest = vpc.subnets()
    *others, public = _last(rest, 3)
    return SubnetPlan(compute, public, tuple(others) if len(others) == 2 else ())


def ipv4_network(text: str, *, said: str, alone: int = SMALLEST_VPC_PREFIX_LENGTH) -> IPv4Network:
    """Read an address range as AWS writes it: a prefix length, no host bits, no netmask.

    Args:
        text: The range.
        said: How the message begins.
        alone: Prefix length to advise for an address that stands alone.

    Raises:
        ValueError: It is written in another way; the message says how to write it.
    """
    try:
        network = IPv4Network(text)
    except ValueError as error:
        raise ValueError(f"{said}: {error}; write {_near(text) or EXAMPLE}") from None
    if "/" not in text:
        near = network.supernet(new_prefix=alone)
        raise ValueError(f"{said}: it has no prefix length; write {near}")
    if str(network) != text:
        raise ValueError(f"{said}: AWS takes a prefix length alone; write {network}")
    return network


def _near(text: str) -> IPv4Network | None:
    try:
        return IPv4Network(text, strict=False)
    except ValueError:
        return None


def _vpc(cidr: str) -> IPv4Network:
    if is_token(cidr):
        raise ValueError(
            "cidr is known only at deploy time and subnets are cut at synth; write the range itself"
        )
    vpc = ipv4_network(cidr, said=f"cidr is {cidr!r}")
    if not SMALLEST_VPC_PREFIX_LENGTH <= vpc.prefixlen <= LARGEST_PREFIX_LENGTH:
        raise ValueError(f"cidr is {cidr}, a /{vpc.prefixlen}; a VPC takes /16 to /28")
    return vpc


def _last(network: IPv4Network, count: int) -> list[IPv4Network]:
    size = 1 << (32 - LARGEST_PREFIX_LENGTH)
    end = int(network.broadcast_address) + 1
    count = min(count, network.num_addresses // size)
    return [IPv4Network((end - size * back, LARGEST_PREFIX_LENGTH)) for back in range(count, 0, -1)]


def check_new_vpc(
    cidr: str, *, internet: Literal["nat", "isolated"], addresses: int, fix: str
) -> None:
    """Check that the subnets of a new VPC hold all that is put into them.

    Args:
        cidr: Address range of the VPC.
        internet: How nodes reach out: a NAT gateway takes a public subnet, and the endpoints of an
            isolated VPC take addresses of the compute subnet.
        addresses: Private IPv4 addresses of the nodes.
        fix: What to do beside taking a larger range.

    Raises:
        ValueError: They do not.
    """
    plan = subnet_plan(cidr)
    if internet == "nat" and plan.public is None:
        raise ValueError(
            f"cidr is {cidr} and a NAT gateway needs a public subnet beside the compute subnet; "
            "use a /27 or larger, or internet 'isolated'"
        )
    needed = addresses + (len(INTERFACE_ENDPOINTS) if internet == "isolated" else 0)
    length = vpc_prefix_length_for(needed)
    larger = f"use a cidr of /{length}, or " if length else ""
    check_addresses(str(plan.compute), needed, fix=f"{larger}{fix}")


def check_addresses(subnet: str, needed: int, *, fix: str) -> None:
    """Check that a subnet has enough addresses.

    Args:
        subnet: Its address range; a token is not checked.
        needed: Private IPv4 addresses of everything in it.
        fix: What to do if it has too few.

    Raises:
        ValueError: It has too few.
    """
    if is_token(subnet):
        return
    available = IPv4Network(subnet).num_addresses - ADDRESSES_KEPT_BY_AWS
    if needed > available:
        raise ValueError(
            f"the compute subnet {subnet} has {available} addresses "
            f"({ADDRESSES_KEPT_BY_AWS} more are AWS's) and {needed} are needed; {fix}"
        )


def vpc_prefix_length_for(addresses: int) -> int | None:
    """Return the prefix length of the smallest VPC whose compute subnet has so many addresses.

    None where no VPC is large enough.
    """
    for length in range(LARGEST_PREFIX_LENGTH - 1, SMALLEST_VPC_PREFIX_LENGTH - 1, -1):
        if (1 << (32 - length - 1)) - ADDRESSES_KEPT_BY_AWS >= addresses:
            return length
    return None
