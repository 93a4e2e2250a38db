"""What roles may do and did, and what of it nobody needed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ministack.core.iam_evaluator import EvalContext, evaluate, parse_policy_document

from tests.deploy.emulator.process import Emulator

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

    def allowed_by(self, statements: Iterable[Statement]) -> bool:
        """Tell whether statements allow it."""
        policies = [
            parse_policy_document({"Statement": [json.loads(each.document)]}) for each in statements
        ]
        account = self.keys.get("aws:principalaccount", "111122223333")
        context = EvalContext(
            principal_arn=f"arn:aws:sts::{account}:assumed-role/{self.role}/session",
            principal_type="AssumedRole",
            principal_account=account,
            action=self.action,
            resource_arn=self.resource,
            region="us-east-1",
            source_ip="127.0.0.1",
            secure_transport=True,
            service_context=dict(self.context),
            principal_keys=dict(self.keys),
        )
        return bool(evaluate(context, policies).decision == "Allow")


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
            found[line] = Demand(
                role, told["action"], told["resource"], told["context"], told["keys"]
            )
    return list(found.values())


def needless(statements: Iterable[Statement], demands: Iterable[Demand]) -> list[Statement]:
    """Return the statements without which every demand would still be allowed."""
    by_role: dict[str, list[Statement]] = {}
    for statement in statements:
        by_role.setdefault(statement.role, []).append(statement)
    asked: dict[str, list[Demand]] = {}
    for demand in demands:
        asked.setdefault(demand.role, []).append(demand)
    found = []
    for role, all_of_it in by_role.items():
        for statement in all_of_it:
            rest = [each for each in all_of_it if each is not statement]
            if all(demand.allowed_by(rest) for demand in _granted(asked.get(role, []), all_of_it)):
                found.append(statement)
    return found


def _granted(asked: Iterable[Demand], statements: Iterable[Statement]) -> list[Demand]:
    """Leave out what was denied anyway, or was allowed by the resource's own policy."""
    known = list(statements)
    return [demand for demand in asked if demand.allowed_by(known)]
