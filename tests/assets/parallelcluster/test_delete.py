from __future__ import annotations

import pytest
from botocore.stub import Stubber

from assets.functions.parallelcluster import handler
from tests.assets.parallelcluster.conftest import Account, request
from tests.assets.parallelcluster.fake_pcluster import FakePcluster


def test_a_cluster_is_deleted_if_its_policy_says_so(account: Account, arn: str) -> None:
    delete = request("Delete", arn, RemovalPolicy="destroy")
    assert delete.start() == {"PhysicalResourceId": arn, "Outcome": "deleting"}
    assert account.status(arn) == "DELETE_COMPLETE"
    assert delete.poll() == {"IsComplete": True}


@pytest.mark.parametrize(
    "status", sorted(handler.SERVING | {"UPDATE_IN_PROGRESS", "DELETE_FAILED"})
)
@pytest.mark.parametrize("policy", ["retain", "keep", None])
def test_a_cluster_is_retained_otherwise(
    account: Account, arn: str, status: str, policy: str | None
) -> None:
    account.set(arn, status)
    delete = request("Delete", arn, RemovalPolicy=policy)
    assert delete.start()["Outcome"] == "retained"
    assert delete.poll() == {"IsComplete": True}
    assert account.status(arn) == status


@pytest.mark.parametrize("status", sorted(handler.NEVER_COMPLETED))
@pytest.mark.parametrize("policy", ["retain", "destroy"])
def test_a_cluster_that_never_completed_is_deleted_whatever_the_policy(
    account: Account, status: str, policy: str
) -> None:
    arn = request("Create").start()["PhysicalResourceId"]
    account.set(arn, status)
    delete = request("Delete", arn, RemovalPolicy=policy)
    assert delete.start()["Outcome"] == "deleting"
    assert account.status(arn) == "DELETE_COMPLETE"
    assert delete.poll() == {"IsComplete": True}


@pytest.mark.parametrize("physical_id", ["arn:aws:cloudformation:us-east-2:1:stack/x/y", "x", ""])
def test_deleting_nothing_succeeds(physical_id: str) -> None:
    delete = request("Delete", physical_id, RemovalPolicy="destroy")
    assert delete.start() == {"PhysicalResourceId": physical_id, "Outcome": "gone"}
    assert delete.poll() == {"IsComplete": True}


def test_deleting_what_was_deleted_by_hand_succeeds(account: Account, arn: str) -> None:
    account.set(arn, "DELETE_COMPLETE")
    assert request("Delete", arn, RemovalPolicy="destroy").start()["Outcome"] == "gone"


def test_a_stack_that_took_the_name_later_is_not_deleted(account: Account, arn: str) -> None:
    request("Delete", arn, RemovalPolicy="destroy").start()
    later = account.make("llm")
    again = request("Delete", arn, RemovalPolicy="destroy")
    assert again.start()["Outcome"] == "gone"
    assert account.status(later) == "CREATE_COMPLETE"


@pytest.mark.parametrize("owner", [None, "another-stack/ClusterResource", "0f1e2d3c-outer/Other"])
def test_a_stack_of_another_owner_is_not_deleted(account: Account, owner: str | None) -> None:
    foreign = account.make("llm", "ROLLBACK_COMPLETE", owner)
    delete = request("Delete", foreign, RemovalPolicy="destroy")
    assert delete.start()["Outcome"] == "not ours"
    assert delete.poll() == {"IsComplete": True}
    assert account.status(foreign) == "ROLLBACK_COMPLETE"


@pytest.mark.parametrize("policy", ["retain", "destroy"])
def test_a_deletion_under_way_is_awaited(account: Account, arn: str, policy: str) -> None:
    account.set(arn, "DELETE_IN_PROGRESS")
    delete = request("Delete", arn, RemovalPolicy=policy)
    assert delete.start()["Outcome"] == "deleting"
    assert delete.poll() == {"IsComplete": False}
    account.age(arn, minutes=600)
    assert delete.poll() == {"IsComplete": False}
    account.set(arn, "DELETE_COMPLETE")
    assert delete.poll() == {"IsComplete": True}


def test_a_failed_deletion_is_told_with_its_reason(account: Account, arn: str) -> None:
    account.set(arn, "DELETE_IN_PROGRESS")
    delete = request("Delete", arn, RemovalPolicy="destroy")
    delete.start()
    account.fail(arn, "Group", "DELETE_FAILED", "sg-1 has a dependent object")
    account.set(arn, "DELETE_FAILED", "The following resources failed to delete: [Group].")
    with pytest.raises(handler.ClusterError) as failure:
        delete.poll()
    assert str(failure.value).splitlines() == [
        "stack llm is DELETE_FAILED",
        "The following resources failed to delete: [Group].",
        "- Group (AWS::EC2::Instance) DELETE_FAILED: sg-1 has a dependent object",
    ]


def test_a_failed_deletion_is_tried_again(account: Account, arn: str) -> None:
    account.set(arn, "DELETE_FAILED")
    delete = request("Delete", arn, RemovalPolicy="destroy")
    assert delete.start()["Outcome"] == "deleting"
    assert account.status(arn) == "DELETE_COMPLETE"


def test_a_deletion_that_cloudformation_refuses_is_told(arn: str) -> None:
    found = handler._stack(arn)
    with Stubber(handler._cloudformation()) as stub:
        stub.add_response("describe_stacks", {"Stacks": [found]})
        stub.add_client_error(
            "delete_stack",
            "ValidationError",
            "Stack [llm] cannot be deleted while TerminationProtection is enabled",
            expected_params={"StackName": arn},
        )
        with pytest.raises(handler.ClusterError) as refusal:
            request("Delete", arn, RemovalPolicy="destroy").start()
    assert str(refusal.value) == (
        "stack llm (CREATE_COMPLETE) could not be deleted, try again once it settled: "
        "Stack [llm] cannot be deleted while TerminationProtection is enabled"
    )


def test_malformed_properties_do_not_block_a_deletion(account: Account, arn: str) -> None:
    delete = request("Delete", arn, ClusterConfiguration="{", SchemaVersion="9")
    delete.request["ResourceProperties"] = {"RemovalPolicy": "destroy"}
    delete.start()
    assert account.status(arn) == "DELETE_COMPLETE"


def test_a_deletion_does_not_need_the_layer(
    account: Account, pcluster: FakePcluster, arn: str
) -> None:
    seen = list(pcluster.resets)
    request("Delete", arn, RemovalPolicy="destroy").start()
    assert pcluster.resets == seen
