"""Loading a policy: presets, overrides, and what is refused."""

from __future__ import annotations

import ast
import inspect
import json
import types
import typing
from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError

from trainshed.records import OnChange, Record
from trainshed.slurm import PRESETS, SlurmPolicy, policy, records, scheduler
from trainshed.slurm.texts import seconds, slurm_time


def load(**values: Any) -> SlurmPolicy:
    """Load a policy as a file would be."""
    return SlurmPolicy.model_validate_json(json.dumps(values))


def reasons(**values: Any) -> list[str]:
    """Return why a policy is refused, a line each."""
    with pytest.raises(ValidationError) as refused:
        load(**values)
    return [
        line
        for error in refused.value.errors()
        for line in error["msg"].removeprefix("Value error, ").splitlines()
    ]


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_loaded_policy_holds_every_value_of_its_preset(preset: str) -> None:
    policy = load(preset=preset)
    assert policy.preset is None
    assert sorted(policy.partitions) == ["debug", "exclusive", "normal", "priority"]
    assert SlurmPolicy.model_validate_json(policy.model_dump_json()) == policy


def test_the_seed_preset_has_the_values_of_the_post() -> None:
    seed = load(preset="kait-seed")
    assert {
        name: (p.node_names, p.max_time, p.priority_tier, p.priority_job_factor, p.allow_qos)
        for name, p in seed.partitions.items()
    } == {
        "debug": ("compute-st-kait-gpu-1", "00:30:00", 100, 100, ("debug_qos",)),
        "normal": ("compute-st-kait-gpu-1", "1-00:00:00", 200, 200, ("normal_qos",)),
        "priority": ("compute-st-kait-gpu-[1-4]", "5-00:00:00", 300, 300, ("priority_qos",)),
        "exclusive": ("compute-st-kait-gpu-[1-4]", "14-00:00:00", 1000, 1000, ("exclusive_qos",)),
    }
    assert {
        name: (q.max_jobs_per_user, q.max_submit_jobs_per_user, q.priority)
        for name, q in seed.qos.items()
    } == {
        "debug_qos": (1, 1, 1000),
        "normal_qos": (4, 8, 2000),
        "priority_qos": (None, None, 3000),
        "exclusive_qos": (1, 2, 10000),
    }
    weights = seed.scheduler.weights
    assert (weights.partition, weights.qos, weights.fairshare) == (100_000, 1000, 100)
    assert (seed.scheduler.cpus_per_gpu, seed.scheduler.memory_per_gpu_mib) == (16, 200_000)


def test_the_hardened_preset_keeps_times_priorities_and_job_limits_of_the_post() -> None:
    seed, hardened = load(preset="kait-seed"), load(preset="kait-hardened")
    for name, partition in seed.partitions.items():
        other = hardened.partitions[name]
        assert (partition.max_time, partition.priority_tier) == (
            other.max_time,
            other.priority_tier,
        )
    for name, qos in seed.qos.items():
        other_qos = hardened.qos[name]
        assert qos.priority == other_qos.priority
        assert qos.max_jobs_per_user == other_qos.max_jobs_per_user
        assert qos.max_submit_jobs_per_user == other_qos.max_submit_jobs_per_user


def test_a_value_given_beside_a_preset_wins_and_the_rest_stays() -> None:
    policy = load(
        preset="kait-hardened",
        partitions={"debug": {"max_time": "01:00:00"}},
        scheduler={"weights": {"age": 7}},
    )
    assert policy.partitions["debug"].max_time == "01:00:00"
    assert policy.partitions["debug"].default_time == "00:10:00"
    assert policy.scheduler.weights.age == 7
    assert policy.scheduler.weights.partition == 100_000


def test_an_entry_set_to_null_is_left_out_and_a_value_set_to_null_is_unlimited() -> None:
    policy = load(
        preset="kait-hardened",
        partitions={"debug": None},
        qos={"priority_qos": {"gpus_per_user": None}},
    )
    assert "debug" not in policy.partitions
    assert policy.qos["priority_qos"].gpus_per_user is None
    assert SlurmPolicy.model_validate_json(policy.model_dump_json()) == policy


def test_a_list_replaces_the_list_of_the_preset() -> None:
    policy = load(preset="kait-hardened", partitions={"priority": {"allow_accounts": []}})
    assert policy.partitions["priority"].allow_accounts == ()


def test_python_code_and_yaml_lists_load_alike() -> None:
    over = {"accounts": {"lab": {"description": "a lab", "qos": ["debug_qos"]}}}
    assert SlurmPolicy.model_validate({"preset": "kait-hardened", **over}) == load(
        preset="kait-hardened", **over
    )


def test_an_unquoted_time_of_yaml_is_refused_with_the_text_to_write() -> None:
    assert reasons(partitions={"a": {"max_time": 43200}}) == [
        '43200 is a number, not a time; write the time in quotes: "12:00:00"'
    ]


@pytest.mark.parametrize(
    ("time", "reason"),
    [
        (
            "30",
            "'30' is not a time; write [D-]HH:MM:SS or UNLIMITED, such as 00:30:00 or 5-00:00:00",
        ),
        (
            "36:00:00",
            "'36:00:00' is not a time; hours go to 23, minutes and seconds to 59: write 1-12:00:00",
        ),
        ("00:00:00", "'00:00:00' leaves a job no time; write 00:01:00 or more"),
        (
            "00:00:30",
            "'00:00:30' has seconds, and Slurm limits jobs by the minute; write 00:01:00",
        ),
    ],
)
def test_a_time_of_another_form_is_refused(time: str, reason: str) -> None:
    assert reasons(partitions={"a": {"max_time": time}}) == [reason]


@pytest.mark.parametrize("total", [1, 59, 1800, 86_399, 86_400, 1_209_600])
def test_times_are_read_as_they_are_written(total: int) -> None:
    assert seconds(slurm_time(total)) == total


