"""``trainshed check``: AWS's own validator over an assembly; what is none is told in a line."""

from __future__ import annotations

import json
from collections.abc import Callable
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


def artifacts(found: object) -> Callable[[Path], object]:
    manifest = json.dumps({"artifacts": found})
    return lambda folder: (folder / "manifest.json").write_text(manifest)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no manifest": (
        lambda folder: (folder / "manifest.json").unlink(),
        "manifest.json is not there; run cdk synth again",
    ),
    "half a manifest": (
        lambda folder: (folder / "manifest.json").write_text('{"artifacts": '),
        "manifest.json is not JSON, Expecting value: line 1 column 15 (char 14); "
        "run cdk synth again",
    ),
    "a list": (
        lambda folder: (folder / "manifest.json").write_text("[1]"),
        "manifest.json holds no object, but [1]; run cdk synth again",
    ),
    "a manifest of something else": (
        lambda folder: (folder / "manifest.json").write_text('{"name": "an app"}'),
        "manifest.json is of no assembly: no artifacts; run cdk synth again",
    ),
    "an artifact of no type": (
        artifacts({"stack": {}}),
        "manifest.json is not as cdk synth writes it, KeyError: 'type'; run cdk synth again",
    ),
    "a stack of no template": (
        artifacts({"stack": {"type": "aws:cloudformation:stack", "properties": {}}}),
        "manifest.json is not as cdk synth writes it, KeyError: 'environment'; run cdk synth again",
    ),
    "no template": (
        lambda folder: (folder / "stack.json").unlink(),
        "stack.json is not there; run cdk synth again",
    ),
    "an assembly inside that is not there": (
        artifacts({"in": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "in"}}}),
        "in/manifest.json is not there; run cdk synth again",
    ),
}


@pytest.mark.parametrize("verb", ["check", "report"])
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_assembly_is_told_in_a_line(
    verb: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, reason = BROKEN[name]
    spoil(assembly(tmp_path, GOOD))
    assert main([verb, str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"{tmp_path}/{reason}\n")


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{", "is not JSON, Expecting property name enclosed in double quotes: "
         "line 1 column 2 (char 1)"),
        ("{}", "is not as cdk synth writes it, KeyError: 'Resources'"),
    ],
    ids=["half a template", "no resources"],
)  # fmt: skip
def test_a_template_that_is_none_is_an_error_of_both(
    template: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = assembly(tmp_path, GOOD) / "stack.json"
    path.write_text(template)
    assert main(["check", str(tmp_path)]) == 1
    assert "stack: error" in capsys.readouterr().err
    assert main(["report", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"{path} {reason}; run cdk synth again\n")


@pytest.mark.parametrize("kept", ["{", "[]", '{"a": 1}', '{"a": [{"stack": "old"}]}'])
def test_what_was_kept_of_earlier_findings_is_made_anew_where_it_is_broken(
    kept: str, tmp_path: Path
) -> None:
    folder = assembly(tmp_path, BAD)
    first = list(validate(folder))
    whole = (folder / ".validated.json").read_text()
    (folder / ".validated.json").write_text(kept)
    assert first and list(validate(folder)) == first
    assert (folder / ".validated.json").read_text() == whole
