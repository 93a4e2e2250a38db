from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.stub import Stubber
from moto import mock_aws

from assets.node.keeper.aws import Aws, AwsError
from assets.node.keeper.view import Instance

PATH = "/trainshed/kait/slurm"


class Account:
    """One cluster's instances and group in moto."""

    def __init__(self) -> None:
        self.aws = Aws("kait", "us-east-2")
        self.ec2: Any = self.aws._ec2
        self.autoscaling: Any = self.aws._autoscaling
        self.ssm: Any = self.aws._ssm
        self.image = self.ec2.register_image(Name="base")["ImageId"]
        self.subnet = self.ec2.describe_subnets()["Subnets"][0]["SubnetId"]
        data = {"ImageId": self.image, "InstanceType": "p5en.48xlarge"}
        self.ec2.create_launch_template(LaunchTemplateName="train", LaunchTemplateData=data)
        tags = {
            "trainshed:cluster": "kait",
            "trainshed:role": "compute",
            "trainshed:queue": "train",
        }
        self.autoscaling.create_auto_scaling_group(
            AutoScalingGroupName="kait-train",
            LaunchTemplate={"LaunchTemplateName": "train", "Version": "1"},
            MinSize=0,
            MaxSize=8,
            DesiredCapacity=3,
            VPCZoneIdentifier=self.subnet,
            NewInstancesProtectedFromScaleIn=True,
            Tags=[{"Key": k, "Value": v, "PropagateAtLaunch": True} for k, v in tags.items()],
        )

    def head(self, cluster: str = "kait") -> str:
        tags = [
            {"Key": "trainshed:cluster", "Value": cluster},
            {"Key": "trainshed:role", "Value": "head"},
        ]
        made = self.ec2.run_instances(
            ImageId=self.image,
            MinCount=1,
            MaxCount=1,
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
        )
        return str(made["Instances"][0]["InstanceId"])


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "testing")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    # moto would read thousands of images for each test.
    monkeypatch.setattr("moto.ec2.models.amis.AmiBackend._load_amis", lambda self: None)
    with mock_aws():
        yield Account()


def test_instances_are_those_of_the_cluster_with_role_and_queue(account: Account) -> None:
    head = account.head()
    account.head("other")
    found = account.aws.instances()
    assert found is not None and len(found) == 4
    assert found[head].role == "head"
    members = [each for each in found.values() if each.role == "compute"]
    assert {(each.queue, each.state) for each in members} == {("train", "running")}
    assert isinstance(found[head], Instance) and found[head].launched.tzinfo is not None


def test_an_answer_without_the_head_that_asks_is_no_information(account: Account) -> None:
    assert account.aws.instances() is None
    head = account.head()
    assert account.aws.instances() is not None
    account.ec2.stop_instances(InstanceIds=[head])
    assert account.aws.instances() is None


def test_groups_tell_their_members_and_versions(account: Account) -> None:
    group = account.aws.groups(["kait-train", "gone"])["kait-train"]
    assert (group.desired, group.version, len(group.members)) == (3, "1", 3)
    assert {(each.lifecycle, each.version) for each in group.members.values()} == {
        ("InService", "1")
    }
    assert account.aws.groups([]) == {}


def test_an_instance_is_ended_replaced_or_given_up(account: Account) -> None:
    first, second, third = sorted(account.aws.groups(["kait-train"])["kait-train"].members)
    account.aws.fence(first)
    state = account.ec2.describe_instances(InstanceIds=[first])["Reservations"][0]["Instances"]
    assert state[0]["State"]["Name"] == "terminated"
    account.aws.terminate(second, decrement=True)
    account.aws.terminate(third, decrement=False)
    group = account.aws.groups(["kait-train"])["kait-train"]
    assert group.desired == 2 and not {second, third} & set(group.members)
    account.aws.set_desired("kait-train", 1)
    assert account.aws.groups(["kait-train"])["kait-train"].desired == 1


def test_parameters_are_read_and_the_status_is_written(account: Account) -> None:
    assert account.aws.parameters() == {}
    for name in ("fleet", "command"):
        account.ssm.put_parameter(Name=f"{PATH}/{name}", Type="String", Value=name)
    account.aws.put_status("{}")
    account.aws.put_status('{"schema": 1}')
    found = account.aws.parameters()
    assert {name: value for name, (value, _) in found.items()} == {
        "fleet": "fleet",
        "command": "command",
        "status": '{"schema": 1}',
    }
    assert datetime.now(UTC) - found["command"][1] < timedelta(minutes=1)


