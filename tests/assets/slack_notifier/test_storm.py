"""2,000 changes of alarms through SNS, SQS and the real handler to a Slack that fails at random."""

from __future__ import annotations

import json
import random
from collections import defaultdict, deque
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.assets.slack_notifier.reading import lost, shown_moments
from tests.assets.slack_notifier.slack_server import RESET, TAKEN_THEN_RESET, Answer

if TYPE_CHECKING:
    from tests.assets.slack_notifier.aws_server import AwsServer
    from tests.assets.slack_notifier.conftest import Notifications

Alarm = Callable[..., str]


def storm(alarm: Alarm, alarms: int, changes: int) -> tuple[list[str], set[tuple[str, int]]]:
    """Return SNS messages of alarms that flap, each change at a second of its own."""
    bodies, moments = [], set()
    for change in range(changes):
        for number in range(alarms):
            second = change * alarms + number
            state = "OK" if change % 2 else "ALARM"
            body = alarm(f"a{number}", state, second / 60)
            bodies.append(json.loads(body)["Message"])
            moments.add((f"a{number}", 1_795_917_600 + second))
    return bodies, moments


class Queue:
    """A standard queue: nearly in order, sometimes twice, hidden until settled.

    moto's takes minutes for 2,000 messages at once; a test below goes through moto's SNS and SQS.
    """

    def __init__(self, bodies: list[str], dice: random.Random) -> None:
        self.dice = dice
        self.visible = deque(
            {
                "messageId": f"sqs-{number}-{copy}",
                "body": json.dumps(
                    {"Type": "Notification", "MessageId": f"sns-{number}", "Message": body}
                ),
            }
            for number, body in enumerate(bodies)
            for copy in range(2 if dice.random() < 0.02 else 1)
        )

    def receive(self, size: int) -> list[dict[str, str]]:
        """Take up to so many messages, some of them out of order."""
        batch = [self.visible.popleft() for _ in range(min(size, len(self.visible)))]
        self.dice.shuffle(batch)
        return batch

    def settle(self, batch: list[dict[str, str]], failed: set[str]) -> None:
        """Give back what was not delivered."""
        self.visible.extend(record for record in batch if record["messageId"] in failed)


class Arriving:
    """moto's SNS and SQS, which alarms reach as fast as the handler takes them.

    moto counts a whole queue for each message it gives out: 2,000 at once take it minutes.
    """

    waiting = 40

    def __init__(self, aws: AwsServer, bodies: list[str]) -> None:
        self.aws = aws
        self.coming = deque(bodies)
        self.publish(self.waiting)

    def publish(self, size: int) -> None:
        """Publish the next so many."""
        self.aws.publish([self.coming.popleft() for _ in range(min(size, len(self.coming)))])

    def receive(self, size: int) -> list[dict[str, str]]:
        """Take up to so many messages, after as many more have come."""
        self.publish(size)
        return self.aws.receive(size)

    def settle(self, batch: list[dict[str, str]], failed: set[str]) -> None:
        """Delete what was delivered and make the rest visible again."""
        self.aws.settle(batch, failed)


@pytest.mark.parametrize("webhook", [False, True], ids=["bot", "webhook"])
def test_a_storm_is_delivered_whole_once_in_order_and_within_the_rate(
    webhook: bool,
    notifications: Notifications,
    alarm: Alarm,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if webhook:
        notifications.use(notifications.slack.webhook)
    dice = random.Random(5)
    faults = [Answer(500), Answer(429, "rate_limited", 3), Answer(503), RESET]
    notifications.slack.answers = [
        dice.choice(faults) if dice.random() < 0.2 else Answer(200) for _ in range(3000)
    ]
    notifications.slack.seconds_between = 1.0
    bodies, sent = storm(alarm, alarms=500, changes=4)
    invocations = notifications.run_queue(Queue(bodies, dice))

    assert len(bodies) == 2000
    assert lost(notifications, sent) == set()
    for name, moments in shown_moments(notifications).items():
        latest = [max(moment) for moment in moments]
        assert latest == sorted(set(latest)), f"{name} is doubled or out of order"
    assert "rate_limited" not in capsys.readouterr().out.replace('"error": "rate_limited"', "")
    assert notifications.aws.dead_letters() == []
    assert invocations < 250
    assert len(notifications.slack.posts) < 250
    by_channel: dict[str, list[float]] = defaultdict(list)
    for moment, channel, _ in notifications.slack.calls:
        by_channel[channel].append(moment)
    for calls in by_channel.values():
        gaps = [after - before for before, after in pairwise(calls)]
        assert min(gaps) >= 1.0 - 1e-6


def test_a_storm_with_answers_that_are_lost_loses_nothing(
    notifications: Notifications, alarm: Alarm
) -> None:
    dice = random.Random(7)
    notifications.slack.answers = [
        TAKEN_THEN_RESET if dice.random() < 0.2 else Answer(200) for _ in range(500)
    ]
    bodies, sent = storm(alarm, alarms=50, changes=2)
    notifications.aws.publish(bodies)
    notifications.run_queue(notifications.aws)
    assert lost(notifications, sent) == set()


@pytest.mark.slow
def test_a_storm_through_sns_and_sqs_is_delivered_whole_and_once(
    notifications: Notifications, alarm: Alarm
) -> None:
    dice = random.Random(11)
    faults = [Answer(500), Answer(429, "rate_limited", 3), Answer(503), RESET]
    notifications.slack.answers = [
        dice.choice(faults) if dice.random() < 0.2 else Answer(200) for _ in range(3000)
    ]
    bodies, sent = storm(alarm, alarms=500, changes=4)
    notifications.run_queue(Arriving(notifications.aws, bodies))

    assert len(bodies) == 2000
    assert lost(notifications, sent) == set()
    for name, moments in shown_moments(notifications).items():
        latest = [max(moment) for moment in moments]
        assert latest == sorted(set(latest)), f"{name} is doubled or out of order"
    assert notifications.aws.dead_letters() == []
    assert notifications.aws.receive(10) == []
