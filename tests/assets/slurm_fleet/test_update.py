from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from moto.ec2.models import ec2_backends

from tests.assets.slurm_fleet.conftest import Account, Framework, document, request


@pytest.fixture
def fleet(account: Account) -> Account:
    """A fleet of four nodes that is ready."""
    account.set(4)
    account.publish(document(), "ready")
    return account


def update(account: Account, new: str, old: str | None = None) -> Framework:
    started = request(account, "Update", new, old or document())
    started.start()
    return started


@pytest.mark.parametrize("phase", ["ready", "waiting", "first-job", "gate", "gate-failed"])
def test_a_live_change_is_done_once_the_keeper_has_applied_it(fleet: Account, phase: str) -> None:
    new = document(version="2")
    change = update(fleet, new)
    assert change.poll() == {"IsComplete": False}
    fleet.publish(new, "applying")
    assert change.poll() == {"IsComplete": False}
    fleet.publish(new, phase, queues={"train": {"outdated": 4}})
    assert change.poll()["IsComplete"]
    assert fleet.group()["DesiredCapacity"] == 4


def test_a_change_that_slurm_refuses_fails_and_its_rollback_succeeds(fleet: Account) -> None:
    new = document(version="2")
    change = update(fleet, new)
    reason = "slurmctld does not take the new slurm.conf: Invalid node names in partition"
    fleet.publish(new, "failed", step="slurm.conf", reason=reason, remedy="the old one is live")
    assert change.failure() == (
        f"cluster kait is failed: slurm.conf: {reason}\nthe old one is live"
    )
    back = update(fleet, document(), new)
    fleet.publish(document(), "ready")
    assert back.poll()["IsComplete"]


def test_more_nodes_are_asked_for_and_awaited(fleet: Account) -> None:
    new = document(nodes=6)
    change = update(fleet, new)
    assert fleet.group()["DesiredCapacity"] == 6
    fleet.publish(new, "waiting")
    assert change.poll() == {"IsComplete": False}
    fleet.publish(new, "ready")
    assert change.poll()["IsComplete"]


@pytest.mark.parametrize("end", [timedelta(days=1), timedelta()], ids=["serves", "is left"])
def test_a_growth_that_a_slow_keeper_has_taken_back_is_asked_for_again(
    fleet: Account, end: timedelta
) -> None:
    new = document(nodes=6, end=(datetime.now(UTC) + timedelta(hours=1)).isoformat())
    change = update(fleet, new)
    # As it does with the document of before, in a round that began before the request.
    fleet.set(4)
    later = document(nodes=6, end=(datetime.now(UTC) + end).isoformat())
    change.request["ResourceProperties"]["FleetDocument"] = later
    fleet.publish(later, "waiting")
    assert change.poll() == {"IsComplete": False}
    assert fleet.group()["DesiredCapacity"] == (6 if end else 4)


def test_a_new_node_that_does_not_pass_the_gate_fails_a_growth(fleet: Account) -> None:
    new = document(nodes=6)
    change = update(fleet, new)
    fleet.publish(new, "gate")
    assert change.poll() == {"IsComplete": False}
    fleet.publish(new, "gate-failed", step="gate", reason="queue train: nccl_gate", remedy="mend")
    assert change.failure() == "cluster kait is gate-failed: gate: queue train: nccl_gate\nmend"


def test_a_new_queue_is_awaited(fleet: Account) -> None:
    fleet.make_group("kait-dev")
    new = document(asg="kait-dev", nodes=1)
    change = update(fleet, new)
    fleet.publish(new, "waiting")
    assert change.poll() == {"IsComplete": False}


def test_a_smaller_fleet_is_left_to_the_keeper(fleet: Account) -> None:
    new = document(nodes=2)
    change = update(fleet, new)
    assert fleet.group()["DesiredCapacity"] == 4
    fleet.publish(new, "ready", queues={"train": {"desired": 4, "draining": 2}})
    assert change.poll()["IsComplete"]
    assert fleet.group()["DesiredCapacity"] == 4


def test_the_rollback_of_a_growth_lowers_nothing_itself(fleet: Account) -> None:
    update(fleet, document(nodes=6))
    back = update(fleet, document(), document(nodes=6))
    assert fleet.group()["DesiredCapacity"] == 6
    fleet.publish(document(), "ready")
    assert back.poll()["IsComplete"]


def test_a_growth_is_failed_by_a_new_node_and_not_by_an_old_record(fleet: Account) -> None:
    old = fleet.instances()[0]
    fleet.record(old, at=datetime.now(UTC) - timedelta(hours=1))
    new = document(nodes=5)
    change = update(fleet, new)
    fleet.publish(new, "waiting")
    assert change.poll() == {"IsComplete": False}
    fleet.record(fleet.instances()[4], at=datetime.now(UTC) + timedelta(seconds=1))
    assert "failed at step mount_fsx" in change.failure()


