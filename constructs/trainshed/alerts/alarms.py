"""An alarm as one row of a table: what it watches, when it is raised, and what to do then."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from .note import AlarmNote, Severity

ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD

RAISED = cloudwatch.TreatMissingData.BREACHING
"""Silence is the fault: heartbeats."""
FINE = cloudwatch.TreatMissingData.NOT_BREACHING
"""Silence is good: counters of errors that are sent when there are some."""
UNKNOWN = cloudwatch.TreatMissingData.MISSING
"""Silence says nothing: what is stopped on purpose sends nothing."""


@dataclass(frozen=True, kw_only=True)
class AlarmSpec:
    """One alarm, before it is made.

    Args:
        name: PascalCase name, part of the construct id, and section of the runbook in lower case.
        metric: What it watches, with statistic and period.
        threshold: Number that the metric is compared with.
        comparison: How: ``ABOVE``, ``AT_LEAST`` or ``BELOW`` the threshold is bad.
        periods: Periods that are looked at.
        datapoints: How many of them must be bad. None: all.
        missing: What a period without data means: ``RAISED``, ``FINE`` or ``UNKNOWN``.
        severity: How bad it is.
        summary: One line that names the resource and what is wrong.
        do: One line of what to do first.
        details: What happens next, or why it matters.
    """

    name: str
    metric: cloudwatch.IMetric
    threshold: float
    comparison: cloudwatch.ComparisonOperator
    periods: int
    missing: cloudwatch.TreatMissingData
    severity: Severity
    summary: str
    do: str
    details: str = ""
    datapoints: int | None = None

    @property
    def anchor(self) -> str:
        """Section of the runbook: ``fsx-free-space`` for ``FsxFreeSpace``."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", self.name).lower()

    def note(self, institution: str = "", runbook_url: str = "") -> AlarmNote:
        """Return what the alarm says about itself."""
        return AlarmNote(
            summary=self.summary,
            severity=self.severity,
            do=self.do,
            details=self.details,
            runbook=f"{runbook_url}#{self.anchor}" if runbook_url else "",
            institution=institution,
        )

    def alarm(
        self, scope: Construct, *, prefix: str = "", institution: str = "", runbook_url: str = ""
    ) -> cloudwatch.Alarm:
        """Make the alarm, without an action."""
        return cloudwatch.Alarm(
            scope,
            f"{prefix}{self.name}",
            alarm_description=self.note(institution, runbook_url).description,
            metric=self.metric,
            threshold=self.threshold,
            comparison_operator=self.comparison,
            evaluation_periods=self.periods,
            datapoints_to_alarm=self.datapoints,
            treat_missing_data=self.missing,
        )
