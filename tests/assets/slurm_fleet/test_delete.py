from __future__ import annotations

import pytest
from moto.autoscaling.models import autoscaling_backends

from tests.assets.slurm_fleet.conftest import PATH, Account, Framework, document, request


@pytest.fixture
def fleet(account: Account) -> Account:
    """A fleet of four nodes that is ready, beside another's group."""
    account.set(4)
    account.make_group("foreign")
    account.set(2, "foreign")
    account.publish(document(), "ready")
    return account


def delete(account: Account, **changed: str) -> Framework:
    started = request(account, "Delete", document(), **changed)
    started.start()
    return started


def assert_emptied(account: Account) -> None:
    assert account.group()["DesiredCapacity"] == 0
    assert account.instances() == []
    assert len(account.instances("foreign")) == 2
    for name in ("status", "command", "nodes/i-1"):
        assert account.parameter(name) is None


def test_jobs_are_given_time_then_the_group_is_emptied_and_nothing_is_left(fleet: Account) -> None:
    for number in range(12):
        fleet.put(f"nodes/i-{number}", {"instance_id": f"i-{number}"})
    gone = delete(fleet)
    assert fleet.parameter("command") == {"schema": 1, "drain": True, "grace_seconds": 600}
    assert gone.poll(minutes=11) == {"IsComplete": False}
    assert len(fleet.instances()) == 4
    fleet.publish(document(), "drained")
    assert gone.poll() == {"IsComplete": False}
    assert gone.poll() == {"IsComplete": True}
    assert_emptied(fleet)
    assert fleet.ssm.get_parameters_by_path(Path=PATH, Recursive=True)["Parameters"] == []


def test_a_keeper_that_does_not_answer_is_waited_for_twelve_minutes(fleet: Account) -> None:
    gone = delete(fleet)
    assert gone.poll(minutes=13) == {"IsComplete": False}
    assert gone.poll(minutes=13) == {"IsComplete": True}
    assert_emptied(fleet)


def test_without_a_running_head_nothing_is_waited_for(fleet: Account) -> None:
    gone = delete(fleet)
    fleet.ec2.terminate_instances(InstanceIds=[fleet.head])
    gone.poll()
    assert gone.poll() == {"IsComplete": True}
    assert_emptied(fleet)


def test_the_rollback_of_a_create_that_never_booted_waits_for_no_jobs(account: Account) -> None:
    request(account, "Create", document()).start()
    account.make_group("foreign")
    account.set(2, "foreign")
    gone = delete(account)
    assert account.parameter("command") is None
    gone.poll()
    assert gone.poll() == {"IsComplete": True}
    assert_emptied(account)


def test_the_same_event_twice_does_not_renew_the_time_of_jobs(fleet: Account) -> None:
    gone = delete(fleet)
    first = fleet.ssm.get_parameter(Name=f"{PATH}/command")["Parameter"]
    gone.start()
    assert fleet.ssm.get_parameter(Name=f"{PATH}/command")["Parameter"] == first


def test_a_deletion_that_has_ended_can_be_asked_for_again(fleet: Account) -> None:
    for _ in range(2):
        gone = delete(fleet)
        fleet.publish(document(), "drained")
        gone.poll()
        assert gone.poll() == {"IsComplete": True}
    assert_emptied(fleet)


def test_groups_that_are_gone_already_are_no_obstacle(fleet: Account) -> None:
    fleet.autoscaling.delete_auto_scaling_group(AutoScalingGroupName="kait-train", ForceDelete=True)
    gone = delete(fleet)
    fleet.publish(document(), "drained")
    assert gone.poll() == {"IsComplete": True}


@pytest.mark.parametrize(
    "physical_id",
    [
        "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED",
        "AWSCDK::CustomResourceProviderFramework::MISSING_PHYSICAL_ID",
        "11111111-request",
        "trainshed-slurm-fleet/other",
    ],
)
def test_what_is_not_ours_is_not_touched(fleet: Account, physical_id: str) -> None:
    gone = delete(fleet, physical_id=physical_id)
    assert gone.poll() == {"IsComplete": True}
    assert len(fleet.instances()) == 4
    assert fleet.parameter("command") is None


def test_what_was_refused_for_its_properties_can_be_deleted(fleet: Account) -> None:
    gone = delete(fleet, BootTimeoutMinutes="soon")
    assert gone.poll() == {"IsComplete": True}
    assert len(fleet.instances()) == 4


def test_instances_that_do_not_end_are_named(fleet: Account) -> None:
    gone, instances = delete(fleet), fleet.instances()
    assert gone.failure(minutes=57) == (
        f"still there after 56 minutes: {', '.join(f'{i} (InService)' for i in instances)}; "
        "delete again once they are gone"
    )


def test_a_starting_instance_is_unprotected_once_it_is_in_service(fleet: Account) -> None:
    fleet.ssm.delete_parameter(Name=f"{PATH}/status")
    backend = autoscaling_backends["123456789012"]["us-east-2"]
    starting = backend.autoscaling_groups["kait-train"].instance_states[0]
    starting.lifecycle_state = "Pending"
    gone = delete(fleet)
    assert gone.poll() == {"IsComplete": False}
    assert fleet.instances() == [starting.instance.id]
    starting.lifecycle_state = "InService"
    assert gone.poll() == {"IsComplete": False}
    assert gone.poll() == {"IsComplete": True}
    assert_emptied(fleet)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        # Auto Scaling's answer to an instance that has just left the service.
        ("SetInstanceProtection", "ValidationError"),
        ("SetInstanceProtection", "ResourceContention"),
        ("SetDesiredCapacity", "ScalingActivityInProgress"),
    ],
)
def test_a_group_that_changes_meanwhile_is_asked_again(
    fleet: Account, call: str, code: str
) -> None:
    gone = delete(fleet)
    fleet.publish(document(), "drained")
    fleet.refused[call] = [code]
    assert any(gone.poll()["IsComplete"] for _ in range(4))
    assert_emptied(fleet)


def test_a_right_that_is_missing_is_told_at_once(fleet: Account) -> None:
    gone = delete(fleet)
    fleet.publish(document(), "drained")
    fleet.refused["SetInstanceProtection"] = ["AccessDenied"]
    assert "AccessDenied" in gone.failure()
