from __future__ import annotations

import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber

from assets.functions.parallelcluster import handler
from tests.assets.parallelcluster.conftest import CONFIGURATION, OUTER, OWNER, Account, request
from tests.assets.parallelcluster.fake_pcluster import (
    ApiError,
    FakePcluster,
    ParameterError,
    finding,
)

OWN_TAGS = ["trainshed:owner", "trainshed:owner-stack"]


def test_a_new_cluster_is_started_with_its_owner_among_the_sorted_tags(
    pcluster: FakePcluster,
) -> None:
    create = request("Create", RollbackOnFailure="false", SuppressValidators='["type:KeyPair"]')
    answer = create.start()
    assert answer["PhysicalResourceId"].startswith("arn:aws:cloudformation:us-east-2:")
    own = [
        {"Key": "trainshed:owner", "Value": OWNER},
        {"Key": "trainshed:owner-stack", "Value": OUTER},
    ]
    assert pcluster.calls == [
        (
            "create",
            {
                "cluster_name": "llm",
                "cluster_configuration": {**CONFIGURATION, "Tags": [*CONFIGURATION["Tags"], *own]},
                "rollback_on_failure": False,
                "suppress_validators": ["type:KeyPair"],
                "validation_failure_level": "ERROR",
            },
        )
    ]


def test_tags_are_sorted_and_may_be_absent(pcluster: FakePcluster) -> None:
    tags = [{"Key": "z", "Value": "1"}, {"Key": "a", "Value": "2"}]
    request("Create", configuration={"Tags": tags}).start()
    request("Create", ClusterName="other", configuration={}).start()
    keys = [
        [tag["Key"] for tag in call[1]["cluster_configuration"]["Tags"]] for call in pcluster.calls
    ]
    assert keys == [["a", *OWN_TAGS, "z"], OWN_TAGS]


def test_a_warm_function_forgets_what_aws_answered_before(pcluster: FakePcluster) -> None:
    request("Create").start()
    assert pcluster.resets == ["cache", "clients"]


def test_a_cluster_is_awaited_and_then_answers_its_ids(account: Account) -> None:
    create = request("Create")
    arn = create.start()["PhysicalResourceId"]
    assert create.poll() == {"IsComplete": False}
    account.set(arn, "CREATE_COMPLETE")
    assert create.poll() == {
        "IsComplete": True,
        "Data": {
            "HeadNodeInstanceId": "i-0123456789abcdef0",
            "HeadNodePrivateIp": "10.0.0.7",
            "StackArn": arn,
            "StackName": "llm",
        },
    }


def test_a_taken_name_is_refused(account: Account, pcluster: FakePcluster) -> None:
    foreign = account.make("llm", owner="another-stack/ClusterResource")
    with pytest.raises(handler.ClusterError) as refusal:
        request("Create").start()
    assert str(refusal.value) == (
        "a stack named llm is there already: it was not touched; "
        "it does not belong to this resource: choose another ClusterName"
    )
    assert pcluster.calls == []
    assert account.status(foreign) == "CREATE_COMPLETE"


@pytest.mark.parametrize(
    "physical_id",
    [
        "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED",
        "AWSCDK::CustomResourceProviderFramework::MISSING_PHYSICAL_ID",
        "11111111-request",
        "llm",
        "the stack itself",
    ],
)
def test_the_rollback_of_a_refused_create_never_touches_the_foreign_cluster(
    account: Account, pcluster: FakePcluster, physical_id: str
) -> None:
    foreign = account.make("llm")
    with pytest.raises(handler.ClusterError):
        request("Create", RemovalPolicy="destroy").start()
    arn = foreign if physical_id == "the stack itself" else physical_id
    delete = request("Delete", arn, RemovalPolicy="destroy")
    delete.start()
    assert delete.poll() == {"IsComplete": True}
    assert account.status(foreign) == "CREATE_COMPLETE"
    assert pcluster.calls == []


def test_a_repeated_request_adopts_the_stack_that_the_first_one_started(
    account: Account, pcluster: FakePcluster
) -> None:
    arn = request("Create").start()["PhysicalResourceId"]
    again = request("Create")
    assert again.start() == {"PhysicalResourceId": arn, "Outcome": "adopted"}
    assert len(pcluster.calls) == 1
    assert again.poll() == {"IsComplete": False}
    account.set(arn, "CREATE_COMPLETE")
    assert again.poll()["IsComplete"]


