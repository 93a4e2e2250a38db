"""Where an alert goes: severity and institution to channel, mentions, quiet hours.

The value is one JSON object in the environment, written by the ``AlertRoutes`` record of the
construct and read strictly: an unknown or missing key is an error at the first invocation, and not
an alert in the wrong channel.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, time, tzinfo
from typing import Any

SEVERITIES = ("critical", "warning", "info")


@dataclass(frozen=True)
class QuietHours:
    """Hours in which all but critical alerts go to a channel that nobody is woken by."""

    start: time
    end: time
    zone: tzinfo | None
    channel: str

    def covers(self, moment: float) -> bool:
        """Tell whether a moment (Unix seconds) lies in the quiet hours; they may span midnight."""
        if self.zone is None:
            return False
        now = datetime.fromtimestamp(moment, self.zone).time()
        if self.start <= self.end:
            return self.start <= now < self.end
        return now >= self.start or now < self.end


@dataclass(frozen=True)
class Routes:
    """The parsed routes."""

    channels: dict[str, str]
    institutions: dict[str, dict[str, str]]
    institution: str
    """Whose an alert is that does not say so: an event, a budget, a text."""
    mention: str
    quiet_hours: QuietHours | None
    group_above: int

    def channel(self, severity: str, institution: str, moment: float) -> str:
        """Return the channel of an alert at a moment (Unix seconds)."""
        if severity != "critical" and self.quiet_hours and self.quiet_hours.covers(moment):
            return self.quiet_hours.channel
        own = self.institutions.get(institution or self.institution, {})
        return own.get(severity) or self.channels[severity]


def parse(text: str) -> Routes:
    """Parse the JSON value.

    Raises:
        ValueError: it is not what ``AlertRoutes`` writes; the text names the key.
    """
    value = _object(json.loads(text), "routes")
    optional = {"institutions", "institution", "mention", "quiet_hours", "group_above"}
    _keys(value, "routes", {"channels"}, optional)
    institutions = _object(value.get("institutions", {}), "institutions")
    group_above = value.get("group_above", 5)
    if not isinstance(group_above, int) or group_above < 1:
        raise ValueError(f"group_above is {group_above!r}; use a whole number from 1")
    quiet = value.get("quiet_hours")
    return Routes(
        channels=_channels(value["channels"], "channels", set(SEVERITIES)),
        institutions={
            name: _channels(own, f"institutions.{name}", set())
            for name, own in institutions.items()
        },
        institution=_text(value.get("institution", ""), "institution"),
        mention=_text(value.get("mention", ""), "mention"),
        quiet_hours=None if quiet is None else _quiet_hours(_object(quiet, "quiet_hours")),
        group_above=group_above,
    )


def _quiet_hours(value: dict[str, Any]) -> QuietHours:
    _keys(value, "quiet_hours", {"start", "end", "timezone", "channel"}, set())
    return QuietHours(
        start=time.fromisoformat(_text(value["start"], "quiet_hours.start")),
        end=time.fromisoformat(_text(value["end"], "quiet_hours.end")),
        zone=_zone(_text(value["timezone"], "quiet_hours.timezone")),
        channel=_text(value["channel"], "quiet_hours.channel"),
    )


def _zone(name: str) -> tzinfo | None:
    # The construct has checked the name, so that None means a runtime without zones. That keeps
    # no alert back: all go where they go by day.
    # Imported where it is needed: most routes have no quiet hours.
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _channels(value: object, where: str, required: set[str]) -> dict[str, str]:
    channels = _object(value, where)
    _keys(channels, where, required, set(SEVERITIES))
    return {key: _text(channel, f"{where}.{key}") for key, channel in channels.items()}


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is not an object")
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{where} is not a text")
    return value


def _keys(value: dict[str, Any], where: str, required: set[str], optional: set[str]) -> None:
    if missing := sorted(required - set(value)):
        raise ValueError(f"{where} lacks {', '.join(missing)}")
    if unknown := sorted(set(value) - required - optional):
        raise ValueError(f"{where} has unknown keys: {', '.join(unknown)}")
