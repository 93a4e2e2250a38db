"""Assemblies with stacks inside stacks, with what nobody can read, and broken ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import write
from tests.unit.review.test_hidden_changes import TOPIC, Template, compared, one
from trainshed.review import review, review_many
from trainshed.review.assembly import read


def nesting(folder: Path, inner: Template | None, *, is_there: bool = True) -> Path:
    """An assembly whose stack has another inside it."""
    metadata = {"aws:asset:path": "inner.nested.template.json"}
    nested = {"Type": "AWS::CloudFormation::Stack", "Metadata": metadata}
    resources = {**TOPIC, **({"Inner": nested} if inner is not None else {})}
    write(folder, {"Stack": {"Resources": resources}})
    if is_there:
        (folder / "inner.nested.template.json").write_text(json.dumps(inner))
    return folder


def test_a_nested_stack_is_read(tmp_path: Path) -> None:
    retained = one("AWS::S3::Bucket", more={"UpdateReplacePolicy": "Retain"}, BucketName="a")
    renamed = one("AWS::S3::Bucket", BucketName="b")
    found = review(nesting(tmp_path / "a", retained), nesting(tmp_path / "b", renamed))
    assert [stop.flag for stop in found.stops] == ["--accept 'lose-data:Stack/Inner/Data'"]


def test_a_nested_stack_that_goes_takes_what_it_has(tmp_path: Path) -> None:
    plain = one("AWS::S3::Bucket")
    found = review(nesting(tmp_path / "a", plain), nesting(tmp_path / "b", None, is_there=False))
    assert [stop.flag for stop in found.stops] == ["--accept 'lose-data:Stack/Inner/Data'"]


UNREAD: dict[str, tuple[Template, str]] = {
    "macro": ({"Transform": ["Vendor::Macro"]}, "macro Vendor::Macro"),
    "stack set": (
        {"Resources": {**TOPIC, "Set": {"Type": "AWS::CloudFormation::StackSet"}}},
        "Set, AWS::CloudFormation::StackSet",
    ),
    "module": (
        {"Resources": {**TOPIC, "Part": {"Type": "Vendor::Some::Part::MODULE"}}},
        "Part, Vendor::Some::Part::MODULE",
    ),
    "macro inside": (
        {"Resources": {**TOPIC, "X": {"Fn::Transform": {"Name": "M"}}}},
        "a macro inside, Fn::Transform",
    ),
    "loop": (
        {"Transform": "AWS::LanguageExtensions", "Resources": {**TOPIC, "Fn::ForEach::B": []}},
        "a loop, Fn::ForEach",
    ),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_nobody_can_read_is_stopped(name: str, tmp_path: Path) -> None:
    more, words = UNREAD[name]
    found = compared(tmp_path, {"Resources": TOPIC}, {"Resources": TOPIC, **more})
    (stop,) = found.stops
    assert (stop.rule, stop.place) == ("unread", "Stack")
    assert stop.sentence == f"Nobody knows here what it does: {words}."


def test_a_nested_template_that_is_elsewhere_is_stopped(tmp_path: Path) -> None:
    base = write(tmp_path / "a", {"Stack": {"Resources": TOPIC}})
    (stop,) = review(base, nesting(tmp_path / "b", {}, is_there=False)).stops
    assert stop.sentence.endswith("the template of Stack/Inner is not in the assembly.")


def test_stages_may_have_stacks_of_one_name(tmp_path: Path) -> None:
    folders = []
    for name, inner in (("a", one("AWS::S3::Bucket")), ("b", {"Resources": TOPIC})):
        folder = write(tmp_path / name, {"Stack": one("AWS::EFS::FileSystem")})
        write(folder / "assembly-stage", {"Stack": inner})
        manifest = json.loads((folder / "manifest.json").read_text())
        stage = {"type": "cdk:cloud-assembly", "properties": {"directoryName": "assembly-stage"}}
        manifest["artifacts"]["stage"] = stage
        (folder / "manifest.json").write_text(json.dumps(manifest))
        folders.append(folder)
    (found,) = review_many(*folders)
    assert [stop.place for stop in found.stops] == [
        "Stack of aws://111122223333/ap-northeast-2/Data"
    ]


Break = Callable[[Path], object]


def artifact(**properties: Any) -> Break:
    def change(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["artifacts"]["more"] = properties
        (folder / "manifest.json").write_text(json.dumps(manifest))

    return change


BROKEN: dict[str, tuple[Break, str]] = {
    "no JSON": (
        lambda f: (f / "Stack.template.json").write_text("{"),
        r"Stack\.template\.json is not JSON",
    ),
    "no text": (
        lambda f: (f / "Stack.template.json").write_bytes(b"\xff\xfe"),
        r"Stack\.template\.json is not JSON",
    ),
    "no object": (
        lambda f: (f / "Stack.template.json").write_text("[]"),
        r"Stack\.template\.json holds no object, but \[\]; run cdk synth again",
    ),
    "no artifacts": (
        lambda f: (f / "manifest.json").write_text("{}"),
        r"manifest\.json is of no assembly: no artifacts; run cdk synth again",
    ),
    "no template": (
        artifact(type="aws:cloudformation:stack", properties={}),
        r"manifest\.json is not as cdk synth writes it, KeyError: 'templateFile'; run ",
    ),
    "a stack of nothing": (
        artifact(type="aws:cloudformation:stack"),
        r"manifest\.json is not as cdk synth writes it, KeyError: 'properties'; run ",
    ),
    "an artifact of no type": (
        artifact(),
        r"manifest\.json is not as cdk synth writes it, KeyError: 'type'; run cdk synth again",
    ),
    "metadata of no type": (
        artifact(
            type="aws:cloudformation:stack",
            properties={"templateFile": "Stack.template.json"},
            metadata={"/Stack": [{"data": "x"}]},
        ),
        r"manifest\.json is not as cdk synth writes it, KeyError: 'type'; run cdk synth again",
    ),
    "a report of something else": (
        lambda f: (f / "validation-report.json").write_text('{"pluginReports": [1]}'),
        r"validation-report\.json is not as cdk synth writes it, AttributeError: ",
    ),
    "assets of no source": (
        lambda f: (f / "Stack.assets.json").write_text('{"files": {"a": {}}}'),
        r"Stack\.assets\.json is not as cdk synth writes it, KeyError: 'source'; run ",
    ),
    "parameters of no kind": (
        lambda f: (f / "Stack.template.json").write_text('{"Parameters": {"A": "b"}}'),
        r"Stack\.template\.json is not as cdk synth writes it, AttributeError: ",
    ),
    "an assembly inside itself": (
        artifact(type="cdk:cloud-assembly", properties={"directoryName": "."}),
        r"manifest\.json: more holds the assembly that it is in; run cdk synth again",
    ),
    "a stack inside itself": (
        lambda f: (f / "Stack.template.json").write_text(
            json.dumps(
                {
                    "Resources": {
                        "Inner": {
                            "Type": "AWS::CloudFormation::Stack",
                            "Metadata": {"aws:asset:path": "Stack.template.json"},
                        }
                    }
                }
            )
        ),
        r"Stack\.template\.json holds a stack that it is in; run cdk synth again",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_assembly_that_is_not_one_names_the_file(name: str, tmp_path: Path) -> None:
    spoil, message = BROKEN[name]
    folder = write(tmp_path, {"Stack": {"Resources": TOPIC}})
    spoil(folder)
    with pytest.raises(ValueError, match=message):
        review_many(folder, folder)


def test_what_another_version_of_the_cdk_leaves_out_breaks_nothing(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        {"Stack": {"Resources": TOPIC}},
        metadata={"/Stack/Note": [{"type": "aws:cdk:warning"}, {"type": "aws:cdk:logicalId"}]},
        report={"pluginReports": [{"violations": [RESOURCE_ALONE]}, {"violations": None}]},
    )
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["artifacts"]["Stack"]["metadata"] = None
    del manifest["artifacts"]["Stack"]["displayName"]
    manifest["artifacts"]["Tree"] = {"type": "cdk:tree"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "Stack.assets.json").write_text('{"version": "1", "files": null}')
    assembly = read(folder)
    assert set(assembly.stacks) == {"Stack"}
    assert assembly.violations == {("", "R1", "a rule")}


# The CDK writes no construct of a resource that it does not find in its tree.
RESOURCE_ALONE = {
    "ruleName": "R1",
    "description": "a rule",
    "violatingConstructs": [{"resourceLogicalId": "Topic"}],
}


def test_what_cdk_nag_finds_in_a_share_of_many_institutions_is_seen(tmp_path: Path) -> None:
    construct = {"constructPath": "Stack/Topic"}
    finding = {"ruleName": "R1", "description": "a rule", "violatingConstructs": [construct]}
    report = {"pluginReports": [{"violations": [finding]}]}
    folders = []
    for name, found in (("a", None), ("b", report)):
        folder = tmp_path / name
        write(folder / "assembly-1", {"Stack": {"Resources": TOPIC}}, report=found)
        share = {"type": "cdk:cloud-assembly", "properties": {"directoryName": "assembly-1"}}
        (folder / "manifest.json").write_text(json.dumps({"artifacts": {"assembly-1": share}}))
        folders.append(folder)
    (rule,) = review(*folders).rules
    assert (rule.is_new, rule.is_acknowledged, rule.place, rule.rule) == (
        *(True, False),
        *("Stack/Topic", "R1"),
    )


def test_a_rendered_file_that_is_no_text_is_shown_all_the_same(tmp_path: Path) -> None:
    folder = write(tmp_path, {"Stack": {"Resources": TOPIC}}, rendered={"a.conf": "x"})
    (folder / "rendered" / "kait" / "b.bin").write_bytes(b"\xff")
    assert read(folder).rendered("kait") == {"a.conf": "x", "b.bin": "\N{REPLACEMENT CHARACTER}"}


@pytest.mark.parametrize(
    "written", [{"Ref": "X"}, "{", "[]", 5, {"Fn::Join": ["", "{}"]}, {"Fn::Join": ["", ["{"]]}]
)
def test_a_configuration_that_is_none_is_told_in_a_line(tmp_path: Path, written: object) -> None:
    made = {"Type": "Custom::TrainshedParallelCluster"}
    odd = {**made, "Properties": {"ClusterConfiguration": written}}
    with pytest.raises(ValueError, match=r"^ClusterConfiguration of a cluster is .*; run cdk syn"):
        compared(tmp_path, {"Resources": {"C": made}}, {"Resources": {"C": odd}})


def test_parts_that_cloudformation_would_refuse_break_nothing(tmp_path: Path) -> None:
    odd = {
        "Null": {"Type": "AWS::SNS::Topic", "Properties": None},
        "Words": {"Type": "AWS::SNS::Topic", "Properties": "x"},
        "Typeless": {"Properties": {}},
        "Text": "x",
        "Policy": {
            "Type": "AWS::IAM::Policy",
            "Properties": {"PolicyDocument": {"Statement": ["x", None]}},
        },
        "Join": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": {"Fn::Join": "x"}}},
        "Sub": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": {"Fn::Sub": []}}},
        "GetAtt": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": {"Fn::GetAtt": {}}}},
        "Unset": {"Type": "AWS::S3::Bucket", "DeletionPolicy": {"Ref": "X"}},
    }
    found = compared(tmp_path, {"Resources": TOPIC}, {"Resources": odd, "Parameters": None})
    assert {each.logical_id for each in found.resources} == {
        *("Null", "Words", "Policy", "Join", "Sub", "GetAtt", "Unset", "Other")
    }


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("AWS::EC2::LaunchTemplate", "LaunchTemplateData"),
        ("AWS::S3::Bucket", "PublicAccessBlockConfiguration"),
        ("AWS::DynamoDB::Table", "TimeToLiveSpecification"),
    ],
)
def test_text_in_the_place_of_a_section_ends_no_review(kind: str, key: str, tmp_path: Path) -> None:
    resource = {"Data": {"Type": kind, "Properties": {key: "x"}}}
    found = compared(tmp_path, {"Resources": resource}, {"Resources": TOPIC})
    assert "Data" in {each.logical_id for each in found.resources}
