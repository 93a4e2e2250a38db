"""Checks of who reaches what: SSH, file system, scripts and policies."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from ...config.faults import Fault, KeyPath
from ..references import is_settled
from .surroundings import Surroundings, login_pools_of, queues_of

# The widest range that may connect with SSH, as in trainshed.config: a /16.
WIDEST_SSH_PREFIX = 16


def ssh_is_narrow(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """Port 22 is never open to the world, which it is where ``AllowedIps`` is missing."""
    head = config["HeadNode"].get("Ssh", {}).get("AllowedIps")
    ranges: list[tuple[KeyPath, str | None]] = [(("HeadNode", "Ssh", "AllowedIps"), head)]
    for at, pool in login_pools_of(config):
        own = pool.get("Ssh", {}).get("AllowedIps")
        ranges.append(((*at, "Ssh", "AllowedIps"), own or head))
    for key_path, allowed in ranges:
        if allowed is None:
            yield Fault(
                key_path,
                "is missing, which opens port 22 to 0.0.0.0/0; give your institution's own range",
            )
        elif _is_wide(allowed):
            yield Fault(
                key_path,
                f"{allowed} opens port 22 to half the internet; "
                "give your institution's own range, a /16 at most",
            )


def elastic_ip_is_an_address(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """An Elastic IP is given as its address: an allocation id fails only at the deployment."""
    given = config["HeadNode"]["Networking"].get("ElasticIp")
    if isinstance(given, str) and given.startswith("eipalloc-"):
        yield Fault.at(
            "HeadNode",
            "Networking",
            "ElasticIp",
            reason=f"{given} is an allocation id; give the public address that belongs to it",
        )


def login_nodes_reach_the_file_system(
    config: Mapping[str, Any], around: Surroundings
) -> Iterator[Fault]:
    """Login nodes have a security group that the file system lets in, or their mount hangs."""
    wanted = around.file_system_group_ids
    for at, pool in login_pools_of(config):
        networking = pool["Networking"]
        groups = {
            *networking.get("SecurityGroups", []),
            *networking.get("AdditionalSecurityGroups", []),
        }
        if wanted and not wanted & groups:
            yield Fault(
                (*at, "Networking", "AdditionalSecurityGroups"),
                f"has none of the groups that the file system lets in; add {min(wanted)}",
            )


def scripts_can_be_read(config: Mapping[str, Any], _: Surroundings) -> Iterator[Fault]:
    """Each script in S3 is named under ``S3Access``, unless the nodes bring a role of their own."""
    holders: list[tuple[KeyPath, Mapping[str, Any]]] = [(("HeadNode",), config["HeadNode"])]
    holders += queues_of(config)
    for at, holder in holders:
        iam = holder.get("Iam", {})
        if "InstanceRole" in iam or "InstanceProfile" in iam:
            continue
        for key_path, url in _scripts((*at, "CustomActions"), holder.get("CustomActions", {})):
            if url.startswith("s3://") and not _readable(url, iam.get("S3Access", [])):
                yield Fault(
                    key_path,
                    f"{url} is not under S3Access, so the node cannot read it; "
                    "add its bucket and key there",
                )


def policies_can_be_attached(config: Mapping[str, Any], around: Surroundings) -> Iterator[Fault]:
    """The provider's role may attach every policy that the configuration names."""
    holders = [(("HeadNode",), config["HeadNode"]), *login_pools_of(config), *queues_of(config)]
    allowed = around.attachable_policies
    for at, holder in holders:
        for index, entry in enumerate(holder.get("Iam", {}).get("AdditionalIamPolicies", [])):
            arn = entry["Policy"]
            fits = any(fnmatchcase(arn, pattern) for pattern in allowed)
            if allowed and is_settled(arn) and not fits:
                yield Fault(
                    (*at, "Iam", "AdditionalIamPolicies", index, "Policy"),
                    f"{arn} may not be attached by the provider's role; name the policy under "
                    "policies of the record, or give it the path /parallelcluster/",
                )


def _is_wide(allowed: str) -> bool:
    try:
        return ipaddress.ip_network(allowed, strict=False).prefixlen < WIDEST_SSH_PREFIX
    except ValueError:
        return False  # a prefix list, a token or a placeholder


def _scripts(at: KeyPath, actions: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    for event, action in actions.items():
        if "Script" in action:
            yield (*at, event, "Script"), action["Script"]
        for index, step in enumerate(action.get("Sequence", [])):
            yield (*at, event, "Sequence", index, "Script"), step["Script"]


def _readable(url: str, grants: list[Mapping[str, Any]]) -> bool:
    place = url.removeprefix("s3://")
    granted = [f"{grant['BucketName']}/{grant.get('KeyName', '*')}" for grant in grants]
    # The brackets of a token would be a pattern of their own.
    return place in granted or any(fnmatchcase(place, pattern) for pattern in granted)
