"""Alarms and events of a cluster, and their way to Slack.

Names are imported when they are first used. The records are in ``trainshed.config``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agent import NodeAgent as NodeAgent
    from .agent import NodeRole as NodeRole
    from .alarms import AlarmSpec as AlarmSpec
    from .budget import InstitutionBudget as InstitutionBudget
    from .file_system_alarms import ProvisionedLimits as ProvisionedLimits
    from .institution_alerts import alerts_of as alerts_of
    from .note import AlarmNote as AlarmNote
    from .slack import SlackAlerts as SlackAlerts
    from .topic import AlertTopic as AlertTopic

_HOMES = {
    "AlarmNote": "note",
    "AlarmSpec": "alarms",
    "AlertTopic": "topic",
    "InstitutionBudget": "budget",
    "NodeAgent": "agent",
    "NodeRole": "agent",
    "ProvisionedLimits": "file_system_alarms",
    "SlackAlerts": "slack",
    "alerts_of": "institution_alerts",
}

__all__ = [
    "AlarmNote",
    "AlarmSpec",
    "AlertTopic",
    "InstitutionBudget",
    "NodeAgent",
    "NodeRole",
    "ProvisionedLimits",
    "SlackAlerts",
    "alerts_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
