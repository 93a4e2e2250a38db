from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from assets.functions.slurm_fleet import handler
from tests.assets.slurm_fleet.conftest import ID, PATH, Account, document, generation, request

DOCUMENT = document()
NODE = {
    "node": "train-0a",
    "instance_id": "i-0a",
    "state": "joining",
    "step": "install_slurm",
    "reason": "apt holds the lock",
    "remedy": "wait for it",
    "tail": "E: could not get lock",
}


def test_a_fleet_is_filled_awaited_and_answers_its_ids(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    assert create.start()["PhysicalResourceId"] == ID
    assert account.group()["DesiredCapacity"] == 4
    assert create.poll() == {"IsComplete": False}
    for phase in ("applying", "waiting", "first-job", "gate"):
        account.publish(DOCUMENT, phase)
        assert create.poll() == {"IsComplete": False}
    account.publish(DOCUMENT, "ready", first_job={"id": 7, "state": "COMPLETED"})
    assert create.poll() == {
        "IsComplete": True,
        "Data": {
            "HeadInstanceId": account.head,
            "Generation": generation(DOCUMENT),
            "Nodes": "4",
            "FirstJobId": "7",
        },
    }


def test_a_status_of_another_generation_is_not_believed(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    for phase in ("ready", "failed"):
        account.publish(document(nodes=3), phase)
        assert create.poll() == {"IsComplete": False}


def test_the_same_event_twice_ends_the_same(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    first, before = create.start(), account.instances()
    again = create.start()
    assert first["PhysicalResourceId"] == again["PhysicalResourceId"]
    assert account.instances() == before
    assert account.calls.count("SetDesiredCapacity") == 1


def test_a_group_with_more_nodes_is_not_lowered(account: Account) -> None:
    account.set(6)
    request(account, "Create", DOCUMENT).start()
    assert account.group()["DesiredCapacity"] == 6


def test_a_command_that_an_earlier_deletion_left_is_taken_back(account: Account) -> None:
    account.put("command", {"drain": True})
    request(account, "Create", DOCUMENT).start()
    assert account.parameter("command") is None


@pytest.mark.parametrize("head", ["stopped", "stopped meanwhile"])
def test_a_stopped_head_is_started(account: Account, head: str) -> None:
    create = request(account, "Create", DOCUMENT)
    if head == "stopped":
        account.ec2.stop_instances(InstanceIds=[account.head])
    create.start()
    if head == "stopped meanwhile":
        account.ec2.stop_instances(InstanceIds=[account.head])
        account.publish(DOCUMENT, "ready")
        assert create.poll() == {"IsComplete": False}
    assert account.head_state() == "running"


def test_a_head_that_is_gone_fails_at_once(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    account.ec2.terminate_instances(InstanceIds=[account.head])
    assert create.failure() == (
        f"the head node {account.head} is terminated: replace it, or remake the stack"
    )


@pytest.mark.parametrize(
    ("queue", "state"),
    [
        ({"start": (datetime.now(UTC) + timedelta(days=3)).isoformat()}, "scheduled"),
        ({"start": "2099-01-01T11:30:00Z"}, "active"),
        ({}, "scheduled"),
        ({}, "payment-pending"),
        ({"start": "2020-01-01T11:30:00", "end": "2020-01-02T11:30:00+00:00"}, "active"),
    ],
    ids=["in three days", "by its start alone", "by its state", "not paid", "left already"],
)
def test_before_its_block_starts_and_once_it_drains_a_queue_stays_empty(
    account: Account, queue: dict[str, Any], state: str
) -> None:
    account.reservations["cr-1"] = state
    text = document(reservation_id="cr-1", **queue)
    create = request(account, "Create", text)
    create.start()
    assert account.group()["DesiredCapacity"] == 0
    account.publish(text, "ready")
    assert create.poll()["IsComplete"]


def test_an_active_block_is_filled(account: Account) -> None:
    account.reservations["cr-1"] = "active"
    times = {"start": "2020-01-01T11:30:00Z", "end": "2099-01-01T11:30:00Z"}
    request(account, "Create", document(reservation_id="cr-1", **times)).start()
    assert account.group()["DesiredCapacity"] == 4


@pytest.mark.parametrize("state", ["expired", "cancelled", "payment-failed", None])
def test_a_reservation_that_is_over_is_refused(account: Account, state: str | None) -> None:
    if state is not None:
        account.reservations["cr-1"] = state
    assert request(account, "Create", document(reservation_id="cr-1")).refusal() == (
        f"queue train: cr-1 is {state or 'not there'}; "
        "put the id of a reservation that is still to come, or active, in its place"
    )
    assert account.group()["DesiredCapacity"] == 0


def test_a_group_that_is_not_there_is_named(account: Account) -> None:
    assert request(account, "Create", document(asg="other")).refusal() == (
        "queue train: its group other is not there"
    )


def two_queues(**changed: Any) -> str:
    """Return a document with a queue before the others' one; keywords change the second."""
    made = json.loads(document(**changed))
    made["queues"]["first"] = json.loads(DOCUMENT)["queues"]["train"] | {"asg": "kait-first"}
    return json.dumps(made, sort_keys=True)


def test_nothing_is_raised_where_one_queue_is_refused(account: Account) -> None:
    account.make_group("kait-first")
    reason = request(account, "Create", two_queues(reservation_id="cr-1")).refusal()
    assert reason.startswith("queue train: cr-1 is not there")
    assert account.group("kait-first")["DesiredCapacity"] == 0


def test_a_creation_that_is_cut_off_between_two_groups_can_be_rolled_back(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.make_group("kait-first")
    client = handler._client("autoscaling")
    real = client.set_desired_capacity

    def refuse_second(**given: Any) -> Any:
        if given["AutoScalingGroupName"] == "kait-train":
            raise ClientError(
                {"Error": {"Code": "AccessDenied", "Message": "no"}},
                "SetDesiredCapacity",
            )
        return real(**given)

    with monkeypatch.context() as patched:
        patched.setattr(client, "set_desired_capacity", refuse_second)
        create = request(account, "Create", two_queues())
        # With its id: the framework asks for no deletion of a creation that fails without one.
        assert create.start()["PhysicalResourceId"] == ID
    assert account.group("kait-first")["DesiredCapacity"] == 4
    assert create.failure().startswith("queue train: ClientError: An error occurred (AccessDenied")
    gone = request(account, "Delete", two_queues())
    gone.start()
    gone.poll()
    assert gone.poll() == {"IsComplete": True}
    assert account.instances("kait-first") == []


@pytest.mark.parametrize("code", ["ScalingActivityInProgress", "ResourceContention"])
def test_a_group_that_is_in_the_middle_of_a_change_is_asked_again(
    account: Account, code: str
) -> None:
    account.refused["SetDesiredCapacity"] = [code, code]
    create = request(account, "Create", DOCUMENT)
    create.start()
    account.publish(DOCUMENT, "waiting")
    for capacity in (0, 4, 4):
        assert create.poll() == {"IsComplete": False}
        assert account.group()["DesiredCapacity"] == capacity
    account.publish(DOCUMENT, "ready")
    assert create.poll()["IsComplete"]


def test_a_node_that_gives_up_ends_the_wait_with_its_step_and_remedy(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    instance = account.instances()[2]
    account.record(instance)
    assert create.failure() == (
        f"train-{instance[2:]} ({instance}) failed at step mount_fsx: mount: fs-1 does not answer\n"
        "open port 988 to the file system\nmount.lustre: timed out"
    )


def test_a_head_that_gives_up_is_told_before_the_nodes_that_wait_for_it(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    account.record(account.instances()[0])
    account.record(account.head, role="head", node=None, step="state_volume")
    assert create.failure().startswith(f"head ({account.head}) failed at step state_volume: ")


@pytest.mark.parametrize("alive", [True, False], ids=["runs", "gone"])
def test_a_login_node_that_gives_up_is_told(account: Account, alive: bool) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    account.make_group("kait-login")
    account.set(1, "kait-login")
    (login,) = account.instances("kait-login")
    if not alive:
        account.ec2.terminate_instances(InstanceIds=[login])
    account.record(login, role="login", node=f"login-{login[2:]}", step="packages")
    account.publish(DOCUMENT, "ready")
    if alive:
        assert create.failure().startswith(f"login-{login[2:]} ({login}) failed at step packages: ")
    else:
        assert create.poll()["IsComplete"]


def test_the_record_of_an_instance_that_is_no_more_is_not_looked_at(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    account.record("i-00000000000000000")
    account.put("nodes/i-1", "no JSON")
    account.publish(DOCUMENT, "ready")
    assert create.poll()["IsComplete"]


def test_a_record_that_is_no_json_is_told_as_it_is(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    instance = account.instances()[0]
    account.put(f"nodes/{instance}", "disk full")
    assert create.failure() == f"node ({instance}) failed at step None: disk full"


def test_a_failed_fleet_is_told_with_step_and_remedy(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    more = {"step": "first job", "reason": "job 1 ended FAILED", "remedy": "read its output"}
    account.publish(DOCUMENT, "failed", **more, nodes=[NODE])
    assert create.failure() == (
        "cluster kait is failed: first job: job 1 ended FAILED\nread its output\n"
        "train-0a (i-0a) joining at step install_slurm: apt holds the lock\n"
        "wait for it\nE: could not get lock"
    )


def short_of_one(account: Account) -> Any:
    create = request(account, "Create", DOCUMENT)
    create.start()
    account.lose(account.instances()[0])
    account.publish(DOCUMENT, "waiting")
    return create


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do "
            "not have sufficient p5en.48xlarge capacity in the Availability Zone you requested",
            "buy a Capacity Block or a reservation, lower nodes, or use another zone",
        ),
        (
            "Could not launch On-Demand Instances. UnfulfillableCapacity - Unable to fulfill "
            "capacity due to your request configuration.",
            "instance type, zone and reservation do not fit together: compare them with the "
            "reservation's",
        ),
        (
            "ReservationCapacityExceeded - Requested reservation does not have sufficient capacity",
            "the reservation has fewer instances than the queue has nodes: lower nodes, or raise "
            "the reservation",
        ),
        (
            "The Capacity Block cr-1 is not active yet. Launching EC2 instance failed.",
            "set start of the queue's capacity to when the block begins; it fills itself then",
        ),
    ],
    ids=["no capacity", "unfulfillable", "reservation full", "block not active"],
)
def test_partial_capacity_is_waited_for_ten_minutes_and_told(
    account: Account, message: str, advice: str
) -> None:
    create = short_of_one(account)
    account.fail_launch(message)
    assert create.poll() == {"IsComplete": False}
    assert create.failure(minutes=11) == (
        f"queue train has 3 of 4 instances of p5en.48xlarge: {message}\n{advice}"
    )


def test_a_launch_that_fails_for_another_reason_is_told_at_once(account: Account) -> None:
    create = short_of_one(account)
    account.fail_launch("VcpuLimitExceeded - You have requested more vCPU capacity than your limit")
    assert create.failure() == (
        "queue train has 3 of 4 instances of p5en.48xlarge: VcpuLimitExceeded - You have requested "
        "more vCPU capacity than your limit\n"
        "mend that; the group's activity history has more: kait-train"
    )


def test_a_launch_that_failed_before_the_request_is_of_no_matter(account: Account) -> None:
    create = short_of_one(account)
    account.fail_launch("VcpuLimitExceeded")
    account.activities[0]["StartTime"] = datetime.now(UTC) - timedelta(minutes=30)
    assert create.poll(minutes=11) == {"IsComplete": False}


def test_a_timeout_tells_the_slowest_node(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    account.publish(DOCUMENT, "waiting", step="nodes", reason="3 of 4 joined", nodes=[NODE])
    assert create.poll(minutes=44) == {"IsComplete": False}
    assert create.failure(minutes=46) == (
        "not ready after 46 minutes; queue train has 4 of 4 instances\n"
        "cluster kait is waiting: nodes: 3 of 4 joined\n"
        "train-0a (i-0a) joining at step install_slurm: apt holds the lock\n"
        "wait for it\nE: could not get lock"
    )


def test_a_gate_that_fails_is_told_with_node_check_evidence_and_remedy(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    words = {
        "step": "gate",
        "reason": "queue train: nccl_gate over train-0a: 212.5 GB/s at 16 GiB, least 258.9",
        "remedy": "Mend it, then on the head node: sudo trainshed-gate",
    }
    account.publish(DOCUMENT, "gate-failed", **words)
    assert create.failure() == (
        "cluster kait is gate-failed: gate: queue train: nccl_gate over train-0a: 212.5 GB/s at "
        "16 GiB, least 258.9\nMend it, then on the head node: sudo trainshed-gate"
    )


def test_a_timeout_leaves_room_for_the_gate(account: Account) -> None:
    text = json.dumps({**json.loads(DOCUMENT), "gate": {"minutes": 10, "strict": False}})
    create = request(account, "Create", text, BootTimeoutMinutes="20")
    create.start()
    account.publish(text, "gate", step="gate", reason="queue train: 1 of 4 nodes are held")
    assert create.poll(minutes=44) == {"IsComplete": False}
    assert create.failure(minutes=46).startswith("not ready after 46 minutes; queue train has 4")


def test_a_timeout_without_a_status_says_where_to_look(account: Account) -> None:
    create = request(account, "Create", DOCUMENT, BootTimeoutMinutes="99")
    create.start()
    assert create.poll(minutes=55) == {"IsComplete": False}
    assert create.failure(minutes=57) == (
        "not ready after 57 minutes; queue train has 4 of 4 instances\n"
        "the keeper on the head node has written no status of this change; "
        f"read /var/log/trainshed there: aws ssm start-session --target {account.head}"
    )


def test_a_long_reason_is_cut_to_what_a_response_holds(account: Account) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    account.record(account.instances()[0], tail='ü\n"' * 700)
    assert create.failure().endswith(
        "[cut; the whole text is in log stream 2026/11/29/[$LATEST]abc]"
    )


@pytest.mark.parametrize("times", [3, 30], ids=["retried at once", "asked again later"])
def test_throttled_calls_end_no_deployment(account: Account, times: int) -> None:
    create = request(account, "Create", DOCUMENT)
    create.start()
    account.publish(DOCUMENT, "ready")
    account.throttled["GetParameter"] = times
    answers = [create.poll()["IsComplete"] for _ in range(5)]
    assert answers == ([True] * 5 if times == 3 else [False, False, False, True, True])


def test_a_call_that_is_refused_is_told(account: Account) -> None:
    account.throttled["DeleteParameter"] = 30
    reason = request(account, "Create", DOCUMENT).refusal()
    assert reason.startswith("ThrottlingException: An error occurred (ThrottlingException) when ")


def test_wrong_properties_are_told_all_at_once(account: Account) -> None:
    create = request(
        account,
        "Create",
        "[]",
        SchemaVersion="2",
        BootTimeoutMinutes="0",
        Colour="red",
    )
    del create._original["ResourceProperties"]["NodesPath"]
    assert create.refusal() == (
        "the properties of this resource are wrong: NodesPath is missing; Colour is not a "
        "property; SchemaVersion is '2'; use the string '1'; BootTimeoutMinutes is '0'; use the "
        "text of 1 to 99; FleetDocument is no fleet document: "
        "AttributeError(\"'list' object has no attribute 'get'\")"
    )
    assert account.calls == []


def test_what_the_node_records_are_named_by_is_the_path_of_the_properties(
    account: Account,
) -> None:
    create = request(account, "Create", DOCUMENT, NodesPath=f"{PATH}/nodes")
    create.start()
    account.record(account.instances()[0])
    assert "failed at step mount_fsx" in create.failure()
