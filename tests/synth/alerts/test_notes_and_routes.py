"""The records of alerts: what they take, and that the notifier understands them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from assets.functions.slack_notifier.alerts import read
from assets.functions.slack_notifier.routes import parse
from trainshed.alerts import AlarmNote, NodeAgent
from trainshed.alerts.agent import NAMESPACE, SENT_BY_NODES, NodeRole
from trainshed.config import AlertRoutes, ConfigError, QuietHours, load
from trainshed.config.alerts import Alerts

ROOT = Path(__file__).parents[3]
LINE = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), min_size=1).map(
    lambda text: f"x{text.strip()}"
)


def read_note(note: AlarmNote) -> object:
    alarm = {
        "AlarmName": "name",
        "NewStateValue": "ALARM",
        "AlarmDescription": note.description,
    }
    return read(json.dumps(alarm), "id")


@settings(deadline=None)
@given(summary=LINE, do=LINE, institution=LINE)
def test_the_notifier_reads_back_what_a_note_says(summary: str, do: str, institution: str) -> None:
    note = AlarmNote(
        summary=summary[:200],
        severity="critical",
        do=do[:200],
        details="and more",
        runbook="https://example.edu/runbook#x",
        dashboard="https://example.edu/dashboard",
        institution=institution[:60],
    )
    alert = read_note(note)
    assert (alert.title, alert.severity, alert.advice, alert.institution, alert.what) == (  # type: ignore[attr-defined]
        note.summary,
        "critical",
        note.do,
        note.institution,
        "and more",
    )
    assert alert.links == (  # type: ignore[attr-defined]
        ("Runbook", note.runbook),
        ("Dashboard", note.dashboard),
    )


def test_a_note_without_options_is_read_back() -> None:
    alert = read_note(AlarmNote(summary="It is full", severity="info", do="Empty it"))
    assert (alert.title, alert.severity, alert.what) == ("It is full", "info", "")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"summary": ""}, "summary is empty; say in one line what is wrong with what"),
        ({"do": "a\nb"}, "do has several lines; one line each, and more in details"),
        (
            {"details": "x" * 1024},
            "the note has 1050 characters; an alarm takes 1024: shorten details",
        ),
    ],
)
def test_a_note_that_an_alarm_cannot_hold_is_refused(changed: dict[str, str], fault: str) -> None:
    with pytest.raises(ValueError, match=f"^{fault}$"):
        AlarmNote(**{"summary": "s", "severity": "warning", "do": "d", **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"critical": "#ops"}, "'#ops' is no channel; use its id, C0123456789, or a name without"),
        ({"mention": "@here"}, "'@here' mentions nobody in Slack; use <!here>"),
        ({"group_above": 0}, "greater than or equal to 1"),
        ({"colour": "red"}, "Extra inputs are not permitted"),
    ],
)
def test_routes_that_lead_nowhere_are_refused(changed: dict[str, object], fault: str) -> None:
    given_routes = {"critical": "C0ONCALL00", "warning": "ops", "info": "ops", **changed}
    with pytest.raises(ValidationError, match=fault):
        AlertRoutes.model_validate(given_routes)


@pytest.mark.parametrize("channel", ["https://hooks.slack.com/services/planted", "xoxb-planted"])
def test_a_secret_as_a_channel_is_refused_without_being_quoted(channel: str) -> None:
    with pytest.raises(ValidationError, match="belong in Secrets Manager") as refused:
        AlertRoutes(critical=channel, warning="ops", info="ops")
    assert "planted" not in str(refused.value)


@pytest.mark.parametrize("secret", ["https://hooks.slack.com/services/planted", "xoxb-planted"])
@pytest.mark.parametrize(
    "line",
    ["slack_secret_arn: {}", "routes: {{mention: {}}}", "operators: [{}]", "runbook_url: {}"],
)
def test_a_secret_anywhere_in_a_file_is_refused_without_being_quoted(
    secret: str, line: str, tmp_path: Path
) -> None:
    example = yaml.safe_load((ROOT / "institutions" / "kait.yaml").read_text())
    wrong = yaml.safe_load(line.format(secret))
    routes = {**example["alerts"]["routes"], **wrong.pop("routes", {})}
    example["alerts"] |= {"routes": routes, **wrong}
    file = tmp_path / "kait.yaml"
    file.write_text(yaml.safe_dump(example))
    with pytest.raises(ConfigError) as refused:
        load(file)
    assert "alerts." in str(refused.value)
    assert "planted" not in str(refused.value)
    with pytest.raises(ValidationError) as again:
        Alerts.model_validate_json(json.dumps(example["alerts"]))
    assert "planted" not in str(again.value)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"start": "24:00"}, "'24:00' is no time of day; use HH:MM, 22:00"),
        ({"timezone": "Seoul"}, "'Seoul' is no time zone; use an IANA name, Asia/Seoul"),
    ],
)
def test_quiet_hours_that_never_come_are_refused(changed: dict[str, str], fault: str) -> None:
    night = {"start": "22:00", "end": "06:00", "timezone": "Asia/Seoul", "channel": "night"}
    with pytest.raises(ValidationError, match=fault):
        QuietHours(**{**night, **changed})


def test_the_notifier_reads_the_smallest_routes() -> None:
    routes = AlertRoutes(critical="C0ONCALL00", warning="ops", info="ops")
    parsed = parse(routes.to_json())
    assert parsed.channels == {"critical": "C0ONCALL00", "warning": "ops", "info": "ops"}
    assert parsed.quiet_hours is None


def test_agent_and_alarms_have_the_same_dimensions() -> None:
    agent = NodeAgent("kait", NodeRole.HEAD, disks=("/", "/state"))
    metrics = agent.configuration()["metrics"]
    assert metrics["namespace"] == NAMESPACE
    assert sorted(agent.dimensions) in metrics["aggregation_dimensions"]
    assert sorted(agent.disk_dimensions("/state")) in metrics["aggregation_dimensions"]
    assert metrics["metrics_collected"]["mem"]["append_dimensions"] == agent.dimensions
    assert metrics["metrics_collected"]["disk"]["append_dimensions"] == agent.dimensions
    assert metrics["metrics_collected"]["disk"]["resources"] == ["/", "/state"]
    # Only the global section replaces it; beside a metric it would be sent as it stands.
    text = json.dumps(metrics["metrics_collected"])
    assert "${" not in text


def test_a_node_script_sends_a_metric_with_the_dimensions_of_the_alarms() -> None:
    line = NodeAgent("kait").statsd("gpus_missing", 1)
    assert line == "gpus_missing:1|g|#ClusterName:kait,Role:compute"


@pytest.mark.parametrize(
    ("use", "fault"),
    [
        (lambda: NodeAgent(""), "cluster_name is empty; it is a dimension of every metric"),
        (lambda: NodeAgent("a,b"), "cluster_name is 'a,b'; a tag of StatsD takes no comma"),
        (
            lambda: NodeAgent("kait").statsd("gpus", 1),
            f"gpus is no metric of nodes; use {', '.join(SENT_BY_NODES)}",
        ),
        (
            lambda: NodeAgent("kait").disk_dimensions("/data"),
            "/data is not watched; the agent sends /",
        ),
    ],
    ids=["empty", "comma", "metric", "disk"],
)
def test_metrics_that_no_alarm_would_find_are_refused(use: object, fault: str) -> None:
    with pytest.raises(ValueError, match=f"^{fault}"):
        use()  # type: ignore[operator]


def test_the_records_need_no_cdk() -> None:
    code = (
        "import sys; from trainshed.alerts import AlarmNote, NodeAgent;"
        "print('aws_cdk' in sys.modules, 'boto3' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]
