"""Rights, open doors and public faces of a set of stacks, as sets that can be compared."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from ..pcluster.render import NO_ADDRESS
from .assembly import Stack
from .cluster import Config
from .values import listed, variants
from .values import stable_text as text

ADMINISTRATORS = ("AdministratorAccess", "IAMFullAccess", "PowerUserAccess")
RISING = ("iam:attachrolepolicy", "iam:createpolicyversion", "iam:putrolepolicy")
SSH_PORT = 22
SSH = {"IpProtocol": "tcp", "FromPort": SSH_PORT, "ToPort": SSH_PORT}


class Kind(StrEnum):
    """What a fact of security is about."""

    RIGHT = "right"
    INGRESS = "ingress"
    EXPOSURE = "public exposure"
    PROTECTION = "protection"


@dataclass(frozen=True)
class Fact:
    """Something that is so in one version and may not be in the other."""

    kind: Kind
    place: str
    """The role, policy, security group or key."""
    words: str
    """What it may or lets in, in one line."""
    rule: str = ""
    """The guard that this trips when it is new; empty for none."""

    @property
    def is_alarming(self) -> bool:
        """It trips a guard, or allows a wildcard of actions."""
        actions = self.words.partition(" if ")[0].partition(" on ")[0]
        return bool(self.rule) or (self.kind is Kind.RIGHT and "*" in actions)


def facts_of_stacks(stacks: Mapping[str, Stack]) -> frozenset[Fact]:
    """Return every fact of the templates."""
    return frozenset(fact for stack in stacks.values() for fact in _of_stack(stack))


def _of_stack(stack: Stack) -> Iterator[Fact]:
    if stack.protected:
        yield Fact(Kind.PROTECTION, stack.name, "termination protection")
    for id, resource in stack.resources.items():
        reader = READERS.get(resource["Type"])
        if reader:
            for properties in variants(resource.get("Properties", {})):
                for fact in reader(stack.place(id), properties):
                    place, words = (_named(each, stack) for each in (fact.place, fact.words))
                    yield replace(fact, place=place, words=words)


def _named(words: str, stack: Stack) -> str:
    """Put construct paths in the place of logical ids."""
    return _REFERENCE.sub(lambda found: stack.paths.get(found[1], found[1]), words)


_REFERENCE = re.compile(r"\$\{(?!AWS::)(\w+)[^}]*\}")


def _role(place: str, properties: Mapping[str, Any]) -> Iterator[Fact]:
    for arn in listed(properties.get("ManagedPolicyArns")):
        yield _managed_policy(place, text(arn))
    for inline in listed(properties.get("Policies")):
        yield from _statements(place, inline.get("PolicyDocument"))
    for statement in _allowing(properties.get("AssumeRolePolicyDocument")):
        who = text(statement.get("Principal"))
        yield Fact(Kind.RIGHT, place, f"may be taken on by {who}{_condition(statement)}")


def _policy(place: str, properties: Mapping[str, Any]) -> Iterator[Fact]:
    yield from _statements(place, properties.get("PolicyDocument"))


def _managed_policy(place: str, arn: str) -> Fact:
    name = arn.rpartition("/")[2]
    rule = "administrator-access" if name in ADMINISTRATORS else ""
    return Fact(Kind.RIGHT, place, f"policy {name}" if "/" in arn else f"policy {arn}", rule)


def _statements(place: str, document: Any) -> Iterator[Fact]:
    for statement in _allowing(document):
        resources = [text(each) for each in listed(statement.get("Resource"))]
        actions = [text(each) for each in listed(statement.get("Action"))]
        all_but = [text(each) for each in listed(statement.get("NotAction"))]
        if all_but:
            actions = [f"everything but {', '.join(all_but)}"]
        for action in actions:
            for resource in resources or [_all_but(statement)]:
                anything = resource == "*" or not resources
                own = not all_but and not statement.get("Condition") and _can_rise(action)
                everything = action in ("*", "*:*") or all_but or own
                rule = "administrator-access" if everything and anything else ""
                yield Fact(
                    Kind.RIGHT, place, f"{action} on {resource}{_condition(statement)}", rule
                )
    for statement in _effects(document, "Deny"):
        denied = ", ".join(text(each) for each in listed(statement.get("Action")))
        yield Fact(Kind.PROTECTION, place, f"denies {denied}{_condition(statement)}")


def _all_but(statement: Mapping[str, Any]) -> str:
    others = [text(each) for each in listed(statement.get("NotResource"))]
    return f"everything but {', '.join(others)}" if others else ""


def _can_rise(action: str) -> bool:
    """Tell whether an action, on every role, is as good as an administrator's rights."""
    pattern = action.lower()
    return any(fnmatchcase(each, pattern) for each in RISING)


