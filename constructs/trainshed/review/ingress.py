"""Who may reach which ports: security groups, and SSH of a cluster."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from .assembly import Stack
from .fact import Fact, Kind
from .values import listed, references
from .values import stable_text as text

SSH_PORT = 22
SSH = {"IpProtocol": "tcp", "FromPort": SSH_PORT, "ToPort": SSH_PORT}
LAST_PORT = 65535
RANGES = ("CidrIp", "CidrIpv6")
GROUPS = ("SourceSecurityGroupId", "SourceSecurityGroupName")
LIST = "SourcePrefixListId"
EVERYTHING = ("-1", "all")
"""Names of all protocols: for CloudFormation, and for EC2."""
TCP = ("tcp", "6")


def group_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield what a security group lets in by its own list."""
    for rule in listed(properties.get("SecurityGroupIngress")):
        yield from ingress(place, rule, stack)


def lone_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield what a rule that stands alone lets into its group."""
    yield from ingress(text(properties.get("GroupId")) or place, properties, stack)


def ingress(place: str, rule: Any, stack: Stack | None = None) -> Iterator[Fact]:
    """Yield what one rule lets in, for each of its sources.

    Args:
        place: The group, or the node.
        rule: The rule, as CloudFormation has it.
        stack: The stack, for what the rule points to. Default: it points to nothing.
    """
    rule = rule if isinstance(rule, Mapping) else {"CidrIp": rule}
    ports, reaches_ssh = _ports(rule)
    sources = [(key, rule[key]) for key in (*RANGES, *GROUPS, LIST) if rule.get(key)]
    for key, value in sources or [("CidrIp", rule)]:
        source, is_open = _source(key, value, stack)
        yield Fact(
            Kind.INGRESS,
            place,
            f"{ports} from {source}",
            "open-ssh" if is_open and reaches_ssh else "",
        )


def _ports(rule: Mapping[str, Any]) -> tuple[str, bool]:
    """Return protocol and ports in words, and whether port 22 of TCP may be among them."""
    protocol = text(rule.get("IpProtocol", "-1")).lower()
    if protocol in EVERYTHING:
        return "all traffic", True
    # What the deployment decides may be any of them.
    is_tcp = protocol in TCP or not isinstance(rule.get("IpProtocol"), str | int)
    low, high = _port(rule.get("FromPort"), 0), _port(rule.get("ToPort"), LAST_PORT)
    if low is None or low == -1:
        low, high = 0, LAST_PORT
    high = low if high is None else high
    ports = f"{protocol} {low}" if low == high else f"{protocol} {low}-{high}"
    return ports, is_tcp and low <= SSH_PORT <= high


def _port(value: Any, undecided: int) -> int | None:
    """Return a port; None for none."""
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        return undecided


def _source(key: str, value: Any, stack: Stack | None) -> tuple[str, bool]:
    """Return a source in words, and whether it is the internet, or may be."""
    shown = text(value)
    if key in GROUPS:
        return shown, False
    if key == LIST:
        is_open = any(is_world(text(entry.get("Cidr"))) for entry in _entries(value, stack))
    elif isinstance(value, str):
        is_open = is_world(value)
    elif stack and stack.leaves_to_deployment(value):
        return f"whatever the deployment says, {shown}", True
    else:
        return shown, False
    return (f"the whole internet, {shown}" if is_open else shown), is_open


def _entries(value: Any, stack: Stack | None) -> list[Mapping[str, Any]]:
    """Return the entries of a prefix list that the stack makes."""
    resources = stack.resources if stack else {}
    found = [resources[id] for id in references(value) if id in resources]
    return [
        entry
        for resource in found
        for entry in listed(resource.get("Properties", {}).get("Entries"))
        if isinstance(entry, Mapping)
    ]


def is_world(source: str) -> bool:
    """Tell whether an address range is the internet, or so much of it that it may as well be."""
    try:
        network = ipaddress.ip_network(source, strict=False)
    except ValueError:
        return False
    return network.prefixlen < (8 if network.version == 4 else 16)
