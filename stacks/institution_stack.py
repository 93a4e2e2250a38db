"""What both stacks of an institution have in common."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from constructs import Construct

from trainshed.config import Institution


class InstitutionStack(cdk.Stack):
    """A stack in an institution's account and Region, with its tags and protection."""

    def __init__(
        self, scope: Construct, id: str, *, institution: Institution, holds: str, **kwargs: Any
    ) -> None:
        """Make an empty stack.

        Args:
            scope: The app or a stage.
            id: Name of the stack.
            institution: Whose stack it is.
            holds: What is in it, for its description.
            **kwargs: What else ``cdk.Stack`` takes.
        """
        super().__init__(
            scope,
            id,
            env=cdk.Environment(account=institution.account, region=institution.region),
            description=f"trainshed: {holds} of {institution.name}",
            termination_protection=institution.termination_protection,
            tags=institution.every_tag,
            **kwargs,
        )
