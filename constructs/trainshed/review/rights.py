"""What roles, policies and users may do, and who may become them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from .assembly import Stack
from .fact import Fact, Kind
from .values import listed, references, variants
from .values import stable_text as text

ADMINISTRATORS = ("AdministratorAccess", "IAMFullAccess", "PowerUserAccess")
ADMINISTRATOR = "administrator-access"
RISING = (
    "iam:addusertogroup",
    "iam:attachgrouppolicy",
    "iam:attachrolepolicy",
    "iam:attachuserpolicy",
    "iam:createaccesskey",
    "iam:createloginprofile",
    "iam:createpolicyversion",
    "iam:passrole",
    "iam:putgrouppolicy",
    "iam:putrolepolicy",
    "iam:putuserpolicy",
    "iam:setdefaultpolicyversion",
    "iam:updateassumerolepolicy",
    "iam:updateloginprofile",
    "sts:assumerole",
)
"""What, allowed on every role or user, is as good as an administrator's rights."""
LIMITS = (
    "iam:",
    "aws:resourcetag/",
    "aws:resourceaccount",
    "aws:calledvia",
    "sts:externalid",
)
"""How the keys of conditions begin that keep such a right from everything."""
# A role that nobody names: what a pattern has to match to mean all of them.
_ANY_ROLE = "arn:aws:iam::*:role/\x00"
_ANY_USER = "arn:aws:iam::*:user/\x00"


def role_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield what a role, user or group has and may do."""
    for arn in listed(properties.get("ManagedPolicyArns")):
        is_own = hands_administrator(arn, stack)
        yield managed_policy(place, text(arn), is_own=is_own, is_open=_is_open(arn, stack))
    for inline in listed(properties.get("Policies")):
        yield from statement_facts(place, inline.get("PolicyDocument"))
    boundary = properties.get("PermissionsBoundary")
    if boundary:
        yield Fact(Kind.PROTECTION, place, f"permissions boundary {text(boundary)}")
    for statement in statements(properties.get("AssumeRolePolicyDocument"), "Allow"):
        who, only = principal(statement), condition(statement)
        if is_everybody(statement):
            yield Fact(Kind.EXPOSURE, place, "may be taken on by everybody")
        else:
            yield Fact(Kind.RIGHT, place, f"may be taken on by {who}{only}")


def policy_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield what a policy allows, and to whom it is attached."""
    found = list(statement_facts(place, properties.get("PolicyDocument")))
    yield from found
    rule = ADMINISTRATOR if any(fact.rule for fact in found) else ""
    for key in ("Roles", "Users", "Groups"):
        for who in listed(properties.get(key)):
            words = f"is given to {key.lower().rstrip('s')} {text(who)}"
            yield Fact(Kind.RIGHT, place, words, rule, hands_on=True)


def profile_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield which role the instances of a profile have."""
    for role in listed(properties.get("Roles")):
        rule = ADMINISTRATOR if hands_administrator(role, stack) else ""
        yield Fact(Kind.RIGHT, place, f"instances have the role {text(role)}", rule, hands_on=True)


def membership_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield who joins a group."""
    users = ", ".join(text(each) for each in listed(properties.get("Users")))
    yield Fact(Kind.RIGHT, place, f"{users} join the group {text(properties.get('GroupName'))}")


