"""A local Slack, a local AWS and the real handler between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from assets.functions.slack_notifier import handler as handler_module
from tests.assets.slack_notifier.aws_server import REGION, AwsServer
from tests.assets.slack_notifier.slack_server import SlackServer

ROUTES: dict[str, Any] = {
    "channels": {"critical": "oncall", "warning": "ops", "info": "ops"},
    "mention": "<!subteam^S0ONCALL>",
}


@dataclass
class Clock:
    """Time that passes only when someone sleeps."""

    now: float = 1_795_918_051.0
    slept: list[float] = field(default_factory=list)

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Context:
    """The part of Lambda's context that the handler uses."""

    seconds: float = 60.0

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


class Queue(Protocol):
    """What the event source mapping does with a queue."""

    def receive(self, size: int) -> list[dict[str, str]]:
        """Take up to so many messages."""

    def settle(self, batch: list[dict[str, str]], failed: set[str]) -> None:
        """Delete what was delivered, show the rest again."""


@dataclass
class Notifications:
    """The handler with its queue, its secret and its Slack."""

    slack: SlackServer
    aws: AwsServer
    clock: Clock
    monkeypatch: pytest.MonkeyPatch

    def use(self, secret: str, **routes: Any) -> None:
        """Set the secret and the routes, and start a new process."""
        self.aws.set_secret(secret)
        self.monkeypatch.setenv("ROUTES", json.dumps(ROUTES | routes))
        self.restart()

    def restart(self) -> None:
        """Forget what the process knows, as a cold start does."""
        handler_module._notifier.cache_clear()

    def invoke(self, batch: list[dict[str, str]]) -> set[str]:
        """Invoke the handler as Lambda does; return the ids that it gave back."""
        answer = handler_module.handler({"Records": batch}, Context())
        return {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}

    def send(self, *bodies: str) -> list[str]:
        """Deliver bodies as one batch; return the bodies that were given back."""
        batch = [{"messageId": f"sqs-{n}", "body": body} for n, body in enumerate(bodies)]
        try:
            back = self.invoke(batch)
        except handler_module.NothingDeliveredError:
            return list(bodies)
        return [record["body"] for record in batch if record["messageId"] in back]

    def run_queue(self, queue: Queue, size: int = 20, most_rounds: int = 2000) -> int:
        """Run the handler over the queue until it is empty; return the number of invocations."""
        for number in range(most_rounds):
            batch = queue.receive(size)
            if not batch:
                return number
            try:
                failed = self.invoke(batch)
            except handler_module.NothingDeliveredError:
                failed = {record["messageId"] for record in batch}
            queue.settle(batch, failed)
            self.clock.now += 1
        raise AssertionError("the queue does not become empty")


@pytest.fixture(scope="module")
def aws_server() -> Iterator[AwsServer]:
    """Return one local AWS for a file of tests: starting moto takes a second.

    Not for longer: while it is open, moto forgets nothing between the tests of others.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            patch.setenv(name, "testing")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        with AwsServer() as server:
            yield server


@pytest.fixture
def notifications(
    aws_server: AwsServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Notifications]:
    """Return the handler between a fresh Slack and an emptied AWS, with an injected clock."""
    clock = Clock()
    aws_server.reset()
    monkeypatch.setattr(handler_module, "time", clock)
    environment = {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_SESSION_TOKEN": "testing",
        "AWS_REGION": REGION,
        "AWS_ENDPOINT_URL": aws_server.url,
        "SECRET_ARN": "slack",
        "TABLE_NAME": "shown",
        "DEAD_LETTER_QUEUE_URL": aws_server.dead_letter_url,
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with SlackServer(now=clock.time) as slack:
        notifications = Notifications(slack, aws_server, clock, monkeypatch)
        notifications.use(slack.api_secret())
        yield notifications
        handler_module._notifier.cache_clear()


@pytest.fixture
def alarm() -> Callable[..., str]:
    """Return a maker of SNS bodies of alarms."""
    return alarm_body


def alarm_body(
    name: str,
    state: str = "ALARM",
    minute: float = 0,
    message_id: str = "",
    severity: str = "warning",
) -> str:
    """Return the SNS notification of one change of one alarm, some minutes after 02:00."""
    time = f"2026-11-29T{2 + int(minute) // 60:02}:{int(minute) % 60:02}:{minute % 1 * 60:06.3f}"
    message = {
        "AlarmName": name,
        "AlarmDescription": f"Something about {name}\nSeverity: {severity}",
        "AWSAccountId": "123456789012",
        "NewStateValue": state,
        "NewStateReason": "because",
        "StateChangeTime": f"{time}+0000",
        "AlarmArn": f"arn:aws:cloudwatch:{REGION}:123456789012:alarm:{name}",
    }
    return json.dumps(
        {
            "Type": "Notification",
            "MessageId": message_id or f"{name}/{state}/{minute}",
            "Message": json.dumps(message),
            "Timestamp": f"{time}Z",
        }
    )
