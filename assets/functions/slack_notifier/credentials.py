"""What the secret holds: a bot token or webhooks."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TypeGuard

from .errors import PermanentError, SecretError

API = "https://slack.com/api/"
# Without TLS only where nobody listens in between: the local server of the tests.
_SAFE = ("https://", "http://127.0.0.1:", "http://localhost:")
# What a header of HTTP takes: RFC 6750, "Authorization Request Header Field".
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")


@dataclass(frozen=True)
class Credentials:
    """What the secret holds: a bot token, one webhook, or a webhook a channel."""

    bot_token: str = ""
    webhooks: tuple[tuple[str, str], ...] = ()
    api: str = API

    def __repr__(self) -> str:
        return "Credentials(...)"

    def webhook(self, channel: str) -> str:
        """Return the address for a channel; ``*`` stands for all that are not named."""
        known = dict(self.webhooks)
        if url := known.get(channel) or known.get("*"):
            return url
        raise PermanentError("no_webhook_for_channel")


def credentials(text: str) -> Credentials:
    """Parse the secret: ``xoxb-…``, ``https://…``, or JSON with ``bot_token`` or ``webhooks``.

    Raises:
        SecretError: it is none of these.
    """
    text = text.strip()
    if text.startswith("xoxb-") and _TOKEN.fullmatch(text):
        return Credentials(bot_token=text)
    if text.startswith(_SAFE):
        return Credentials(webhooks=(("*", text),))
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        token, webhooks = value.get("bot_token"), value.get("webhooks")
        api = value.get("api", API)
        if _is_token(token) and set(value) <= {"bot_token", "api"} and _safe(api):
            return Credentials(bot_token=token.strip(), api=api)
        if isinstance(webhooks, dict) and set(value) == {"webhooks"} and _all_safe(webhooks):
            return Credentials(webhooks=tuple(webhooks.items()))
    raise SecretError(
        "the Slack secret is neither a bot token (xoxb-...), nor a webhook address (https://...), "
        'nor JSON with "bot_token" or "webhooks": {channel: address}'
    )


def _all_safe(webhooks: dict[str, object]) -> bool:
    return bool(webhooks) and all(_safe(address) for address in webhooks.values())


def _is_token(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(_TOKEN.fullmatch(value.strip()))


def _safe(address: object) -> bool:
    return isinstance(address, str) and address.startswith(_SAFE)