def key_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield whose lasting keys are made."""
    yield Fact(Kind.RIGHT, place, f"a lasting key of the user {text(properties.get('UserName'))}")


def permission_set_facts(place: str, properties: Mapping[str, Any], stack: Stack) -> Iterator[Fact]:
    """Yield what people who sign on may do."""
    for arn in listed(properties.get("ManagedPolicies")):
        yield managed_policy(place, text(arn))
    yield from statement_facts(place, properties.get("InlinePolicy"))


def managed_policy(place: str, arn: str, *, is_own: bool = False, is_open: bool = False) -> Fact:
    """Return the right that a managed policy gives.

    Args:
        place: Who has it.
        arn: The policy.
        is_own: The stack makes it, and it allows everything.
        is_open: The deployment decides which it is.
    """
    known = any(f"/{each}" in arn for each in ADMINISTRATORS)
    name = arn.rpartition("/")[2] if arn.startswith("arn:") else arn
    words = f"policy {name}{', whatever the deployment says' if is_open else ''}"
    rule = ADMINISTRATOR if known or is_own or is_open else ""
    return Fact(Kind.RIGHT, place, words, rule, hands_on=is_own)


def _is_open(arn: Any, stack: Stack) -> bool:
    """Tell whether the deployment decides which policy it is."""
    return any(references(arn)) and stack.leaves_to_deployment(arn)


def administrators(stacks: Iterable[Stack]) -> frozenset[str]:
    """Return the logical ids of the roles and policies that may do everything."""
    return frozenset(
        id
        for stack in stacks
        for id in stack.resources
        if _is_administrator(id, stack, frozenset())
    )


def hands_administrator(value: Any, stack: Stack) -> bool:
    """Tell whether a value points to a role or policy of the stack that may do everything."""
    return any(_is_administrator(id, stack, frozenset()) for id in references(value))


def _is_administrator(id: str, stack: Stack, seen: frozenset[str]) -> bool:
    resource = stack.resources.get(id)
    if id in seen or not resource or not resource["Type"].startswith("AWS::IAM::"):
        return False
    for properties in variants(resource.get("Properties", {})):
        documents = [properties.get("PolicyDocument")]
        documents += [each.get("PolicyDocument") for each in listed(properties.get("Policies"))]
        if any(fact.rule for each in documents for fact in statement_facts(id, each)):
            return True
        for arn in listed(properties.get("ManagedPolicyArns")):
            if managed_policy(id, text(arn)).rule:
                return True
            if any(_is_administrator(each, stack, seen | {id}) for each in references(arn)):
                return True
    return False


def statement_facts(place: str, document: Any) -> Iterator[Fact]:
    """Yield what a policy document allows and denies."""
    for statement in statements(document, "Allow"):
        resources = [text(each) for each in listed(statement.get("Resource"))]
        actions = [text(each) for each in listed(statement.get("Action"))]
        all_but = [text(each) for each in listed(statement.get("NotAction"))]
        if all_but:
            actions = [f"everything but {', '.join(all_but)}"]
        limited = _is_limited(statement)
        for action in actions:
            for resource in resources or [_all_but(statement)]:
                anything = not resources or _is_anything(resource)
                rising = not limited and _can_rise(action)
                everything = bool(all_but) or not action.strip("*:?")
                rule = ADMINISTRATOR if anything and (everything or rising) else ""
                yield Fact(Kind.RIGHT, place, f"{action} on {resource}{condition(statement)}", rule)
    yield from denials(place, document)


def denials(place: str, document: Any) -> Iterator[Fact]:
    """Yield what a policy document denies."""
    for statement in statements(document, "Deny"):
        denied = ", ".join(text(each) for each in listed(statement.get("Action")))
        yield Fact(Kind.PROTECTION, place, f"denies {denied}{condition(statement)}")


def _all_but(statement: Mapping[str, Any]) -> str:
    others = [text(each) for each in listed(statement.get("NotResource"))]
    return f"everything but {', '.join(others)}" if others else ""


@cache
def _is_anything(resource: str) -> bool:
    """Tell whether a resource means all of them, or every role or user."""
    pattern = re.sub(r"^arn:(aws[\w-]*|\$\{AWS::Partition\}):", "arn:aws:", resource)
    pattern = re.sub(r"\$\{AWS::AccountId\}|\b\d{12}\b", "*", pattern).replace("[", "[[]")
    return any(fnmatchcase(each, pattern) for each in (_ANY_ROLE, _ANY_USER))


@cache
def _can_rise(action: str) -> bool:
    pattern = action.lower().replace("[", "[[]")
    return any(fnmatchcase(each, pattern) for each in RISING)


def _is_limited(statement: Mapping[str, Any]) -> bool:
    """Tell whether a condition keeps rights over rights from everything."""
    for tests in (statement.get("Condition") or {}).values():
        for key, values in tests.items() if isinstance(tests, Mapping) else ():
            said = [text(each) for each in listed(values)]
            if key.lower().startswith(LIMITS) and not any(not each.strip("*") for each in said):
                return True
    return False


def statements(document: Any, effect: str) -> Iterator[Mapping[str, Any]]:
    """Yield the statements of a policy document, which may be JSON text, with one effect."""
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except ValueError:
            return
    for statement in listed((document if isinstance(document, Mapping) else {}).get("Statement")):
        if isinstance(statement, Mapping) and statement.get("Effect") == effect:
            yield statement


def principal(statement: Mapping[str, Any]) -> str:
    """Return who a statement is about."""
    others = statement.get("NotPrincipal")
    return f"everybody but {text(others)}" if others else text(statement.get("Principal"))


def is_everybody(statement: Mapping[str, Any]) -> bool:
    """Tell whether a statement is about everybody, under no condition that keeps anybody out."""
    named = statement.get("Principal")
    people = listed(named.get("AWS")) if isinstance(named, Mapping) else listed(named)
    everybody = "*" in people or bool(statement.get("NotPrincipal"))
    said = [
        value
        for each in (statement.get("Condition") or {}).values()
        if isinstance(each, Mapping)
        for values in each.values()
        for value in listed(values)
    ]
    return everybody and all(not text(value).strip("*") for value in said)


def condition(statement: Mapping[str, Any]) -> str:
    """Return the condition of a statement, as the end of a line."""
    found = statement.get("Condition")
    return f" if {text(found)}" if found else ""
