"""One life of the full example under IAM's enforcement, and each statement of its roles taken away.

The emulator writes down what each role asked for. A statement is needed if without it one of those
requests, or one that an AWS service makes in the role's name, would be denied. That is evaluated
for each statement, and tried on the running stack for one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.assets.slack_notifier.slack_server import SlackServer
from tests.deploy import account
from tests.deploy.cdk import CdkError, bootstrap, of
from tests.deploy.emulator.process import ACCOUNT, REGION, ROOT, Emulator
from tests.deploy.privileges import Demand, Statement, demands, needed, roles_of, statements
from tests.deploy.statement_rows import is_elsewhere, label_of, labels
from tests.waiting import wait_until

STACKS = ("full-foundation", "full-cluster")


@dataclass
class Life:
    """What a life left: roles' statements, and what was asked in their names."""

    labels: dict[Statement, str]
    demands: list[Demand]
    slack: str
    refusal: str
    """What CloudFormation said of an update without one statement."""

    @property
    def held(self) -> list[Statement]:
        """The statements."""
        return [*self.labels]


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory, lambda_sdk: Path) -> Iterator[Life]:
    """A full example: bootstrapped, deployed, alarmed, updated and destroyed under enforcement."""
    work = tmp_path_factory.mktemp("enforced")
    document = yaml.safe_load((ROOT / "institutions" / "full.yaml").read_text())
    document["termination_protection"] = False
    running = Emulator(work, enforce=True, NODE_PATH=str(lambda_sdk))
    with running as emulator, SlackServer() as slack:
        bootstrap(emulator, REGION)
        mirror = ("full-mirror", "parallelcluster/3.16.1/lambda-layer.zip")
        account.publish_layer(emulator, REGION, mirror)
        document["alerts"]["slack_secret_arn"] = emulator.client("secretsmanager").create_secret(
            Name="full/slack", SecretString=slack.api_secret()
        )["ARN"]
        of(emulator, work, document).deploy()
        alarm = next(
            id
            for logical, id in account.physical_ids(emulator, STACKS[1]).items()
            if logical.startswith("AlertsFsxDiskFull")
        )
        emulator.client("cloudwatch").set_alarm_state(
            AlarmName=alarm, StateValue="ALARM", StateReason="below the threshold"
        )
        message = wait_until(lambda: slack.messages, "message in Slack")[0].text
        warn_of_an_end(emulator, document["fleet"]["queues"])
        roles = roles_of(emulator, "full")
        held = statements(emulator, roles)
        ids = [id for stack in STACKS for id in account.physical_ids(emulator, stack)]
        told = {each: label_of(each, ids, is_bare=False) for each in held}
        of_services = asked_by_services(emulator)
        document["tags"] = {"CostCentre": "1"}
        of(emulator, work, document).deploy(STACKS[1], options=["--exclusively"])
        asked = demands(emulator.demands, roles)
        take_away(emulator, next(each for each in held if each.name.endswith(" Look")))
        document["tags"] = {"CostCentre": "2"}
        with pytest.raises(CdkError):
            of(emulator, work, document).deploy(STACKS[1], options=["--exclusively"])
        refusal = "\n".join(account.failures(emulator, STACKS[1]))
        yield Life(told, [*asked, *of_services], message, refusal)


