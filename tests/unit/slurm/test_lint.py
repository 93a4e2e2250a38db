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
    "no default QOS": (
        "no-default-qos",
        "accounts.general.default_qos",
        {"accounts": {"general": {"qos": ["member_qos", "debug_qos"], "default_qos": None}}},
    ),
    "account of ParallelCluster": (
        "account-of-parallelcluster",
        "accounts.pcdefault",
        {
            "accounts": {
                "pcdefault": {"description": "x", "qos": ["member_qos"], "parent": "general"}
            }
        },
    ),
    "open tier by way of the root": (
        "tier-open-to-all",
        "partitions.exclusive.allow_accounts",
        {"partitions": {"exclusive": {"allow_accounts": ["root"]}}},
    ),
    "uid of the image's user": (
        "system-uid",
        "users.kim.uid",
        {"users": {"kim": {"account": "general", "uid": 1000}}},
    ),
    "user of a daemon": (
        "system-user",
        "users.systemd-network",
        {"users": {"systemd-network": {"account": "general"}}},
    ),
    "preempts by tier": (
        "preemption-without-effect",
        "qos.exclusive_qos.preempts",
        {"qos": {"exclusive_qos": {"preempts": ["debug_qos"]}}},
    ),
    "preempts of a partition's QOS": (
        "preemption-without-effect",
        "qos.exclusive_qos.preempts",
        {
            "scheduler": {"preempt_by": "qos"},
            "qos": {"exclusive_qos": {"preempts": ["debug_qos"]}},
        },
    ),
    "T8 preemption by QOS": (
        "no-grace",
        "qos.exclusive_qos.preempts",
        {
            "scheduler": {"preempt_by": "qos"},
            "qos": {"exclusive_qos": {"preempts": ["debug_qos"]}},
        },
    ),
    "grace of a partition under preemption by QOS": (
        "preemption-without-effect",
        "partitions.normal.grace_seconds",
        {"scheduler": {"preempt_by": "qos"}},
    ),
    "priority of a partition's QOS": (
        "qos-priority-without-effect",
        "qos.priority_qos.priority",
        {"scheduler": {"weights": {"qos": 10_000}}},
    ),
    "redefined": (
        "native-partition-redefined",
        "partitions.compute",
        {
            "partitions": {
                "compute": {"default_time": "01:00:00", "qos": "debug_qos", "nodes": None},
                "debug": {"nodes": None},
            }
        },
    ),
}


@pytest.mark.parametrize(("rule", "key", "over"), CHANGES.values(), ids=list(CHANGES))
def test_one_change_of_the_hardened_preset_has_the_finding(
    rule: str, key: str, over: dict[str, Any]
) -> None:
    assert key in [finding.key for finding in of(rule, lint(hardened(**over), [COMPUTE]))]


def test_errors_come_before_warnings_and_notes() -> None:
    severities = [finding.severity for finding in lint(SEED, [COMPUTE])]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)


WARNINGS = {
    *("preempt-mode-without-effect", "no-grace", "signal-after-grace", "tiers-equal"),
    *(
        "fairshare-cannot-matter",
        "no-ageing",
        "qos-priority-without-effect",
        "preemption-without-effect",
    ),
    *("cpus-uncapped", "limit-never-binds", "no-default-time", "usage-from-proc"),
    *("return-to-service", "completion-file", "unknown-scheduler-parameter", "written-twice"),
}
BOTH = {
    "limit-never-binds",
    "gpu-defaults-do-not-fit",
    "memory-not-shared",
    "not-confined",
    "limit-stops-all",
}
NOTES = {"mail-program"}


def test_a_policy_with_a_hole_is_refused_and_one_with_a_surprise_is_not() -> None:
    severities: dict[str, set[str]] = {}
    policies = [SEED, *(hardened(**over) for rule, _, over in CHANGES.values() if rule not in BOTH)]
    include = SEED_INCLUDE + "\nKillWait=1\nKillWait=2\nInclude more.conf"
    for policy in policies:
        for finding in lint(policy, [COMPUTE], include=include):
            severities.setdefault(finding.rule, set()).add(finding.severity)
    for rule, found in severities.items():
        if rule not in BOTH:
            expected = "warning" if rule in WARNINGS else "note" if rule in NOTES else "error"
            assert found == {expected}, rule


def test_every_rule_was_seen_to_fire() -> None:
    fired = {
        f.rule
        for f in lint(
            SEED, [COMPUTE], include=SEED_INCLUDE + "\nKillWait=1\nKillWait=2\nInclude more.conf"
        )
    }
    fired.add("limit-stops-all")  # test_lint_bounds.py
    fired |= {rule for rule, _, _ in CHANGES.values()}
    assert len(RULES) == 43
    assert {rule.__name__.replace("_", "-") for rule in RULES} == fired


def test_a_finding_says_key_consequence_and_fix() -> None:
    (finding,) = of("native-partition-open", lint(SEED))
    assert finding.message == (
        "scheduler.close_native_partitions: any user's job of any length and size runs in the "
        "partition of the queue itself; set it to true [native-partition-open]"
    )
