"""Each rule of the linter fires where it should, and is silent on the hardened preset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trainshed.slurm import Finding, NodeGroup, NodeShape, SlurmPolicy, lint
from trainshed.slurm.lint import RULES

P5EN = NodeShape(192, 2_097_152, 2, 48, 2, 8, "h200")
COMPUTE = NodeGroup("compute", P5EN, 16)
SEED = SlurmPolicy(preset="kait-seed")
HARDENED = SlurmPolicy(preset="kait-hardened")
SEED_INCLUDE = (Path(__file__).parent / "seed-slurm-settings.conf").read_text()


def hardened(**over: Any) -> SlurmPolicy:
    """Return the hardened preset with something changed."""
    return SlurmPolicy.model_validate({"preset": "kait-hardened", **over})


def of(rule: str, findings: tuple[Finding, ...]) -> list[Finding]:
    """Return the findings of one rule."""
    return [finding for finding in findings if finding.rule == rule]


@pytest.mark.parametrize("parallelcluster", [True, False])
@pytest.mark.parametrize("groups", [(), (COMPUTE,)], ids=["no nodes", "16 nodes"])
def test_the_hardened_preset_is_without_findings(
    groups: tuple[NodeGroup, ...], parallelcluster: bool
) -> None:
    assert lint(HARDENED, groups, parallelcluster=parallelcluster) == ()


SEED_FINDINGS = {
    "T1 finding 4": ("qos-must-be-typed", "partitions.normal.allow_qos"),
    "T2": ("native-partition-open", "scheduler.close_native_partitions"),
    "T3 finding 10": ("built-in-qos", "accounts.general.qos"),
    "T4": ("no-gpu-cap", "qos.priority_qos"),
    "T5": ("shared-exclusive", "partitions.exclusive.whole_node"),
    "T6": ("preempt-mode-without-effect", "partitions.exclusive.preempt_mode"),
    "T7 finding 9": ("interactive-preempted", "partitions.debug.preempt_mode"),
    "T8 finding 6": ("no-grace", "partitions.normal.grace_seconds"),
    "T9 defaults": ("gpu-defaults-do-not-fit", "scheduler.cpus_per_gpu"),
    "T9 caps": ("cpus-uncapped", "qos.normal_qos.cpus_follow_gpus"),
    "T10 finding 2": ("accounting-after-slurmctld", "scheduler.accounting_first"),
    "T12": ("nodes-by-name", "partitions.priority.node_names"),
    "T12b": ("no-default-time", "partitions.exclusive.default_time"),
    "T12c": ("fairshare-cannot-matter", "scheduler.weights.fairshare"),
    "T12c finding 11": ("no-ageing", "scheduler.weights.age"),
    "T12e finding 1": ("completion-file", "scheduler.job_completion_file"),
    "finding 3": ("partition-limits-not-enforced", "scheduler.enforce_partition_limits"),
    "finding 5": ("memory-not-shared", "scheduler.memory_per_cpu_mib"),
    "finding 13": ("usage-from-proc", "scheduler.usage_gatherer"),
    "finding 14 devices": ("not-confined", "scheduler.confine_devices"),
    "finding 14 restart": ("return-to-service", "scheduler.return_to_service"),
    "finding 15": ("mail-program", "scheduler.mail_program"),
}


@pytest.mark.parametrize(("rule", "key"), SEED_FINDINGS.values(), ids=list(SEED_FINDINGS))
def test_the_seed_preset_has_the_finding(rule: str, key: str) -> None:
    assert key in [finding.key for finding in of(rule, lint(SEED, [COMPUTE]))]


CHANGES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "finding 7 tiers": (
        "tiers-equal",
        "partitions.*.priority_tier",
        {"partitions": {n: {"priority_tier": 1} for n in HARDENED.partitions}},
    ),
    "finding 7 factors": (
        "tiers-equal",
        "partitions.*.priority_job_factor",
        {"partitions": {n: {"priority_job_factor": 1} for n in HARDENED.partitions}},
    ),
    "finding 8": (
        "unknown-scheduler-parameter",
        "scheduler.parameters",
        {"scheduler": {"parameters": ["requeue_delay=5"]}},
    ),
    "finding 12": (
        "gpus-not-tracked",
        "scheduler.tracked_resources",
        {"scheduler": {"tracked_resources": []}},
    ),
    "finding 14 memory": (
        "memory-not-shared",
        "scheduler.select",
        {"scheduler": {"select": "CR_Core"}},
    ),
    "two QOS": (
        "limits-of-two-qos",
        "partitions.exclusive.qos",
        {"accounts": {"priority": {"qos": ["normal_qos"], "default_qos": "normal_qos"}}},
    ),
    "T8 signal": (
        "signal-after-grace",
        "scheduler.send_user_signal",
        {"scheduler": {"send_user_signal": False}},
    ),
    "T9 too many": (
        "gpu-defaults-do-not-fit",
        "scheduler.memory_per_gpu_mib",
        {"scheduler": {"memory_per_gpu_mib": 300_000}},
    ),
    "T12d": ("system-user", "users.ubuntu", {"users": {"ubuntu": {"account": "general"}}}),
    "limits not enforced": (
        "limits-not-enforced",
        "scheduler.enforce_accounting",
        {"scheduler": {"enforce_accounting": ["associations"]}},
    ),
    "unreachable nodes": (
        "unreachable-nodes",
        "queues.compute",
        {"partitions": {n: {"queues": ["other"]} for n in HARDENED.partitions}},
    ),
    "nobody": (
        "partition-nobody-may-use",
        "partitions.debug",
        {
            "partitions": {"debug": {"allow_qos": ["rare_qos"]}},
            "qos": {"rare_qos": {"gpus_per_user": 1}},
        },
    ),
    "open tier": (
        "tier-open-to-all",
        "partitions.exclusive.allow_accounts",
        {"partitions": {"exclusive": {"allow_accounts": []}}},
    ),
    "jobs over submits": (
        "limit-never-binds",
        "qos.normal_qos.max_jobs_per_user",
        {"qos": {"normal_qos": {"max_jobs_per_user": 9}}},
    ),
    "minutes": (
        "limit-never-binds",
        "qos.priority_qos.gpu_minutes_per_job",
        {"qos": {"priority_qos": {"gpu_minutes_per_job": 115_200}}},
    ),
    "more nodes than there are": (
        "limit-never-binds",
        "partitions.debug.nodes",
        {"partitions": {"debug": {"nodes": 17}}},
    ),
    "redefined": (
        "native-partition-redefined",
        "partitions.compute",
        {
            "partitions": {
                "compute": {"default_time": "01:00:00", "qos": "debug_qos", "nodes": None}
            }
        },
    ),
}


@pytest.mark.parametrize(("rule", "key", "over"), CHANGES.values(), ids=list(CHANGES))
def test_one_change_of_the_hardened_preset_has_the_finding(
    rule: str, key: str, over: dict[str, Any]
) -> None:
    if rule == "native-partition-redefined":
        over["partitions"]["debug"] = {"nodes": None}
    assert key in [finding.key for finding in of(rule, lint(hardened(**over), [COMPUTE]))]


def test_t11_keys_that_parallelcluster_keeps_are_found_in_an_included_file() -> None:
    found = of("managed-keys", lint(HARDENED, [COMPUTE], include=SEED_INCLUDE))
    assert [finding.message for finding in found] == [
        f"include line {line}: {key} is ParallelCluster's own; a second value breaks scaling or "
        "accounting; leave the line out [managed-keys]"
        for line, key in (
            (6, "JobAcctGatherType"),
            (24, "AccountingStorageType"),
            (25, "AccountingStorageHost"),
            (26, "AccountingStoragePort"),
        )
    ]


def test_t11_without_a_database_the_accounting_lines_are_the_policys_own() -> None:
    assert not of("managed-keys", lint(HARDENED, include=SEED_INCLUDE, database=False))


@pytest.mark.parametrize(
    "line", ["Prolog=/x", "PROLOG=/x", "  taskplugin=task/none", "A=1 Epilog=x"]
)
def test_a_denied_key_is_found_in_any_case_and_place(line: str) -> None:
    assert of("managed-keys", lint(HARDENED, include=line))
    assert not of("managed-keys", lint(HARDENED, include=f"# {line}"))
    assert not of("managed-keys", lint(HARDENED, include=line, parallelcluster=False))


def test_an_included_partition_with_the_name_of_a_queue_is_found() -> None:
    include = "PartitionName=fast Nodes=ALL\nPartitionName=compute Nodes=ALL"
    found = of("native-partition-redefined", lint(HARDENED, [COMPUTE], include=include))
    assert [finding.key for finding in found] == ["include line 2"]


def test_a_key_that_stands_twice_in_an_included_file_is_found() -> None:
    include = "KillWait=30\nPartitionName=a\nPartitionName=b\nkillwait=60"
    found = of("written-twice", lint(HARDENED, include=include))
    assert [finding.key for finding in found] == ["include killwait"]


def test_errors_come_before_warnings_and_notes() -> None:
    severities = [finding.severity for finding in lint(SEED, [COMPUTE])]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)


def test_every_rule_was_seen_to_fire() -> None:
    fired = {
        f.rule for f in lint(SEED, [COMPUTE], include=SEED_INCLUDE + "\nKillWait=1\nKillWait=2")
    }
    fired |= {rule for rule, _, _ in CHANGES.values()}
    assert len(RULES) == 36
    assert {rule.__name__.replace("_", "-") for rule in RULES} == fired


def test_a_finding_says_key_consequence_and_fix() -> None:
    (finding,) = of("native-partition-open", lint(SEED))
    assert finding.message == (
        "scheduler.close_native_partitions: any user's job of any length and size runs in the "
        "partition of the queue itself; set it to true [native-partition-open]"
    )
