"""Alarms and events of a cluster, and their way to Slack.

Names are imported when they are first used: the records need no CDK.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agent import NodeAgent as NodeAgent
    from .alarms import AlarmSpec as AlarmSpec
    from .budget import InstitutionBudget as InstitutionBudget
    from .note import AlarmNote as AlarmNote
    from .routes import AlertRoutes as AlertRoutes
    from .routes import QuietHours as QuietHours
    from .routes import SeverityChannels as SeverityChannels
    from .slack import SlackAlerts as SlackAlerts
    from .topic import AlertTopic as AlertTopic

_HOMES = {
    "AlarmNote": "note",
    "AlarmSpec": "alarms",
    "AlertRoutes": "routes",
    "AlertTopic": "topic",
    "InstitutionBudget": "budget",
    "NodeAgent": "agent",
    "QuietHours": "routes",
    "SeverityChannels": "routes",
    "SlackAlerts": "slack",
}

__all__ = [
    "AlarmNote",
    "AlarmSpec",
    "AlertRoutes",
    "AlertTopic",
    "InstitutionBudget",
    "NodeAgent",
    "QuietHours",
    "SeverityChannels",
    "SlackAlerts",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
