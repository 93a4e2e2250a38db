"""CloudWatch alarms: what SNS and EventBridge carry when one changes its state."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from . import console
from .events import utc

_NOTE = re.compile(r"^(Severity|Do|Runbook|Dashboard|Institution): *(.+)$", re.MULTILINE)
_DATAPOINT = re.compile(
    r"(-?\d+(?:\.\d+)?(?:E-?\d+)?) \((\d\d)/(\d\d)/(\d\d) (\d\d:\d\d:\d\d)\)", re.IGNORECASE
)
_STATES = {"ALARM": "alarm", "OK": "ok", "INSUFFICIENT_DATA": "no data"}
_COMPARISONS = {
    "GreaterThanThreshold": ">",
    "GreaterThanOrEqualToThreshold": ">=",
    "LessThanThreshold": "<",
    "LessThanOrEqualToThreshold": "<=",
    "GreaterThanUpperThreshold": "above the expected band",
    "LessThanLowerThreshold": "below the expected band",
    "LessThanLowerOrGreaterThanUpperThreshold": "outside the expected band",
}
_BARS = "▁▂▃▄▅▆▇█"
T = TypeVar("T")


def alarm_fields(value: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the alert for an alarm notification; every key may be missing."""
    name, arn = str(value["AlarmName"]), _text(value.get("AlarmArn"))
    reason = _text(value.get("NewStateReason"))
    trigger = _dict(value.get("Trigger"))
    notes, summary = _notes(_text(value.get("AlarmDescription")))
    region = arn.split(":")[3] if arn.count(":") >= 6 else _text(value.get("Region"))
    title, _, rest = summary.partition("\n") if "Severity" in notes else (name, "", summary)
    fields = [
        ("Alarm", name),
        *_part(lambda: _trigger_fields(value.get("Trigger") or {}), _raw(value, "Trigger")),
        *_part(lambda: _children(value), _raw(value, "TriggeringChildren")),
    ]
    return {
        "key": arn or name,
        "kind": _alarm_kind(value, trigger),
        "title": title or name,
        "state": _STATES.get(str(value["NewStateValue"]), "no data"),
        "severity": _severity(notes.get("Severity", "")),
        "time": utc(_text(value.get("StateChangeTime"))),
        "what": "\n".join(part for part in (rest.strip(), reason) if part),
        "chart": _part(lambda: _chart(reason, trigger), ""),
        "advice": notes.get("Do", ""),
        "account": _text(value.get("AWSAccountId")),
        "region": region,
        "institution": notes.get("Institution", ""),
        "fields": tuple(fields),
        "links": _alarm_links(name, arn, region, notes),
        "first": value.get("OldStateValue") == "INSUFFICIENT_DATA",
    }


def _part(read: Callable[[], T], otherwise: T) -> T:
    """Read a part of an alarm; one of a shape that nobody foresaw must not hide how bad it is."""
    try:
        return read()
    except Exception:
        return otherwise


def _raw(value: dict[str, Any], name: str) -> list[tuple[str, str]]:
    return [(name, json.dumps(value.get(name), ensure_ascii=False))]


def _notes(description: str) -> tuple[dict[str, str], str]:
    """Take the lines that ``AlarmNote`` writes out of a description: ``Severity: critical``."""
    notes = {match[1]: match[2].strip() for match in _NOTE.finditer(description)}
    return notes, _NOTE.sub("", description).strip()


def _alarm_kind(value: dict[str, Any], trigger: dict[str, Any]) -> str:
    if "AlarmRule" in value:
        return "composite alarm"
    if "ThresholdMetricId" in trigger:
        return "anomaly alarm"
    return "metric math alarm" if trigger.get("Metrics") else "metric alarm"


def _trigger_fields(trigger: dict[str, Any]) -> list[tuple[str, str]]:
    fields = []
    metrics = trigger.get("Metrics") or []
    for metric in [trigger, *(m.get("MetricStat", {}).get("Metric", {}) for m in metrics)]:
        if "MetricName" in metric:
            dimensions = ", ".join(
                f"{d.get('name')}={d.get('value')}" for d in metric.get("Dimensions") or []
            )
            namespace = _text(metric.get("Namespace"))
            fields.append((f"{namespace} {metric['MetricName']}".strip(), dimensions or "-"))
    fields += [
        (str(m.get("Label") or m["Id"]), str(m["Expression"])) for m in metrics if "Expression" in m
    ]
    return fields


