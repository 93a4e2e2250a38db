"""A bare fleet as a whole: what is kept, what is named, what waits for what."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Annotations, Match

from trainshed import facts
from trainshed.config import (
    AccountingDatabase,
    CapacityBlock,
    Fleet,
    HeadNode,
    Image,
    LoginPool,
    Monitoring,
    PackageCache,
    SlurmOptions,
    Ssh,
)
from trainshed.slurm import Account, Partition, Qos, SlurmPolicy, User

Record = Callable[..., Fleet]
Build = Callable[..., Any]

SECRET = "arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf"
DATABASE = AccountingDatabase(
    host="db.example.edu",
    user="slurm",
    password_secret_arn=SECRET,
    client_security_group_id="sg-11111111111111111",
)


def resource_of(made: Any) -> dict[str, Any]:
    (found,) = made.of_type("Custom::TrainshedSlurmFleet").values()
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("which", ["plain", "owned"])
def test_the_logical_id_of_what_holds_data_is_pinned(
    which: str, request: pytest.FixtureRequest
) -> None:
    made = request.getfixturevalue(which)
    assert list(made.of_type("AWS::EC2::Volume")) == ["FleetStateVolumeF5DE737C"]


def test_the_state_volume_outlives_head_node_and_stack(plain: Any) -> None:
    (volume,) = plain.of_type("AWS::EC2::Volume").values()
    assert (volume["DeletionPolicy"], volume["UpdateReplacePolicy"]) == (
        "RetainExceptOnCreate",
        "Retain",
    )
    properties = volume["Properties"]
    assert properties["Encrypted"] is True
    assert properties["Size"] == 100
    assert properties["AvailabilityZone"] == "us-east-2a"
    assert {"Key": "trainshed:cluster", "Value": "lab"} in properties["Tags"]


def test_a_zone_can_be_given_by_its_id(build: Build) -> None:
    properties = build(zone=facts.ZoneId("use2-az1")).properties("AWS::EC2::Volume")
    assert properties["AvailabilityZoneId"] == "use2-az1"
    assert "AvailabilityZone" not in properties


def test_the_munge_key_is_made_by_secrets_manager(plain: Any) -> None:
    assert plain.properties("AWS::SecretsManager::Secret")["GenerateSecretString"] == {
        "ExcludePunctuation": True,
        "PasswordLength": 128,
    }


def test_nodes_find_the_head_node_by_name(plain: Any) -> None:
    zone = plain.properties("AWS::Route53::HostedZone")
    assert zone["Name"] == "lab.trainshed.internal"
    assert zone["VPCs"] == [{"VPCId": "vpc-0123456789abcdef0", "VPCRegion": "us-east-2"}]
    record = plain.properties("AWS::Route53::RecordSet")
    (instance,) = plain.of_type("AWS::EC2::Instance")
    assert (record["Name"], record["Type"], record["TTL"]) == (
        "head.lab.trainshed.internal.",
        "A",
        "10",
    )
    assert record["ResourceRecords"] == [{"Fn::GetAtt": [instance, "PrivateIp"]}]


def test_the_head_node_is_private_and_has_no_ssh(plain: Any) -> None:
    head = plain.properties("AWS::EC2::Instance")
    assert head["SubnetId"] == "subnet-0123456789abcdef0"
    assert head["SecurityGroupIds"] == ["sg-0123456789abcdef0"]
    assert not {"KeyName", "NetworkInterfaces"} & head.keys()
    assert not plain.of_type("AWS::EC2::SecurityGroup")
    tags = {tag["Key"]: tag["Value"] for tag in head["Tags"]}
    assert tags == {"Name": "lab-head", "trainshed:cluster": "lab", "trainshed:role": "head"}


def test_ssh_is_open_to_the_range_that_was_asked_for(build: Build, record: Record) -> None:
    ssh = Ssh(key_name="ops", allowed_cidr="10.0.0.0/16")
    made = build(record(head_node=HeadNode(ssh=ssh)))
    ((id, group),) = made.of_type("AWS::EC2::SecurityGroup").items()
    (rule,) = group["Properties"]["SecurityGroupIngress"]
    assert (rule["CidrIp"], rule["FromPort"], rule["ToPort"]) == ("10.0.0.0/16", 22, 22)
    head = made.properties("AWS::EC2::Instance")
    assert head["KeyName"] == "ops"
    assert {"Fn::GetAtt": [id, "GroupId"]} in head["SecurityGroupIds"]


def test_another_head_node_type_replaces_nothing(build: Build, record: Record) -> None:
    """Its type is a property of the instance, which EC2 changes in place."""
    big = build(record(head_node=HeadNode(instance_type="m7i.8xlarge")))
    before, after = (m.properties("AWS::EC2::Instance") for m in (build(record()), big))
    assert {key for key in after if after[key] != before[key]} == {"InstanceType"}


def test_the_group_of_a_queue_is_filled_by_others(plain: Any) -> None:
    group = plain.properties("AWS::AutoScaling::AutoScalingGroup")
    (template,) = (i for i in plain.of_type("AWS::EC2::LaunchTemplate") if "TrainQueue" in i)
    assert group["LaunchTemplate"] == {
        "LaunchTemplateId": {"Ref": template},
        "Version": {"Fn::GetAtt": [template, "LatestVersionNumber"]},
    }
    assert group["MinSize"] == "0"
    assert group["MaxSize"] == "1000"
    assert "DesiredCapacity" not in group
    assert group["NewInstancesProtectedFromScaleIn"] is True
    assert group["VPCZoneIdentifier"] == ["subnet-0123456789abcdef0"]
    assert {tag["Key"]: tag["Value"] for tag in group["Tags"]} == {
        "Name": "lab-train",
        "trainshed:cluster": "lab",
        "trainshed:queue": "train",
        "trainshed:role": "compute",
    }


def test_login_nodes_are_a_group_of_their_own(build: Build, record: Record) -> None:
    made = build(record(login_nodes={"login": LoginPool(instance_type="m7i.xlarge", count=2)}))
    group = made.properties("AWS::AutoScaling::AutoScalingGroup", "LoginLogin")
    assert (group["MinSize"], group["MaxSize"]) == ("2", "2")
    assert "NewInstancesProtectedFromScaleIn" not in group
    data = made.template_data("LoginLogin")
    assert data["InstanceType"] == "m7i.xlarge"
    assert len(data["NetworkInterfaces"]) == 1
    assert "LoginLoginProfile" in data["IamInstanceProfile"]["Arn"]["Fn::GetAtt"][0]


@pytest.mark.parametrize("number", [1, 2], ids=["once", "again"])
def test_archives_are_in_the_assembly_as_the_document_names_them(number: int, build: Build) -> None:
    made = build()
    stage = cdk.Stage.of(made.stack)
    assert stage is not None
    document = made.document
    for kind, member in (("scripts", "boot.sh"), ("files", "slurm.conf")):
        key = document[kind]["key"]
        data = (Path(stage.synth().directory) / f"asset.{key}").read_bytes()
        assert hashlib.sha256(data).hexdigest() == document[kind]["sha256"]
        with zipfile.ZipFile(io.BytesIO(data)) as read:
            assert member in read.namelist()
            assert not [name for name in read.namelist() if "__pycache__" in name]


def test_the_document_is_the_parameter_and_reaches_the_resource(plain: Any) -> None:
    parameter = plain.properties("AWS::SSM::Parameter")
    assert parameter["Name"] == "/trainshed/lab/slurm/fleet"
    assert parameter["Value"] == resource_of(plain)["Properties"]["FleetDocument"]
    document = plain.document
    (volume,), (secret,) = (
        plain.of_type(kind) for kind in ("AWS::EC2::Volume", "AWS::SecretsManager::Secret")
    )
    assert document["head"]["state_volume_id"] == f"<{volume}>"
    assert document["munge_secret_arn"] == f"<{secret}>"
    (group,) = plain.of_type("AWS::AutoScaling::AutoScalingGroup")
    queue = document["queues"]["train"]
    assert queue["asg"] == f"<{group}>"
    assert queue["version"] == f"<{queue['launch_template'][1:-1]}.LatestVersionNumber>"
    assert queue["nodes"] == 4
    assert document["mounts"][0]["dns_name"].startswith("fs-0123456789abcdef0.fsx.")


def test_the_resource_has_the_properties_of_the_contract(plain: Any) -> None:
    properties = dict(resource_of(plain)["Properties"])
    (head,) = plain.of_type("AWS::EC2::Instance")
    assert properties.pop("ServiceToken")
    assert properties.pop("FleetDocument")
    assert properties == {
        "ServiceTimeout": "3600",
        "SchemaVersion": "1",
        "ClusterName": "lab",
        "FleetParameterName": "/trainshed/lab/slurm/fleet",
        "StatusParameterName": "/trainshed/lab/slurm/status",
        "NodesPath": "/trainshed/lab/slurm/nodes",
        "CommandParameterName": "/trainshed/lab/slurm/command",
        "HeadInstanceId": {"Ref": head},
        "BootTimeoutMinutes": "30",
    }


def test_the_resource_is_made_after_all_that_it_waits_for(owned: Any) -> None:
    waits = set(resource_of(owned)["DependsOn"])
    for kind in (
        "AWS::SSM::Parameter",
        "AWS::EC2::Instance",
        "AWS::AutoScaling::AutoScalingGroup",
        "AWS::Route53::RecordSet",
        "AWS::EC2::Volume",
        "AWS::FSx::FileSystem",
        "AWS::EC2::NatGateway",
    ):
        assert set(owned.of_type(kind)) <= waits, kind


def test_the_head_node_waits_for_the_way_out_and_not_for_the_document(owned: Any) -> None:
    (head,) = owned.of_type("AWS::EC2::Instance").values()
    waits = set(head["DependsOn"])
    assert set(owned.of_type("AWS::EC2::Route")) <= waits
    assert not set(owned.of_type("AWS::SSM::Parameter")) & waits


def test_rights_are_there_before_a_document_that_needs_them(plain: Any) -> None:
    (parameter,) = plain.of_type("AWS::SSM::Parameter").values()
    policies = {i for i in plain.of_type("AWS::IAM::ManagedPolicy") if "Roles" in i}
    assert len(policies) == 2
    assert policies <= set(parameter["DependsOn"])


def test_a_group_is_filled_when_its_block_starts(build: Build, record: Record) -> None:
    block = CapacityBlock(
        reservation_id="cr-0123456789abcdef0",
        start=datetime.fromisoformat("2027-03-01T12:30:00+01:00"),
        end=datetime(2027, 3, 15, 11, 30, tzinfo=UTC),
    )
    made = build(record(queue={"capacity": block}))
    schedule = made.properties("AWS::Scheduler::Schedule")
    assert schedule["ScheduleExpression"] == "at(2027-03-01T11:30:00)"
    assert schedule["ScheduleExpressionTimezone"] == "UTC"
    (group,) = made.of_type("AWS::AutoScaling::AutoScalingGroup")
    parts = schedule["Target"]["Input"]["Fn::Join"][1]
    text = "".join(part if isinstance(part, str) else part["Ref"] for part in parts)
    assert json.loads(text) == {
        "AutoScalingGroupName": group,
        "DesiredCapacity": 4,
        "HonorCooldown": False,
    }


def test_nothing_is_scheduled_without_a_start(plain: Any, build: Build, record: Record) -> None:
    block = CapacityBlock(
        reservation_id="cr-0123456789abcdef0", end=datetime(2027, 3, 15, tzinfo=UTC)
    )
    for made in (plain, build(record(queue={"capacity": block}))):
        assert not made.of_type("AWS::Scheduler::Schedule")


def test_the_newest_image_is_taken_only_when_asked_for(build: Build, record: Record) -> None:
    made = build(record(image=Image(latest=True)))
    ((name, parameter),) = (
        (name, parameter)
        for name, parameter in made.template["Parameters"].items()
        if "Bootstrap" not in name
    )
    assert parameter["Type"] == "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"
    assert "/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/" in parameter["Default"]
    assert made.properties("AWS::EC2::Instance")["ImageId"] == {"Ref": name}
    assert made.template_data("TrainQueue")["ImageId"] == {"Ref": name}
    warnings = Annotations.from_stack(made.stack).find_warning(
        "*", Match.string_like_regexp("image.latest takes the newest Deep Learning AMI")
    )
    assert len(warnings) == 1


def test_warnings_of_the_policy_are_shown(build: Build, record: Record) -> None:
    policy = SlurmPolicy(
        partitions={"every": Partition(max_time="UNLIMITED", default=True)},
        qos={"member_qos": Qos()},
        accounts={
            "lab": Account(description="a lab", qos=("member_qos",), default_qos="member_qos")
        },
        users={"kim": User(account="lab")},
    )
    made = build(record(policy=policy))
    found = Annotations.from_stack(made.stack).find_warning(
        "*", Match.string_like_regexp("fleet.policy.")
    )
    assert found


def test_a_database_lets_the_head_node_alone_in(build: Build, record: Record) -> None:
    made = build(record(accounting=DATABASE))
    assert "sg-11111111111111111" in made.properties("AWS::EC2::Instance")["SecurityGroupIds"]
    (interface, *_) = made.template_data("TrainQueue")["NetworkInterfaces"]
    assert interface["Groups"] == ["sg-0123456789abcdef0"]


def test_the_log_is_kept_as_long_as_the_record_says(build: Build, record: Record) -> None:
    made = build(record(monitoring=Monitoring(log_retention_days=30, detailed=True)))
    log = made.properties("AWS::Logs::LogGroup", "FleetStateLog")
    assert (log["LogGroupName"], log["RetentionInDays"]) == ("/trainshed/lab/slurm", 30)
    assert made.template_data("TrainQueue")["Monitoring"] == {"Enabled": True}
    assert made.properties("AWS::EC2::Instance")["Monitoring"] is True


def test_tags_reach_all_that_costs(owned: Any) -> None:
    for kind in (
        "AWS::EC2::Instance",
        "AWS::EC2::Volume",
        "AWS::AutoScaling::AutoScalingGroup",
        "AWS::SecretsManager::Secret",
    ):
        tags = owned.properties(kind)["Tags"]
        assert "true" in [tag["Value"] for tag in tags if tag["Key"] == "Grafana"], kind


def test_it_is_what_every_fleet_is(plain: Any) -> None:
    fleet = plain.fleet
    assert fleet.cluster_name == "lab"
    assert fleet.log_group_prefix == "/trainshed/lab/slurm"
    arn = plain.stack.resolve(fleet.status_arn)
    assert "parameter/trainshed/lab/slurm/status" in json.dumps(arn)
    (head,) = plain.of_type("AWS::EC2::Instance")
    assert plain.stack.resolve(fleet.head_node_instance_id) == {"Ref": head}
    (group,) = plain.of_type("AWS::AutoScaling::AutoScalingGroup")
    assert plain.stack.resolve(fleet.group_names) == {"train": {"Ref": group}}


def test_alarms_know_the_agents_and_the_login_nodes(build: Build, record: Record) -> None:
    made = build(record(login_nodes={"login": LoginPool()}))
    assert [(agent.role, agent.disks) for agent in made.fleet.agents] == [
        ("head", ("/", "/state")),
        ("compute", ("/",)),
        ("login", ("/",)),
    ]
    (group,) = (i for i in made.of_type("AWS::AutoScaling::AutoScalingGroup") if "Login" in i)
    assert made.stack.resolve(made.fleet.login_group_names) == {"login": {"Ref": group}}


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "token": (
        {},
        {"cluster_name": "${Token[TOKEN.1]}"},
        "cluster_name is known only at deploy time",
    ),
    "backend": (
        {"backend": "parallelcluster", "image": Image()},
        {},
        "fleet.backend is parallelcluster; write slurm, or make a ParallelClusterFleet",
    ),
    "mapping": ({}, {"fleet": {"queues": {}}}, "fleet is a dict; use trainshed.config.Fleet"),
    "type": (
        {"queue": {"instance_type": "p9.large"}},
        {},
        "queues.train.instance_type: 'p9.large' is not in the table of instance types; "
        "describe it under known_types",
    ),
    "no network": ({}, {"network": None}, "network is None, and none is made in its place"),
    "no storage": ({}, {"storage": None}, "storage is None, and none is made in its place"),
    "isolated": ({}, {"isolated": True}, "slurm.packages: is missing"),
    "create": (
        {"accounting": AccountingDatabase.model_validate({"create": {}})},
        {},
        "fleet.accounting.create asks for a database",
    ),
}


@pytest.mark.parametrize(("fields", "keywords", "message"), REFUSED.values(), ids=list(REFUSED))
def test_it_is_refused(
    fields: dict[str, Any],
    keywords: dict[str, Any],
    message: str,
    build: Build,
    record: Record,
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        build(**({"fleet": record(**fields)} | keywords))


def test_isolated_nodes_take_packages_from_the_cache(build: Build, record: Record) -> None:
    cache = PackageCache(bucket="ours", key="cache.tar", sha256="1" * 64)
    made = build(record(slurm=SlurmOptions(packages=cache)), isolated=True)
    assert made.document["packages"]["bucket"] == "ours"
