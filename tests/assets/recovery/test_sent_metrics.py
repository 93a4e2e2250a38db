"""What the head node sends of recovery is what alarms look for."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from assets.node.keeper import metrics
from assets.node.keeper.recovery import loop
from assets.node.keeper.recovery.goodput import Goodput
from assets.node.keeper.slurm import SlurmError
from trainshed.alerts import NodeAgent, NodeRole

HELD = SimpleNamespace(drained=True, reason="trainshed: new")


def test_each_metric_of_recovery_is_one_that_an_alarm_reads(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent: dict[str, float] = {}
    fakes: Any = SimpleNamespace(nodes={"train-0": HELD}, cluster="kait")
    recovery = loop.Recovery(fakes, fakes, fakes, send=lambda cluster, found: sent.update(found))
    recovery._measure(fakes, fakes, {})
    monkeypatch.setattr(loop, "week", lambda *_: {"1": Goodput(9.0, 0.0, 1.0)})
    monkeypatch.setattr(metrics, "send", lambda cluster, found: sent.update(found))
    loop.tell_goodput({"cluster": "kait"}, weekly=False)
    assert capsys.readouterr().out
    assert sent.keys() == {"nodes_held", "queues_closed", "goodput_percent"}
    agent = NodeAgent("kait", NodeRole.HEAD)
    assert metrics.lines("kait", sent) == [
        agent.statsd(name, value) for name, value in sorted(sent.items())
    ]


@pytest.mark.parametrize("taken", [True, False])
def test_without_an_agent_the_goodput_goes_to_cloudwatch_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], taken: bool
) -> None:
    ran: list[Any] = []

    def run(command: Any, text: str = "") -> str:
        ran.append(command)
        if not taken:
            raise SlurmError("AccessDenied")
        return ""

    monkeypatch.setattr(loop, "week", lambda *_: {"1": Goodput(9.0, 0.0, 1.0)})
    monkeypatch.setattr(loop, "run", run)
    values = {"cluster": "kait", "agent": False, "region": "us-east-2"}
    assert loop.tell_goodput(values, weekly=False) == 0
    (command,) = ran
    assert command[:3] == ("aws", "cloudwatch", "put-metric-data")
    (sent,) = json.loads(command[-1])
    assert (sent["MetricName"], sent["Value"], sent["Unit"]) == ("goodput_percent", 90, "Percent")
    assert ("AccessDenied" in capsys.readouterr().out) is not taken
