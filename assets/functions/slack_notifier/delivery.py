"""From a batch of queue messages to Slack: each shown once, in order, or given back.

What is promised, and kept if the process ends at any moment: a message leaves the queue only after
Slack has taken it or after it lies in the dead-letter queue. What is then uncertain is shown twice
and never lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .alerts import read
from .aws import AwsError
from .blocks import ALERTS_A_DIGEST, Story, digest, message, reply
from .errors import PermanentError, SecretError, TransientError
from .memory import Memory, Record
from .routes import SEVERITIES, Routes
from .slack import CREDENTIAL_ERRORS, Clock, Slack
from .work import Incoming, Work, remember, whole, worst

# An alarm that comes back within the hour goes on in its thread.
_SAME_STORY_SECONDS = 3600
# Longer than twice the time for which the queue hides a message that was given back.
_WAIT_SECONDS = 900
_RECENT_KEYS = 5000


@dataclass
class Notifier:
    """Delivers batches.

    Args:
        dead_letter: Puts a message into the dead-letter queue with the name of Slack's error.
    """

    slack: Slack
    routes: Routes
    memory: Memory
    dead_letter: Callable[[str, str], None]
    clock: Clock
    _recent: dict[str, Record] = field(default_factory=dict)
    _table_answers: bool = True
    """Whether the table has answered in this invocation; if not, no time is lost on it again."""
    _dead_letters_answer: bool = True
    """Whether the dead-letter queue has, likewise."""

    def deliver(self, batch: list[dict[str, Any]]) -> list[str]:
        """Deliver a batch of SQS records; return the ids of those to give back to the queue."""
        incoming = [
            Incoming(entry["messageId"], entry["body"], read(entry["body"], entry["messageId"]))
            for entry in batch
        ]
        self._table_answers = self._dead_letters_answer = True
        works, failed = self._plan(incoming)
        units = list(self._units(works))
        blocked: set[str] = set()
        for place, (channel, unit) in enumerate(units):
            if channel in blocked:
                failed += self._give_back(unit)
                continue
            try:
                self._show(channel, unit)
            except TransientError as error:
                log("Slack did not take a message", channel=channel, error=error.name)
                blocked.add(channel)
                failed += self._give_back(unit)
            except PermanentError as error:
                failed += self._bury(unit, error.name)
            except (AwsError, SecretError):
                # Everything goes back; what follows about the same keys shall wait for it.
                self._give_back([work for _, rest in units[place:] for work in rest])
                raise
            except Exception as error:  # One message that nobody foresaw must not stop the others.
                failed += self._bury(unit, type(error).__name__)
        return failed

    def _plan(self, incoming: list[Incoming]) -> tuple[list[Work], list[str]]:
        """Sort the batch into one work a key; leave out what was shown before."""
        groups: dict[str, list[Incoming]] = {}
        for entry in incoming:
            groups.setdefault(entry.alert.key, []).append(entry)
        records = self._load(list(groups))
        works: list[Work] = []
        held: list[Work] = []
        for key, group in groups.items():
            record = records[key]
            fresh = {
                entry.alert.message_id: entry
                for entry in sorted(group, key=lambda entry: entry.alert.time)
                if entry.alert.message_id not in record.seen
            }
            if not fresh:
                continue
            entries = list(fresh.values())
            work = self._work(record, entries)
            if self._must_wait(record, entries):
                held.append(work)
            else:
                works.append(work)
        return works, self._give_back(held) if held else []

    def _must_wait(self, record: Record, entries: list[Incoming]) -> bool:
        """Whether something earlier about the same key was given back and is yet to come."""
        here = {entry.alert.message_id for entry in entries}
        first = entries[0].alert.time
        now = self.clock.time()
        return any(
            message_id not in here and when < first and now < float(until)
            for message_id, (when, until) in record.waiting.items()
        )

    def _work(self, record: Record, entries: list[Incoming]) -> Work:
        alerts = [entry.alert for entry in entries]
        recent = self.clock.time() - record.touched < _SAME_STORY_SECONDS
        ends = alerts[-1].state == "ok" and record.state == "event"
        goes_on = record.state in ("alarm", "no data") or ends or (bool(record.state) and recent)
        raised = [alert for alert in alerts if alert.state != "ok"]
        since = record.since if goes_on else (raised[0].time if raised else "")
        story = Story(
            alert=whole(alerts),
            since=since,
            count=len(raised) + (record.count if goes_on else 0),
            changes=tuple((alert.time, alert.state) for alert in alerts),
            late=bool(alerts[-1].time) and alerts[-1].time < record.time,
        )
        return Work(record, entries, story, goes_on)

    def _units(self, works: list[Work]) -> Iterator[tuple[str, list[Work]]]:
        """Yield what is shown at once: single stories, or in a storm many in one message."""
        by_channel: dict[str, list[Work]] = {}
        now = self.clock.time()
        for work in sorted(works, key=lambda work: SEVERITIES.index(work.story.alert.severity)):
            alert = work.story.alert
            over = alert.state == "ok" and work.record.severity
            channel = self.routes.channel(over or alert.severity, alert.institution, now)
            by_channel.setdefault(channel, []).append(work)
        for channel, queue in by_channel.items():
            size = ALERTS_A_DIGEST if len(queue) > self.routes.group_above else 1
            for start in range(0, len(queue), size):
                yield channel, queue[start : start + size]

    def _show(self, channel: str, unit: list[Work]) -> None:
        if len(unit) > 1:
            self._show_many(channel, unit)
        else:
            self._show_one(channel, unit[0])
        now = self.clock.time()
        for work in unit:
            remember(work, now)
        self._save([work.record for work in unit])

    def _show_one(self, channel: str, work: Work) -> None:
        record, story = work.record, work.story
        mention = self._mention([work])
        # What has become worse is told where that is told, and not in a quieter thread.
        worse = story.alert.state != "ok" and record.severity not in ("", worst(work))
        if work.goes_on and record.ts:
            if not worse and self._go_on(work, mention):
                return
            if worse and not record.shared:
                self._refresh(work)
        payload = message(story, mention)
        if work.goes_on and not self.slack.can_update:
            payload = reply(story, mention)
        record.channel, record.ts = self.slack.post(channel, payload)
        record.shared = False

    def _go_on(self, work: Work, mention: str) -> bool:
        """Update the message of a story and add a line to its thread; False if it cannot be."""
        record, story = work.record, work.story
        loud = bool(mention)
        line = reply(story, mention) | {"thread_ts": record.ts, "reply_broadcast": loud}
        try:
            if not record.shared and not story.late:
                self.slack.update(record.channel, record.ts, message(story))
            self.slack.post(record.channel, line)
        except PermanentError as error:
            # Message, thread or channel is no more, or may not be changed: it is told anew. A token
            # that is refused is refused there too.
            if error.name in CREDENTIAL_ERRORS:
                raise
            return False
        return True

    def _show_many(self, channel: str, unit: list[Work]) -> None:
        where, ts = self.slack.post(
            channel, digest([work.story for work in unit], self._mention(unit))
        )
        for work in unit:
            record = work.record
            if work.goes_on and record.ts and not record.shared:
                self._refresh(work)
            else:
                record.channel, record.ts, record.shared = where, ts, True

    def _refresh(self, work: Work) -> None:
        """Bring a story's own message up to date; the digest has told the news already."""
        try:
            self.slack.update(work.record.channel, work.record.ts, message(work.story))
        except (PermanentError, TransientError) as error:
            log("a message was not updated", key=work.record.key, error=error.name)

    def _mention(self, unit: list[Work]) -> str:
        loud = any(
            work.story.alert.severity == "critical"
            and work.story.alert.state != "ok"
            and not work.story.late
            for work in unit
        )
        return self.routes.mention if loud else ""

    def _give_back(self, unit: list[Work]) -> list[str]:
        """Leave messages in the queue, and let what follows about the same keys wait for them."""
        now = self.clock.time()
        until = str(now + _WAIT_SECONDS)
        for work in unit:
            waiting = work.record.waiting
            work.record.waiting = {k: v for k, v in waiting.items() if float(v[1]) > now}
            for entry in work.incoming:
                work.record.waiting[entry.alert.message_id] = [entry.alert.time, until]
        self._save([work.record for work in unit])
        return [entry.sqs_id for work in unit for entry in work.incoming]

    def _bury(self, unit: list[Work], error: str) -> list[str]:
        """Move messages to the dead-letter queue; return those that could not be moved.

        They are not remembered as shown, so that they are shown when they are redriven.
        """
        failed = []
        for work in unit:
            for entry in work.incoming:
                work.record.waiting.pop(entry.alert.message_id, None)
                if not self._move(entry, error):
                    failed.append(entry.sqs_id)
        self._save([work.record for work in unit])
        return failed

    def _move(self, entry: Incoming, error: str) -> bool:
        if self._dead_letters_answer:
            log("a message goes to the dead-letter queue", id=entry.sqs_id, error=error)
            try:
                self.dead_letter(entry.body, error)
            except AwsError as refused:
                log("the dead-letter queue did not take it", error=str(refused))
                self._dead_letters_answer = False
        return self._dead_letters_answer

    def _load(self, keys: list[str]) -> dict[str, Record]:
        try:
            return self.memory.load(keys)
        except AwsError as error:
            log("the table does not answer; delivering from what this process knows", error=error)
            self._table_answers = False
            return {key: self._recent.get(key) or Record(key) for key in keys}

    def _save(self, records: list[Record]) -> None:
        self._recent |= {record.key: record for record in records}
        while len(self._recent) > _RECENT_KEYS:
            del self._recent[next(iter(self._recent))]
        if not self._table_answers:
            return
        try:
            self.memory.save(records, self.clock.time())
        except AwsError as error:
            log("the table does not answer; a restart may show alerts twice", error=error)
            self._table_answers = False


def log(event: str, **values: object) -> None:
    """Write one line of JSON to the function's log."""
    print(json.dumps({"event": event, **values}, default=str), flush=True)
