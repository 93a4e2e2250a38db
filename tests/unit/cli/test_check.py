"""``trainshed check``: AWS's own validator over an assembly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trainshed.cli import main
from trainshed.cli.check import validate

GOOD: dict[str, Any] = {"Topic": {"Type": "AWS::SNS::Topic"}}
BAD: dict[str, Any] = {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"Nmae": "x"}}}
WARNED: dict[str, Any] = {
    "Subnet": {
        "Type": "AWS::EC2::Subnet",
        "Properties": {
            "VpcId": "vpc-0123456789abcdef0",
            "CidrBlock": "10.0.0.0/24",
            "AvailabilityZone": "us-east-1a",
        },
    }
}


def assembly(folder: Path, resources: dict[str, Any], acknowledged: str = "") -> Path:
    metadata = [
        {"type": "aws:cdk:logicalId", "data": next(iter(resources))},
        {"type": "aws:cdk:acknowledged-rules", "data": {acknowledged: "a reason"}},
    ]
    manifest = {
        "artifacts": {
            "stack": {
                "type": "aws:cloudformation:stack",
                "environment": "aws://111122223333/us-east-1",
                "displayName": "stack",
                "properties": {"templateFile": "stack.json"},
                "metadata": {"/stack/thing": metadata if acknowledged else []},
            }
        }
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "stack.json").write_text(json.dumps({"Resources": resources}))
    return folder


def test_a_right_template_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(assembly(tmp_path, GOOD))]) == 0
    assert capsys.readouterr().out == "1 templates validated: 0 errors, 0 warnings\n"


def test_a_wrong_template_fails_and_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(assembly(tmp_path, BAD))]) == 1
    shown = capsys.readouterr()
    assert "stack: error" in shown.err and "Topic" in shown.err and "Nmae" in shown.err


def test_a_finding_is_told_again_from_what_is_known(tmp_path: Path) -> None:
    folder = assembly(tmp_path, BAD)
    first = list(validate(folder))
    assert first and first == list(validate(folder))


def test_an_unchanged_template_is_not_validated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = assembly(tmp_path, GOOD)
    list(validate(folder))
    monkeypatch.setattr("trainshed.cli.check._engine", lambda: pytest.fail("validated again"))
    assert not list(validate(folder))
    assembly(tmp_path, BAD)
    with pytest.raises(pytest.fail.Exception, match="validated again"):
        list(validate(folder))


def test_an_acknowledged_warning_is_silent_and_an_acknowledged_error_is_not(
    tmp_path: Path,
) -> None:
    assert [finding.rule for finding in validate(assembly(tmp_path, WARNED))] == ["W3010"]
    assert not list(validate(assembly(tmp_path, WARNED, "CloudFormation-Validate::W3010")))
    (error,) = validate(assembly(tmp_path, BAD))
    assert list(validate(assembly(tmp_path, BAD, f"CloudFormation-Validate::{error.rule}")))
