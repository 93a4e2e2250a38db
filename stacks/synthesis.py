"""From institutions to an assembly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aws_cdk as cdk

from trainshed.config import Institution

from .cluster_stack import ClusterStack
from .foundation_stack import FoundationStack
from .jsii_messages import shorten_messages
from .shares import is_share

# Where each element was made, in the CDK's own JavaScript: from Python it says "no user code".
NO_TRACES = {"aws:cdk:disable-creation-stack-traces": True}


def make_app(
    institutions: Sequence[Institution],
    *,
    security_packs: bool = True,
    context: Mapping[str, Any] | None = None,
    tree_metadata: bool = True,
) -> cdk.App:
    """Make two stacks an institution.

    Args:
        institutions: The institutions.
        security_packs: Check with cdk-nag's AwsSolutions and NIST 800-53 packs.
        context: Context of the app, such as feature flags. Default: none.
        tree_metadata: Write the tree of constructs beside the templates.
    """
    # Traces are of the CDK's own JavaScript, in temporary folders that differ in every run.
    app = cdk.App(
        stack_traces=False,
        tree_metadata=tree_metadata,
        context={**NO_TRACES, **(context or {})},
    )
    for institution in institutions:
        foundation = FoundationStack(app, f"{institution.name}-foundation", institution=institution)
        cluster = ClusterStack(app, f"{institution.name}-cluster", institution=institution)
        cluster.add_stack_dependency(foundation)
    if security_packs:
        import cdk_nag

        packs = cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)
        cdk.Validations.of(app).add_plugins(*packs)
    return app


def synthesise(institutions: Sequence[Institution], *, security_packs: bool = True) -> None:
    """Write the assembly. Nothing but this is done in a process."""
    shorten_messages()
    # The CDK's command line looks for the tree of the outermost assembly alone.
    app = make_app(institutions, security_packs=security_packs, tree_metadata=not is_share())
    app.synth()
