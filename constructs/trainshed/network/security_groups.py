"""The security groups of a cluster's nodes.

Two, because EFA asks for a rule that opens a group to itself both ways, and that is better kept
away from the rules for everything else.
"""

from __future__ import annotations

from typing import Literal

from aws_cdk import RemovalPolicy, Tags
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from .._acknowledge import acknowledge

ALL_PROTOCOLS = "-1"

# Made once: each is a call to the CDK's Node process.
_ANYWHERE = ec2.Peer.any_ipv4()
_HTTP, _HTTPS = ec2.Port.tcp(80), ec2.Port.tcp(443)
_EVERYTHING = ec2.Port.all_traffic()


def efa_security_group(
    scope: Construct, id: str, *, vpc: ec2.IVpc, removal_policy: RemovalPolicy
) -> ec2.ISecurityGroup:
    """Make the group whose only rules are all traffic to and from itself.

    CloudFormation has no way to write a group without outgoing rules: left out, EC2 adds one that
    allows everything. CDK's rule to 255.255.255.255/32, which reaches nobody, stands in its place.

    The egress rule is needed beside a rule that allows everything to 0.0.0.0/0, and CDK leaves it
    out of a group with ``allow_all_outbound``; so both rules are resources of their own
    (gardener/gardener-extension-provider-aws#1832, aws/aws-cdk#38558).
    """
    group = _group(
        scope, id, vpc, "EFA: all traffic between the nodes of the cluster, nothing else"
    )
    ingress = ec2.CfnSecurityGroupIngress(
        group,
        "IngressFromItself",
        group_id=group,
        source_security_group_id=group,
        ip_protocol=ALL_PROTOCOLS,
        description="EFA from the other nodes",
    )
    reason = "The rule opens the group to its own members only; EFA needs every protocol."
    acknowledge(ingress, {"NIST.800.53.R5-EC2RestrictedCommonPorts": reason})
    egress = ec2.CfnSecurityGroupEgress(
        group,
        "EgressToItself",
        group_id=group,
        destination_security_group_id=group,
        ip_protocol=ALL_PROTOCOLS,
        description="EFA to the other nodes",
    )
    for kept in (group, ingress, egress):
        kept.apply_removal_policy(removal_policy)
    return group


def egress_security_group(
    scope: Construct,
    id: str,
    *,
    vpc: ec2.IVpc,
    cidr: str,
    internet: Literal["nat", "isolated"],
    removal_policy: RemovalPolicy,
) -> ec2.ISecurityGroup:
    """Make the group that lets nodes out and nobody in.

    HTTPS to anywhere, HTTP as well with a NAT gateway (Ubuntu's package mirrors have no other),
    and everything inside the VPC: databases and directories have groups of their own. DNS, time
    and instance metadata need no rule: security groups do not filter the VPC's own services (VPC
    user guide "Control traffic with security groups", read 2026-11-29).

    Groups add up: ParallelCluster puts one of its own beside it, which allows everything out.
    """
    group = _group(scope, id, vpc, "Nodes to the internet, AWS and the VPC; nobody in")
    group.add_egress_rule(_ANYWHERE, _HTTPS, "HTTPS: AWS, packages, images")
    if internet == "nat":
        group.add_egress_rule(_ANYWHERE, _HTTP, "HTTP: package mirrors")
    group.add_egress_rule(ec2.Peer.ipv4(cidr), _EVERYTHING, "Everything in the VPC")
    group.apply_removal_policy(removal_policy)
    return group


def endpoint_security_group(
    scope: Construct, id: str, *, vpc: ec2.IVpc, cidr: str
) -> ec2.ISecurityGroup:
    """Make the group of interface endpoints: HTTPS from the VPC, nothing out."""
    group = _group(scope, id, vpc, "Interface endpoints: HTTPS from the VPC")
    group.add_ingress_rule(ec2.Peer.ipv4(cidr), _HTTPS, "HTTPS from the VPC")
    return group


def _group(scope: Construct, id: str, vpc: ec2.IVpc, description: str) -> ec2.SecurityGroup:
    group = ec2.SecurityGroup(scope, id, vpc=vpc, description=description, allow_all_outbound=False)
    Tags.of(group).add("Name", group.node.path)
    return group
