"""Diagnostics of DCGM, from ``dcgmi diag --json`` of versions 3 and 4."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .results import FAIL, ISOLATE, MONITOR, RESET, WARN, Finding, Result, conclude, warning

# dcgm_errors.h, dcgmErrorSeverity_t: 1 monitor, 2 isolate, 3 unknown, 4 triage, 5 config, 6 reset.
# What DCGM would have triaged is not trained on; a setting of the node is no fault of a GPU.
_SEVERITY = {
    "1": (WARN, MONITOR),
    "2": (FAIL, ISOLATE),
    "3": (FAIL, RESET),
    "4": (FAIL, ISOLATE),
    "5": (WARN, MONITOR),
    "6": (FAIL, RESET),
}
_ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
_MEMORY_TEST = "memtest"
# Beside them there are skip and not run.
_RAN = ("pass", "fail", "warn")


def judge(check: str, code: int | None, output: str, *, memory_test: bool = False) -> Result:
    """Return the verdict on a diagnostic run.

    Args:
        check: Name of the result.
        code: Exit code; None when it did not end in time.
        output: What it printed.
        memory_test: Whether the memory test must have run.
    """
    if code is None:
        return conclude(check, [Finding(FAIL, RESET, "the diagnostic did not end in time")], "")
    tests = _tests(output)
    if not tests:
        said = " ".join(output.split())[:120] or f"exit code {code}"
        return conclude(check, [warning(f"DCGM did not run: {said}")], "")
    findings = [finding for test in tests for finding in _findings(test)]
    names = [str(test.get("name", "?")) for test in tests if _ran(test)]
    if not names:
        findings.append(warning("no test of the diagnostic ran"))
    elif code and not findings:
        findings.append(warning(f"the diagnostic ended with {code}, and names no fault"))
    if memory_test and not any(_MEMORY_TEST in name.lower() for name in names):
        findings.append(warning("the memory test did not run"))
    return conclude(check, findings, f"{len(names)} tests passed: {', '.join(names)}")


def _tests(output: str) -> list[dict[str, Any]]:
    start = output.find("{")
    try:
        document = json.loads(output[start:]) if start >= 0 else {}
    except ValueError:
        return []
    root = next((document[name] for name in _ROOTS if name in document), None) or {}
    categories = root.get("test_categories") or []
    return [test for category in categories for test in category.get("tests") or []]


def _ran(test: dict[str, Any]) -> bool:
    results = test.get("results") or []
    return any(str(result.get("status", "")).lower() in _RAN for result in results)


def _findings(test: dict[str, Any]) -> Iterator[Finding]:
    for result in test.get("results") or []:
        failed = str(result.get("status", "")).lower() == "fail"
        where = result.get("entity_id", result.get("gpu_id", result.get("gpu_ids", "")))
        at = f"{test.get('name')} on GPU {where}" if where != "" else str(test.get("name"))
        warnings = result.get("warnings") or []
        # Version 3 gives a text, later ones a list of objects or of texts.
        for item in warnings if isinstance(warnings, list) else [warnings]:
            text = str(item.get("warning", "")) if isinstance(item, dict) else str(item)
            number = str(item.get("error_severity", "")) if isinstance(item, dict) else ""
            unsaid = (FAIL, RESET) if failed else (WARN, MONITOR)
            verdict, severity = _SEVERITY.get(number, unsaid)
            yield Finding(verdict, severity, f"{at}: {text.strip()[:160]}")
        if failed and not warnings:
            yield Finding(FAIL, RESET, f"{at}: failed")
