"""2,000 changes of alarms through SNS, SQS and the real handler to a Slack that fails at random."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assets.functions.slack_notifier import aws as aws_module
from assets.functions.slack_notifier import slack as slack_module
from tests.assets.slack_notifier.slack_server import RESET, TAKEN_THEN_RESET, Answer

if TYPE_CHECKING:
    from tests.assets.slack_notifier.conftest import Notifications

Alarm = Callable[..., str]
ROOT = Path(__file__).parents[3]
# Calls to AWS and Slack that the two batches of the kill test make; a test counts them.
STEPS = 12
NAME = re.compile(r"Something about (a\d+)\b")
MOMENT = re.compile(r"<!date\^(\d+)\^")


def entries(posts: list[dict[str, Any]]) -> Iterator[tuple[str, set[int]]]:
    """Yield alarm and moments for each entry that a reader saw, in order."""
    for post in posts:
        parts = post["blocks"][1:] if "alerts: " in post["text"] else [post]
        for part in parts:
            text = json.dumps(part, ensure_ascii=False)
            if name := NAME.search(text):
                yield name[1], {int(moment) for moment in MOMENT.findall(text)}


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

    moto's takes minutes for 2,000 messages; a test below goes through moto's SNS and SQS.
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


def shown_moments(notifications: Notifications) -> dict[str, list[set[int]]]:
    shown: dict[str, list[set[int]]] = defaultdict(list)
    for name, moments in entries(notifications.slack.posts):
        shown[name].append(moments)
    return shown


def lost(notifications: Notifications, sent: set[tuple[str, int]]) -> set[tuple[str, int]]:
    shown = shown_moments(notifications)
    return {(name, moment) for name, moment in sent if moment not in set().union(*shown[name])}


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
    notifications.aws.publish(bodies)
    notifications.run_queue(notifications.aws)

    assert len(bodies) == 2000
    assert lost(notifications, sent) == set()
    for name, moments in shown_moments(notifications).items():
        latest = [max(moment) for moment in moments]
        assert latest == sorted(set(latest)), f"{name} is doubled or out of order"
    assert notifications.aws.dead_letters() == []
    assert notifications.aws.receive(10) == []


class Killed(BaseException):
    """The process is gone: nothing catches it."""


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int, after: bool) -> Callable[[], int]:
    """Kill the handler before or after its n-th call to AWS or Slack; return a step counter."""
    count = 0

    def wrap(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal count
            count += 1
            if count == step and not after:
                raise Killed
            answer = real(*arguments)
            if count == step and after:
                raise Killed
            return answer

        return call

    monkeypatch.setattr(slack_module, "_post", wrap(slack_module._post))
    monkeypatch.setattr(aws_module, "_attempt", wrap(aws_module._attempt))
    return lambda: count


def two_batches(alarm: Alarm) -> list[list[str]]:
    first = [alarm("a1", "ALARM", 0), alarm("a2", "ALARM", 1), alarm("a3", severity="critical")]
    return [first, [alarm("a1", "OK", 5), *(alarm(f"a{n}", "ALARM", n) for n in range(4, 12))]]


def deliver_until_done(notifications: Notifications, batches: list[list[str]]) -> None:
    """Deliver each batch again, in a new process, until the handler lives to answer for it."""
    for batch in batches:
        waiting = batch
        for _ in range(10):
            try:
                waiting = notifications.send(*waiting)
            except Killed:
                notifications.restart()
                continue
            if not waiting:
                break
            notifications.clock.now += 360
        assert waiting == []


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_killing_the_handler_at_any_call_loses_nothing(
    step: int,
    after: bool,
    notifications: Notifications,
    alarm: Alarm,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = kill_at(monkeypatch, step, after)
    batches = two_batches(alarm)
    deliver_until_done(notifications, batches)
    assert steps() > step
    sent = {
        (name[1], moment)
        for batch in batches
        for name, moment in ((NAME.search(b), moment_of(b)) for b in batch)
        if name
    }
    assert lost(notifications, sent) == set()
    assert len(notifications.slack.posts) <= 6


def test_the_kill_test_reaches_every_call(
    notifications: Notifications, alarm: Alarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = kill_at(monkeypatch, 0, False)
    deliver_until_done(notifications, two_batches(alarm))
    assert steps() == STEPS


def moment_of(body: str) -> int:
    from datetime import datetime

    text = json.loads(json.loads(body)["Message"])["StateChangeTime"]
    return int(datetime.fromisoformat(text).timestamp())


RUNNER = """
import json, sys
from assets.functions.slack_notifier.handler import handler
class Context:
    def get_remaining_time_in_millis(self): return 60000
print(json.dumps(handler({"Records": json.load(sys.stdin)}, Context())))
"""


@pytest.mark.parametrize("request_number", [1, 2])
def test_a_process_that_is_killed_while_slack_answers_loses_nothing(
    request_number: int, notifications: Notifications, alarm: Alarm
) -> None:
    batch = [alarm("a0", severity="critical"), alarm("a1", severity="warning")]
    records = json.dumps([{"messageId": str(n), "body": body} for n, body in enumerate(batch)])
    alive: list[subprocess.Popen[str]] = []

    def kill(number: int) -> None:
        if number == request_number:
            os.kill(alive[-1].pid, signal.SIGKILL)

    notifications.slack.on_request = kill
    codes = []
    for _ in range(2):
        alive.append(
            subprocess.Popen(
                [sys.executable, "-c", RUNNER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
        )
        alive[-1].communicate(records)
        codes.append(alive[-1].returncode)
    assert codes == [-signal.SIGKILL, 0]
    assert set(shown_moments(notifications)) == {"a0", "a1"}
    assert len(notifications.slack.posts) <= 3