def test_the_slower_of_two_runs_at_once_adopts_the_stack_of_the_faster(
    account: Account, pcluster: FakePcluster
) -> None:
    made: list[str] = []
    pcluster.before = lambda: made.append(account.make("llm", "CREATE_IN_PROGRESS", OWNER))
    pcluster.refusal = ApiError("Bad Request: Cluster llm already exists.")
    assert request("Create").start()["PhysicalResourceId"] == made[0]


def test_a_foreign_stack_that_appears_meanwhile_is_not_adopted(
    account: Account, pcluster: FakePcluster
) -> None:
    def another() -> None:
        account.make("llm")

    pcluster.before = another
    pcluster.refusal = ApiError("Bad Request: Cluster llm already exists.")
    with pytest.raises(handler.ClusterError) as refusal:
        request("Create").start()
    assert str(refusal.value) == (
        "cluster llm was not created: Bad Request: Cluster llm already exists."
    )


@pytest.mark.parametrize("status", sorted(handler.SERVING))
def test_a_retained_cluster_comes_back_with_the_configuration_that_it_has(
    account: Account, pcluster: FakePcluster, arn: str, status: str
) -> None:
    account.set(arn, status)
    again = request("Create")
    assert again.start() == {"PhysicalResourceId": arn, "Outcome": "adopted"}
    assert again.poll()["IsComplete"]
    assert len(pcluster.calls) == 1


def test_findings_of_the_validators_are_told_worst_first(pcluster: FakePcluster) -> None:
    pcluster.refusal = ApiError(
        "Invalid cluster configuration.",
        configuration_validation_errors=[
            finding("WARNING", "DetailedMonitoringValidator", "It costs."),
            finding("INFO", "SomeValidator", "By the way."),
            finding("ERROR", "KeyPairValidator", "RSA keys are not supported."),
            finding("ERROR", "KeyPairValidator", "RSA keys are not supported."),
        ],
    )
    with pytest.raises(handler.ClusterError) as refusal:
        request("Create").start()
    assert str(refusal.value).splitlines() == [
        "cluster llm was not created: Invalid cluster configuration.",
        "- ERROR KeyPairValidator: RSA keys are not supported.",
        "- WARNING DetailedMonitoringValidator: It costs.",
        "- INFO SomeValidator: By the way.",
    ]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ParameterError("Bad Request: wrong type"), "Bad Request: wrong type"),
        (RuntimeError("node is not there"), "node is not there"),
        (KeyError(), "KeyError"),
    ],
    ids=["parameter", "with text", "without text"],
)
def test_other_errors_of_pcluster_are_told(
    pcluster: FakePcluster, error: Exception, text: str
) -> None:
    pcluster.refusal = error
    with pytest.raises(handler.ClusterError, match=f"^cluster llm was not created: {text}$"):
        request("Create").start()


def test_a_failed_create_names_the_resources_that_failed_first(account: Account) -> None:
    create = request("Create")
    arn = create.start()["PhysicalResourceId"]
    account.set(arn, "CREATE_IN_PROGRESS")
    account.fail(arn, "Fine", "CREATE_COMPLETE", "")
    account.fail(arn, "HeadNodeWaitCondition", "CREATE_FAILED", "Failed to run OnNodeConfigured")
    account.fail(arn, "HeadNode", "CREATE_FAILED", "InsufficientInstanceCapacity")
    account.fail(arn, "Table", "CREATE_FAILED", "Resource creation cancelled")
    account.set(arn, "ROLLBACK_IN_PROGRESS", "The following resources failed to create")
    assert create.poll() == {"IsComplete": False}
    account.fail(arn, "Group", "DELETE_FAILED", "in use")
    account.fail(arn, "Fourth", "DELETE_FAILED", "in use")
    account.set(arn, "ROLLBACK_FAILED", "The following resources failed to delete")
    with pytest.raises(handler.ClusterError) as failure:
        create.poll()
    assert str(failure.value).splitlines() == [
        "stack llm is ROLLBACK_FAILED",
        "The following resources failed to delete",
        "- HeadNodeWaitCondition (AWS::EC2::Instance) CREATE_FAILED: "
        "Failed to run OnNodeConfigured",
        "- HeadNode (AWS::EC2::Instance) CREATE_FAILED: InsufficientInstanceCapacity",
        "- Group (AWS::EC2::Instance) DELETE_FAILED: in use",
    ]


