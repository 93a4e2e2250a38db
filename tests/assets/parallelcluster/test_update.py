from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from botocore.stub import Stubber

from assets.functions.parallelcluster import handler
from tests.assets.parallelcluster.conftest import CONFIGURATION, OUTER, OWNER, Account, request
from tests.assets.parallelcluster.fake_pcluster import ApiError, FakePcluster, change, finding

CHANGED = {**CONFIGURATION, "Image": {"Os": "ubuntu2204", "CustomAmi": "ami-0123456789abcdef0"}}
EXPIRED = ApiError(
    "Invalid cluster configuration.",
    configuration_validation_errors=[
        finding("ERROR", "CapacityReservationValidator", "The reservation has ended.")
    ],
)


def test_an_update_is_started_and_awaited(
    account: Account, pcluster: FakePcluster, arn: str
) -> None:
    update = request("Update", arn, configuration=CHANGED, ValidationFailureLevel="WARNING")
    assert update.start() == {"PhysicalResourceId": arn, "Outcome": "updated"}
    own = [
        {"Key": "trainshed:owner", "Value": OWNER},
        {"Key": "trainshed:owner-stack", "Value": OUTER},
    ]
    assert pcluster.calls[1:] == [
        (
            "update",
            {
                "cluster_name": "llm",
                "cluster_configuration": {**CHANGED, "Tags": [*CONFIGURATION["Tags"], *own]},
                "validation_failure_level": "WARNING",
            },
        )
    ]
    for status in ("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"):
        account.set(arn, status)
        assert update.poll() == {"IsComplete": False}
    account.set(arn, "UPDATE_COMPLETE")
    answer = update.poll()
    assert answer["IsComplete"]
    assert answer["Data"]["StackArn"] == arn


@pytest.mark.parametrize("status", sorted(handler.SERVING))
def test_what_the_cluster_has_already_is_not_asked_of_pcluster(
    account: Account, pcluster: FakePcluster, arn: str, status: str
) -> None:
    account.set(arn, status)
    pcluster.refusal = EXPIRED
    update = request("Update", arn, RemovalPolicy="destroy")
    assert update.start() == {"PhysicalResourceId": arn, "Outcome": "unchanged"}
    assert update.poll()["IsComplete"]


def test_pcluster_finding_no_changes_is_success(
    account: Account, pcluster: FakePcluster, arn: str
) -> None:
    pcluster.saved.clear()
    pcluster.refusal = ApiError("Bad Request: No changes found in your cluster configuration.")
    account.set(arn, "UPDATE_ROLLBACK_COMPLETE")
    update = request("Update", arn)
    assert update.start()["Outcome"] == "unchanged"
    assert update.poll()["IsComplete"]


def test_a_rolled_back_update_fails_and_its_rollback_succeeds(
    account: Account, pcluster: FakePcluster, arn: str
) -> None:
    before = pcluster.saved["llm"]
    update = request("Update", arn, configuration=CHANGED)
    update.start()
    account.fail(arn, "HeadNode", "UPDATE_FAILED", "cfn-hup did not answer")
    account.fail(arn, "Other", "UPDATE_FAILED", "Resource update cancelled")
    account.set(arn, "UPDATE_ROLLBACK_IN_PROGRESS", "The following resources failed to update")
    assert update.poll() == {"IsComplete": False}
    account.set(arn, "UPDATE_ROLLBACK_COMPLETE")
    pcluster.saved["llm"] = before
    with pytest.raises(handler.ClusterError) as failure:
        update.poll()
    assert str(failure.value).splitlines() == [
        "stack llm is UPDATE_ROLLBACK_COMPLETE",
        "the update was rolled back; the cluster is as it was before",
        "- HeadNode (AWS::EC2::Instance) UPDATE_FAILED: cfn-hup did not answer",
    ]

    pcluster.refusal = EXPIRED
    rollback = request("Update", arn, old={"configuration": CHANGED})
    assert rollback.start() == {"PhysicalResourceId": arn, "Outcome": "unchanged"}
    assert rollback.poll()["IsComplete"]


