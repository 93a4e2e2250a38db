"""A cluster that was retained comes back to a resource of the same name, and to no other."""

from __future__ import annotations

from typing import Any

import pytest

from assets.functions.parallelcluster import handler
from tests.assets.parallelcluster.conftest import OUTER, Account, Framework, request
from tests.assets.parallelcluster.fake_pcluster import ApiError, FakePcluster, change

PLACE = OUTER.rpartition("/")[0]
NOT_OURS = "it does not belong to this resource: choose another ClusterName"
OTHER: dict[str, Any] = {"Image": {"Os": "ubuntu2404"}}


def again(kind: str = "Create", arn: str | None = None, **changed: Any) -> Framework:
    """Return a request of a later stack that has the name of ours."""
    framework = request(kind, arn, **changed)
    framework.request["StackId"] = f"{PLACE}/99999999-later"
    return framework


def refusal(framework: Framework) -> str:
    with pytest.raises(handler.ClusterError) as refused:
        framework.start()
    return str(refused.value)


def operations(pcluster: FakePcluster) -> list[str]:
    return [operation for operation, _ in pcluster.calls]


@pytest.mark.parametrize("status", sorted(handler.SERVING))
def test_a_later_stack_of_the_name_takes_the_cluster_over(
    account: Account, pcluster: FakePcluster, arn: str, status: str
) -> None:
    account.set(arn, status)
    create = again(configuration=OTHER)
    assert create.start() == {"PhysicalResourceId": arn, "Outcome": "updated"}
    assert operations(pcluster) == ["create", "update"]
    assert pcluster.calls[1][1]["cluster_configuration"] == {
        **OTHER,
        "Tags": [
            {"Key": "trainshed:owner", "Value": "99999999-later/ClusterResource"},
            {"Key": "trainshed:owner-stack", "Value": f"{PLACE}/99999999-later"},
        ],
    }
    assert create.poll() == {"IsComplete": False}
    account.set(arn, "UPDATE_COMPLETE")
    assert create.poll()["Data"]["StackArn"] == arn


def test_what_was_taken_over_is_updated_and_deleted_by_its_new_owner_alone(
    account: Account, arn: str
) -> None:
    again().start()
    account.set(arn, "UPDATE_COMPLETE")
    assert again("Update", arn).start()["Outcome"] == "unchanged"
    assert request("Delete", arn, RemovalPolicy="destroy").start()["Outcome"] == "not ours"
    assert again("Delete", arn, RemovalPolicy="destroy").start()["Outcome"] == "deleting"


def test_a_resource_that_comes_back_to_its_stack_takes_its_cluster_over(
    account: Account, pcluster: FakePcluster, arn: str
) -> None:
    create = request("Create", configuration=OTHER)
    assert create.start() == {"PhysicalResourceId": arn, "Outcome": "updated"}
    assert operations(pcluster) == ["create", "update"]


def test_a_cluster_is_not_taken_from_a_stack_that_is_there(
    account: Account, pcluster: FakePcluster
) -> None:
    former = account.make("institute-cluster")
    name = former.rsplit("/", 1)[1]
    account.make("llm", owner=f"{name}/ClusterResource", owner_stack=former)
    create = request("Create")
    create.request["StackId"] = f"{former.rpartition('/')[0]}/99999999-later"
    assert refusal(create) == (
        "a stack named llm is there already: it was not touched; it belongs to "
        f"{former}, which is still there (CREATE_COMPLETE)"
    )
    account.set(former, "DELETE_IN_PROGRESS")
    assert "still there (DELETE_IN_PROGRESS)" in refusal(create)
    account.set(former, "DELETE_COMPLETE")
    assert create.start()["Outcome"] == "updated"
    assert operations(pcluster) == ["update"]


