"""Slack over HTTP: incoming webhooks and the Web API, at the rate that Slack allows.

No error carries an address, a token or an answer's text beyond Slack's own short error name.
"""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage, InvalidURL
from typing import Any, Protocol

from .credentials import Credentials
from .errors import PermanentError, SlackError, TransientError

# "1 per second" a channel, bursts tolerated: docs.slack.dev "Rate limits", read 2026-11-29.
_SECONDS_BETWEEN_MESSAGES = 1.0
_ATTEMPTS = 4
_TIMEOUT_SECONDS = 10
_ERROR_NAME = re.compile(r"[a-z][a-z_]{1,60}")
_TRANSIENT_ERRORS = {
    "fatal_error",
    "internal_error",
    "org_login_required",
    "rate_limited",
    "ratelimited",
    "request_timeout",
    "rollup_error",
    "service_unavailable",
    "team_added_to_org",
}
# RFC 9110: what a proxy on the way says of a request that it did not pass on.
_TRANSIENT_STATUSES = {408, 425}
CREDENTIAL_ERRORS = {
    "account_inactive",
    "invalid_auth",
    "invalid_token",
    "malformed_address",
    "no_service",
    "no_team",
    "no_webhook_for_channel",
    "not_authed",
    "token_expired",
    "token_revoked",
}


class Clock(Protocol):
    """Time, replaced in tests."""

    def time(self) -> float:
        """Return the Unix time in seconds."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class _KeepMethod(urllib.request.HTTPRedirectHandler):
    """Refuse redirects: urllib would follow one with a GET and take a web page for success."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


_opener = urllib.request.build_opener(_KeepMethod)


@dataclass
class Slack:
    """One workspace, reached by a bot token or by webhooks.

    Args:
        secret: Returns the credentials; called with True when Slack has refused the old ones.
        deadline: The Unix time after which nothing is begun.
    """

    secret: Callable[[bool], Credentials]
    clock: Clock = time
    deadline: float = float("inf")
    _free_at: dict[str, float] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)
    """Channel ids by the names that messages were posted to."""

    @property
    def can_update(self) -> bool:
        """Whether messages can be updated and answered in threads: with a bot token."""
        return bool(self.secret(False).bot_token)

    def post(self, channel: str, payload: dict[str, Any]) -> tuple[str, str]:
        """Post a message; return channel id and timestamp, both empty with a webhook.

        Raises:
            SlackError: it was not taken.
        """
        answer = self._send(channel, "chat.postMessage", payload)
        channel_id = str(answer.get("channel", ""))
        self._ids[channel] = channel_id or channel
        return channel_id, str(answer.get("ts", ""))

    def update(self, channel: str, ts: str, payload: dict[str, Any]) -> None:
        """Replace a message.

        Raises:
            SlackError: it was not taken, as where the message is no more.
        """
        self._send(channel, "chat.update", {**payload, "ts": ts})

    def _send(self, channel: str, method: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Send until it is taken, refused for good, or the time is up."""
        fault, wait = "", 0.0
        for attempt in range(_ATTEMPTS):
            credentials = self.secret(False)
            try:
                self._wait_for(self._limits(channel, credentials), wait)
                return self._once(channel, method, payload, credentials)
            except PermanentError as error:
                if error.name in CREDENTIAL_ERRORS and self.secret(True) != credentials:
                    fault, wait = error.name, 0.0
                    continue
                raise
            except _BusyError as error:
                fault = error.name
                wait = 2.0**attempt if error.retry_after is None else error.retry_after
        raise TransientError(fault)

    def _limits(self, channel: str, credentials: Credentials) -> set[str]:
        """Return what Slack counts the messages by: the channel, or the webhook's address."""
        if credentials.bot_token:
            return {channel, self._ids.get(channel, channel)}
        return {credentials.webhook(channel)}

    def _wait_for(self, keys: set[str], wait: float) -> None:
        now = self.clock.time()
        start = max(now + wait, *(self._free_at.get(key, 0.0) for key in keys))
        if start + _SECONDS_BETWEEN_MESSAGES > self.deadline:
            # The next invocation keeps to the pause that Slack asked for, and asks nothing.
            self._free_at |= dict.fromkeys(keys, start)
            raise TransientError("no time left")
        if start > now:
            self.clock.sleep(start - now)
        self._free_at |= dict.fromkeys(keys, start + _SECONDS_BETWEEN_MESSAGES)

    def _once(
        self, channel: str, method: str, payload: dict[str, Any], credentials: Credentials
    ) -> dict[str, Any]:
        timeout = min(_TIMEOUT_SECONDS, max(self.deadline - self.clock.time(), 1.0))
        if not credentials.bot_token:
            status, body, retry_after = _post(credentials.webhook(channel), payload, "", timeout)
            if status == 200 and body.strip() == "ok":
                return {}
            raise _refusal(status, body, retry_after)
        message = {"channel": channel, "unfurl_links": False, **payload}
        url = credentials.api + method
        status, body, retry_after = _post(url, message, credentials.bot_token, timeout)
        answer = _answer(body)
        if status == 200 and answer.get("ok") is True:
            return answer
        raise _refusal(status, str(answer.get("error", "")), retry_after)


class _BusyError(SlackError):
    """Slack asks to try again."""

    def __init__(self, name: str, retry_after: float | None = None) -> None:
        super().__init__(name)
        self.retry_after = retry_after


def _post(
    url: str, payload: dict[str, Any], token: str, timeout: float
) -> tuple[int, str, float | None]:
    headers = {"content-type": "application/json; charset=utf-8"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    fault = ""
    try:
        request = urllib.request.Request(url, json.dumps(payload).encode(), headers)  # noqa: S310
        with _opener.open(request, timeout=timeout) as answer:
            return answer.status, answer.read(100_000).decode(errors="replace"), None
    except urllib.error.HTTPError as error:
        after = _seconds(error.headers.get("retry-after"))
        return error.code, _read(error), after
    except (ValueError, InvalidURL):
        fault = "malformed_address"
    except (OSError, HTTPException) as error:
        fault = type(error).__name__
    # Raised outside the handlers: urllib's own errors quote the address.
    if fault == "malformed_address":
        raise PermanentError(fault)
    raise _BusyError(f"no answer ({fault})")


def _read(error: urllib.error.HTTPError) -> str:
    try:
        return error.read(1000).decode(errors="replace")
    except (OSError, HTTPException):
        return ""


def _seconds(header: str | None) -> float | None:
    # RFC 9110 also knows a date, which Slack does not send.
    digits = re.fullmatch(r"\s*([0-9]{1,9})\s*", header or "")
    return min(float(digits[1]), 3600.0) if digits else None


def _answer(body: str) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _refusal(status: int, body: str, retry_after: float | None) -> SlackError:
    found = _ERROR_NAME.fullmatch(body.strip())
    name = found[0] if found else f"http_{status}"
    if status == 429:
        return _BusyError("rate_limited", 1.0 if retry_after is None else retry_after)
    passing = status >= 500 or status in _TRANSIENT_STATUSES or name in _TRANSIENT_ERRORS
    if passing or (status == 200 and not found):
        return _BusyError(name, retry_after)
    return PermanentError(name)