@pytest.mark.parametrize("status", ["CREATE_FAILED", "ROLLBACK_COMPLETE", "DELETE_COMPLETE"])
def test_every_bad_end_of_a_create_fails_it(account: Account, status: str) -> None:
    create = request("Create")
    account.set(create.start()["PhysicalResourceId"], status)
    with pytest.raises(handler.ClusterError, match=f"^stack llm is {status}$"):
        create.poll()


def test_a_repeated_request_tells_why_the_first_one_failed(account: Account) -> None:
    account.set(request("Create").start()["PhysicalResourceId"], "ROLLBACK_COMPLETE", "no room")
    again = request("Create")
    again.start()
    with pytest.raises(handler.ClusterError) as failure:
        again.poll()
    assert str(failure.value).splitlines() == [
        "stack llm is ROLLBACK_COMPLETE",
        "no room",
        "an earlier attempt left it; if it stays: aws cloudformation delete-stack --stack-name llm",
    ]


def test_a_failure_is_told_also_when_the_events_cannot_be_read(account: Account) -> None:
    create = request("Create")
    arn = create.start()["PhysicalResourceId"]
    account.set(arn, "ROLLBACK_COMPLETE")
    stack = handler._stack(arn)
    with Stubber(handler._cloudformation()) as stub:
        stub.add_response("describe_stacks", {"Stacks": [stack]}, {"StackName": arn})
        stub.add_client_error("describe_stack_events", "AccessDenied", "not yours")
        with pytest.raises(handler.ClusterError) as failure:
            create.poll()
    assert str(failure.value) == (
        "stack llm is ROLLBACK_COMPLETE\n- its events cannot be read: not yours"
    )


@pytest.mark.parametrize("status", ["CREATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"])
def test_the_reason_is_told_before_cloudformation_stops_waiting(
    account: Account, status: str
) -> None:
    create = request("Create")
    arn = create.start()["PhysicalResourceId"]
    account.fail(arn, "HeadNodeWaitCondition", "CREATE_FAILED", "timed out")
    account.set(arn, status)
    account.age(arn, minutes=55)
    assert create.poll() == {"IsComplete": False}
    account.age(arn, minutes=2)
    with pytest.raises(handler.ClusterError) as failure:
        create.poll()
    assert str(failure.value).splitlines()[0] == (
        f"stack llm is still {status}, and CloudFormation waits no longer than an hour"
    )


def test_a_cluster_that_vanishes_fails_the_create() -> None:
    create = request("Create")
    create.start()
    create.request["PhysicalResourceId"] = "arn:aws:cloudformation:us-east-2:1:stack/llm/other"
    with pytest.raises(handler.ClusterError, match=r"^stack arn:\S+/llm/other is gone$"):
        create.poll()


@pytest.mark.parametrize(
    ("code", "status"), [("Throttling", 400), ("ServiceUnavailable", 503), ("InternalFailure", 500)]
)
def test_an_answer_that_aws_owes_is_left_to_the_next_poll(
    account: Account, code: str, status: int
) -> None:
    create = request("Create")
    arn = create.start()["PhysicalResourceId"]
    with Stubber(handler._cloudformation()) as stub:
        # Once, and as often as botocore itself tries again.
        for _ in range(3):
            stub.add_client_error("describe_stacks", code, "later", http_status_code=status)
        assert create.poll() == {"IsComplete": False}
    account.set(arn, "CREATE_COMPLETE")
    assert create.poll()["IsComplete"]


def test_a_poll_without_a_way_to_aws_is_left_to_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create = request("Create")
    create.start()

    def unreachable(_: str) -> None:
        raise EndpointConnectionError(endpoint_url="https://cloudformation.invalid")

    monkeypatch.setattr(handler, "_stack", unreachable)
    assert create.poll() == {"IsComplete": False}


def test_a_poll_that_may_not_look_fails() -> None:
    create = request("Create")
    create.start()
    with Stubber(handler._cloudformation()) as stub:
        stub.add_client_error("describe_stacks", "AccessDenied", "not authorized", 403)
        with pytest.raises(handler.ClusterError, match=r"^ClientError: .*not authorized"):
            create.poll()


def test_an_answer_of_aws_that_is_no_absence_is_not_taken_for_one() -> None:
    with Stubber(handler._cloudformation()) as stub:
        stub.add_client_error("describe_stacks", "AccessDenied", "not authorized")
        with pytest.raises(handler.ClusterError, match=r"^ClientError: .*not authorized"):
            request("Create").start()
