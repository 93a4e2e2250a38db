"""Security group rules between a Lustre file system and its clients."""

from __future__ import annotations

from typing import NamedTuple

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from .._acknowledge import acknowledge
from .._given import check_present
from ..facts.lustre import PORTS


class _Port(NamedTuple):
    label: str
    protocol: str
    first: int | None = None
    last: int | None = None


# FSx for Lustre user guide "File system access control with Amazon VPC", read 2026-11-29: an
# EFA-enabled file system is not made with a group that allows less than all traffic.
_EFA_PORTS = (_Port("All", "-1"),)
_TCP_PORTS = tuple(_Port(str(first), "tcp", first, last) for first, last in PORTS)


class LustreTraffic(Construct):
    """What servers and clients of one file system may send each other, in both directions.

    Every rule is a resource of its own, so that the file system can wait for it, and none is
    made twice. Rules are added to both groups, also to groups that were passed in or imported.

    Args:
        scope: Where it belongs.
        id: Its id there.
        security_group: Group of the file system.
        efa: Clients use EFA: all traffic. Else Lustre's TCP ports.
        removal_policy: What becomes of the rules when they are deleted or replaced.
    """

    rules: list[cdk.CfnResource]
    """Every rule made so far."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        security_group: ec2.ISecurityGroup,
        efa: bool,
        removal_policy: cdk.RemovalPolicy,
    ) -> None:
        super().__init__(scope, id)
        self.rules = []
        self._group_id = security_group.security_group_id
        self._removal_policy = removal_policy
        self._ports = _EFA_PORTS if efa else _TCP_PORTS
        self._made: set[tuple[str, ...]] = set()
        if efa:
            reason = "EFA takes all traffic or none; the peers are two groups, no addresses"
            acknowledge(self, {"NIST.800.53.R5-EC2RestrictedCommonPorts": reason})

    def within(self) -> list[cdk.CfnResource]:
        """Allow traffic among the servers. Returns the rules that were added."""
        return self._both_ways("FileSystem", self._group_id, "FileSystem", self._group_id)

    def with_client(self, name: str, group: ec2.ISecurityGroup) -> list[cdk.CfnResource]:
        """Allow traffic between the servers and one group of clients.

        Args:
            name: Name of the clients, part of the construct ids: ``Client``.
            group: Their security group.

        Returns:
            The rules that were added.

        Raises:
            ValueError: There is no group.
        """
        check_present(security_group=group)
        client_id = group.security_group_id
        return [
            *self._both_ways("FileSystem", self._group_id, name, client_id),
            *self._both_ways(name, client_id, "FileSystem", self._group_id),
        ]

    def _both_ways(
        self, name: str, group_id: str, peer: str, peer_id: str
    ) -> list[cdk.CfnResource]:
        """Add what one group receives from and sends to another."""
        added: list[cdk.CfnResource] = []
        for port in self._ports:
            if (group_id, peer_id, port.label) in self._made:
                continue
            self._made.add((group_id, peer_id, port.label))
            added += [
                ec2.CfnSecurityGroupIngress(
                    self,
                    f"{name}From{peer}{port.label}",
                    group_id=group_id,
                    source_security_group_id=peer_id,
                    ip_protocol=port.protocol,
                    from_port=port.first,
                    to_port=port.last,
                    description=f"Lustre from {peer}",
                ),
                ec2.CfnSecurityGroupEgress(
                    self,
                    f"{name}To{peer}{port.label}",
                    group_id=group_id,
                    destination_security_group_id=peer_id,
                    ip_protocol=port.protocol,
                    from_port=port.first,
                    to_port=port.last,
                    description=f"Lustre to {peer}",
                ),
            ]
        for rule in added:
            rule.apply_removal_policy(self._removal_policy)
        self.rules += added
        return added