def warn_of_an_end(emulator: Emulator, queues: dict[str, Any]) -> None:
    """Send what EventBridge does when EC2 takes an instance and then a Capacity Block away."""
    kinds = [each["capacity"] for each in queues.values()]
    block = next(each["reservation_id"] for each in kinds if each["kind"] == "capacity_block")
    ids = account.physical_ids(emulator, STACKS[1])
    queue = next(id for key, id in ids.items() if key.startswith("ClusterBlockEventsQueue"))
    name = next(id for key, id in ids.items() if key.startswith("ClusterBlockEventsBlock"))
    warnings: list[dict[str, str]] = [
        {"instance-id": "i-0123456789abcdef0"},
        {"capacity-reservation-id": block},
    ]
    for detail in warnings:
        event = {"time": "2027-03-01T11:00:00Z", "detail": detail}
        emulator.client("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps(event))
    parameters = emulator.client("ssm")
    wait_until(
        lambda: parameters.get_parameter(Name=name)["Parameter"]["Value"] != "none",
        "note of the end of a block",
    )


def take_away(emulator: Emulator, statement: Statement) -> None:
    """Leave a policy without one of its statements."""
    client = emulator.client("iam")
    arn = f"arn:aws:iam::{ACCOUNT}:policy/{statement.policy}"
    nothing = {"Effect": "Allow", "Action": "s3:ListAllMyBuckets", "Resource": "*"}
    rest = json.dumps({"Version": "2012-10-17", "Statement": [nothing]})
    client.create_policy_version(PolicyArn=arn, PolicyDocument=rest, SetAsDefault=True)


def asked_by_services(emulator: Emulator) -> list[Demand]:
    """Return what AWS's services ask in the names of roles; the emulator does it by itself.

    Read 2026-11-30: VPC user guide "IAM role for publishing flow logs to CloudWatch Logs"; AWS's
    policies AWSLambdaSQSQueueExecutionRole and AWSLambdaBasicExecutionRole; EventBridge Scheduler
    user guide "Configuring a schedule's dead-letter queue". Read 2026-11-29: SNS developer guide
    "Key management".
    """
    foundation, cluster = STACKS
    place = f"{REGION}:{ACCOUNT}"

    def find(stack: str, type: str, start: str) -> str:
        ids = account.physical_ids(emulator, stack, type=type)
        return next(id for logical, id in ids.items() if logical.startswith(start))

    def log(stack: str, start: str) -> str:
        group = find(stack, "Logs::LogGroup", start)
        return f"arn:aws:logs:{place}:log-group:{group}:log-stream:one"

    def queue(start: str) -> str:
        url = find(cluster, "SQS::Queue", start)
        return f"arn:aws:sqs:{place}:{url.rpartition('/')[2]}"

    def role(stack: str, start: str) -> str:
        return find(stack, "IAM::Role", start)

    def function(of_framework: str) -> str:
        start = f"ClusterFleetProviderFrameworkframework{of_framework}"
        return f"arn:aws:lambda:{place}:function:{find(cluster, 'Lambda::Function', start)}"

    notifier, scheduler = role(cluster, "AlertsNotifier"), role(cluster, "AlertsBlockBlockNotices")
    blocks = role(cluster, "ClusterBlockEvents")
    waiter = role(cluster, "ClusterFleetProviderFrameworkwaiter")
    key = f"arn:aws:kms:{place}:key/{find(cluster, 'KMS::Key', 'AlertsKey')}"
    provider_log = log(cluster, "ClusterFleetProviderLog")
    flow_log = log(foundation, "NetworkVpcFlowLogs")
    rows = [
        (role(foundation, "NetworkVpcFlowLogRole"), "logs:PutLogEvents", flow_log),
        (notifier, "logs:PutLogEvents", log(cluster, "AlertsNotifierLog")),
        (notifier, "sqs:ReceiveMessage", queue("AlertsNotifierQueue")),
        # Of the notifier itself, with a message that Slack refuses for good.
        (notifier, "sqs:SendMessage", queue("AlertsNotifierDeadLetters")),
        (scheduler, "sns:Publish", find(cluster, "SNS::Topic", "AlertsTopic")),
        (scheduler, "kms:GenerateDataKey", key),
        (scheduler, "sqs:SendMessage", queue("AlertsNotifierDeadLetters")),
        (blocks, "logs:PutLogEvents", log(cluster, "ClusterBlockEventsLog")),
        (blocks, "sqs:ReceiveMessage", queue("ClusterBlockEventsQueue")),
        # Step Functions, at each poll of the CDK's provider framework and when it gives up.
        *(
            (waiter, "lambda:InvokeFunction", function(each))
            for each in ("isComplete", "onTimeout")
        ),
        (role(cluster, "ClusterFleetProviderOnEventRole"), "logs:PutLogEvents", provider_log),
        (role(cluster, "ClusterFleetProviderIsCompleteRole"), "logs:PutLogEvents", provider_log),
    ]
    return [Demand(name, action, resource, {}, {}, REGION) for name, action, resource in rows]


def test_the_whole_life_is_allowed(life: Life) -> None:
    assert "full" in life.slack


def test_each_demand_of_a_service_is_allowed(life: Life) -> None:
    refused = [each for each in life.demands if not each.keys and not each.allowed_by(life.held)]
    assert refused == []


def test_each_statement_is_needed_by_something_that_was_asked(life: Life) -> None:
    found = {life.labels[each] for each in needed(life.held, life.demands)}
    wanted = {label for label in labels("full") if not is_elsewhere(label)}
    assert sorted(wanted - found) == []
    assert sorted(found - wanted) == []


def test_without_a_statement_a_deployment_fails_and_says_which(life: Life) -> None:
    assert "not authorized to perform: cloudformation:DescribeStacks" in " ".join(
        life.refusal.split()
    )
