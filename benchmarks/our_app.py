"""What app.py does, without cdk-nag unless asked for. Usage: our_app.py FOLDER [--nag]."""

from __future__ import annotations

import sys
from pathlib import Path

import aws_cdk as cdk

from stacks.cluster_stack import ClusterStack
from stacks.foundation_stack import FoundationStack
from trainshed.cli.checked import load_all

app = cdk.App()
for institution in load_all(Path(sys.argv[1])):
    foundation = FoundationStack(app, f"{institution.name}-foundation", institution=institution)
    cluster = ClusterStack(app, f"{institution.name}-cluster", institution=institution)
    cluster.add_stack_dependency(foundation)
if "--nag" in sys.argv:
    import cdk_nag

    cdk.Validations.of(app).add_plugins(
        cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)
    )
app.synth()
