"""The Slack notifier: SQS batches of alarms and events to Slack.

Environment: ``SECRET_ARN`` (bot token or webhooks), ``ROUTES`` (JSON of ``AlertRoutes``),
``TABLE_NAME`` (what was shown), ``DEAD_LETTER_QUEUE_URL``.
"""

from __future__ import annotations

import os
import time
from functools import cache
from typing import Any

from . import aws
from .credentials import Credentials, credentials
from .delivery import Notifier, log
from .errors import SecretError
from .memory import Table
from .routes import parse
from .slack import Slack

_SECRET_KEPT_SECONDS = 300
# What an invocation needs to end in order: the last write to the table and the answer.
_RESERVE_SECONDS = 5


class NothingDeliveredError(Exception):
    """Raised where all messages are given back, so that the function's error metric shows it."""


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Deliver one batch; what is not delivered goes back to the queue, message by message."""
    notifier = _notifier()
    remaining = context.get_remaining_time_in_millis() / 1000
    notifier.slack.deadline = time.time() + remaining - _RESERVE_SECONDS
    failed = notifier.deliver(event["Records"])
    log("batch", messages=len(event["Records"]), given_back=len(failed))
    if failed and len(failed) == len(event["Records"]):
        raise NothingDeliveredError(f"{len(failed)} messages given back, none delivered")
    return {"batchItemFailures": [{"itemIdentifier": sqs_id} for sqs_id in failed]}


@cache
def _notifier() -> Notifier:
    return Notifier(
        slack=Slack(_Secret(os.environ["SECRET_ARN"]), clock=time),
        routes=parse(os.environ["ROUTES"]),
        memory=Table(os.environ["TABLE_NAME"]),
        dead_letter=_dead_letter,
        clock=time,
    )


class _Secret:
    """The Slack credentials, read again after five minutes or when Slack refuses them."""

    def __init__(self, arn: str) -> None:
        self._arn = arn
        self._known = Credentials()
        self._read_at = float("-inf")

    def __call__(self, again: bool) -> Credentials:
        now = time.monotonic()
        if again or now - self._read_at > _SECRET_KEPT_SECONDS:
            answer = aws.call("secretsmanager", "GetSecretValue", {"SecretId": self._arn})
            if "SecretString" not in answer:
                raise SecretError("the Slack secret is binary; store it as text")
            self._known, self._read_at = credentials(answer["SecretString"]), now
        return self._known


def _dead_letter(body: str, error: str) -> None:
    attributes = {"Error": {"DataType": "String", "StringValue": error}}
    url = os.environ["DEAD_LETTER_QUEUE_URL"]
    aws.call(
        "sqs",
        "SendMessage",
        {"QueueUrl": url, "MessageBody": body, "MessageAttributes": attributes},
    )
