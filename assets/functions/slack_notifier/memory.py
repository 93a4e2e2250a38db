"""What was shown of each story, in one DynamoDB table, so that a new process knows it too.

The notifier delivers without it when the table does not answer: a message twice is better than
none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol

from . import aws

_KEEP_SECONDS = 14 * 24 * 3600
_SEEN = 50
# DynamoDB API reference, BatchGetItem and BatchWriteItem, read 2026-11-29.
_READ_AT_ONCE = 100
_WRITE_AT_ONCE = 25
_MOST_CALLS = 100


@dataclass
class Record:
    """What is known of one key."""

    key: str
    state: str = ""
    since: str = ""
    """When it was raised, ISO 8601."""
    time: str = ""
    """When the latest thing shown happened, ISO 8601."""
    touched: float = 0.0
    """When the latest thing was shown, Unix seconds."""
    count: int = 0
    severity: str = ""
    """How bad it was when it was raised: its end is told to the same people."""
    channel: str = ""
    ts: str = ""
    shared: bool = False
    """Whether the message at ``ts`` tells of other keys too."""
    seen: list[str] = field(default_factory=list)
    """The latest message ids."""
    waiting: dict[str, list[str]] = field(default_factory=dict)
    """Messages that came and could not be shown: id to time of the event and end of the wait."""

    def see(self, message_id: str) -> None:
        """Remember a message as shown."""
        self.waiting.pop(message_id, None)
        self.seen = [*self.seen, message_id][-_SEEN:]


class Memory(Protocol):
    """Loads and saves records."""

    def load(self, keys: Iterable[str]) -> dict[str, Record]:
        """Return a record for each key, new ones where nothing is known."""

    def save(self, records: Iterable[Record], now: float) -> None:
        """Keep the records."""


class Table:
    """Records in a DynamoDB table with the text key ``key`` and the time to live ``expires``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def load(self, keys: Iterable[str]) -> dict[str, Record]:
        """Return a record for each key, new ones where nothing is known.

        Raises:
            aws.AwsError: the table did not answer.
        """
        wanted = list(dict.fromkeys(keys))
        records = {key: Record(key) for key in wanted}
        pending: list[Any] = [{"key": {"S": key}} for key in wanted]
        for _ in range(_MOST_CALLS):
            if not pending:
                return records
            now, pending = pending[:_READ_AT_ONCE], pending[_READ_AT_ONCE:]
            request = {self.name: {"Keys": now, "ConsistentRead": True}}
            answer = aws.call("dynamodb", "BatchGetItem", {"RequestItems": request})
            for item in answer.get("Responses", {}).get(self.name, []):
                if record := _record(item):
                    records[record.key] = record
            pending += answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])
        raise aws.AwsError("dynamodb BatchGetItem: always leaves keys unprocessed")

    def save(self, records: Iterable[Record], now: float) -> None:
        """Keep the records for two weeks, as long as a queue can keep a message.

        Raises:
            aws.AwsError: the table did not answer.
        """
        expires = str(int(now + _KEEP_SECONDS))
        pending: list[Any] = [
            {"PutRequest": {"Item": _item(record, expires)}} for record in records
        ]
        for _ in range(_MOST_CALLS):
            if not pending:
                return
            batch, pending = pending[:_WRITE_AT_ONCE], pending[_WRITE_AT_ONCE:]
            answer = aws.call("dynamodb", "BatchWriteItem", {"RequestItems": {self.name: batch}})
            pending += answer.get("UnprocessedItems", {}).get(self.name, [])
        raise aws.AwsError("dynamodb BatchWriteItem: always leaves items unprocessed")


def _record(item: dict[str, Any]) -> Record | None:
    """Read an item; what another version of this module wrote beside our fields is left out.

    None: it cannot be read, and shall hold up nothing; its story begins anew.
    """
    kinds = {part.name: type(getattr(Record(""), part.name)) for part in fields(Record)}
    try:
        values = json.loads(item["record"]["S"])
        known = {name: value for name, value in values.items() if name in kinds}
        whole = all(isinstance(value, _also_int(kinds[name])) for name, value in known.items())
        return Record(**known) if whole else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _also_int(kind: type) -> tuple[type, ...]:
    return (int, float) if kind is float else (kind,)


def _item(record: Record, expires: str) -> dict[str, Any]:
    return {
        "key": {"S": record.key},
        "record": {"S": json.dumps(asdict(record))},
        "expires": {"N": expires},
    }
