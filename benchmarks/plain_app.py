"""The KAIT cluster as an engineer who knows the CDK writes it, without trainshed.

Usage: python -m benchmarks.plain_app COUNT [--nag]
"""

from __future__ import annotations

import sys

import aws_cdk as cdk

from benchmarks.plain_cluster import PlainClusterStack
from benchmarks.plain_foundation import PlainFoundationStack

ACCOUNT = "111122223333"
REGION = "ap-northeast-2"
ZONES = [f"{REGION}{letter}" for letter in "abcd"]

# What the CDK command line writes into cdk.context.json the first time; Vpc asks for it.
app = cdk.App(context={f"availability-zones:account={ACCOUNT}:region={REGION}": ZONES})
env = cdk.Environment(account=ACCOUNT, region=REGION)
for number in range(1, int(sys.argv[1]) + 1):
    name = f"kait-{number}"
    foundation = PlainFoundationStack(
        app, f"{name}-foundation", env=env, institution=name, zone=ZONES[0]
    )
    cluster = PlainClusterStack(app, f"{name}-cluster", env=env, institution=name)
    cluster.add_stack_dependency(foundation)
if "--nag" in sys.argv:
    import cdk_nag

    cdk.Validations.of(app).add_plugins(
        cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)
    )
app.synth()