def test_failures_of_an_earlier_operation_are_left_out(account: Account, arn: str) -> None:
    account.fail(arn, "Old", "CREATE_FAILED", "long ago")
    update = request("Update", arn, configuration=CHANGED)
    update.start()
    account.fail(arn, "New", "UPDATE_FAILED", "just now")
    account.set(arn, "UPDATE_ROLLBACK_COMPLETE")
    with pytest.raises(handler.ClusterError) as failure:
        update.poll()
    assert "just now" in str(failure.value)
    assert "long ago" not in str(failure.value)


def test_a_rollback_that_fails_inside_tells_the_repair(account: Account, arn: str) -> None:
    update = request("Update", arn, configuration=CHANGED)
    update.start()
    account.set(arn, "UPDATE_ROLLBACK_FAILED", "a resource is stuck")
    with pytest.raises(handler.ClusterError) as failure:
        update.poll()
    assert str(failure.value).splitlines() == [
        "stack llm is UPDATE_ROLLBACK_FAILED",
        "repair the stack first: aws cloudformation continue-update-rollback --stack-name llm",
        "a resource is stuck",
    ]


@pytest.mark.parametrize("outcome", ["updated", "unchanged"])
@pytest.mark.parametrize("status", ["UPDATE_FAILED", "ROLLBACK_COMPLETE", "DELETE_COMPLETE"])
def test_every_bad_end_of_an_update_fails_it(
    account: Account, arn: str, outcome: str, status: str
) -> None:
    configuration = CHANGED if outcome == "updated" else CONFIGURATION
    update = request("Update", arn, configuration=configuration)
    assert update.start()["Outcome"] == outcome
    account.set(arn, status)
    with pytest.raises(handler.ClusterError, match=f"^stack llm is {status}$"):
        update.poll()


def test_an_update_that_outlasts_the_hour_is_told(account: Account, arn: str) -> None:
    update = request("Update", arn, configuration=CHANGED)
    update.start()
    account.age(arn, minutes=57)
    with pytest.raises(handler.ClusterError, match=r"^stack llm is still UPDATE_IN_PROGRESS, and"):
        update.poll()


def test_the_age_of_the_cluster_is_not_the_age_of_its_update(account: Account, arn: str) -> None:
    update = request("Update", arn, configuration=CHANGED)
    update.start()
    account.age(arn, minutes=60 * 24 * 90)
    found = {**(handler._stack(arn) or {}), "LastUpdatedTime": datetime.now(UTC)}
    with Stubber(handler._cloudformation()) as stub:
        stub.add_response("describe_stacks", {"Stacks": [found]})
        assert update.poll() == {"IsComplete": False}


def test_the_rollback_of_an_update_that_outlasted_the_hour_is_awaited(
    account: Account, arn: str
) -> None:
    account.set(arn, "UPDATE_ROLLBACK_IN_PROGRESS")
    account.age(arn, minutes=57)
    rollback = request("Update", arn, old={"configuration": CHANGED})
    rollback.start()
    assert rollback.poll() == {"IsComplete": False}


def test_an_update_that_needs_a_stopped_fleet_lists_what_each_change_needs(
    pcluster: FakePcluster, arn: str
) -> None:
    stop = "All compute nodes must be stopped. Stop the compute fleet"
    pcluster.refusal = ApiError(
        "Update failure",
        configuration_validation_errors=None,  # type: ignore[arg-type]
        update_validation_errors=[
            change("Scheduling.SlurmSettings.ScaledownIdletime", stop),
            change("HeadNode.InstanceType", "Restore 'InstanceType' to 'm7i.large'", "m7i.large"),
        ],
        change_set=[
            change("Tags[a].Value"),
            change("Scheduling.SlurmSettings.ScaledownIdletime"),
            change("HeadNode.InstanceType"),
        ],
    )
    with pytest.raises(handler.ClusterError) as refusal:
        request("Update", arn, configuration=CHANGED).start()
    assert str(refusal.value).splitlines() == [
        "this update is refused, cluster llm is untouched: Update failure",
        f"- Scheduling.SlurmSettings.ScaledownIdletime: {stop}",
        "- HeadNode.InstanceType: Restore 'InstanceType' to 'm7i.large'",
        "- Tags[a].Value: allowed",
    ]


