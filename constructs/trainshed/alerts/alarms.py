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
class AlarmContext:
    """What all alarms of one construct have in common.

    Args:
        institution: Whose they are.
        runbook_url: Page of the runbooks.
        dashboard_url: Page of the dashboard.
    """

    institution: str = ""
    runbook_url: str = ""
    dashboard_url: str = ""

    def runbook(self, section: str) -> str:
        """Return the address of a section; a page given with a place of its own stays as it is."""
        if not self.runbook_url or "#" in self.runbook_url:
            return self.runbook_url
        return f"{self.runbook_url}#{section}"


@dataclass(frozen=True, kw_only=True)
class AlarmSpec:
    """One alarm, before it is made.

    Args:
        name: PascalCase name, part of the construct id.
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
        section: Section of the runbook that it shares with others. Empty: its own.
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
    section: str = ""

    @property
    def anchor(self) -> str:
        """Section of the runbook: ``fsx-disk-full`` for ``FsxDiskFull``."""
        return self.section or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", self.name).lower()

    def note(self, context: AlarmContext) -> AlarmNote:
        """Return what the alarm says about itself."""
        return AlarmNote(
            summary=self.summary,
            severity=self.severity,
            do=self.do,
            details=self.details,
            runbook=context.runbook(self.anchor),
            dashboard=context.dashboard_url,
            institution=context.institution,
        )

    def alarm(
        self, scope: Construct, context: AlarmContext, *, prefix: str = ""
    ) -> cloudwatch.Alarm:
        """Make the alarm, without an action."""
        return cloudwatch.Alarm(
            scope,
            f"{prefix}{self.name}",
            alarm_description=self.note(context).description,
            metric=self.metric,
            threshold=self.threshold,
            comparison_operator=self.comparison,
            evaluation_periods=self.periods,
            datapoints_to_alarm=self.datapoints,
            treat_missing_data=self.missing,
        )