def test_records_of_failed_boots_are_read_and_forgotten(account: Account) -> None:
    for number in range(12):
        account.ssm.put_parameter(
            Name=f"{PATH}/nodes/i-{number}", Type="String", Value=json.dumps({"step": "apt"})
        )
    account.ssm.put_parameter(Name=f"{PATH}/nodes/i-x", Type="String", Value="no JSON")
    found = account.aws.failures()
    assert len(found) == 13
    assert found["i-3"] == {"step": "apt"} and found["i-x"] == {"reason": "no JSON"}
    account.aws.forget_failures(sorted(found))
    assert account.aws.failures() == {}


def test_only_what_ec2_says_is_not_there_has_ended(account: Account) -> None:
    member = next(iter(account.aws.groups(["kait-train"])["kait-train"].members))
    assert not account.aws.ended(member)
    assert account.aws.ended("i-0123456789abcdef0")


@pytest.mark.parametrize(
    ("activities", "told"),
    [
        ([], ""),
        ([("Failed", 1, "InsufficientInstanceCapacity")], "InsufficientInstanceCapacity"),
        ([("InProgress", 0, ""), ("Failed", 1, "x")], "x"),
        ([("Successful", 0, ""), ("Failed", 1, "x")], ""),
        ([("Failed", 40, "x")], ""),
    ],
    ids=["none", "failed", "being tried again", "succeeded since", "long ago"],
)
def test_why_the_last_launch_failed(
    account: Account, activities: list[tuple[str, int, str]], told: str
) -> None:
    now = datetime.now(UTC)
    found = [
        {"StatusCode": code, "StartTime": now - timedelta(minutes=age), "StatusMessage": text}
        for code, age, text in activities
    ]
    account.autoscaling.meta.events.register_first(
        "before-call.auto-scaling.DescribeScalingActivities",
        lambda **_: (SimpleNamespace(status_code=200), {"Activities": found}),
    )
    assert account.aws.failed_launch("kait-train", now) == told


def test_a_call_that_fails_is_one_kind_of_error(account: Account) -> None:
    with pytest.raises(AwsError, match=r"InvalidInstanceID\.NotFound"):
        account.aws.fence("i-0123456789abcdef0")


def test_an_endpoint_is_honoured_with_any_version_of_boto3(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert Aws("kait", "us-east-2")._ssm.meta.endpoint_url == "http://127.0.0.1:9"


def test_the_end_of_a_block_is_ec2s_and_a_reservation_without_one_has_none(
    account: Account,
) -> None:
    ends = datetime(2026, 12, 3, 11, 30, tzinfo=UTC)
    with Stubber(account.ec2) as stub:
        stub.add_response(
            "describe_capacity_reservations",
            {
                "CapacityReservations": [
                    {"CapacityReservationId": "cr-1", "EndDate": ends},
                    {"CapacityReservationId": "cr-2", "EndDateType": "unlimited"},
                ]
            },
            {"CapacityReservationIds": ["cr-1", "cr-2"]},
        )
        assert account.aws.block_ends({"cr-2", "cr-1"}) == {"cr-1": ends}
    assert account.aws.block_ends(()) == {}


def test_a_block_that_ec2_has_forgotten_hides_no_other(account: Account) -> None:
    ends = datetime(2026, 12, 3, 11, 30, tzinfo=UTC)
    ask = "describe_capacity_reservations"
    gone = "InvalidCapacityReservationId.NotFound"
    with Stubber(account.ec2) as stub:
        for ids in (["cr-1", "cr-2"], ["cr-1"]):
            stub.add_client_error(ask, gone, expected_params={"CapacityReservationIds": ids})
        there = {"CapacityReservations": [{"CapacityReservationId": "cr-2", "EndDate": ends}]}
        stub.add_response(ask, there, {"CapacityReservationIds": ["cr-2"]})
        assert account.aws.block_ends({"cr-2", "cr-1"}) == {"cr-2": ends}
        stub.assert_no_pending_responses()


def test_a_warning_is_read_from_the_blocks_parameter(account: Account) -> None:
    for block, value in (("cr-1", "2026-12-03T10:50:00Z"), ("cr-2", "none")):
        name = f"/trainshed/kait/blocks/{block}"
        account.ssm.put_parameter(Name=name, Type="String", Value=value)
    warned = account.aws.block_warnings(["cr-1", "cr-2", *(f"cr-{n}" for n in range(3, 14))])
    assert warned == {"cr-1": datetime(2026, 12, 3, 10, 50, tzinfo=UTC)}
