from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

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


@pytest.mark.parametrize("phase", ["ready", "waiting", "first-job"])
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
