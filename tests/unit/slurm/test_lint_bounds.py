"""Limits that never bind or stop everything, and partitions without a cap."""

from __future__ import annotations

from typing import Any

import pytest

from trainshed.slurm import Finding, NodeGroup, NodeShape, SlurmPolicy, accounting_document, lint

P5EN = NodeShape(192, 2_097_152, 2, 48, 2, 8, "h200")
COMPUTE = NodeGroup("compute", P5EN, 4)
THIN = NodeGroup("thin", NodeShape(64, 262_144, 1, 32, 2, 1, "a10g"), 4)


def hardened(**over: Any) -> SlurmPolicy:
    """Return the hardened preset with something changed."""
    return SlurmPolicy.model_validate({"preset": "kait-hardened", **over})


def of(rule: str, policy: SlurmPolicy, *groups: NodeGroup) -> list[Finding]:
    """Return what one rule finds in a policy for four nodes of 8 GPUs, or for others."""
    return [f for f in lint(policy, groups or (COMPUTE,)) if f.rule == rule]


def lab(parent: dict[str, int], own: dict[str, int]) -> dict[str, Any]:
    """Return an account below another one, with caps on both."""
    return {
        "accounts": {"general": parent, "lab": {"description": "l", "parent": "general", **own}}
    }


NEVER: dict[str, tuple[str, dict[str, Any]]] = {
    "above the GPUs of the partition's nodes": (
        "qos.normal_qos.gpus_per_user: 9 is never reached, the number of GPUs of "
        "partitions.normal.nodes is 8; use 8 or less, or leave gpus_per_user out",
        {"qos": {"normal_qos": {"gpus_per_user": 9}}},
    ),
    "above the GPUs of the fleet": (
        "qos.exclusive_qos.group_gpus: 33 is never reached, the number of GPUs of its partitions "
        "is 32; use 32 or less, or leave group_gpus out",
        {"qos": {"exclusive_qos": {"group_gpus": 33}}},
    ),
    "above everybody's jobs": (
        "qos.normal_qos.max_jobs_per_account: 10 is never reached, group_jobs is 6; use 6 or less, "
        "or leave max_jobs_per_account out",
        {"qos": {"normal_qos": {"max_jobs_per_account": 10, "group_jobs": 6}}},
    ),
    "a QOS longer than its partition": (
        "qos.normal_qos.max_time: 2-00:00:00 is never reached, the partition's max_time is "
        "1-00:00:00; use 1-00:00:00 or less, or leave max_time out",
        {"qos": {"normal_qos": {"max_time": "2-00:00:00"}}},
    ),
    "more nodes a job than its partition": (
        "partitions.debug.nodes_per_job: 2 is never reached, nodes is 1; use 1 or less, or leave "
        "nodes_per_job out",
        {"partitions": {"debug": {"nodes_per_job": 2}}},
    ),
    "more nodes a job than the fleet": (
        "partitions.exclusive.nodes_per_job: 5 is never reached, the number of nodes of its queues "
        "is 4; use 4 or less, or leave nodes_per_job out",
        {"partitions": {"exclusive": {"nodes_per_job": 5}}},
    ),
    "an account above the one above it": (
        "accounts.lab.gpus: 16 is never reached, gpus of account general is 8; use 8 or less, or "
        "leave gpus out",
        lab({"gpus": 8}, {"gpus": 16}),
    ),
    "minutes above those of the account above": (
        "accounts.lab.gpu_minutes: 16 is never reached, gpu_minutes of account general is 8; use 8 "
        "or less, or leave gpu_minutes out",
        lab({"gpu_minutes": 8}, {"gpu_minutes": 16}),
    ),
    "an account above the fleet": (
        "accounts.general.gpus: 33 is never reached, the number of GPUs of the fleet is 32; use 32 "
        "or less, or leave gpus out",
        {"accounts": {"general": {"gpus": 33}}},
    ),
    "minutes of a job above everybody's": (
        "qos.exclusive_qos.gpu_minutes_per_job: 645120 is never reached, group_gpu_minutes is 9; "
        "use 9 or less, or leave gpu_minutes_per_job out",
        {"qos": {"exclusive_qos": {"group_gpu_minutes": 9}}},
    ),
    "minutes above what the fleet can do": (
        "qos.exclusive_qos.gpu_minutes_per_job: 645121 is never exceeded, 32 GPUs for the "
        "partition's max_time are 645120; use less than 645120, or leave it out",
        {"qos": {"exclusive_qos": {"gpu_minutes_per_job": 645_121}}},
    ),
}


@pytest.mark.parametrize(("message", "over"), NEVER.values(), ids=list(NEVER))
def test_a_limit_that_is_never_reached_is_found(message: str, over: dict[str, Any]) -> None:
    (found,) = of("limit-never-binds", hardened(**over))
    assert found.message == f"{message} [limit-never-binds]"


