"""The cluster as a resource of a stack: what it says, waits for and gives back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3

from assets.functions.parallelcluster.handler import parse
from trainshed import facts
from trainshed.config import (
    Fleet,
    ParallelClusterOptions,
    Queue,
    TargetedReservation,
)
from trainshed.config.capacity import ReservationRequest
from trainshed.fleets import ParallelClusterFleet
from trainshed.pcluster import placeholders, render

Build = Callable[..., ParallelClusterFleet]
Synth = Callable[[cdk.Stack], Any]
Text = Callable[[Any], str]
MakeRecord = Callable[..., Fleet]


def test_the_cluster_is_one_resource_with_texts_alone(plain: Any) -> None:
    properties = dict(plain.cluster["Properties"])
    for changing in ("ServiceToken", "ClusterConfiguration"):
        del properties[changing]
    assert properties == {
        "SchemaVersion": "1",
        "ClusterName": "kait",
        "RemovalPolicy": "retain",
        "RollbackOnFailure": "true",
        "SuppressValidators": "[]",
        "ValidationFailureLevel": "ERROR",
        "ServiceTimeout": "3600",
    }


def test_the_providers_function_reads_these_properties(plain: Any, as_text: Text) -> None:
    properties = plain.cluster["Properties"]
    texts = {key: as_text(value) for key, value in properties.items()}
    wanted = parse(texts, "stack/Fleet", "arn:stack")
    assert wanted.cluster_name == "kait"
    assert wanted.rollback_on_failure is True
    assert wanted.configuration["Scheduling"] == plain.configuration["Scheduling"]


def test_numbers_and_booleans_of_the_configuration_stay_what_they_are(plain: Any) -> None:
    resource = plain.configuration["Scheduling"]["SlurmQueues"][0]["ComputeResources"][0]
    assert resource == {
        "Name": "p5en",
        "InstanceType": "p5en.48xlarge",
        "MinCount": 4,
        "MaxCount": 4,
        "Efa": {"Enabled": True},
    }


def test_the_logical_ids_of_what_must_not_be_replaced_stay(plain: Any) -> None:
    assert set(plain.of_type("Custom::TrainshedParallelCluster")) == {"Fleet30813DF3"}
    assert set(plain.of_type("AWS::SSM::Parameter")) == {
        "FleetNodesHeadActionsParameter3B468270",
        "FleetNodesHeadStartParameter4476385A",
        "FleetNodesLoginActionsParameter1901771A",
        "FleetNodesPolicyParameter949E9E38",
    }
    policies = {id for id in plain.of_type("AWS::IAM::ManagedPolicy") if "NodesPolicies" in id}
    assert policies == {
        "FleetNodesPoliciesHead65884A53",
        "FleetNodesPoliciesComputeF4108CC0",
        "FleetNodesPoliciesLogin159E8BC5",
    }


def test_options_reach_the_provider(
    stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord
) -> None:
    options = ParallelClusterOptions(
        removal="destroy", suppress_validators=("type:KeyPairValidator",)
    )
    build(stack, record(parallelcluster=options))
    properties = synthesised(stack).cluster["Properties"]
    assert properties["RemovalPolicy"] == "destroy"
    assert json.loads(properties["SuppressValidators"]) == ["type:KeyPairValidator"]


def test_the_configuration_is_that_of_the_pure_renderer(
    stack: cdk.Stack, build: Build, synthesised: Synth
) -> None:
    fleet = build(stack, tags={"Grafana": "true"})
    text = json.dumps(stack.resolve(fleet.configuration))
    assert json.loads(text)["Tags"] == [{"Key": "Grafana", "Value": "true"}]
    assert synthesised(stack).configuration["Monitoring"] == fleet.configuration["Monitoring"]


def test_tags_of_the_cdk_reach_what_parallelcluster_makes(
    stack: cdk.Stack, build: Build, synthesised: Synth
) -> None:
    fleet = build(stack, tags={"Grafana": "true", "Team": "given"})
    cdk.Tags.of(stack).add("Team", "around")
    cdk.Tags.of(stack).add("CostCenter", "4711")
    cdk.Tags.of(fleet).add("Stage", "test")
    assert synthesised(stack).configuration["Tags"] == [
        {"Key": "CostCenter", "Value": "4711"},
        {"Key": "Grafana", "Value": "true"},
        {"Key": "Stage", "Value": "test"},
        {"Key": "Team", "Value": "given"},
    ]


def test_a_cluster_without_tags_has_none(plain: Any) -> None:
    assert "Tags" not in plain.configuration


def shape(value: Any) -> Any:
    """Return keys, numbers and lengths of a configuration without its texts."""
    match value:
        case dict():
            return {key: shape(each) for key, each in value.items()}
        case list():
            return [shape(each) for each in value]
        case str():
            return "text"
        case _:
            return value


def test_what_a_reviewer_reads_before_the_deployment_is_what_is_deployed(
    owned: tuple[cdk.Stack, ParallelClusterFleet], record: MakeRecord
) -> None:
    _, fleet = owned
    readable = render(
        record(),
        placeholders(record(), region="us-east-2", mount_dir="/fsx", file_system_efa=True),
        known_types=facts.INSTANCE_TYPES,
        tags={"Grafana": "true"},
    )
    assert shape(readable) == shape(fleet.configuration)
    scripts = [
        step["Script"].rpartition("/")[2]
        for action in readable["Scheduling"]["SlurmQueues"][0]["CustomActions"].values()
        for step in action["Sequence"]
    ]
    assert scripts == [
        "lustre_tuning.sh",
        "pc_optional.sh",
        "hold_kernel.sh",
        "lustre_tuning.sh",
        "restrict_imds.sh",
        "pc_release.sh",
    ]


def test_nodes_stand_in_the_given_subnet_and_groups(plain: Any) -> None:
    networking = {
        "SubnetIds": ["subnet-0123456789abcdef0"],
        "AdditionalSecurityGroups": ["sg-0123456789abcdef0"],
        "PlacementGroup": {"Enabled": False},
    }
    assert plain.configuration["Scheduling"]["SlurmQueues"][0]["Networking"] == networking


def test_the_cluster_comes_after_network_and_storage(
    owned: tuple[cdk.Stack, ParallelClusterFleet], synthesised: Synth
) -> None:
    stack, _ = owned
    result = synthesised(stack)
    waits_for = set(result.cluster["DependsOn"])
    for kind in (
        "AWS::EC2::NatGateway",
        "AWS::EC2::Route",
        "AWS::EC2::VPCEndpoint",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::FSx::FileSystem",
        "AWS::SSM::Parameter",
    ):
        assert set(result.of_type(kind)) <= waits_for, kind
    policies = {id for id in result.of_type("AWS::IAM::ManagedPolicy") if "NodesPolicies" in id}
    assert policies <= waits_for


def test_a_fleet_on_own_parts_names_them(
    owned: tuple[cdk.Stack, ParallelClusterFleet], synthesised: Synth
) -> None:
    stack, fleet = owned
    config = synthesised(stack).configuration
    (file_system,) = synthesised(stack).of_type("AWS::FSx::FileSystem")
    assert config["SharedStorage"][0]["FsxLustreSettings"] == {"FileSystemId": f"<{file_system}>"}
    assert len(config["HeadNode"]["Networking"]["AdditionalSecurityGroups"]) == 2
    assert len(fleet.security_groups) == 2


def test_what_the_provider_answers_are_attributes(stack: cdk.Stack, build: Build) -> None:
    fleet = build(stack)
    answers = {
        "HeadNodeInstanceId": fleet.head_node_instance_id,
        "HeadNodePrivateIp": fleet.head_node_private_ip,
        "StackArn": fleet.stack_arn,
    }
    for attribute, value in answers.items():
        assert stack.resolve(value)["Fn::GetAtt"][1] == attribute
    assert fleet.status_arn == fleet.stack_arn
    assert fleet.cluster_name == "kait"
    assert fleet.log_group_prefix == "/aws/parallelcluster/kait-"


def test_grants_reach_compute_nodes_by_their_policy(
    stack: cdk.Stack, build: Build, synthesised: Synth
) -> None:
    fleet = build(stack)
    bucket = s3.Bucket.from_bucket_name(stack, "Data", "data")
    bucket.grant_put(fleet.compute_grant_principal, "results/*")
    policies = synthesised(stack).of_type("AWS::IAM::ManagedPolicy")
    (compute,) = (p for id, p in policies.items() if "NodesPoliciesCompute" in id)
    assert "results/*" in json.dumps(compute["Properties"]["PolicyDocument"])


def test_reservations_made_with_the_app_are_named_by_queue(
    stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord
) -> None:
    made = TargetedReservation(create=ReservationRequest(nodes=4))
    queue = Queue(instance_type="p5en.48xlarge", capacity=made, max_nodes=4)
    build(
        stack,
        record(queues={"compute": queue}),
        reservation_ids={"compute": "cr-00000000000000001"},
    )
    target = synthesised(stack).configuration["Scheduling"]["SlurmQueues"][0]
    assert target["CapacityReservationTarget"] == {"CapacityReservationId": "cr-00000000000000001"}


def test_the_app_of_a_fleet_is_synthesised_the_same_twice(build: Build, synthesised: Synth) -> None:
    texts = set()
    for _ in range(2):
        stack = cdk.Stack(cdk.App(), "Foreign")
        build(stack)
        texts.add(json.dumps(synthesised(stack).template))
    assert len(texts) == 1