def test_a_live_change_is_not_failed_by_a_node_or_by_missing_capacity(fleet: Account) -> None:
    new = document(version="2")
    change = update(fleet, new)
    fleet.record(fleet.instances()[0], at=datetime.now(UTC) + timedelta(seconds=1))
    fleet.lose(fleet.instances()[1])
    fleet.fail_launch("InsufficientInstanceCapacity")
    fleet.publish(new, "waiting")
    assert change.poll(minutes=20)["IsComplete"]


def test_the_head_that_a_rollback_brings_back_is_started(fleet: Account) -> None:
    fleet.ec2.stop_instances(InstanceIds=[fleet.head])
    update(fleet, document())
    assert fleet.head_state() == "running"


def test_a_new_head_that_gives_up_fails_a_live_change(fleet: Account) -> None:
    change = update(fleet, document(version="2"))
    at = datetime.now(UTC) + timedelta(seconds=1)
    fleet.record(fleet.head, at=at, role="head", node="head", step="state_volume")
    assert change.failure().startswith(f"head ({fleet.head}) failed at step state_volume")


def replaced_head(fleet: Account) -> tuple[str, str]:
    """Put another head node beside the one that there is; return both."""
    old = fleet.head
    backend = ec2_backends["123456789012"]["us-east-2"]
    backend.get_instance(old).launch_time = datetime(2026, 11, 1, tzinfo=UTC)
    image = fleet.ec2.describe_instances(InstanceIds=[old])["Reservations"][0]["Instances"][0]
    made = fleet.ec2.run_instances(
        ImageId=image["ImageId"],
        MinCount=1,
        MaxCount=1,
        SubnetId=fleet.subnet,
        InstanceType="m7i.2xlarge",
    )
    fleet.head = made["Instances"][0]["InstanceId"]
    return old, fleet.head


@pytest.mark.parametrize("new", [document(), document(version="2")], ids=["its disk", "its image"])
def test_a_head_that_is_replaced_is_not_believed_in_the_name_of_the_new_one(
    fleet: Account, new: str
) -> None:
    old, head = replaced_head(fleet)
    change = request(fleet, "Update", new, document())
    change.request["OldResourceProperties"]["HeadInstanceId"] = old
    change.start()
    # The old one applies the document, too, and CloudFormation ends it after this.
    fleet.publish(new, "ready", head=old)
    assert change.poll() == {"IsComplete": False}
    assert "has written no status of this change" in change.failure(minutes=46)
    fleet.publish(new, "ready", head=head)
    assert change.poll()["Data"]["HeadInstanceId"] == head


def test_a_new_head_that_gave_up_before_the_request_fails_it(fleet: Account) -> None:
    old, head = replaced_head(fleet)
    fleet.record(head, role="head", node="head", step="image", at=datetime.now(UTC))
    change = request(fleet, "Update", document())
    change.request["OldResourceProperties"]["HeadInstanceId"] = old
    change.start()
    change.request["Started"] = (datetime.now(UTC) + timedelta(minutes=4)).isoformat()
    fleet.publish(document(), "ready", head=old)
    assert change.failure().startswith(f"head ({head}) failed at step image: ")


@pytest.mark.parametrize("gone", [False, True], ids=["there", "gone already"])
def test_what_an_old_head_said_of_a_refused_change_fails_no_rollback(
    fleet: Account, gone: bool
) -> None:
    old, new = replaced_head(fleet)
    fleet.record(old, role="head", node="head", step="files", at=datetime.now(UTC))
    if gone:
        fleet.ec2.terminate_instances(InstanceIds=[new])
    fleet.head = old
    back = request(fleet, "Update", document())
    back.request["OldResourceProperties"]["HeadInstanceId"] = new
    back.start()
    back.request["Started"] = (datetime.now(UTC) + timedelta(minutes=4)).isoformat()
    fleet.publish(document(), "ready", head=old)
    assert back.poll()["IsComplete"]


def test_a_block_that_is_over_refuses_no_other_change(fleet: Account) -> None:
    fleet.reservations["cr-1"] = "expired"
    fleet.set(0)
    new = document(reservation_id="cr-1")
    change = update(fleet, new)
    fleet.publish(new, "ready")
    assert change.poll()["IsComplete"]
    assert fleet.group()["DesiredCapacity"] == 0


def test_another_cluster_name_is_refused(fleet: Account) -> None:
    change = request(fleet, "Update", document(), ClusterName="other")
    assert change.refusal() == (
        "ClusterName cannot change to other; this resource is trainshed-slurm-fleet/kait: "
        "keep the name, or make a new cluster beside this one"
    )


