"""What the security packs say of a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import aws_cdk as cdk
import cdk_nag
import pytest
from aws_cdk import aws_ec2 as ec2

from trainshed import facts
from trainshed.network import TrainingNetwork


@pytest.mark.parametrize("internet", ["nat", "isolated"])
def test_no_finding_is_left_unacknowledged(
    internet: Literal["nat", "isolated"], tmp_path: Path
) -> None:
    app, stack = _checked(tmp_path)
    TrainingNetwork(stack, "Network", zone=facts.ZoneId("use1-az4"), internet=internet)
    assert not _findings(app, tmp_path)


def test_the_packs_see_a_vpc_without_flow_logs(tmp_path: Path) -> None:
    app, stack = _checked(tmp_path)
    ec2.CfnVPC(stack, "Vpc", cidr_block="10.0.0.0/16")
    assert {"AwsSolutions-VPC7", "NIST.800.53.R5-VPCFlowLogsEnabled"} <= _findings(app, tmp_path)


def _checked(outdir: Path) -> tuple[cdk.App, cdk.Stack]:
    app = cdk.App(outdir=str(outdir), context={"@aws-cdk/core:failSynthOnValidationErrors": False})
    packs = [cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)]
    cdk.Validations.of(app).add_plugins(*packs)
    env = cdk.Environment(account="123456789012", region="us-east-1")
    return app, cdk.Stack(app, "Foreign", env=env)


def _findings(app: cdk.App, outdir: Path) -> set[str]:
    app.synth()
    report = json.loads((outdir / "validation-report.json").read_text())
    return {v["ruleName"] for pack in report["pluginReports"] for v in pack["violations"]}