def test_findings_of_the_validators_refuse_an_update(pcluster: FakePcluster, arn: str) -> None:
    pcluster.refusal = EXPIRED
    with pytest.raises(handler.ClusterError) as refusal:
        request("Update", arn, configuration=CHANGED).start()
    assert str(refusal.value) == (
        "this update is refused, cluster llm is untouched: Invalid cluster configuration.\n"
        "- ERROR CapacityReservationValidator: The reservation has ended."
    )


def test_a_new_name_is_refused_and_the_rollback_of_that_succeeds(
    pcluster: FakePcluster, arn: str
) -> None:
    with pytest.raises(handler.ClusterError) as refusal:
        request("Update", arn, ClusterName="renamed").start()
    assert str(refusal.value) == (
        "ClusterName cannot change from llm to renamed: keep the name, or give the construct a "
        "new id, which makes a new cluster beside this one"
    )
    rollback = request("Update", arn, old={"ClusterName": "renamed"})
    assert rollback.start() == {"PhysicalResourceId": arn, "Outcome": "unchanged"}
    assert rollback.poll()["IsComplete"]
    assert [call[0] for call in pcluster.calls] == ["create"]


def test_another_version_of_parallelcluster_is_refused(pcluster: FakePcluster, arn: str) -> None:
    pcluster.version = "3.17.0"
    with pytest.raises(handler.ClusterError) as refusal:
        request("Update", arn, configuration=CHANGED).start()
    assert str(refusal.value) == (
        "cluster llm was made by ParallelCluster 3.16.1, and this provider carries 3.17.0, which "
        "cannot update it: keep 3.16.1, or give the construct a new id, which makes a new cluster "
        "beside this one"
    )
    assert [call[0] for call in pcluster.calls] == ["create"]


def test_another_version_does_not_matter_when_nothing_changes(
    pcluster: FakePcluster, arn: str
) -> None:
    pcluster.version = "3.17.0"
    assert request("Update", arn).start()["Outcome"] == "unchanged"


def test_a_stack_of_another_owner_is_not_updated(account: Account, pcluster: FakePcluster) -> None:
    foreign = account.make("llm", owner="another-stack/ClusterResource")
    with pytest.raises(handler.ClusterError) as refusal:
        request("Update", foreign).start()
    assert str(refusal.value) == (
        f"stack llm was not touched: it does not carry the tag trainshed:owner={OWNER}"
    )
    assert pcluster.calls == []


@pytest.mark.parametrize("status", ["DELETE_COMPLETE", "absent"])
def test_a_cluster_that_is_gone_is_not_updated(account: Account, arn: str, status: str) -> None:
    if status == "absent":
        arn = arn[:-1]
    else:
        account.set(arn, status)
    with pytest.raises(handler.ClusterError) as refusal:
        request("Update", arn).start()
    assert str(refusal.value) == (
        "the stack of cluster llm is gone: give the construct a new id to make a new cluster"
    )


def test_a_repeated_request_awaits_the_update_that_the_first_one_started(
    account: Account, pcluster: FakePcluster, arn: str
) -> None:
    request("Update", arn, configuration=CHANGED).start()
    again = request("Update", arn, configuration=CHANGED)
    assert again.start()["Outcome"] == "updated"
    assert [call[0] for call in pcluster.calls] == ["create", "update"]
    account.set(arn, "UPDATE_COMPLETE")
    assert again.poll()["IsComplete"]


def test_the_slower_of_two_runs_at_once_awaits_the_update_of_the_faster(
    account: Account, pcluster: FakePcluster, arn: str
) -> None:
    def the_faster() -> None:
        account.set(arn, "UPDATE_IN_PROGRESS")
        pcluster.saved["llm"] = pcluster.calls[-1][1]["cluster_configuration"]

    pcluster.before = the_faster
    pcluster.refusal = ApiError(
        "Cannot execute update while stack is in UPDATE_IN_PROGRESS status."
    )
    assert request("Update", arn, configuration=CHANGED).start()["Outcome"] == "updated"


def test_types_of_the_configuration_survive(pcluster: FakePcluster, arn: str) -> None:
    saved = json.loads(pcluster.saved_text("llm"))
    assert saved["Scheduling"]["SlurmQueues"][0] == {
        "Name": "gpu",
        "MaxCount": 4,
        "Efa": {"Enabled": True},
    }
