"""The handler killed at any call that it makes, and while Slack answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assets.functions.slack_notifier import aws as aws_module
from assets.functions.slack_notifier import slack as slack_module
from tests.assets.slack_notifier.reading import NAME, lost, shown_moments

if TYPE_CHECKING:
    from tests.assets.slack_notifier.conftest import Notifications

Alarm = Callable[..., str]
ROOT = Path(__file__).parents[3]
# Calls to AWS and Slack that the two batches make; a test counts them.
STEPS = 12


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
