"""The Slack notifier against a public one: cold import, memory, messages a second, messages lost.

    python benchmarks/notifier.py [--other notify_slack.py] [--json]

``--other`` is ``functions/notify_slack.py`` of terraform-aws-modules/terraform-aws-notify-slack
(Apache-2.0), the most used Lambda function for the task. It is not part of this repository:

    curl -LO https://raw.githubusercontent.com/terraform-aws-modules/\
terraform-aws-notify-slack/v7.5.0/functions/notify_slack.py

Both get the events of ``tests/events/slack_notifier`` and post to the same local server. Ours runs
without its pause of a second between messages and with its table in memory, so that the figure is
the work of the function alone. "Shown" counts the messages that a Slack takes which answers every
fifth request with 500; SNS calls the other function once for each, so that what it drops is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import logging
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from assets.functions.slack_notifier import slack  # noqa: E402
from assets.functions.slack_notifier.credentials import credentials  # noqa: E402
from assets.functions.slack_notifier.delivery import Notifier  # noqa: E402
from assets.functions.slack_notifier.memory import Record  # noqa: E402
from assets.functions.slack_notifier.routes import parse  # noqa: E402
from tests.assets.slack_notifier.slack_server import Answer, SlackServer  # noqa: E402

EVENTS = ROOT / "tests" / "events" / "slack_notifier"
ROUTES = {"channels": {"critical": "a", "warning": "b", "info": "c"}, "group_above": 25}
ROUNDS = 20
IMPORTS = 15
# What a Lambda function sees; the other one makes clients when it is imported.
ENVIRONMENT = {
    "AWS_REGION": "us-east-2",
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "SLACK_CHANNEL": "a",
    "SLACK_USERNAME": "b",
    "SLACK_EMOJI": ":c:",
}
_CHILD = (
    "import resource, time; start = time.perf_counter(); {code};"
    "print(time.perf_counter() - start,"
    " resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
)


class InMemory:
    """The notifier's memory without a table."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}

    def load(self, keys: Iterable[str]) -> dict[str, Record]:
        """Return what is known."""
        return {key: self.records.get(key) or Record(key) for key in keys}

    def save(self, records: Iterable[Record], now: float) -> None:
        """Keep it."""
        self.records |= {record.key: record for record in records}


class Clock:
    """Time that passes when someone sleeps, so that waits cost nothing."""

    def __init__(self) -> None:
        self.skipped = 0.0

    def time(self) -> float:
        """Return the time."""
        return time.time() + self.skipped

    def sleep(self, seconds: float) -> None:
        """Skip it."""
        self.skipped += seconds


def cold(code: str) -> tuple[float, float]:
    """Return milliseconds and MiB of importing a handler in a new process, medians."""
    runs = []
    for _ in range(IMPORTS):
        ran = subprocess.run(
            [sys.executable, "-c", _CHILD.format(code=code)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | ENVIRONMENT,
        )
        runs.append([float(figure) for figure in ran.stdout.split()])
    seconds, kib = (statistics.median(column) for column in zip(*runs, strict=True))
    return seconds * 1000, kib / 1024


def notifications() -> list[dict[str, Any]]:
    """Return every event as an SNS notification, each with an id of its own."""
    found = []
    for round_number in range(ROUNDS):
        for path in sorted(EVENTS.glob("*.json")):
            event = json.loads(path.read_text())
            text = event["Message"]
            found.append(
                {
                    "Type": "Notification",
                    "MessageId": f"{path.stem}-{round_number}",
                    "TopicArn": "arn:aws:sns:us-east-2:123456789012:alerts",
                    "Subject": event.get("Subject"),
                    "Message": text if isinstance(text, str) else json.dumps(text),
                    "MessageAttributes": {},
                }
            )
    return found


def ours(server: SlackServer) -> Callable[[dict[str, Any]], None]:
    """Return a function that delivers one notification with our notifier."""
    slack._SECONDS_BETWEEN_MESSAGES = 0.0
    known = credentials(server.webhook)
    clock = Clock()
    notifier = Notifier(
        slack.Slack(lambda again: known, clock), parse(json.dumps(ROUTES)), InMemory(), _drop, clock
    )

    def deliver(notification: dict[str, Any]) -> None:
        record = {"messageId": notification["MessageId"], "body": json.dumps(notification)}
        while notifier.deliver([record]):
            clock.sleep(360)

    return deliver


def other(path: Path, server: SlackServer) -> Callable[[dict[str, Any]], None]:
    """Return a function that delivers one notification with the other function."""
    os.environ |= ENVIRONMENT | {"SLACK_WEBHOOK_URL": server.webhook}
    spec = importlib.util.spec_from_file_location("other", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    logging.disable()

    def deliver(notification: dict[str, Any]) -> None:
        # An exception makes SNS call it again, twice: the same event fails the same way.
        with contextlib.suppress(Exception):
            module.lambda_handler({"Records": [{"Sns": notification}]}, None)

    return deliver


def _drop(body: str, error: str) -> None:
    raise AssertionError(f"a dead letter: {error}")


def run(make: Callable[[SlackServer], Callable[[dict[str, Any]], None]]) -> dict[str, float]:
    """Measure one notifier: messages a second, and shown when every fifth request fails."""
    figures = {}
    for name, fails in (("messages/s", False), ("shown of all, percent", True)):
        with SlackServer() as server, contextlib.redirect_stdout(io.StringIO()):
            if fails:
                server.answers = [Answer(500 if n % 5 == 4 else 200) for n in range(4000)]
            deliver = make(server)
            events = notifications()
            start = time.perf_counter()
            for event in events:
                deliver(event)
            seconds = time.perf_counter() - start
            shown = min(len(server.messages), len(events))
            figures[name] = 100 * shown / len(events) if fails else shown / seconds
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--other", type=Path, help="notify_slack.py of terraform-aws-notify-slack")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    subjects: dict[str, tuple[str, Callable[[SlackServer], Callable[[dict[str, Any]], None]]]] = {
        "trainshed": ("import assets.functions.slack_notifier.handler", ours)
    }
    if path := arguments.other:
        code = f"import sys; sys.path.insert(0, {str(path.parent.resolve())!r}); import {path.stem}"
        subjects["other"] = (code, lambda server: other(path, server))
    results = {}
    for name, (code, make) in subjects.items():
        milliseconds, mib = cold(code)
        results[name] = {"import, ms": milliseconds, "memory, MiB": mib, **run(make)}
    if arguments.json:
        print(json.dumps(results, indent=1))
        return
    for name, figures in results.items():
        row = "  ".join(f"{figure}: {value:.0f}" for figure, value in figures.items())
        print(f"{name:10} {row}")


if __name__ == "__main__":
    main()
