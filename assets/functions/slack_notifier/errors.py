"""How Slack, or the way to it, refuses. No text of these holds an address or a token."""

from __future__ import annotations


class SlackError(Exception):
    """Slack did not take a message."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class PermanentError(SlackError):
    """It never will: the channel is archived, the webhook removed, the message malformed."""


class TransientError(SlackError):
    """It may later: an outage, a time-out, a rate limit longer than the time that is left."""


class SecretError(Exception):
    """The secret is not of a known form. The text never quotes it."""
