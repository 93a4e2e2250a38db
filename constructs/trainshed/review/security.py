"""Rights, open doors and public faces of a set of stacks, as sets that can be compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..pcluster.render import NO_ADDRESS
from . import exposure, ingress, rights
from .assembly import Stack
from .cluster import Config
from .fact import Fact, Kind
from .values import stable_text as text
from .values import variants

Reader = Callable[[str, Mapping[str, Any], Stack], Iterator[Fact]]


def facts_of_stacks(stacks: Mapping[str, Stack]) -> frozenset[Fact]:
    """Return every fact of the templates."""
    return frozenset(fact for stack in stacks.values() for fact in _of_stack(stack))


def _of_stack(stack: Stack) -> Iterator[Fact]:
    if stack.protected:
        yield Fact(Kind.PROTECTION, stack.name, "termination protection")
    for words in stack.unread:
        yield Fact(Kind.UNREAD, stack.name, words, "unread")
    for id, resource in stack.resources.items():
        reader = READERS.get(resource["Type"])
        if reader:
            for properties in variants(resource.get("Properties", {})):
                for fact in reader(stack.place(id), properties, stack):
                    place, words = (_named(each, stack) for each in (fact.place, fact.words))
                    yield replace(fact, place=place, words=words)


def _named(words: str, stack: Stack) -> str:
    """Put construct paths in the place of logical ids."""
    return _REFERENCE.sub(lambda found: stack.paths.get(found[1], found[1]), words)


_REFERENCE = re.compile(r"\$\{(?!AWS::)(\w+)[^}]*\}")

READERS: Mapping[str, Reader] = {
    "AWS::IAM::Role": rights.role_facts,
    "AWS::IAM::User": rights.role_facts,
    "AWS::IAM::Group": rights.role_facts,
    "AWS::IAM::Policy": rights.policy_facts,
    "AWS::IAM::RolePolicy": rights.policy_facts,
    "AWS::IAM::UserPolicy": rights.policy_facts,
    "AWS::IAM::GroupPolicy": rights.policy_facts,
    "AWS::IAM::ManagedPolicy": rights.policy_facts,
    "AWS::IAM::InstanceProfile": rights.profile_facts,
    "AWS::IAM::UserToGroupAddition": rights.membership_facts,
    "AWS::IAM::AccessKey": rights.key_facts,
    "AWS::SSO::PermissionSet": rights.permission_set_facts,
    "AWS::EC2::SecurityGroup": ingress.group_facts,
    "AWS::EC2::SecurityGroupIngress": ingress.lone_facts,
    "AWS::EC2::Instance": exposure.instance_facts,
    "AWS::EC2::LaunchTemplate": exposure.instance_facts,
    "AWS::EC2::EIP": exposure.address_facts,
    "AWS::EC2::EIPAssociation": exposure.address_facts,
    "AWS::EC2::Subnet": exposure.subnet_facts,
    "AWS::S3::Bucket": exposure.bucket_facts,
    "AWS::S3::BucketPolicy": exposure.own_policy_facts,
    "AWS::SNS::TopicPolicy": exposure.own_policy_facts,
    "AWS::SQS::QueuePolicy": exposure.own_policy_facts,
    "AWS::KMS::Key": exposure.own_policy_facts,
    "AWS::SecretsManager::ResourcePolicy": exposure.own_policy_facts,
    "AWS::Backup::BackupVault": exposure.own_policy_facts,
    "AWS::DynamoDB::Table": exposure.own_policy_facts,
    "AWS::ECR::Repository": exposure.own_policy_facts,
    "AWS::EFS::FileSystem": exposure.own_policy_facts,
    "AWS::S3::AccessPoint": exposure.own_policy_facts,
    "AWS::Lambda::LayerVersionPermission": exposure.permission_facts,
    "AWS::Lambda::Permission": exposure.permission_facts,
    "AWS::Lambda::Url": exposure.function_url_facts,
    "AWS::ElasticLoadBalancing::LoadBalancer": exposure.load_balancer_facts,
    "AWS::ElasticLoadBalancingV2::LoadBalancer": exposure.load_balancer_facts,
    "AWS::RDS::DBInstance": exposure.database_facts,
    "AWS::RDS::DBCluster": exposure.database_facts,
    "AWS::FSx::FileSystem": exposure.file_system_facts,
}


def facts_of_configuration(config: Config, administrators: Collection[str] = ()) -> frozenset[Fact]:
    """Return every fact of a cluster configuration.

    Args:
        config: The configuration.
        administrators: Logical ids of what may do everything, of the stacks around it.
    """
    return frozenset(_of_configuration(config, administrators))


def _of_configuration(config: Config, administrators: Collection[str]) -> Iterator[Fact]:
    boundary = (config.get("Iam") or {}).get("PermissionsBoundary")
    if boundary:
        yield Fact(Kind.PROTECTION, "cluster-config", f"permissions boundary {text(boundary)}")
    if (config.get("Imds") or {}).get("ImdsSupport") == "v2.0":
        yield Fact(Kind.PROTECTION, "cluster-config", "instance metadata by IMDSv2 alone")
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
        if "${" in str(allowed):
            words = f"tcp {ingress.SSH_PORT} from whatever the deployment says, {allowed}"
            yield Fact(Kind.INGRESS, place, words, "open-ssh")
        elif allowed != NO_ADDRESS:
            yield from ingress.ingress(place, {**ingress.SSH, "CidrIp": allowed})
        yield from _of_node(place, node, administrators)
    for queue in (config.get("Scheduling") or {}).get("SlurmQueues") or []:
        yield from _of_node(f"SlurmQueues[{queue.get('Name')}]", queue, administrators)


def _of_node(
    place: str, node: Mapping[str, Any], administrators: Collection[str]
) -> Iterator[Fact]:
    iam, network = node.get("Iam") or {}, node.get("Networking") or {}
    for policy in iam.get("AdditionalIamPolicies") or []:
        name = str(policy.get("Policy"))
        yield rights.managed_policy(place, name, is_own=name.strip("${}") in administrators)
    for key in ("InstanceRole", "InstanceProfile"):
        if iam.get(key):
            name = text(iam[key])
            rule = (
                rights.ADMINISTRATOR
                if any(id in administrators for id in _IDS.findall(name))
                else ""
            )
            yield Fact(Kind.RIGHT, place, f"has the {NAMES[key]} {name}", rule, hands_on=True)
    if (node.get("Imds") or {}).get("Secured") is False:
        yield Fact(Kind.EXPOSURE, place, "its rights, to every user on it (Imds.Secured is off)")
    for access in iam.get("S3Access") or []:
        verb = "read and write" if access.get("EnableWriteAccess") else "read"
        key = text(access.get("KeyName")) or "*"
        yield Fact(Kind.RIGHT, place, f"{verb} of S3 on {text(access.get('BucketName'))}/{key}")
    if network.get("ElasticIp"):
        yield Fact(Kind.EXPOSURE, place, "has a public address")
    if network.get("AssignPublicIp"):
        yield Fact(Kind.EXPOSURE, place, "nodes get public addresses")


_IDS = re.compile(r"\w+")
NAMES = {"InstanceRole": "role", "InstanceProfile": "instance profile"}
