"""What roles may do and did, and what of it nobody needed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ministack.core.iam_evaluator import EvalContext, evaluate, parse_policy_document

from tests.deploy.emulator.process import ACCOUNT, Emulator

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Statement:
    """One statement of a policy of a role."""

    role: str
    policy: str
    number: int
    document: str
    """The statement's JSON."""

    @property
    def name(self) -> str:
        """How a reader finds it in the template."""
        sid = json.loads(self.document).get("Sid") or f"statement {self.number}"
        return f"{self.policy} {sid}"


@dataclass(frozen=True)
class Demand:
    """Something that was asked for in a role's name."""

    role: str
    action: str
    resource: str
    context: Json
    keys: Json
    region: str

    def allowed_by(self, statements: Iterable[Statement]) -> list[Statement]:
        """Return those of the role's statements that allow it, each by itself."""
        account = self.keys.get("aws:principalaccount", ACCOUNT)
        context = EvalContext(
            principal_arn=f"arn:aws:sts::{account}:assumed-role/{self.role}/session",
            principal_type="AssumedRole",
            principal_account=account,
            action=self.action,
            resource_arn=self.resource,
            region=self.region,
            source_ip="127.0.0.1",
            secure_transport=True,
            service_context=dict(self.context),
            principal_keys=dict(self.keys),
        )
        return [
            each
            for each in statements
            if each.role == self.role
            and evaluate(context, [_parsed(each.document)]).decision == "Allow"
        ]


@cache
def _parsed(document: str) -> Any:
    return parse_policy_document({"Statement": [json.loads(document)]})


def roles_of(emulator: Emulator, name: str) -> list[str]:
    """Return the roles of an institution's stacks, those of the CDK's provider framework too."""
    pages = emulator.client("iam").get_paginator("list_roles").paginate()
    names = [each["RoleName"] for page in pages for each in page["Roles"]]
    return [each for each in names if each.startswith((f"{name}-foundation", f"{name}-cluster"))]


def statements(emulator: Emulator, roles: Iterable[str]) -> list[Statement]:
    """Return the statements of roles, but for those of AWS's own managed policies."""
    client = emulator.client("iam")
    found: list[Statement] = []
    for role in roles:
        for name in client.list_role_policies(RoleName=role)["PolicyNames"]:
            document = client.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
            found += _of(role, name, document)
        for each in client.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
            arn = each["PolicyArn"]
            if ":aws:policy/" in arn:
                continue
            version = client.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
            answer = client.get_policy_version(PolicyArn=arn, VersionId=version)
            found += _of(role, each["PolicyName"], answer["PolicyVersion"]["Document"])
    return found


def _of(role: str, policy: str, document: Any) -> Iterator[Statement]:
    parsed = json.loads(document) if isinstance(document, str) else document
    for number, each in enumerate(parsed["Statement"]):
        yield Statement(role, policy, number, json.dumps(each, sort_keys=True))


def demands(path: Path, roles: Iterable[str]) -> list[Demand]:
    """Return what was asked for in the names of roles, each thing once."""
    wanted = set(roles)
    found: dict[str, Demand] = {}
    for line in path.read_text().splitlines():
        told = json.loads(line)
        kind, _, rest = told["principal"].rpartition(":")[2].partition("/")
        role = rest.partition("/")[0]
        if kind == "assumed-role" and role in wanted:
            same = [role, told["action"], told["resource"], told["context"]]
            found[json.dumps(same, sort_keys=True)] = Demand(
                role,
                told["action"],
                told["resource"],
                told["context"],
                told["keys"],
                told["region"],
            )
    return list(found.values())


def needed(statements: Iterable[Statement], demands: Iterable[Demand]) -> set[Statement]:
    """Return the statements without which something that was asked for would be denied.

    Each of our statements allows; so a demand that one statement alone allows is denied without it.
    """
    known = list(statements)
    assert all(json.loads(each.document)["Effect"] == "Allow" for each in known)
    allowing = (demand.allowed_by(known) for demand in demands)
    return {one[0] for one in allowing if len(one) == 1}
