"""What a check says: one line of JSON with check, verdict, severity and evidence."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

OK, WARN, FAIL = "ok", "warn", "fail"
VERDICTS = (OK, WARN, FAIL)
"""From good to bad. ``fail`` drains the node; ``warn`` is told and nothing more."""

MONITOR, RESET, REBOOT, ISOLATE = "monitor", "reset", "reboot", "isolate"
SEVERITIES = (MONITOR, RESET, REBOOT, ISOLATE)
"""What mends it: nothing yet, a reset of the GPU, a reboot, another instance."""

UNMADE = "the check could not be made: "
"""Begins the evidence of a check that broke: nothing is said of the node, good or bad."""

_LONGEST_EVIDENCE = 400


@dataclass(frozen=True)
class Finding:
    """One thing that a check has found wrong.

    Args:
        verdict: ``warn`` or ``fail``.
        severity: What mends it.
        text: What was seen, with the part it was seen on.
    """

    verdict: str
    severity: str
    text: str


@dataclass(frozen=True)
class Result:
    """The answer of one check.

    Args:
        check: Name of the check.
        verdict: ``ok``, ``warn`` or ``fail``.
        severity: What mends it; ``monitor`` when it is well.
        evidence: What was seen, for people.
    """

    check: str
    verdict: str
    severity: str
    evidence: str

    @classmethod
    def of_line(cls, line: str) -> Result | None:
        """Return the result that a line of JSON has; None when it has none."""
        try:
            result = cls(**json.loads(line))
        except (ValueError, TypeError):
            return None
        known = result.verdict in VERDICTS and result.severity in SEVERITIES
        return result if known and isinstance(result.evidence, str) else None

    def line(self) -> str:
        """Return the line of JSON."""
        return json.dumps(
            {
                "check": self.check,
                "verdict": self.verdict,
                "severity": self.severity,
                "evidence": self.evidence,
            }
        )

    def sentence(self) -> str:
        """Return the line for people."""
        remedy = "" if self.verdict == OK else f" [{self.severity}]"
        return f"{self.verdict:4} {self.check}: {self.evidence}{remedy}"


def warning(text: str, severity: str = MONITOR) -> Finding:
    """Return a finding that leaves the node in use."""
    return Finding(WARN, severity, text)


def failure(severity: str, text: str) -> Finding:
    """Return a finding that takes the node out of use."""
    return Finding(FAIL, severity, text)


def conclude(check: str, findings: Iterable[Finding], fine: str) -> Result:
    """Return the result of a check from all it found.

    Args:
        check: Name of the check.
        findings: What is wrong. The worst decides, and stands first in the evidence.
        fine: Evidence when nothing is wrong.
    """
    ranked = sorted(findings, key=_badness, reverse=True)
    if not ranked:
        return Result(check, OK, MONITOR, fine)
    evidence = "; ".join(dict.fromkeys(finding.text for finding in ranked))
    if len(evidence) > _LONGEST_EVIDENCE:
        evidence = evidence[: _LONGEST_EVIDENCE - 3] + "..."
    return Result(check, ranked[0].verdict, ranked[0].severity, evidence)


def failed(results: Iterable[Result]) -> list[Result]:
    """Return the results that take the node out of use, what needs most first."""
    bad = [result for result in results if result.verdict == FAIL]
    return sorted(bad, key=lambda result: SEVERITIES.index(result.severity), reverse=True)


def exit_code(results: Iterable[Result]) -> int:
    """Return 0 when the node may be used, 1 when a check failed, 2 when one could not be made."""
    known = list(results)
    if failed(known):
        return 1
    return 2 if unmade(known) else 0


def unmade(results: Iterable[Result]) -> list[Result]:
    """Return the results of checks that could not be made."""
    return [result for result in results if result.evidence.startswith(UNMADE)]


def without_verdict(result: Result) -> Result:
    """Return the fault of a node that is not used without a verdict, of a check that broke."""
    what = result.evidence.removeprefix(UNMADE)
    what = what if result.check == "checks" else f"{result.check}: {what}"
    return Result("checks", FAIL, MONITOR, f"could not be made: {what}")


def _badness(finding: Finding) -> tuple[int, int]:
    return VERDICTS.index(finding.verdict), SEVERITIES.index(finding.severity)