@pytest.mark.parametrize(
    ("owner", "owner_stack"),
    [
        ("0f1e2d3c-outer/ClusterResource", OUTER.replace("institute-cluster", "another")),
        ("0f1e2d3c-outer/ClusterResource", OUTER.replace("us-east-2", "us-west-2")),
        ("0f1e2d3c-outer/Another", OUTER),
        ("11111111-other/ClusterResource", OUTER),
        ("0f1e2d3c-outer/ClusterResource", None),
        (None, OUTER),
    ],
    ids=["name", "Region", "resource", "contradiction", "no stack", "no owner"],
)
def test_a_cluster_of_another_is_not_taken_over(
    account: Account, pcluster: FakePcluster, owner: str | None, owner_stack: str | None
) -> None:
    account.make("llm", owner=owner, owner_stack=owner_stack)
    expected = f"a stack named llm is there already: it was not touched; {NOT_OURS}"
    assert refusal(again()) == expected
    assert pcluster.calls == []


@pytest.mark.parametrize("ours", [True, False], ids=["same stack", "later stack"])
def test_a_rollback_cannot_delete_what_is_taken_over(
    pcluster: FakePcluster, arn: str, ours: bool
) -> None:
    create = (request if ours else again)("Create", RemovalPolicy="destroy", configuration=OTHER)
    assert refusal(create) == (
        "a stack named llm is there already: it was not touched; "
        "it was retained: take it over with RemovalPolicy 'retain', then change that"
    )
    assert operations(pcluster) == ["create"]


@pytest.mark.parametrize("status", ["DELETE_IN_PROGRESS", "DELETE_FAILED", "UPDATE_IN_PROGRESS"])
@pytest.mark.parametrize("ours", [True, False], ids=["same stack", "later stack"])
def test_a_cluster_that_is_being_changed_is_not_taken_over(
    account: Account, arn: str, status: str, ours: bool
) -> None:
    account.set(arn, status)
    create = (request if ours else again)("Create", configuration=OTHER)
    assert refusal(create) == f"retained cluster llm is {status}: deploy again once it settled"


def test_a_cluster_of_another_version_is_not_taken_over(pcluster: FakePcluster, arn: str) -> None:
    pcluster.version = "3.17.0"
    assert refusal(again()) == (
        "cluster llm was made by ParallelCluster 3.16.1, and this provider carries 3.17.0, which "
        "cannot update it: keep 3.16.1, or give the construct a new id, which makes a new cluster "
        "beside this one"
    )


def test_what_cannot_be_taken_over_is_told_with_the_reason(
    account: Account, pcluster: FakePcluster, arn: str
) -> None:
    refused = [change("HeadNode.InstanceType", "Update actions are not currently supported")]
    pcluster.refusal = ApiError("Update failure", update_validation_errors=refused)
    assert refusal(again()).splitlines() == [
        "cluster llm was retained and is untouched: it can be taken over, but not with this "
        "configuration: Update failure",
        "- HeadNode.InstanceType: Update actions are not currently supported",
    ]
    assert account.status(arn) == "CREATE_COMPLETE"


def test_a_repeated_request_waits_for_the_update_that_the_first_one_started(
    pcluster: FakePcluster, arn: str
) -> None:
    again().start()
    assert again().start() == {"PhysicalResourceId": arn, "Outcome": "updated"}
    assert operations(pcluster) == ["create", "update"]


def test_the_slower_of_two_runs_waits_for_the_update_of_the_faster(
    account: Account, pcluster: FakePcluster, arn: str
) -> None:
    def faster() -> None:
        pcluster.before = lambda: None
        again().start()
        pcluster.refusal = ApiError("Bad Request: the stack is being updated")

    pcluster.before = faster
    assert again().start()["Outcome"] == "updated"


def test_a_takeover_that_is_rolled_back_leaves_the_cluster_as_it_was(
    account: Account, arn: str
) -> None:
    create = again(configuration=OTHER)
    create.start()
    account.set(arn, "UPDATE_ROLLBACK_COMPLETE", "no room")
    with pytest.raises(handler.ClusterError) as failure:
        create.poll()
    assert str(failure.value).splitlines() == [
        "stack llm is UPDATE_ROLLBACK_COMPLETE",
        "the update was rolled back; the cluster is as it was before",
        "no room",
    ]
    assert again("Delete", arn).start()["Outcome"] == "retained"
    assert account.status(arn) == "UPDATE_ROLLBACK_COMPLETE"
