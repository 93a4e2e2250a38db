"""What is watched, and that each alarm tells what a person at night needs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import aws_cdk as cdk
import pytest
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Match, Template

from assets.functions.slack_notifier.alerts import read
from trainshed.alerts import InstitutionBudget, NodeAgent, SlackAlerts
from trainshed.alerts.agent import NAMESPACE, SENT_BY_NODES, NodeRole
from trainshed.alerts.capacity_alarms import CapacityBlockNotices
from trainshed.alerts.file_system_alarms import ProvisionedLimits
from trainshed.config.storage import ExistingLustre, Lustre

if TYPE_CHECKING:
    from tests.synth.alerts.conftest import Alerts
    from trainshed.alerts.file_system_alarms import WatchedFileSystem
    from trainshed.alerts.fleet_alarms import WatchedFleet
    from trainshed.alerts.watches import WatchedCapacity
    from trainshed.capacity import CapacityReservation
    from trainshed.config.capacity import CapacityBlock
    from trainshed.fleets import ParallelClusterFleet
    from trainshed.storage import LustreStorage

    def what_trainshed_makes_can_be_watched(
        storage: LustreStorage,
        fleet: ParallelClusterFleet,
        block: CapacityBlock,
        reservation: CapacityReservation,
    ) -> tuple[WatchedFileSystem, WatchedFleet, WatchedCapacity, WatchedCapacity]:
        """Never called: the type checker proves it."""
        return storage, fleet, block, reservation


EXISTING: dict[str, Any] = {
    "file_system_id": "fs-0123456789abcdef0",
    "dns_name": "fs-0123456789abcdef0.fsx.us-east-2.amazonaws.com",
    "mount_name": "fsx",
    "security_group_id": "sg-0123456789abcdef0",
}
Resources = Callable[[str], dict[str, dict[str, Any]]]
ROOT = Path(__file__).parents[3]
MINUTE = cdk.Duration.minutes(1)
RUNBOOK = "https://example.edu/alerts"
DASHBOARD = "https://example.edu/dashboard"
AGENTS = [NodeAgent("kait", role) for role in NodeRole]


@dataclass(frozen=True)
class Storage:
    """The part of ``LustreStorage`` that is watched."""

    capacity_gib: int | None = 230_400
    file_system_id: str = "fs-0123456789abcdef0"

    def metric_free_data_storage(
        self,
        *,
        statistic: Literal["Sum", "Minimum"] = "Sum",
        period: cdk.Duration = MINUTE,
    ) -> cloudwatch.Metric:
        return self._metric("FreeDataStorageCapacity", statistic, period)

    def metric_throughput(self, *, period: cdk.Duration = MINUTE) -> cloudwatch.IMetric:
        return self._metric("DataReadBytes", "Sum", period)

    def metric_metadata_operations(self, *, period: cdk.Duration = MINUTE) -> cloudwatch.Metric:
        return self._metric("MetadataOperations", "Sum", period)

    def metric_oldest_queued_change(
        self, direction: Literal["import", "export"], *, period: cdk.Duration = MINUTE
    ) -> cloudwatch.Metric:
        return self._metric("AgeOfOldestQueuedMessage", "Maximum", period)

    def _metric(self, name: str, statistic: str, period: cdk.Duration) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace="AWS/FSx",
            metric_name=name,
            statistic=statistic,
            period=period,
            dimensions_map={"FileSystemId": self.file_system_id},
        )


@dataclass(frozen=True)
class Fleet:
    cluster_name: str = "kait"
    head_node_instance_id: str = "i-0abc1234def567890"


@dataclass(frozen=True)
class Block:
    reservation_id: str | None = "cr-0abc1234def567890"
    end: datetime | None = datetime(2027, 3, 1, 11, 30, tzinfo=UTC)
    start: datetime | None = None


def watch_everything(made: SlackAlerts, stack: cdk.Stack) -> None:
    limits = ProvisionedLimits(throughput_bytes_per_second=2.25e11, metadata_iops=12_000)
    made.watch_file_system(Storage(), directions=["import", "export"], limits=limits)
    made.watch_fleet(Fleet(), agents=AGENTS)
    made.watch_capacity(Block())
    made.watch_account()
    made.watch_nat_gateway("nat-0abc")
    made.watch_group("TrainGroup", "kait-train")
    made.watch_login_pool("kait-login-AutoScalingGroup")
    made.watch_stack("ClusterStack", "arn:aws:cloudformation:us-east-2:1:stack/kait/1")
    function = lambda_.Function.from_function_arn(
        stack, "Provider", "arn:aws:lambda:us-east-2:123456789012:function:provider"
    )
    made.watch_function(function, prefix="Provider")


@pytest.fixture
def alarms(alerts: Alerts, stack: cdk.Stack, resources: Resources) -> dict[str, dict[str, Any]]:
    """Every alarm but those of the notifier, by construct id."""
    made = alerts(institution="kait", runbook_url=RUNBOOK, dashboard_url=DASHBOARD)
    watch_everything(made, stack)
    return {
        name.removeprefix("Alerts")[:-8]: alarm
        for name, alarm in resources("AWS::CloudWatch::Alarm").items()
        if "Notifier" not in name
    }


# Name, severity, what silence means. The page docs/alerts.md has a section for each.
EXPECTED = {
    "FsxSpaceLow": ("warning", "missing"),
    "FsxSpaceCritical": ("critical", "missing"),
    "FsxDiskFull": ("critical", "missing"),
    "FsxThroughputSaturated": ("warning", "missing"),
    "FsxMetadataSaturated": ("warning", "missing"),
    "FsxImportStuck": ("warning", "missing"),
    "FsxExportStuck": ("warning", "missing"),
    "HeadNodeStatus": ("critical", "breaching"),
    "LoginNodeStatus": ("warning", "missing"),
    "HeadMemory": ("critical", "missing"),
    "HeadDiskRoot": ("critical", "missing"),
    "LoginMemory": ("warning", "missing"),
    "LoginDiskRoot": ("warning", "missing"),
    "ComputeMemory": ("warning", "missing"),
    "ComputeDiskRoot": ("warning", "missing"),
    "SlurmctldDown": ("critical", "breaching"),
    "SlurmdbdDown": ("critical", "breaching"),
    "NodesDown": ("critical", "missing"),
    "NodesDrained": ("warning", "missing"),
    "JobsWaiting": ("info", "missing"),
    "NodesHeld": ("warning", "missing"),
    "QueuesClosed": ("critical", "missing"),
    "GoodputLow": ("info", "missing"),
    "GpuLost": ("critical", "notBreaching"),
    "XidHardware": ("critical", "notBreaching"),
    "XidApplication": ("info", "notBreaching"),
    "GpuEcc": ("critical", "notBreaching"),
    "GpuHot": ("warning", "notBreaching"),
    "EfaErrors": ("warning", "notBreaching"),
    "GpusIdle": ("info", "missing"),
    "ReservationUnused": ("warning", "missing"),
    "NatPortsExhausted": ("warning", "notBreaching"),
    "ProviderFunctionErrors": ("warning", "notBreaching"),
}


def read_alarm(alarm: dict[str, Any]) -> Any:
    message = {
        "AlarmName": "a",
        "NewStateValue": "ALARM",
        "AlarmDescription": alarm["AlarmDescription"],
    }
    return read(json.dumps(message), "id")


def test_each_alarm_has_its_severity_and_a_choice_for_missing_data(
    alarms: dict[str, dict[str, Any]],
) -> None:
    found = {
        name: (read_alarm(alarm).severity, alarm["TreatMissingData"])
        for name, alarm in alarms.items()
    }
    assert found == EXPECTED


def test_each_alarm_says_what_to_do_whose_it_is_and_where_to_read_on(
    alarms: dict[str, dict[str, Any]],
) -> None:
    for alarm in alarms.values():
        shown = read_alarm(alarm)
        assert shown.title
        assert shown.advice
        assert shown.institution == "kait"
        assert [label for label, _ in shown.links] == ["Runbook", "Dashboard"]
        assert len(alarm["AlarmDescription"]) <= 1024


def test_each_alarm_has_a_section_in_the_runbook(
    alarms: dict[str, dict[str, Any]], resources: Resources
) -> None:
    of_the_notifier = resources("AWS::CloudWatch::Alarm")
    assert len(of_the_notifier) == len(alarms) + 4
    text = (ROOT / "docs" / "alerts.md").read_text()
    anchors = {
        read_alarm(alarm).links[0][1].partition("#")[2] for alarm in of_the_notifier.values()
    }
    missing = sorted(anchor for anchor in anchors if f"\n#### {anchor}\n" not in text)
    assert missing == []


def test_a_runbook_that_names_a_place_itself_is_linked_as_it_is(
    alerts: Alerts, stack: cdk.Stack, resources: Resources
) -> None:
    page = "https://example.edu/wiki#gpu-alarms"
    watch_everything(alerts(institution="kait", runbook_url=page), stack)
    stack_alarms = resources("AWS::CloudWatch::Alarm").values()
    assert {read_alarm(alarm).links[0][1] for alarm in stack_alarms} == {page}


def test_each_alarm_reaches_slack_when_raised_and_when_over(
    alarms: dict[str, dict[str, Any]],
) -> None:
    for alarm in alarms.values():
        assert len(alarm["AlarmActions"]) == 1
        assert alarm["OKActions"] == alarm["AlarmActions"]


def test_alarms_on_agent_metrics_use_dimensions_that_the_agent_sends(
    alarms: dict[str, dict[str, Any]],
) -> None:
    configurations = {a.role.value: a.configuration()["metrics"] for a in AGENTS}
    own = {"mem_used_percent", "disk_used_percent"}
    seen = set()
    for alarm in alarms.values():
        if alarm.get("Namespace") != NAMESPACE:
            continue
        dimensions = {d["Name"]: d["Value"] for d in alarm["Dimensions"]}
        configuration = configurations[dimensions["Role"]]
        assert sorted(dimensions) in configuration["aggregation_dimensions"]
        assert alarm["MetricName"] in {*own, *SENT_BY_NODES}
        seen.add(alarm["MetricName"])
    assert seen == {*own, *SENT_BY_NODES}


@pytest.mark.parametrize("name", ["XidHardware", "XidApplication", "GpuEcc"])
def test_an_error_of_one_minute_is_not_resolved_in_the_next(
    name: str, alarms: dict[str, dict[str, Any]]
) -> None:
    alarm = alarms[name]
    assert (alarm["Period"], alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]) == (60, 60, 1)


def test_an_alarm_on_all_nodes_of_a_role_says_how_to_find_the_one(
    alarms: dict[str, dict[str, Any]],
) -> None:
    of_nodes = {
        name
        for name, alarm in alarms.items()
        if "says which" in read_alarm(alarm).what or "sinfo" in read_alarm(alarm).advice
    }
    of_roles = {
        name
        for name, alarm in alarms.items()
        if read_alarm(alarm).title.startswith(("A node of", "The memory of a", "The disk / of a"))
    }
    assert of_roles
    assert of_roles <= of_nodes


def test_a_file_system_of_unknown_size_is_refused(alerts: Alerts) -> None:
    with pytest.raises(ValueError, match=r"^the capacity of fs-\w+ is not known, .*capacity_gib$"):
        alerts().watch_file_system(Storage(None))


def test_a_file_system_of_unknown_size_is_watched_but_for_its_space(
    alerts: Alerts, resources: Resources
) -> None:
    alerts().watch_file_system(Storage(None), directions=["export"], space=False)
    names = [n[:-8] for n in resources("AWS::CloudWatch::Alarm") if "Notifier" not in n]
    assert sorted(names) == ["AlertsFsxDiskFull", "AlertsFsxExportStuck"]


@pytest.mark.parametrize(
    ("source", "gigabytes_per_second", "metadata_iops"),
    [
        (
            Lustre(capacity_gib=38_400, throughput_mb_s_per_tib=500, metadata_iops=12_000),
            18.75,
            12_000,
        ),
        (Lustre(capacity_gib=2_400, throughput_mb_s_per_tib=125), 0.29296875, 3_000),
        (Lustre(capacity_gib=2_400, deployment_type="scratch_2"), 0.46875, None),
        (
            Lustre(
                capacity_gib=6_000,
                deployment_type="persistent_1",
                storage_type="hdd",
                throughput_mb_s_per_tib=12,
            ),
            0.0703125,
            None,
        ),
        (ExistingLustre(**EXISTING), None, None),
        (ExistingLustre(**EXISTING, throughput_mb_s_per_tib=500), None, None),
        (
            ExistingLustre(
                **EXISTING, capacity_gib=1_200, throughput_mb_s_per_tib=1000, metadata_iops=1_500
            ),
            1.171875,
            1_500,
        ),
    ],
    ids=["made", "automatic", "scratch", "hdd", "unknown", "unknown-size", "existing"],
)
def test_a_file_says_what_its_file_system_is_paid_for(
    source: Lustre | ExistingLustre, gigabytes_per_second: float | None, metadata_iops: int | None
) -> None:
    limits = ProvisionedLimits.of(source)
    throughput = limits.throughput_bytes_per_second
    assert (throughput and throughput / 1e9, limits.metadata_iops) == (
        gigabytes_per_second,
        metadata_iops,
    )


def test_without_agents_only_what_aws_measures_is_watched(
    alerts: Alerts, resources: Resources
) -> None:
    alerts().watch_fleet(Fleet())
    names = [n for n in resources("AWS::CloudWatch::Alarm") if "Notifier" not in n]
    assert [name[:-8] for name in names] == ["AlertsHeadNodeStatus"]


def test_what_a_head_node_sends_itself_is_watched_as_an_agents_is(
    alerts: Alerts, resources: Resources
) -> None:
    made = alerts()
    made.watch_fleet(Fleet(), agents=[NodeAgent("kait", NodeRole.HEAD)], prefix="Bare")
    made.watch_fleet(Fleet(), head_metrics=["queues_closed", "nodes_held"], prefix="Other")
    found = {n[6:-8]: alarm for n, alarm in resources("AWS::CloudWatch::Alarm").items()}
    others = {name for name in found if name.startswith("Other")}
    assert others == {"OtherHeadNodeStatus", "OtherNodesHeld", "OtherQueuesClosed"}
    for name in ("NodesHeld", "QueuesClosed"):
        assert found[f"Other{name}"]["Dimensions"] == found[f"Bare{name}"]["Dimensions"]
        assert found[f"Other{name}"]["Threshold"] == found[f"Bare{name}"]["Threshold"]


def test_a_metric_that_no_alarm_reads_is_refused(alerts: Alerts) -> None:
    told = (
        "no alarm reads nodes_lost of a head node; use nodes_held, queues_closed, goodput_percent"
    )
    with pytest.raises(ValueError, match=told):
        alerts().watch_fleet(Fleet(), head_metrics=["nodes_lost"])


def test_two_of_a_kind_are_told_apart_by_a_prefix(alerts: Alerts, resources: Resources) -> None:
    made = alerts()
    made.watch_file_system(Storage(), prefix="Home")
    made.watch_file_system(Storage(), prefix="Scratch")
    names = [n[:-8] for n in resources("AWS::CloudWatch::Alarm")]
    assert {"AlertsHomeFsxDiskFull", "AlertsScratchFsxDiskFull"} <= set(names)


def test_a_capacity_block_is_announced_four_times_before_its_end(
    alerts: Alerts, resources: Resources
) -> None:
    alerts(institution="kait").watch_capacity(Block())
    schedules = sorted(
        (s["ScheduleExpression"], json.loads(s["Target"]["Input"])["detail"]["severity"])
        for s in resources("AWS::Scheduler::Schedule").values()
    )
    assert schedules == [
        ("at(2027-02-22T11:30:00)", "info"),
        ("at(2027-02-28T11:30:00)", "warning"),
        ("at(2027-03-01T09:30:00)", "critical"),
        ("at(2027-03-01T10:50:00)", "critical"),
    ]


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (datetime(2027, 2, 1, 11, 30, tzinfo=UTC), ["Drain", "OneDay", "SevenDays", "TwoHours"]),
        (datetime(2027, 2, 26, 11, 30, tzinfo=UTC), ["Drain", "OneDay", "TwoHours"]),
        (datetime(2027, 2, 28, 11, 30, tzinfo=UTC), ["Drain", "TwoHours"]),
    ],
    ids=["month", "three-days", "one-day"],
)
def test_what_would_be_told_before_a_block_starts_is_left_out(
    start: datetime, told: list[str], alerts: Alerts, resources: Resources
) -> None:
    alerts().watch_capacity(Block(start=start))
    names = [name[:-8] for name in resources("AWS::Scheduler::Schedule")]
    assert sorted(name.removeprefix("AlertsBlockNotices") for name in names) == told


def test_the_notifier_understands_the_announcement(alerts: Alerts, resources: Resources) -> None:
    made = alerts(institution="kait", runbook_url=RUNBOOK, dashboard_url=DASHBOARD)
    made.watch_capacity(Block(), ultraserver=True)
    (schedule,) = (s for n, s in resources("AWS::Scheduler::Schedule").items() if "Drain" in n)
    assert schedule["ScheduleExpression"] == "at(2027-03-01T10:20:00)"
    text = schedule["Target"]["Input"].replace(
        "<aws.scheduler.scheduled-time>", "2027-03-01T10:20:00Z"
    )
    alert = read(text, "id")
    assert alert.title == (
        "Capacity Block cr-0abc1234def567890 "
        "loses its instances from 2027-03-01 10:30 UTC on: drain now"
    )
    assert (alert.severity, alert.institution) == ("critical", "kait")
    assert alert.links[1:] == (
        ("Runbook", f"{RUNBOOK}#capacity-block-ends"),
        ("Dashboard", DASHBOARD),
    )
    assert alert.time == "2027-03-01T10:20:00.000Z"
    assert alert.advice == (
        "Nothing drains by itself: save checkpoints and drain before EC2 ends the instances, "
        "30 minutes before the end (UltraServers: 60). Longer runs need another block."
    )


def test_an_announcement_is_true_whenever_it_is_sent(alerts: Alerts, resources: Resources) -> None:
    alerts().watch_capacity(Block())
    (schedule,) = (s for n, s in resources("AWS::Scheduler::Schedule").items() if "Seven" in n)
    assert json.loads(schedule["Target"]["Input"])["detail"]["notice"] == (
        "ends within 7 days, at 2027-03-01 11:30 UTC"
    )


def test_the_last_announcement_says_when_instances_end(
    alerts: Alerts, resources: Resources
) -> None:
    alerts().watch_capacity(Block())
    (drain,) = (s for n, s in resources("AWS::Scheduler::Schedule").items() if "Drain" in n)
    assert json.loads(drain["Target"]["Input"])["detail"]["notice"] == (
        "loses its instances from 2027-03-01 11:00 UTC on: drain now"
    )


def test_a_fleet_that_drains_by_itself_is_not_told_to(alerts: Alerts, resources: Resources) -> None:
    alerts().watch_capacity(Block(), drains=True)
    (drain,) = (s for n, s in resources("AWS::Scheduler::Schedule").items() if "Drain" in n)
    alert = read(drain["Target"]["Input"], "id")
    assert alert.title.endswith("from 2027-03-01 11:00 UTC on: its nodes are drained now")
    assert alert.advice.startswith("The fleet drains the nodes ten minutes before EC2 ends them")


def test_both_spellings_of_capacity_block_events_are_matched(
    alerts: Alerts, stack: cdk.Stack
) -> None:
    alerts().watch_capacity(Block())
    Template.from_stack(stack).has_resource_properties(
        "AWS::Events::Rule",
        {
            "EventPattern": {
                "source": ["aws.ec2"],
                "detail-type": Match.array_with(
                    [
                        "Capacity Block Expiration Warning",
                        "Capacity Block Reservation Expiration Warning",
                    ]
                ),
                "detail": {"capacity-reservation-id": ["cr-0abc1234def567890"]},
            }
        },
    )


def test_a_reservation_without_an_end_gives_no_announcement(
    alerts: Alerts, resources: Resources
) -> None:
    alerts().watch_capacity(Block(end=None))
    assert resources("AWS::Scheduler::Schedule") == {}


def test_capacity_without_an_id_is_refused(alerts: Alerts) -> None:
    with pytest.raises(ValueError, match=r"^capacity has no reservation_id; pass what was made"):
        alerts().watch_capacity(Block(reservation_id=None))


def test_an_end_without_a_time_zone_is_refused(stack: cdk.Stack) -> None:
    with pytest.raises(ValueError, match=r"^end is 2027-03-01T11:30:00, without a time zone; add"):
        CapacityBlockNotices(
            stack, "B", reservation_id="cr-0", end=datetime(2027, 3, 1, 11, 30), topic_arn="arn:x"
        )


def test_events_that_slack_could_not_get_are_dead_letters(
    alerts: Alerts, stack: cdk.Stack, resources: Resources
) -> None:
    made = alerts()
    watch_everything(made, stack)
    queue = stack.resolve(made.notifier.dead_letter_queue.queue_arn)
    rules = resources("AWS::Events::Rule").values()
    assert len(rules) == 7
    for rule in rules:
        (target,) = rule["Targets"]
        assert target["DeadLetterConfig"] == {"Arn": queue}


def test_a_budget_counts_what_carries_the_tag_of_the_institution(
    alerts: Alerts, stack: cdk.Stack, resources: Resources
) -> None:
    made = alerts()
    InstitutionBudget(
        stack,
        "Budget",
        institution="kait",
        usd_per_month=800_000,
        topic=made.topic,
        emails=["pi@example.edu"],
    )
    (budget,) = resources("AWS::Budgets::Budget").values()
    assert budget["Budget"]["CostFilters"] == {"TagKeyValue": ["user:trainshed:institution$kait"]}
    told = [
        (n["Notification"]["NotificationType"], n["Notification"]["Threshold"])
        for n in budget["NotificationsWithSubscribers"]
    ]
    assert told == [("ACTUAL", 50), ("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100)]
    assert {len(n["Subscribers"]) for n in budget["NotificationsWithSubscribers"]} == {2}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"usd_per_month": 0}, "usd_per_month is 0; a budget is above 0"),
        ({"actual_percent": range(10)}, "11 notifications; a budget takes 1 to 10: name fewer"),
    ],
)
def test_a_budget_that_aws_refuses_is_refused(
    changed: dict[str, Any], fault: str, alerts: Alerts, stack: cdk.Stack
) -> None:
    given: dict[str, Any] = {"institution": "kait", "usd_per_month": 1, "topic": alerts().topic}
    with pytest.raises(ValueError, match=f"^{fault}"):
        InstitutionBudget(stack, "Budget", **{**given, **changed})
