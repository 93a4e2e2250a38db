"""Recorded faults, and what the checks say of each."""

from __future__ import annotations

import json

import pytest

from assets.node.health.checks import cli, fast
from assets.node.health.checks.node import Node
from assets.node.health.checks.results import SEVERITIES, VERDICTS, Result
from tests.fixtures.health.node import Fault, SaidNode, faults

FAULTS = faults()
OF_GPUS = [fault for fault in FAULTS if fault.gpus or (fault.missing_gpus and not fault.commands)]


def checked(fault: Fault, *, xml: bool = False) -> list[Result]:
    """Return what all checks of the fault's level say."""
    probe = SaidNode(fault, xml=xml)
    node = Node(probe, fault.expected, sleep=lambda seconds: None)
    if fault.level == "fast":
        return fast.run(node, list(fast.CHECKS))
    checks = cli.LEVELS[fault.level]
    return [check(node) for check in checks.values()]


def assert_expected(fault: Fault, results: list[Result]) -> None:
    """Compare what is not well with what the fault says; all else must be well."""
    bad = {result.check: result for result in results if result.verdict != "ok"}
    wanted = {result["check"]: result for result in fault.results}
    assert {name: (result.verdict, result.severity) for name, result in bad.items()} == {
        name: (result["verdict"], result["severity"]) for name, result in wanted.items()
    }
    for name, result in bad.items():
        assert wanted[name]["evidence"] in result.evidence


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_gets_its_verdict_and_severity(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assets.node.health.checks.deep.all_reduce_program", lambda: "")
    assert_expected(fault, checked(fault))


@pytest.mark.parametrize("fault", OF_GPUS, ids=lambda fault: fault.name)
def test_the_full_report_of_an_older_driver_gets_the_same_verdict(fault: Fault) -> None:
    assert_expected(fault, checked(fault, xml=True))


@pytest.mark.parametrize("level", ["fast", "basic"])
@pytest.mark.parametrize("instance_type", ["p5en.48xlarge", "trn1.32xlarge"])
def test_a_healthy_node_passes(level: str, instance_type: str) -> None:
    results = checked(Fault(level=level, instance_type=instance_type))
    assert [result for result in results if result.verdict != "ok"] == []
    assert [result.check for result in results] == list(cli.LEVELS[level])


def test_there_are_many_faults_and_each_says_where_it_is_from() -> None:
    assert len(FAULTS) >= 60
    assert all(fault.source and fault.what for fault in FAULTS)


def test_a_result_is_one_line_of_json() -> None:
    for result in checked(Fault(missing_gpus=[3])):
        line = result.line()
        assert "\n" not in line
        said = json.loads(line)
        assert set(said) == {"check", "verdict", "severity", "evidence"}
        assert said["verdict"] in VERDICTS and said["severity"] in SEVERITIES
        assert said["evidence"]


def test_late_efa_devices_are_waited_for_fifteen_seconds_and_no_longer() -> None:
    waited: list[float] = []
    fault = Fault(late_efa=99)
    node = Node(SaidNode(fault), fault.expected, sleep=waited.append)
    assert fast.CHECKS["efa"](node).verdict == "fail"
    assert sum(waited) == 15