EMPTY = document(nodes="none")
DRAINED = {"train": {"busy": 0, "idle": 0, "draining": 4}}


@pytest.mark.parametrize(
    "counts",
    [{"busy": 2, "idle": 2}, {"busy": 2, "idle": 0, "draining": 4}],
    ids=["in service", "draining"],
)
def test_a_queue_with_jobs_is_not_removed_and_nothing_is_changed(
    fleet: Account, counts: dict[str, int]
) -> None:
    fleet.ec2.stop_instances(InstanceIds=[fleet.head])
    fleet.put("command", {})
    fleet.publish(document(), "ready", queues={"train": counts})
    refused = request(fleet, "Update", EMPTY, document())
    fleet.calls.clear()
    assert refused.refusal() == (
        "queue train is removed while 2 of its nodes have jobs: drain them "
        "(scontrol update nodename=train-… state=drain reason=removal), wait until they are "
        "idle, then deploy again"
    )
    assert set(fleet.calls) == {"GetParameter"}
    assert fleet.group()["DesiredCapacity"] == 4


def test_a_removed_queue_is_emptied_before_cloudformation_deletes_its_group(
    fleet: Account,
) -> None:
    change = update(fleet, EMPTY, document())
    assert len(fleet.instances()) == 4
    fleet.publish(EMPTY, "ready", queues={"train": {"busy": 0, "idle": 1, "draining": 3}})
    assert change.poll() == {"IsComplete": False}
    assert len(fleet.instances()) == 4
    fleet.publish(EMPTY, "ready", queues=DRAINED)
    assert change.poll() == {"IsComplete": False}
    assert fleet.group()["DesiredCapacity"] == 0
    fleet.publish(EMPTY, "ready", queues={})
    assert change.poll()["IsComplete"]
    assert fleet.instances() == []


def test_nodes_of_a_removed_queue_that_the_keeper_does_not_tell_of_are_waited_for(
    fleet: Account,
) -> None:
    change = update(fleet, EMPTY, document())
    fleet.publish(EMPTY, "ready", queues={})
    assert change.poll() == {"IsComplete": False}
    assert len(fleet.instances()) == 4
    left = ", ".join(f"{id} (InService)" for id in fleet.instances())
    assert change.failure(minutes=46) == (
        f"the queue is removed, and after 46 minutes these are still there: {left}; "
        "deploy again once they are gone"
    )


@pytest.mark.parametrize("by_keeper", [True, False], ids=["before", "after it was applied"])
def test_a_job_that_came_in_between_fails_the_removal(fleet: Account, by_keeper: bool) -> None:
    change = update(fleet, EMPTY, document())
    reason = "queue train is removed while 1 of its nodes have jobs"
    busy = {"train": {"busy": 1, "idle": 0, "draining": 4}}
    if by_keeper:
        fleet.publish(EMPTY, "failed", step="queues", reason=reason, queues=busy)
    else:
        fleet.publish(EMPTY, "ready", queues=busy)
    assert reason in change.failure()
    assert len(fleet.instances()) == 4


def test_the_rollback_of_a_removal_fills_the_queue_again(fleet: Account) -> None:
    change = update(fleet, EMPTY, document())
    fleet.publish(EMPTY, "ready", queues=DRAINED)
    change.poll()
    back = update(fleet, document(), EMPTY)
    assert fleet.group()["DesiredCapacity"] == 4
    fleet.publish(document(), "ready")
    assert back.poll()["IsComplete"]


def test_the_rollback_of_a_new_queue_empties_it(fleet: Account) -> None:
    back = update(fleet, EMPTY, document())
    fleet.publish(EMPTY, "waiting", queues=DRAINED)
    back.poll()
    assert back.poll()["IsComplete"]
    assert fleet.instances() == []


def test_a_removed_queue_whose_group_is_gone_or_empty_is_no_obstacle(
    account: Account,
) -> None:
    change = update(account, EMPTY, document())
    account.publish(EMPTY, "ready", queues={})
    assert change.poll()["IsComplete"]
    account.autoscaling.delete_auto_scaling_group(
        AutoScalingGroupName="kait-train", ForceDelete=True
    )
    assert change.poll()["IsComplete"]


def test_the_rollback_of_a_refused_removal_waits_for_no_node_and_heeds_no_record(
    fleet: Account,
) -> None:
    back = update(fleet, document(), EMPTY)
    fleet.record(fleet.instances()[0], at=datetime.now(UTC) + timedelta(seconds=1))
    fleet.publish(document(), "waiting")
    assert back.poll()["IsComplete"]
