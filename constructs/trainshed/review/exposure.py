"""What the internet or everybody reaches, and what protects it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .assembly import Stack
from .fact import Fact, Kind
from .rights import condition, denials, is_everybody, principal, statements
from .values import at, listed
from .values import stable_text as text

PRIVATE = (
    "Private",
    "AwsExecRead",
    "BucketOwnerRead",
    "BucketOwnerFullControl",
    "LogDeliveryWrite",
)
"""Lists of access that let nobody in who is not named (S3 user guide "ACL overview")."""


OWN_POLICIES = (
    "AccessPolicy",
    "FileSystemPolicy",
    "KeyPolicy",
    "Policy",
    "PolicyDocument",
    "RepositoryPolicyText",
    "ResourcePolicy",
)
"""What resources call the policy that says who may use them."""


def bucket_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield how open a bucket is."""
    blocked = properties.get("PublicAccessBlockConfiguration")
    keys = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    yield from (
        Fact(Kind.EXPOSURE, place, f"{key} is off") for key in keys if not is_on(blocked, key)
    )
    access = properties.get("AccessControl", "Private")
    if access not in PRIVATE:
        yield Fact(Kind.EXPOSURE, place, f"access {text(access)} for everybody")
    if properties.get("WebsiteConfiguration"):
        yield Fact(Kind.EXPOSURE, place, "a web site")
    if properties.get("BucketEncryption"):
        yield Fact(Kind.PROTECTION, place, "encryption")


def own_policy_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield whom a resource's own policy lets in."""
    for key in OWN_POLICIES:
        document = properties.get(key)
        if isinstance(document, Mapping):
            # A table has the document one level below.
            document = document.get("PolicyDocument", document)
        for statement in statements(document, "Allow"):
            actions = [*listed(statement.get("Action")), *_but(statement)]
            words = f"may {', '.join(text(each) for each in actions)}"
            if is_everybody(statement):
                yield Fact(Kind.EXPOSURE, place, f"everybody {words}")
            else:
                who = principal(statement)
                yield Fact(Kind.RIGHT, place, f"{who} {words}{condition(statement)}")
        yield from denials(place, document)


def _but(statement: Mapping[str, Any]) -> list[str]:
    others = ", ".join(text(each) for each in listed(statement.get("NotAction")))
    return [f"everything but {others}"] if others else []


def instance_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield what an instance, or those of a launch template, may and show."""
    data = properties.get("LaunchTemplateData", properties)
    if not isinstance(data, Mapping):
        return
    profile = data.get("IamInstanceProfile")
    if profile:
        # A launch template has it under a name or an ARN, an instance as it is.
        named = [at(profile, (key,)) for key in ("Arn", "Name")]
        found = next((each for each in named if each), profile)
        yield Fact(Kind.RIGHT, place, f"has the instance profile {text(found)}")
    for interface in listed(data.get("NetworkInterfaces")):
        if is_on(interface, "AssociatePublicIpAddress"):
            yield Fact(Kind.EXPOSURE, place, "gets a public address")
    tokens = at(data, ("MetadataOptions", "HttpTokens"))
    if tokens == "required":
        yield Fact(Kind.PROTECTION, place, "instance metadata by IMDSv2 alone")


def address_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield what gets a lasting public address."""
    who = properties.get("InstanceId") or properties.get("NetworkInterfaceId")
    if who:
        yield Fact(Kind.EXPOSURE, place, f"a public address for {text(who)}")


def subnet_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield whether a subnet gives its instances public addresses."""
    if is_on(properties, "MapPublicIpOnLaunch"):
        yield Fact(Kind.EXPOSURE, place, "gives instances public addresses")


def function_url_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield whether a function answers everybody."""
    if properties.get("AuthType") == "NONE":
        yield Fact(Kind.EXPOSURE, place, "a function URL without authentication")


def permission_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield whether everybody may call a function."""
    narrow = ("SourceArn", "SourceAccount", "PrincipalOrgID", "OrganizationId")
    if properties.get("Principal") == "*" and not any(properties.get(key) for key in narrow):
        yield Fact(Kind.EXPOSURE, place, f"everybody may {text(properties.get('Action'))}")


def load_balancer_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield whether a load balancer faces the internet."""
    if properties.get("Scheme", "internet-facing") == "internet-facing":
        yield Fact(Kind.EXPOSURE, place, "a load balancer that faces the internet")


def database_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield how open a database is, and what keeps it."""
    if is_on(properties, "PubliclyAccessible"):
        yield Fact(Kind.EXPOSURE, place, "a database with a public address")
    if is_on(properties, "DeletionProtection"):
        yield Fact(Kind.PROTECTION, place, "protection against deletion")
    if is_on(properties, "StorageEncrypted"):
        yield Fact(Kind.PROTECTION, place, "encryption")


def file_system_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield with what key a file system is encrypted."""
    if properties.get("KmsKeyId"):
        yield Fact(Kind.PROTECTION, place, f"encrypted with {text(properties['KmsKeyId'])}")


def is_on(properties: Any, key: str) -> bool:
    """Tell whether a property is true, as a truth value or as text."""
    return isinstance(properties, Mapping) and str(properties.get(key)).lower() == "true"
