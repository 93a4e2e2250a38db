"""What is known at synth of a network that is made, imported or looked up."""

from __future__ import annotations

from collections.abc import Callable

from aws_cdk import Reference, Token, Tokenization
from aws_cdk import aws_ec2 as ec2

from ..records import is_stand_in


def told(read: Callable[[], str]) -> str | None:
    """Return a text; None where it is known only at deploy time, or an import was not told it."""
    # CDK raises where an imported subnet was not told the value.
    try:
        value = read()
    except RuntimeError:
        return None
    return None if Token.is_unresolved(value) else value


def known(read: Callable[[], str]) -> str | None:
    """Return a text as ``told`` does; None also where it stands in for a lookup."""
    value = told(read)
    return None if value is None or is_stand_in(value) else value


def name_of(subnet: ec2.ISubnet) -> str:
    """Return the id of a subnet, or its path in the construct tree where it has none yet."""
    return known(lambda: subnet.subnet_id) or subnet.node.path


def identity_of(vpc_id: str) -> str | None:
    """Return what tells a VPC from others: its id, or the path of the resource that makes it.

    None where neither is known: the id is a parameter, say, or a lookup that was not made yet.
    """
    if not Token.is_unresolved(vpc_id):
        return None if is_stand_in(vpc_id) else vpc_id
    token = Tokenization.reverse_string(vpc_id).first_token
    if isinstance(token, Reference) and isinstance(token.target, ec2.CfnVPC):
        return token.target.node.path
    return None


def check_vpc(network: ec2.IVpc, storage: ec2.IVpc | None) -> None:
    """Refuse a file system that is known to stand in another VPC than the network.

    Raises:
        ValueError: It does.
    """
    if storage is None:
        return
    differing = told_apart(network.vpc_id, storage.vpc_id)
    if differing:
        here, there = differing
        raise ValueError(
            f"the storage is in VPC {there} and the network in VPC {here}; give the storage "
            "network.vpc and network.compute_subnet, or, where the two are peered, import it with "
            "LustreStorage.from_attributes"
        )


def told_apart(one_id: str, other_id: str) -> tuple[str, str] | None:
    """Return what two VPCs are known by, where that tells that they are two."""
    one, other = identity_of(one_id), identity_of(other_id)
    # An id and the path of a resource cannot be compared: both may be of one VPC.
    if one and other and one != other and ("/" in one) == ("/" in other):
        return one, other
    return None
