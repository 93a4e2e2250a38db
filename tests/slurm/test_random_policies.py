"""Whatever policy the model accepts, a real slurmctld and a real slurmdbd accept."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.slurm.lab.cluster import COMPUTE, Cluster, parallelcluster_conf, slurm_version
from tests.slurm.test_files import dry_run, write
from tests.sweep import SWEEP
from trainshed.slurm import SlurmPolicy
from trainshed.slurm.texts import slurm_time

FILES = settings(
    max_examples=300 if SWEEP else 15,
    derandomize=not SWEEP,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
DATABASE = settings(FILES, max_examples=60 if SWEEP else 6)

NAMES = st.from_regex(r"[a-z][a-z0-9_.-]{0,12}", fullmatch=True)
PARTITION_NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,12}", fullmatch=True).filter(
    lambda name: name.upper() not in ("ALL", "DEFAULT") and name != COMPUTE.name
)
TIMES = st.one_of(
    st.just("UNLIMITED"), st.integers(1, 1440 * 400).map(lambda minutes: slurm_time(minutes * 60))
)
EXEMPT_TIMES = st.integers(0, 86_400 * 30).map(slurm_time)
HALF_LIVES = st.one_of(st.just("UNLIMITED"), st.integers(1, 86_400 * 30).map(slurm_time))
COUNTS = st.one_of(st.none(), st.integers(0, 1_000_000))
MINUTES = st.one_of(st.none(), st.integers(0, 1_000_000_000))
MODES = st.sampled_from(["OFF", "REQUEUE", "CANCEL"])
WEIGHTS = st.integers(0, 2**32 // 5)
USER_NAMES = st.from_regex(r"[a-z_][a-z0-9_.-]{0,12}", fullmatch=True).filter(
    lambda name: name != "root"
)
TEXTS = (
    st.text(
        st.characters(exclude_categories=["C", "Z"], exclude_characters="|\"'\\,=:") | st.just(" "),
        min_size=1,
        max_size=40,
    )
    .map(str.strip)
    .filter(bool)
)


@st.composite
def policies(draw: st.DrawFn) -> SlurmPolicy:
    """Return a policy that the model accepts."""
    qos = draw(st.lists(NAMES.filter(lambda n: n != "normal"), max_size=4, unique=True))
    accounts = draw(st.lists(NAMES.filter(lambda n: n != "root"), max_size=4, unique=True))
    some_qos = st.lists(st.sampled_from(qos), unique=True) if qos else st.just([])
    some_accounts = st.lists(st.sampled_from(accounts), unique=True) if accounts else st.just([])
    one_qos = st.one_of(st.none(), st.sampled_from(qos)) if qos else st.none()
    with_default = draw(st.booleans())
    users = draw(st.lists(USER_NAMES, max_size=4, unique=True)) if accounts else []
    values = {
        "qos": {name: draw(_qos(qos[:index])) for index, name in enumerate(qos)},
        "accounts": {
            name: draw(_account(accounts[:index], some_qos, with_default))
            for index, name in enumerate(accounts)
        },
        "users": {name: draw(_user(accounts)) for name in users},
        "partitions": draw(
            st.dictionaries(
                PARTITION_NAMES, _partition(one_qos, some_qos, some_accounts), max_size=5
            )
        ),
        "scheduler": draw(_scheduler()),
    }
    return _accepted(values)


def _accepted(values: dict[str, Any]) -> SlurmPolicy:
    """Load a policy, leaving out what the model refuses until it accepts."""
    sections = ("partitions", "qos", "accounts", "users")
    entries = [entry for section in sections for entry in values[section].values()]
    for part in ("nothing", "default", "nodes", "default_time", "preempts", "more_accounts"):
        for entry in entries:
            entry.pop(part, None)
        try:
            return SlurmPolicy.model_validate(values)
        except ValidationError as refused:
            last = refused
    raise last


def _qos(earlier: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    preempts = st.lists(st.sampled_from(earlier), unique=True) if earlier else st.just([])
    return st.fixed_dictionaries(
        {},
        optional={
            "priority": st.integers(0, 1_000_000_000),
            "max_jobs_per_user": COUNTS,
            "max_submit_jobs_per_user": COUNTS,
            "max_jobs_per_account": COUNTS,
            "max_submit_jobs_per_account": COUNTS,
            "group_jobs": COUNTS,
            "gpus_per_job": COUNTS,
            "gpus_per_user": COUNTS,
            "gpus_per_account": COUNTS,
            "group_gpus": COUNTS,
            "cpus_follow_gpus": st.booleans(),
            "min_gpus_per_job": COUNTS,
            "gpu_minutes_per_job": MINUTES,
            "group_gpu_minutes": MINUTES,
            "max_time": TIMES,
            "preempt_exempt_time": EXEMPT_TIMES,
            "preempts": preempts,
            "deny_on_limit": st.booleans(),
        },
    )


@st.composite
def _account(
    draw: st.DrawFn, earlier: list[str], some_qos: st.SearchStrategy[list[str]], with_default: bool
) -> dict[str, Any]:
    account: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {
                "description": TEXTS,
                "parent": st.one_of(st.none(), st.sampled_from(earlier)) if earlier else st.none(),
                "qos": some_qos,
            },
            optional={
                "fairshare": st.integers(1, 1_000_000),
                "organization": TEXTS,
                "gpus": COUNTS,
                "gpu_minutes": MINUTES,
            },
        )
    )
    if with_default and account["qos"]:
        account["default_qos"] = draw(st.sampled_from(account["qos"]))
    return account


def _user(accounts: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    one_account = st.sampled_from(accounts)
    return st.fixed_dictionaries(
        {"account": one_account},
        optional={
            "more_accounts": st.lists(one_account, unique=True, max_size=3),
            "fairshare": st.integers(1, 1_000_000),
            "admin": st.sampled_from(["None", "Operator", "Administrator"]),
        },
    )


def _partition(
    one_qos: st.SearchStrategy[str | None],
    some_qos: st.SearchStrategy[list[str]],
    some_accounts: st.SearchStrategy[list[str]],
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"qos": one_qos, "allow_qos": some_qos, "allow_accounts": some_accounts},
        optional={
            "nodes": st.integers(1, 10_000),
            "nodes_per_job": st.integers(1, 10_000),
            "default": st.booleans(),
            "max_time": TIMES,
            "default_time": TIMES,
            "priority_tier": st.integers(1, 65_533),
            "priority_job_factor": st.integers(0, 65_533),
            "whole_node": st.booleans(),
            "preempt_mode": MODES,
            "grace_seconds": st.integers(0, 86_400),
            "root_only": st.booleans(),
            "hidden": st.booleans(),
        },
    )


def _scheduler() -> st.SearchStrategy[dict[str, Any]]:
    weights = dict.fromkeys(("partition", "qos", "fairshare", "age", "job_size"), WEIGHTS)
    return st.fixed_dictionaries(
        {
            "preempt_by": st.sampled_from(["partition_prio", "qos", "none"]),
            "preempt_mode": st.sampled_from(["REQUEUE", "CANCEL"]),
        },
        optional={
            "preempt_exempt_time": EXEMPT_TIMES,
            "send_user_signal": st.booleans(),
            "weights": st.fixed_dictionaries(
                {}, optional={**weights, "max_age": HALF_LIVES, "decay_half_life": HALF_LIVES}
            ),
            "enforce_partition_limits": st.sampled_from(["ALL", "ANY", "NO"]),
            "kill_wait_seconds": st.integers(1, 65_533),
            "unkillable_timeout_seconds": st.integers(300, 65_533),
            "cpus_per_gpu": st.integers(1, 1024),
            "memory_per_gpu_mib": st.integers(1, 10_000_000),
            "memory_per_cpu_mib": st.integers(0, 10_000_000),
            "usage_gatherer": st.sampled_from(["cgroup", "linux"]),
            "return_to_service": st.sampled_from([0, 1, 2]),
        },
    )


@FILES
@given(policy=policies())
def test_slurmctld_takes_any_policy_that_the_model_accepts(
    slurm_root: Path, policy: SlurmPolicy
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        conf = parallelcluster_conf(policy, slurm_version(slurm_root))
        write(Path(directory), policy, conf, (COMPUTE,))
        done = dry_run(slurm_root, Path(directory))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), conf


@DATABASE
@given(policy=policies())
def test_the_database_reaches_any_policy_that_the_model_accepts(
    accounting: Cluster, policy: SlurmPolicy
) -> None:
    if accounting.version < (23, 2):
        # It keeps other letters of a description otherwise than it was given them.
        text = policy.model_dump_json().encode("ascii", "replace").decode()
        policy = SlurmPolicy.model_validate_json(text)
    accounting.write_accounting_policy(policy)
    # From whatever the policy before it left.
    accounting.reconcile("apply", "--delete-running")
    assert "as the policy says" in accounting.reconcile("drift")
