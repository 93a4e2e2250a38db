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
    "an assembly inside itself": (
        artifacts({"in": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "."}}}),
        "manifest.json: in holds the assembly that it is in; run cdk synth again",
    ),
    "metadata of no type": (
        artifacts(
            {
                "stack": {
                    "type": "aws:cloudformation:stack",
                    "environment": "aws://unknown-account/unknown-region",
                    "properties": {"templateFile": "stack.json"},
                    "metadata": {"/stack": [{"data": "x"}]},
                }
            }
        ),
        "manifest.json is not as cdk synth writes it, KeyError: 'type'; run cdk synth again",
    ),
    "a manifest that is a folder": (
        lambda folder: (
            (folder / "manifest.json").rename(folder / "moved").with_name("manifest.json").mkdir()
        ),
        "manifest.json cannot be read, Is a directory; run cdk synth again",
    ),
    "a manifest of brackets": (
        lambda folder: (folder / "manifest.json").write_text('{"artifacts": ' + "[" * 100_000),
        "manifest.json is nested too deep; run cdk synth again",
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


def test_assemblies_that_hold_each_other_are_told_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    for folder, other in ((outer, "inner"), (inner, "..")):
        artifacts({other: {"type": "cdk:cloud-assembly", "properties": {"directoryName": other}}})(
            folder
        )
    assert main(["check", str(outer)]) == 1
    told = f"{inner}/manifest.json: .. holds the assembly that it is in; run cdk synth again\n"
    assert capsys.readouterr().err == told


def test_what_another_version_of_the_cdk_leaves_out_breaks_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = assembly(tmp_path, GOOD)
    manifest = json.loads((folder / "manifest.json").read_text())
    stack = manifest["artifacts"]["stack"]
    del stack["displayName"]
    warnings = [{"type": "aws:cdk:warning"}, {"type": "aws:cdk:warning", "data": "mind it"}]
    odd = [{"type": "aws:cdk:acknowledged-rules"}, {"type": "aws:cdk:logicalId"}]
    stack["metadata"] = {"/stack/Topic": [*warnings, *odd]}
    manifest["artifacts"]["bare"] = {**stack, "metadata": None}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert main(["check", str(folder)]) == 0
    assert main(["report", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "  stack/Topic: a warning of no words\n  stack/Topic: mind it\n" in shown
    assert "  bare   111122223333 us-east-1  1 topic, 0 others\n" in shown


def test_every_acknowledgement_of_a_construct_counts(tmp_path: Path) -> None:
    folder = assembly(tmp_path, WARNED, "CloudFormation-Validate::W3010")
    manifest = json.loads((folder / "manifest.json").read_text())
    said = manifest["artifacts"]["stack"]["metadata"]["/stack/thing"]
    said.append({"type": "aws:cdk:acknowledged-rules", "data": {"another": "a reason"}})
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert not list(validate(folder))


def test_findings_that_cannot_be_kept_are_told_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = assembly(tmp_path, BAD)
    (folder / ".validated.json").mkdir()
    assert main(["check", str(folder)]) == 1
    shown = capsys.readouterr()
    assert shown.out == "1 templates validated: 1 errors, 0 warnings\n"
    assert shown.err.startswith("stack: error") and shown.err.count("\n") == 1


def test_what_another_version_of_the_command_found_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = assembly(tmp_path, BAD)
    monkeypatch.setattr("trainshed.cli.check._findings", lambda *_: [])
    (tmp_path / "check.py").write_text("a version that leaves everything out")
    with monkeypatch.context() as other:
        other.setattr("trainshed.cli.check.__file__", str(tmp_path / "check.py"))
        assert not list(validate(folder))
    monkeypatch.undo()
    assert list(validate(folder))


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


def test_what_was_kept_is_believed_only_as_a_list(tmp_path: Path) -> None:
    folder = assembly(tmp_path, BAD)
    first = list(validate(folder))
    kept = json.loads((folder / ".validated.json").read_text())
    (folder / ".validated.json").write_text(json.dumps(dict.fromkeys(kept, "")))
    assert first and list(validate(folder)) == first
