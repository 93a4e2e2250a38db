"""A secret's Ref is its ARN (CloudFormation template reference); ministack's is its name."""

from __future__ import annotations

from typing import Any

from ministack.services import secretsmanager
from ministack.services.cloudformation import provisioners

Made = tuple[str, dict[str, str]]


def install() -> None:
    """Give secrets their ARNs as physical ids."""
    handlers = provisioners._RESOURCE_HANDLERS
    own = handlers["AWS::SecretsManager::Secret"]

    def create(*arguments: Any) -> Made:
        _, attributes = own["create"](*arguments)
        return attributes["Arn"], attributes

    def update(arn: str, *arguments: Any, **named: Any) -> Made:
        _, attributes = own["update"](_name(arn), *arguments, **named)
        return attributes["Arn"], attributes

    def delete(arn: str, properties: Any) -> None:
        own["delete"](_name(arn), properties)

    handlers["AWS::SecretsManager::Secret"] = {
        **own,
        "create": create,
        "update": update,
        "delete": delete,
    }


def _name(arn: str) -> str | None:
    name: str | None = secretsmanager._resolve(arn)[0]
    return name
