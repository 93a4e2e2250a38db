#!/usr/bin/env python3
"""The CDK app: two stacks for each file in institutions/, or for one with -c institution=NAME."""

import sys
from pathlib import Path

import aws_cdk as cdk
import cdk_nag

from stacks.cluster_stack import ClusterStack
from stacks.foundation_stack import FoundationStack
from trainshed.cli.checked import load_all
from trainshed.config import ConfigError

# Traces are of the CDK's own JavaScript, in temporary folders that differ in every run.
app = cdk.App(stack_traces=False)
try:
    chosen = app.node.try_get_context("institution")
    institutions = load_all(Path(__file__).with_name("institutions"), chosen)
except ConfigError as error:
    sys.exit(str(error))
for institution in institutions:
    foundation = FoundationStack(app, f"{institution.name}-foundation", institution=institution)
    cluster = ClusterStack(app, f"{institution.name}-cluster", institution=institution)
    cluster.add_stack_dependency(foundation)
cdk.Validations.of(app).add_plugins(cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app))
app.synth()