def _children(value: dict[str, Any]) -> list[tuple[str, str]]:
    children = value.get("TriggeringChildren") or []
    named = [
        (str(c["Arn"]).rpartition(":alarm:")[2], str(c.get("State", {}).get("Value", "")))
        for c in children
    ]
    rule = [("Rule", str(value["AlarmRule"]))] if "AlarmRule" in value else []
    return [("Triggered by", f"{name} ({state})") for name, state in named] + rule


def _chart(reason: str, trigger: dict[str, Any]) -> str:
    """Draw the datapoints that CloudWatch names in its reason, oldest first."""
    # CloudWatch writes day/month/year: NewStateReason in SNS notifications, 2018 to 2026.
    points = sorted((f"{y}{m}{d}{clock}", float(v)) for v, d, m, y, clock in _points(reason))
    if not points:
        return ""
    values = [value for _, value in points]
    low, high = min(values), max(values)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    bars = "".join(_BARS[round((value - low) * scale)] for value in values)
    comparison = _COMPARISONS.get(_text(trigger.get("ComparisonOperator")), "")
    threshold = trigger.get("Threshold")
    number = _number(threshold) if isinstance(threshold, int | float) else ""
    limit = f"{comparison} {number}".strip()
    first, last = _number(values[0]), _number(values[-1])
    shown = f"{bars} {first} to {last}" if len(values) > 1 else last
    return f"{shown} (alarm when {limit})" if limit else shown


def _number(value: float) -> str:
    """Write a number as people say it: 2.29E13 is ``22.9 T``."""
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if prefix == 'k' else size):.4g} {prefix}"
    return f"{value:.4g}"


def _points(reason: str) -> list[tuple[str, str, str, str, str]]:
    return _DATAPOINT.findall(reason)


def _alarm_links(
    name: str, arn: str, region: str, notes: dict[str, str]
) -> tuple[tuple[str, str], ...]:
    links = []
    if arn.startswith("arn:"):
        path = f"cloudwatch/home?region={region}#alarmsV2:alarm/{console.quoted(name)}"
        links.append(("Alarm", console.page(region, path)))
    links += [(label, notes[label]) for label in ("Runbook", "Dashboard") if label in notes]
    return tuple(links)


def as_notification(event: dict[str, Any]) -> dict[str, Any]:
    """Turn EventBridge's alarm state change into the shape that SNS carries."""
    detail = event["detail"]
    state, before = _dict(detail.get("state")), _dict(detail.get("previousState"))
    configuration = _dict(detail.get("configuration"))
    trigger = _part(lambda: _named(configuration.get("metrics") or []), configuration)
    return {
        "AlarmName": detail["alarmName"],
        "AlarmDescription": configuration.get("description"),
        "AlarmArn": (event.get("resources") or [""])[0],
        "AWSAccountId": event.get("account"),
        "NewStateValue": state.get("value"),
        "NewStateReason": state.get("reason"),
        "OldStateValue": before.get("value"),
        "StateChangeTime": state.get("timestamp"),
        "Trigger": trigger,
    } | ({"AlarmRule": configuration["alarmRule"]} if "alarmRule" in configuration else {})


def _named(metrics: list[dict[str, Any]]) -> dict[str, Any]:
    named = [
        {"MetricName": m.get("name"), "Namespace": m.get("namespace")}
        | {"Dimensions": [{"name": k, "value": v} for k, v in m.get("dimensions", {}).items()]}
        for m in (entry.get("metricStat", {}).get("metric", {}) for entry in metrics)
        if m
    ]
    if len(named) == 1:
        return named[0]
    return {"Metrics": [{"MetricStat": {"Metric": m}} for m in named]}


def _severity(text: str) -> str:
    severity = text.strip().lower()
    return severity if severity in ("critical", "warning", "info") else "warning"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