@pytest.mark.parametrize("name", ["DEFAULT", "all", "a,b", "1st", "two words"])
def test_a_partition_name_that_slurm_reads_as_something_else_is_refused(name: str) -> None:
    assert "is not a partition name" in reasons(partitions={name: {}})[0]


@pytest.mark.parametrize("name", ["Upper", "a=b", "", "with space"])
def test_an_account_name_that_slurm_does_not_keep_is_refused(name: str) -> None:
    assert "is not a name Slurm keeps" in reasons(accounts={name: {"description": "x"}})[0]


def test_every_name_that_refers_to_nothing_is_refused_at_once() -> None:
    assert reasons(
        partitions={"a": {"qos": "q", "allow_accounts": ["x"]}},
        qos={"r": {"preempts": ["s"]}},
        accounts={"lab": {"description": "lab", "parent": "up", "qos": ["t"]}},
        users={"kim": {"account": "nowhere"}},
    ) == [
        "partitions.a.qos: names q, which is no QOS of this policy; use one of r",
        "partitions.a.allow_accounts: names x, which is no account of this policy; "
        "use one of lab, root",
        "qos.r.preempts: names s, which is no QOS of this policy; use one of r",
        "accounts.lab.parent: names up, which is no account of this policy; use one of lab",
        "accounts.lab.qos: names t, which is no QOS of this policy; use one of normal, r",
        "users.kim.account: names nowhere, which is no account of this policy; use one of lab",
    ]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            {"partitions": {"a": {"default": True}, "b": {"default": True}}},
            "partitions: a, b are all default; keep default on one",
        ),
        (
            {"partitions": {"a": {"max_time": "01:00:00", "default_time": "02:00:00"}}},
            "partitions.a.default_time: is 02:00:00, longer than max_time 01:00:00; "
            "use 01:00:00 or less",
        ),
        (
            {"partitions": {"a": {"nodes": 1}}},
            "partitions.a.nodes: is 1, which is a limit of the partition's QOS; "
            "give it a qos that no other partition has",
        ),
        (
            {"partitions": {"a": {"queues": ["q"], "node_names": "n1"}}},
            "partitions.a: has queues and node_names; use queues alone",
        ),
        (
            {"qos": {"a": {"preempts": ["b"]}, "b": {"preempts": ["a"]}}},
            "qos.a.preempts: leads back to a; leave one of the circle out",
        ),
        (
            {
                "accounts": {
                    "a": {"description": "x", "parent": "b"},
                    "b": {"description": "x", "parent": "a"},
                }
            },
            "accounts.a.parent: leads back to a; one account of the circle has no parent",
        ),
        (
            {"accounts": {"root": {"description": "x"}}},
            "accounts.root: Slurm makes the account root itself; choose another name",
        ),
        (
            {"qos": {"q": {}}, "accounts": {"a": {"description": "x", "default_qos": "q"}}},
            "accounts.a.default_qos: is q, which its users may not have; use one of normal",
        ),
        (
            {
                "accounts": {"a": {"description": "x"}},
                "users": {"kim": {"account": "a", "more_accounts": ["a"]}},
            },
            "users.kim: has the account a twice; name each once",
        ),
        (
            {
                "accounts": {"a": {"description": "x"}},
                "users": {
                    "kim": {"account": "a", "uid": 2000},
                    "lee": {"account": "a", "uid": 2000},
                },
            },
            "users: kim, lee have the same uid 2000; give each its own",
        ),
        (
            {"scheduler": {"preempt_mode": "OFF"}},
            "scheduler.preempt_mode: is OFF while preempt_by is partition_prio; use preempt_by "
            "none, or preempt_mode OFF on the partitions that are safe",
        ),
        (
            {"scheduler": {"parameters": ["a,b"]}},
            "'a,b' is not one option of SchedulerParameters; write an entry for each, such as "
            "bf_continue or bf_window=1440",
        ),
        (
            {"scheduler": {"parameters": ["bf_continue", "bf_window=abc"]}},
            "'bf_window=abc' stops slurmctld: bf_window takes a whole number",
        ),
        (
            {"scheduler": {"parameters": ["bf_window"]}},
            "'bf_window' stops slurmctld: bf_window takes a whole number",
        ),
        ({"preset": "kiat"}, "preset is 'kiat'; use one of kait-hardened, kait-seed"),
    ],
)
def test_values_that_exclude_each_other_are_refused(values: Any, reason: str) -> None:
    assert reason in reasons(**values)


def test_a_description_that_sacctmgr_would_split_is_refused() -> None:
    assert "is not a plain description" in reasons(accounts={"a": {"description": "x|y"}})[0]


def test_every_field_says_what_changing_it_does_to_a_running_cluster() -> None:
    waiting: list[Any] = [SlurmPolicy]
    seen: set[type[Record]] = set()
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, types.GenericAlias | types.UnionType) or typing.get_origin(kind):
            waiting.extend(typing.get_args(kind))
        elif isinstance(kind, type) and issubclass(kind, Record) and kind not in seen:
            seen.add(kind)
            for name, field in kind.model_fields.items():
                marked = [m for m in field.metadata if isinstance(m, OnChange)]
                assert len(marked) == 1, f"{kind.__name__}.{name}"
                waiting.append(field.annotation)
    assert len(seen) == 7


def test_every_field_is_described_below_it() -> None:
    for module in (policy, records, scheduler):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            body = node.body if isinstance(node, ast.ClassDef) else []
            for field, below in pairwise([*body, None]):
                if isinstance(field, ast.AnnAssign):
                    text = below.value if isinstance(below, ast.Expr) else None
                    assert isinstance(text, ast.Constant), ast.unparse(field)
