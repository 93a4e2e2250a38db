from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Template

from trainshed.alerts import SlackAlerts
from trainshed.config import AlertRoutes

ENV = cdk.Environment(account="123456789012", region="us-east-2")
ROUTES = AlertRoutes(critical="C0ONCALL00", warning="C0OPS00000", info="C0OPS00000")
Alerts = Callable[..., SlackAlerts]


@pytest.fixture
def stack() -> cdk.Stack:
    """A stack of an account and a Region, alone in its app."""
    return cdk.Stack(cdk.App(), "Foreign", env=ENV)


@pytest.fixture
def alerts(stack: cdk.Stack) -> Alerts:
    """Make the construct in a stack of somebody else."""

    def make(**changed: Any) -> SlackAlerts:
        secret = secretsmanager.Secret.from_secret_name_v2(stack, "Slack", "kait/slack")
        given: dict[str, Any] = {
            "secret": secret,
            "routes": ROUTES,
            "operators": ["hpc@example.edu"],
        }
        return SlackAlerts(stack, "Alerts", **{**given, **changed})

    return make


@pytest.fixture
def resources(stack: cdk.Stack) -> Callable[[str], dict[str, dict[str, Any]]]:
    """The properties of the resources of a type in the stack, by logical id."""

    def of_type(kind: str) -> dict[str, dict[str, Any]]:
        found = Template.from_stack(stack).find_resources(kind)
        return {name: resource.get("Properties", {}) for name, resource in found.items()}

    return of_type