def _allowing(document: Any) -> Iterator[Mapping[str, Any]]:
    yield from _effects(document, "Allow")


def _effects(document: Any, effect: str) -> Iterator[Mapping[str, Any]]:
    for statement in listed((document or {}).get("Statement")):
        if statement.get("Effect") == effect:
            yield statement


def _condition(statement: Mapping[str, Any]) -> str:
    condition = statement.get("Condition")
    return f" if {text(condition)}" if condition else ""


def _group(place: str, properties: Mapping[str, Any]) -> Iterator[Fact]:
    for rule in listed(properties.get("SecurityGroupIngress")):
        yield _ingress(place, rule)


def _lone_ingress(place: str, properties: Mapping[str, Any]) -> Iterator[Fact]:
    yield _ingress(text(properties.get("GroupId")) or place, properties)


SOURCES = ("CidrIp", "CidrIpv6", "SourceSecurityGroupId", "SourcePrefixListId")


def _ingress(place: str, rule: Mapping[str, Any]) -> Fact:
    source = next((text(rule[key]) for key in SOURCES if rule.get(key)), "unknown")
    protocol = str(rule.get("IpProtocol", "-1"))
    low, high = _port(rule.get("FromPort")), _port(rule.get("ToPort"))
    anything = protocol == "-1"
    # Without ports, and with -1, a rule means all of them; so may one that the deployment decides.
    first, last = (0, 65535) if anything or low in (None, -1) else (low, high or low)
    ports = "all traffic" if anything else f"{protocol} {first}"
    if not anything and last != first:
        ports += f"-{last}"
    reaches_ssh = anything or (protocol in ("tcp", "6") and first <= SSH_PORT <= last)
    world = is_world(source)
    return Fact(
        Kind.INGRESS,
        place,
        f"{ports} from {'the whole internet, ' if world else ''}{source}",
        "open-ssh" if world and reaches_ssh else "",
    )


