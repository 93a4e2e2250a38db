"""The two stacks of each example institution."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Annotations, Match, Template

from stacks.cluster_stack import ClusterStack
from stacks.foundation_stack import FoundationStack
from stacks.synthesis import make_app
from tests import examples
from trainshed.cli.checked import load_checked
from trainshed.config import Institution, load

GOLDEN = Path(__file__).parents[1] / "golden"
STATEFUL = (
    "AWS::EC2::CapacityReservation",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::Subnet",
    "AWS::EC2::VPC",
    "AWS::EC2::Volume",
    "AWS::FSx::DataRepositoryAssociation",
    "AWS::FSx::FileSystem",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "Custom::TrainshedParallelCluster",
    "Custom::TrainshedSlurmFleet",
)

Templates = dict[str, dict[str, Any]]


def synthesise(context: dict[str, Any] | None = None) -> Templates:
    app = make_app([load_checked(path) for path in examples.PATHS], context=context)
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


def without_user_data(value: Any) -> Any:
    """Leave user data out: it is a file of its own, and tested as such."""
    match value:
        case {"Fn::Base64": _}:
            return {"Fn::Base64": "USER-DATA"}
        case dict():
            return {key: without_user_data(item) for key, item in value.items()}
        case list():
            return [without_user_data(item) for item in value]
        case _:
            return value


@pytest.mark.parametrize("name", examples.NAMES)
@pytest.mark.parametrize("kind", ["foundation", "cluster"])
def test_a_template_changes_only_with_its_golden_file(
    templates: Templates, golden: Callable[[str, object], None], name: str, kind: str
) -> None:
    golden(f"templates/{name}-{kind}.json", without_user_data(templates[f"{name}-{kind}"]))


def test_logical_ids_of_what_holds_data_are_pinned(
    templates: Templates, golden: Callable[[str, object], None]
) -> None:
    golden("stateful_ids.json", {name: stateful(template) for name, template in templates.items()})


def test_the_golden_templates_are_those_of_the_examples() -> None:
    """One that is not listed in tests/examples.py would be compared with nothing."""
    kept = {path.stem for path in (GOLDEN / "templates").glob("*.json")}
    stacks = {f"{name}-{kind}" for name in examples.NAMES for kind in ("foundation", "cluster")}
    assert kept == stacks
    assert json.loads((GOLDEN / "stateful_ids.json").read_text()).keys() == stacks


def test_feature_flags_of_new_apps_change_no_logical_id_of_what_holds_data(
    templates: Templates,
) -> None:
    flagged = synthesise(recommended_flags())
    for name, template in templates.items():
        assert stateful(template).items() <= stateful(flagged[name]).items()


def assert_handed_over(foundation: dict[str, Any], cluster: dict[str, Any]) -> None:
    written = {
        resource["Properties"]["Name"]
        for resource in foundation["Resources"].values()
        if resource["Type"] == "AWS::SSM::Parameter"
    }
    read = {
        parameter["Default"]
        for parameter in cluster["Parameters"].values()
        if parameter["Default"].startswith("/trainshed/")
    }
    assert read
    assert read == written


@pytest.mark.parametrize("name", examples.NAMES)
def test_the_cluster_reads_what_the_foundation_writes(templates: Templates, name: str) -> None:
    assert_handed_over(templates[f"{name}-foundation"], templates[f"{name}-cluster"])


LUSTRE = "lustre: {capacity_gib: 1200, throughput_mb_s_per_tib: 125}"
VPC = "vpc: {}"
EXISTING_VPC = """existing:
    vpc_id: vpc-0123456789abcdef0
    compute_subnet_id: subnet-0123456789abcdef0
    cidr: 10.20.0.0/16"""
EXISTING_LUSTRE = """existing:
    file_system_id: fs-0123456789abcdef0
    dns_name: fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com
    mount_name: fsx
    security_group_id: sg-0123456789abcdef0"""
OWN = "{path: /a, prefix: a/, direction: import}"
OTHER = "{path: /b, prefix: b/, direction: import, bucket: lab-data}"
CHANGES = {
    "isolated": (VPC, "vpc: {internet: isolated}"),
    "existing VPC": (VPC, EXISTING_VPC),
    "links to its own bucket": (LUSTRE, f"{LUSTRE}\n  links: {{A: {OWN}}}"),
    "links to another bucket": (LUSTRE, f"{LUSTRE}\n  links: {{B: {OTHER}}}"),
    "links to both": (LUSTRE, f"{LUSTRE}\n  links: {{A: {OWN}, B: {OTHER}}}"),
    "existing bucket without links": (LUSTRE, f"{LUSTRE}\n  bucket: {{existing: lab-data}}"),
    "existing file system": (LUSTRE, EXISTING_LUSTRE),
    "existing file system with links": (LUSTRE, f"{EXISTING_LUSTRE}\n  links: {{B: {OTHER}}}"),
}


def changed(folder: Path, *edits: tuple[str, str]) -> Institution:
    text = (examples.FOLDER / "minimal.yaml").read_text()
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = folder / "minimal.yaml"
    path.write_text(text)
    return load(path)


def pair_of(institution: Institution) -> tuple[FoundationStack, ClusterStack]:
    app = cdk.App()
    return (
        FoundationStack(app, "Foundation", institution=institution),
        ClusterStack(app, "Cluster", institution=institution),
    )


def template_of(stack: cdk.Stack) -> dict[str, Any]:
    return dict(Template.from_stack(stack).to_json())


@pytest.mark.parametrize("edit", CHANGES.values(), ids=list(CHANGES))
def test_the_cluster_reads_what_the_foundation_writes_whatever_is_there_already(
    tmp_path: Path, edit: tuple[str, str]
) -> None:
    foundation, cluster = pair_of(changed(tmp_path, edit))
    assert_handed_over(template_of(foundation), template_of(cluster))


@pytest.mark.parametrize("edit", [(VPC, VPC), (VPC, EXISTING_VPC)], ids=["made", "existing VPC"])
@pytest.mark.parametrize("storage", [LUSTRE, EXISTING_LUSTRE], ids=["made", "existing FSx"])
def test_groups_and_rules_of_nodes_that_are_kept_are_kept(
    tmp_path: Path, edit: tuple[str, str], storage: str
) -> None:
    foundation, _ = pair_of(changed(tmp_path, edit, (LUSTRE, storage)))
    resources = template_of(foundation)["Resources"].values()
    groups = [r for r in resources if r["Type"].startswith("AWS::EC2::SecurityGroup")]
    assert len(groups) > 4
    assert {group["DeletionPolicy"] for group in groups} == {"RetainExceptOnCreate"}


def test_a_rule_between_groups_that_were_there_before_is_not_kept(tmp_path: Path) -> None:
    groups = "efa_security_group_id: sg-0123456789abcdef1\n    efa_group_allows_itself: true"
    edits = (VPC, f"{EXISTING_VPC}\n    {groups}"), (LUSTRE, EXISTING_LUSTRE)
    foundation, _ = pair_of(changed(tmp_path, *edits))
    resources = template_of(foundation)["Resources"].values()
    rules = [r for r in resources if r["Type"].startswith("AWS::EC2::SecurityGroupIngress")]
    assert {rule["DeletionPolicy"] for rule in rules} == {"Delete"}


def of_type(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [resource for resource in template["Resources"].values() if resource["Type"] == kind]


def tags_of_nodes(template: dict[str, Any]) -> list[set[str]]:
    """Return the tags of the instances that a cluster launches, a set for each way it does so."""
    for cluster in of_type(template, "Custom::TrainshedParallelCluster"):
        parts = cluster["Properties"]["ClusterConfiguration"]["Fn::Join"][1]
        text = "".join(part if isinstance(part, str) else "known-at-deploy" for part in parts)
        return [{f"{tag['Key']}${tag['Value']}" for tag in json.loads(text)["Tags"]}]
    instances = of_type(template, "AWS::EC2::Instance")
    groups = of_type(template, "AWS::AutoScaling::AutoScalingGroup")
    assert len(instances) == 1
    assert all(tag["PropagateAtLaunch"] for group in groups for tag in group["Properties"]["Tags"])
    return [
        {f"{tag['Key']}${tag['Value']}" for tag in launched["Properties"]["Tags"]}
        for launched in (*instances, *groups)
    ]


@pytest.mark.parametrize("name", examples.NAMES)
def test_a_budget_counts_the_nodes(templates: Templates, name: str) -> None:
    template = templates[f"{name}-cluster"]
    filters = {
        text.removeprefix("user:")
        for budget in of_type(template, "AWS::Budgets::Budget")
        for text in budget["Properties"]["Budget"]["CostFilters"]["TagKeyValue"]
    }
    launched = tags_of_nodes(template)
    assert launched
    for tags in launched:
        assert {f"trainshed:institution${name}", *filters} <= tags


def test_the_examples_bring_no_warning_of_the_cdk() -> None:
    app = make_app([load_checked(path) for path in examples.PATHS], security_packs=False)
    for stack in app.node.children:
        if isinstance(stack, cdk.Stack):
            warnings = Annotations.from_stack(stack).find_warning("*", Match.any_value())
            texts = [str(warning.entry.data) for warning in warnings]
            assert [text for text in texts if "[ack: trainshed:" not in text] == []


@pytest.mark.parametrize("name", examples.NAMES)
def test_no_export_locks_the_two_stacks_together(templates: Templates, name: str) -> None:
    for kind in ("foundation", "cluster"):
        outputs = templates[f"{name}-{kind}"].get("Outputs", {})
        assert not [key for key, output in outputs.items() if "Export" in output]
    assert "Fn::ImportValue" not in json.dumps(templates[f"{name}-cluster"])


def test_a_made_database_lets_the_head_node_of_the_bare_fleet_in(tmp_path: Path) -> None:
    text = (examples.FOLDER / "bare.yaml").read_text()
    old = "  slurm:\n"
    assert text.count(old) == 1
    path = tmp_path / "bare.yaml"
    path.write_text(
        text.replace(old, f"  accounting: {{create: {{second_zone: us-east-1b}}}}\n{old}")
    )
    foundation, cluster = pair_of(load(path))
    template = template_of(cluster)
    assert_handed_over(template_of(foundation), template)
    (head,) = of_type(template, "AWS::EC2::Instance")
    groups = head["Properties"]["SecurityGroupIds"]
    assert {"Ref": "FoundationAccountingClientSecurityGroupId"} in groups
    (parameter,) = (
        parameter
        for parameter in of_type(template, "AWS::SSM::Parameter")
        if parameter["Properties"]["Name"] == "/trainshed/bare/slurm/fleet"
    )
    assert {"Ref": "FoundationAccountingHost"} in parameter["Properties"]["Value"]["Fn::Join"][1]


def test_a_made_reservation_is_used_by_its_queue(templates: Templates) -> None:
    template = templates["full-cluster"]
    (reservation,) = (i for i, kind in stateful(template).items() if "Reservation" in kind)
    (cluster,) = (
        resource
        for resource in template["Resources"].values()
        if resource["Type"] == "Custom::TrainshedParallelCluster"
    )
    assert {"Ref": reservation} in cluster["Properties"]["ClusterConfiguration"]["Fn::Join"][1]
