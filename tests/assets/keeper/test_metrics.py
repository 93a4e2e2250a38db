from __future__ import annotations

import socket
from datetime import timedelta

from assets.node.keeper import metrics
from assets.node.keeper.slurm import Job
from tests.assets.keeper.fleet import NOW, Fleet
from trainshed.alerts.agent import NodeAgent, NodeRole

NOBODY = ("127.0.0.1", 9)


def pending(minutes: int) -> Job:
    return Job("1", "PENDING", NOW - timedelta(minutes=minutes), None, "1:00", "")


def test_every_line_is_the_one_that_an_alarm_reads() -> None:
    agent = NodeAgent("kait", NodeRole.HEAD)
    found = metrics.gather(Fleet().view, [pending(90)], NOBODY)
    assert metrics.lines("kait", found) == [
        agent.statsd(name, value) for name, value in sorted(found.items())
    ]
    assert set(found) == {
        *("slurmctld_up", "slurmdbd_up", "nodes_down", "nodes_drained", "pending_minutes")
    }


def test_what_is_counted() -> None:
    fleet = (
        Fleet(6).silent(20, 0).node(1, "DOWN").drained("kim", 2).drained("trainshed: outdated", 3)
    )
    jobs = [pending(5), pending(90), pending(-9), Job("2", "RUNNING", NOW, None, "1:00", "")]
    assert metrics.gather(fleet.view, jobs, NOBODY) == {
        "slurmctld_up": 1,
        "slurmdbd_up": 0,
        "nodes_down": 2,
        "nodes_drained": 1,
        "pending_minutes": 90,
    }


def test_what_is_not_known_is_not_sent() -> None:
    found = metrics.gather(Fleet().but(nodes=None).view, None, NOBODY)
    assert found == {"slurmctld_up": 0, "slurmdbd_up": 0}


def test_metrics_reach_a_listener_and_miss_none_that_is_absent(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as agent:
        agent.bind(("127.0.0.1", 0))
        agent.settimeout(5)
        monkeypatch.setattr(metrics, "AGENT", agent.getsockname())
        metrics.send("kait", {"nodes_down": 2})
        assert agent.recv(200) == b"nodes_down:2|g|#ClusterName:kait,Role:head"
    metrics.send("kait", {"nodes_down": 2})