def _port(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def is_world(source: str) -> bool:
    """Tell whether an address range is the internet, or so much of it that it may as well be."""
    try:
        network = ipaddress.ip_network(source, strict=False)
    except ValueError:
        return False
    return network.prefixlen < (8 if network.version == 4 else 16)


def _bucket(place: str, properties: Mapping[str, Any]) -> Iterator[Fact]:
    blocked = properties.get("PublicAccessBlockConfiguration", {})
    keys = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    yield from (
        Fact(Kind.EXPOSURE, place, f"{key} is off") for key in keys if blocked.get(key) is not True
    )
    if properties.get("BucketEncryption"):
        yield Fact(Kind.PROTECTION, place, "encryption")


def _resource_policy(place: str, properties: Mapping[str, Any]) -> Iterator[Fact]:
    document = properties.get("PolicyDocument") or properties.get("KeyPolicy")
    for statement in _allowing(document):
        principal = statement.get("Principal")
        actions = ", ".join(text(each) for each in listed(statement.get("Action")))
        if principal in ("*", {"AWS": "*"}) and not statement.get("Condition"):
            yield Fact(Kind.EXPOSURE, place, f"everybody may {actions}")
        else:
            words = f"{text(principal)} may {actions}{_condition(statement)}"
            yield Fact(Kind.RIGHT, place, words)
    for statement in _effects(document, "Deny"):
        denied = ", ".join(text(each) for each in listed(statement.get("Action")))
        yield Fact(Kind.PROTECTION, place, f"denies {denied}{_condition(statement)}")


def _subnet(place: str, properties: Mapping[str, Any]) -> Iterator[Fact]:
    if properties.get("MapPublicIpOnLaunch") is True:
        yield Fact(Kind.EXPOSURE, place, "gives instances public addresses")


def _function_url(place: str, properties: Mapping[str, Any]) -> Iterator[Fact]:
    if properties.get("AuthType") == "NONE":
        yield Fact(Kind.EXPOSURE, place, "a function URL without authentication")


def _function_permission(place: str, properties: Mapping[str, Any]) -> Iterator[Fact]:
    narrow = ("SourceArn", "SourceAccount", "PrincipalOrgID")
    if properties.get("Principal") == "*" and not any(properties.get(key) for key in narrow):
        yield Fact(Kind.EXPOSURE, place, f"everybody may {text(properties.get('Action'))}")


def _load_balancer(place: str, properties: Mapping[str, Any]) -> Iterator[Fact]:
    if properties.get("Scheme", "internet-facing") == "internet-facing":
        yield Fact(Kind.EXPOSURE, place, "a load balancer that faces the internet")


def _file_system(place: str, properties: Mapping[str, Any]) -> Iterator[Fact]:
    if properties.get("KmsKeyId"):
        yield Fact(Kind.PROTECTION, place, f"encrypted with {text(properties['KmsKeyId'])}")


READERS = {
    "AWS::IAM::Role": _role,
    "AWS::IAM::User": _role,
    "AWS::IAM::Group": _role,
    "AWS::IAM::Policy": _policy,
    "AWS::IAM::RolePolicy": _policy,
    "AWS::IAM::UserPolicy": _policy,
    "AWS::IAM::GroupPolicy": _policy,
    "AWS::IAM::ManagedPolicy": _policy,
    "AWS::EC2::SecurityGroup": _group,
    "AWS::EC2::SecurityGroupIngress": _lone_ingress,
    "AWS::S3::Bucket": _bucket,
    "AWS::S3::BucketPolicy": _resource_policy,
    "AWS::SNS::TopicPolicy": _resource_policy,
    "AWS::SQS::QueuePolicy": _resource_policy,
    "AWS::KMS::Key": _resource_policy,
    "AWS::EC2::Subnet": _subnet,
    "AWS::Lambda::Permission": _function_permission,
    "AWS::Lambda::Url": _function_url,
    "AWS::ElasticLoadBalancingV2::LoadBalancer": _load_balancer,
    "AWS::FSx::FileSystem": _file_system,
}


def facts_of_configuration(config: Config) -> frozenset[Fact]:
    """Return every fact of a cluster configuration."""
    return frozenset(_of_configuration(config))


def _of_configuration(config: Config) -> Iterator[Fact]:
    head = config.get("HeadNode") or {}
    # ParallelCluster opens port 22 to the internet where AllowedIps is missing.
    default = (head.get("Ssh") or {}).get("AllowedIps", "0.0.0.0/0")
    nodes: list[tuple[str, Mapping[str, Any]]] = [("HeadNode", head)] if head else []
    nodes += [
        (f"LoginNodes.Pools[{pool.get('Name')}]", pool)
        for pool in (config.get("LoginNodes") or {}).get("Pools") or []
    ]
    for place, node in nodes:
        allowed = (node.get("Ssh") or {}).get("AllowedIps", default)
        if allowed != NO_ADDRESS:
            yield _ingress(place, {**SSH, "CidrIp": allowed})
        yield from _of_node(place, node)
    for queue in (config.get("Scheduling") or {}).get("SlurmQueues") or []:
        yield from _of_node(f"SlurmQueues[{queue.get('Name')}]", queue)


def _of_node(place: str, node: Mapping[str, Any]) -> Iterator[Fact]:
    iam, network = node.get("Iam") or {}, node.get("Networking") or {}
    for policy in iam.get("AdditionalIamPolicies") or []:
        yield _managed_policy(place, str(policy.get("Policy")))
    for access in iam.get("S3Access") or []:
        verb = "read and write" if access.get("EnableWriteAccess") else "read"
        key = text(access.get("KeyName")) or "*"
        yield Fact(Kind.RIGHT, place, f"{verb} of S3 on {text(access.get('BucketName'))}/{key}")
    if network.get("ElasticIp"):
        yield Fact(Kind.EXPOSURE, place, "has a public address")
    if network.get("AssignPublicIp"):
        yield Fact(Kind.EXPOSURE, place, "nodes get public addresses")
