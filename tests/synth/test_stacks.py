"""The two stacks of each example institution."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from stacks.synthesis import make_app
from trainshed.cli.checked import load_checked

INSTITUTIONS = sorted((Path(__file__).parents[2] / "institutions").glob("*.yaml"))
NAMES = [path.stem for path in INSTITUTIONS]
STATEFUL = (
    "AWS::EC2::CapacityReservation",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::Subnet",
    "AWS::EC2::VPC",
    "AWS::FSx::DataRepositoryAssociation",
    "AWS::FSx::FileSystem",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "Custom::TrainshedParallelCluster",
)

Templates = dict[str, dict[str, Any]]


def synthesise(context: dict[str, Any] | None = None) -> Templates:
    app = make_app([load_checked(path) for path in INSTITUTIONS], context=context)
    return {stack.stack_name: stack.template for stack in app.synth().stacks}


@pytest.fixture(scope="session")
def templates() -> Templates:
    """Synthesised with both security packs: an unacknowledged finding fails every test here."""
    return synthesise()


def recommended_flags() -> dict[str, Any]:
    """Return the feature flags that `cdk init` writes into a new app, as the CDK ships them."""
    (archive,) = Path(cdk.__file__).parent.glob("_jsii/aws-cdk-lib@*.tgz")
    with tarfile.open(archive) as files:
        member = files.extractfile("package/recommended-feature-flags.json")
        assert member
        flags: dict[str, Any] = json.load(member)
    assert len(flags) > 40
    return flags


def stateful(template: dict[str, Any]) -> dict[str, str]:
    return {
        logical_id: resource["Type"]
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] in STATEFUL
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["foundation", "cluster"])
def test_a_template_changes_only_with_its_golden_file(
    templates: Templates, golden: Callable[[str, object], None], name: str, kind: str
) -> None:
    golden(f"templates/{name}-{kind}.json", templates[f"{name}-{kind}"])


def test_logical_ids_of_what_holds_data_are_pinned(
    templates: Templates, golden: Callable[[str, object], None]
) -> None:
    golden("stateful_ids.json", {name: stateful(template) for name, template in templates.items()})


def test_feature_flags_of_new_apps_change_no_logical_id_of_what_holds_data(
    templates: Templates,
) -> None:
    flagged = synthesise(recommended_flags())
    for name, template in templates.items():
        assert stateful(template).items() <= stateful(flagged[name]).items()


@pytest.mark.parametrize("name", NAMES)
def test_the_cluster_reads_what_the_foundation_writes(templates: Templates, name: str) -> None:
    written = {
        resource["Properties"]["Name"]
        for resource in templates[f"{name}-foundation"]["Resources"].values()
        if resource["Type"] == "AWS::SSM::Parameter"
    }
    read = {
        parameter["Default"]
        for parameter in templates[f"{name}-cluster"]["Parameters"].values()
        if parameter["Default"].startswith("/trainshed/")
    }
    assert read
    assert read == written


@pytest.mark.parametrize("name", NAMES)
def test_no_export_locks_the_two_stacks_together(templates: Templates, name: str) -> None:
    for kind in ("foundation", "cluster"):
        outputs = templates[f"{name}-{kind}"].get("Outputs", {})
        assert not [key for key, output in outputs.items() if "Export" in output]
    assert "Fn::ImportValue" not in json.dumps(templates[f"{name}-cluster"])


def test_a_made_reservation_is_used_by_its_queue(templates: Templates) -> None:
    template = templates["full-cluster"]
    (reservation,) = (i for i, kind in stateful(template).items() if "Reservation" in kind)
    (cluster,) = (
        resource
        for resource in template["Resources"].values()
        if resource["Type"] == "Custom::TrainshedParallelCluster"
    )
    assert {"Ref": reservation} in cluster["Properties"]["ClusterConfiguration"]["Fn::Join"][1]