def test_a_limit_that_only_the_fleet_is_too_small_for_is_a_note() -> None:
    two_gpus = NodeGroup("small", NodeShape(48, 196_608, 1, 24, 2, 2, "l4"), 1)
    severities = {f.severity for f in of("limit-never-binds", hardened(), two_gpus)}
    assert severities == {"note"}


def test_limits_that_meet_are_not_found() -> None:
    over = {
        "qos": {
            "normal_qos": {
                "gpus_per_job": 4,
                "gpus_per_user": 4,
                "group_gpus": 8,
                "group_jobs": 4,
                "max_time": "1-00:00:00",
                "min_gpus_per_job": 4,
            }
        },
        **lab({"gpus": 32, "gpu_minutes": 8}, {"gpus": 32, "gpu_minutes": 8}),
    }
    assert lint(hardened(**over), (COMPUTE,)) == ()


STOPS: dict[str, tuple[str, dict[str, Any]]] = {
    "fewest above the cap": (
        "min_gpus_per_job: 8 can no job have, gpus_per_user is 4: all of them wait for ever; use 4 "
        "or less",
        {"min_gpus_per_job": 8},
    ),
    "fewest above the fleet": (
        "min_gpus_per_job: 9 can no job have, the number of GPUs of partitions.normal.nodes is 8: "
        "all of them wait for ever; use 8 or less",
        {"min_gpus_per_job": 9, "gpus_per_user": None},
    ),
    "no job": (
        "max_submit_jobs_per_user: 0 lets no job run; use 1 or more, or null for no limit",
        {"max_submit_jobs_per_user": 0, "max_jobs_per_user": None},
    ),
    "no GPU and no CPU": (
        "gpus_per_user: 0 lets no job run; use 1 or more, or null for no limit",
        {"gpus_per_user": 0},
    ),
}


@pytest.mark.parametrize(("message", "over"), STOPS.values(), ids=list(STOPS))
def test_limits_that_let_no_job_run_are_found(message: str, over: dict[str, Any]) -> None:
    (found,) = of("limit-stops-all", hardened(qos={"normal_qos": over}))
    assert found.message == f"qos.normal_qos.{message} [limit-stops-all]"


def test_a_default_time_above_the_limit_of_the_qos_is_found() -> None:
    (found,) = of("limit-stops-all", hardened(qos={"priority_qos": {"max_time": "12:00:00"}}))
    assert found.message == (
        "qos.priority_qos.max_time: 12:00:00 is below the 1-00:00:00 of a job without -t in "
        "partition priority, which waits for ever; use 1-00:00:00 or more, or a shorter "
        "default_time [limit-stops-all]"
    )
    assert not of("limit-stops-all", hardened(qos={"priority_qos": {"max_time": "1-00:00:00"}}))


def test_one_qos_needs_no_default() -> None:
    account = {"accounts": {"lab": {"description": "l", "qos": ["member_qos"]}}}
    assert not of("no-default-qos", hardened(**account))


def test_a_qos_of_an_account_has_its_priority() -> None:
    weights = {"scheduler": {"weights": {"qos": 10_000}}}
    own = {"accounts": {"general": {"qos": ["member_qos", "priority_qos"]}}}
    rule = "qos-priority-without-effect"
    keys = [finding.key for finding in of(rule, hardened(**weights, **own))]
    assert keys == [f"qos.{name}_qos.priority" for name in ("debug", "exclusive", "normal")]


def test_a_cap_of_no_gpus_is_right_for_jobs_without_any() -> None:
    over = {"normal_qos": {"gpus_per_user": 0, "cpus_follow_gpus": False}}
    assert not of("limit-stops-all", hardened(qos=over))


@pytest.mark.parametrize("rule", ["no-gpu-cap", "cpus-uncapped"])
def test_a_partition_without_a_qos_has_no_cap(rule: str) -> None:
    policy = hardened(partitions={"priority": {"qos": None}})
    (found,) = of(rule, policy)
    assert (found.key, found.severity) == ("partitions.priority.qos", "warning")


def test_a_cap_on_every_account_that_may_enter_is_a_cap() -> None:
    partitions = {"priority": {"qos": None}}
    capped = hardened(partitions=partitions, accounts={"priority": {"gpus": 16}})
    assert not of("no-gpu-cap", capped)
    other = {"description": "o", "parent": "priority", "gpus": 4}
    below = hardened(
        partitions={"priority": {"qos": None, "allow_accounts": ["priority"]}},
        accounts={"lab": other},
    )
    assert of("no-gpu-cap", below)


def test_the_root_of_the_accounts_lets_every_account_in() -> None:
    policy = hardened(partitions={"priority": {"allow_accounts": ["root"]}})
    assert not of("partition-nobody-may-use", policy)


def test_cpus_follow_the_gpus_of_the_partitions_own_nodes() -> None:
    partitions = {name: {"queues": ["compute"]} for name in hardened().partitions}
    document = accounting_document(hardened(partitions=partitions), [COMPUTE, THIN], cluster="uni")
    assert document["qos"]["normal_qos"]["MaxTRESPerUser"] == "cpu=96,gres/gpu=4,mem=996144M"
