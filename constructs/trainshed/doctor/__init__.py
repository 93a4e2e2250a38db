"""Asks AWS whether an account is ready for an institution's cluster; reads only.

boto3 is imported where a session is made, so nothing else of trainshed waits for it.
"""

from __future__ import annotations

from .diagnosis import Answer, SessionClients, checks_of, diagnose, exit_code
from .report import as_json, as_text
from .verdict import Check, Clients, Status, Verdict

__all__ = [
    "Answer",
    "Check",
    "Clients",
    "SessionClients",
    "Status",
    "Verdict",
    "as_json",
    "as_text",
    "checks_of",
    "diagnose",
    "exit_code",
]
