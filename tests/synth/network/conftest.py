from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from trainshed import facts
from trainshed.network import TrainingNetwork

Resources = dict[str, dict[str, Any]]
ENV = cdk.Environment(account="123456789012", region="us-east-1")


@pytest.fixture
def stack() -> cdk.Stack:
    """A stack of an account and a Region, alone in its app."""
    return cdk.Stack(cdk.App(), "Foreign", env=ENV)


@pytest.fixture(scope="session")
def made() -> Callable[[str], Template]:
    """The template of a network that is made here, by its way to the internet."""
    templates: dict[str, Template] = {}

    def template(internet: str) -> Template:
        if internet not in templates:
            foreign = cdk.Stack(cdk.App(), "Foreign", env=ENV)
            TrainingNetwork(
                foreign,
                "Network",
                zone=facts.ZoneName("us-east-1b"),
                internet="nat" if internet == "nat" else "isolated",
            )
            templates[internet] = Template.from_stack(foreign)
        return templates[internet]

    return template


@pytest.fixture
def resources() -> Callable[[Template, str], list[dict[str, Any]]]:
    """The properties of every resource of a type in a template."""

    def of_type(template: Template, kind: str) -> list[dict[str, Any]]:
        return [r.get("Properties", {}) for r in template.find_resources(kind).values()]

    return of_type
