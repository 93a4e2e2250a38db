"""What the security packs say of a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import aws_cdk as cdk
import cdk_nag
import pytest

from trainshed import facts
from trainshed.network import TrainingNetwork


@pytest.mark.parametrize("internet", ["nat", "isolated"])
def test_no_finding_is_left_unacknowledged(
    internet: Literal["nat", "isolated"], tmp_path: Path
) -> None:
    app = cdk.App(
        outdir=str(tmp_path), context={"@aws-cdk/core:failSynthOnValidationErrors": False}
    )
    packs = [cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)]
    cdk.Validations.of(app).add_plugins(*packs)
    env = cdk.Environment(account="123456789012", region="us-east-1")
    stack = cdk.Stack(app, "Foreign", env=env)
    TrainingNetwork(stack, "Network", zone=facts.ZoneId("use1-az4"), internet=internet)
    app.synth()
    report = json.loads((tmp_path / "validation-report.json").read_text())
    assert len(report["pluginReports"]) == len(packs)
    findings = [
        f"{violation['ruleName']}: {violation['description']}"
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
    ]
    assert not findings
