"""What an alarm says about itself: severity, what to do, where to read on. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..records import is_token

Severity = Literal["critical", "warning", "info"]

# PutMetricAlarm, CloudWatch API reference, read 2026-11-29: 0 to 1,024 characters.
_LONGEST_DESCRIPTION = 1024


@dataclass(frozen=True, kw_only=True)
class AlarmNote:
    """The description of an alarm, for a person in the console and for the Slack notifier.

    Args:
        summary: One line that names the resource and what is wrong: the headline in Slack.
        severity: ``critical`` calls people, the others do not.
        do: One line of what to do first.
        details: More lines, such as what happens next.
        runbook: Address of the runbook.
        dashboard: Address of a dashboard.
        institution: Whose alarm it is; routes it to that institution's channel.

    Raises:
        ValueError: A line breaks, or the whole is longer than CloudWatch takes.
    """

    summary: str
    severity: Severity
    do: str
    details: str = ""
    runbook: str = ""
    dashboard: str = ""
    institution: str = ""

    def __post_init__(self) -> None:
        for name in ("summary", "do", "runbook", "dashboard", "institution"):
            if "\n" in getattr(self, name):
                raise ValueError(f"{name} has several lines; one line each, and more in details")
        if not self.summary:
            raise ValueError("summary is empty; say in one line what is wrong with what")
        length = len(self.description)
        if length > _LONGEST_DESCRIPTION and not is_token(self.description):
            raise ValueError(
                f"the note has {length} characters; an alarm takes {_LONGEST_DESCRIPTION}: "
                "shorten details"
            )

    @property
    def description(self) -> str:
        """The note as the description of an alarm; the notifier reads it back."""
        lines = {
            "Severity": self.severity,
            "Do": self.do,
            "Runbook": self.runbook,
            "Dashboard": self.dashboard,
            "Institution": self.institution,
        }
        notes = [f"{name}: {text}" for name, text in lines.items() if text]
        return "\n".join([self.summary, *([self.details] if self.details else []), *notes])
