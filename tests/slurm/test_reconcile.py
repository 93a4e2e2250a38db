"""The accounting database reaches the policy, wherever it starts from."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.slurm.lab.cluster import MEMBERS, Cluster, policy_for_lab
from tests.waiting import wait_until
from trainshed.slurm import PARALLELCLUSTER_ACCOUNT, SlurmPolicy

QOS = ("debug_qos", "normal_qos", "priority_qos", "exclusive_qos")
POLICY = policy_for_lab("kait-hardened")

# Runs sacctmgr, counts the calls that change something, and kills the caller after one of them.
KILLER = """\
#!/bin/bash
case " $* " in *" show "*) exec sacctmgr "$@" ;; esac
n=$(($(cat /run/calls 2>/dev/null || echo 0) + 1))
echo $n >/run/calls
sacctmgr "$@"
code=$?
[[ $n -eq ${KILL_AT:-0} ]] && kill -KILL $PPID
exit $code
"""


def nothing(cluster: Cluster) -> None:
    """Leave the database empty."""


def seed_steps(cluster: Cluster) -> None:
    """Do the eight steps of the post by hand."""
    cluster.sacctmgr("add", "account", "general", "Description=general user group")
    cluster.sacctmgr("add", "account", "priority", "Description=priority user group")
    for command in (
        *(f"add user name={user} account={m['account']}" for user, m in MEMBERS.items()),
        *(f"add qos {qos}" for qos in QOS),
        "modify qos debug_qos set MaxJobsPerUser=1 MaxSubmitJobsPerUser=1 Priority=1000",
        "modify qos normal_qos set MaxJobsPerUser=4 MaxSubmitJobsPerUser=8 Priority=2000",
        "modify qos priority_qos set Priority=3000",
        "modify qos exclusive_qos set MaxJobsPerUser=1 MaxSubmitJobsPerUser=2 Priority=10000",
        f"modify account priority set qos+={','.join(QOS)}",
        "modify account general set qos+=debug_qos,normal_qos",
        "modify account priority set DefaultQOS=priority_qos",
        "modify account general set DefaultQOS=normal_qos",
        "modify user bob set DefaultAccount=priority",
    ):
        cluster.sacctmgr(*command.split())


def by_hand(cluster: Cluster) -> None:
    """Edit a database that was as the policy says in every way an operator might."""
    cluster.apply(POLICY)
    for command in (
        "modify qos normal_qos set MaxJobsPerUser=99 GrpWall=30 Flags=DenyOnLimit UsageFactor=2",
        "modify qos priority_qos set MaxTRESPerUser=gres/gpu=-1,cpu=-1 GrpTRES=node=3",
        "modify user alice set qos+=normal MaxJobs=3",
        "modify user dave set DefaultQOS=member_qos Fairshare=77",
        "modify account priority set qos+=normal,debug_qos",
        "modify account general set Description=other DefaultQOS=-1 GrpTRES=cpu=9",
        "add account hack parent=general",
        "add account deep parent=hack",
        "add user mallory account=deep",
        "add user bob account=hack",
        "modify user bob set DefaultAccount=hack",
        "modify user carol set AdminLevel=Operator",
        "add qos rich Priority=9",
        "modify account where name=priority set parent=hack",
        "delete user dave",
    ):
        cluster.sacctmgr(*command.split())


@pytest.fixture(scope="session")
def expected(accounting: Cluster) -> str:
    """What the policy makes of an empty database."""
    accounting.restore_accounting()
    accounting.apply(POLICY)
    return accounting.accounting()


def code(cluster: Cluster, *arguments: str) -> int:
    """Run slurm_accounts.py and return its exit code."""
    return cluster.head.try_run(*cluster.reconcile_command(*arguments), seconds=120).returncode


@pytest.mark.parametrize("start", [nothing, seed_steps, by_hand])
def test_the_database_ends_the_same_wherever_it_starts(
    database: Cluster, start: Callable[[Cluster], None], expected: str
) -> None:
    start(database)
    database.write_accounting_policy(POLICY)
    assert code(database, "plan", "--delete-running") == 2
    assert code(database, "apply", "--delete-running", "--exit-code") == 2
    assert database.accounting() == expected
    assert code(database, "apply", "--delete-running", "--exit-code") == 0
    assert code(database, "drift") == 0


def test_a_run_that_is_killed_after_any_call_is_finished_by_the_next(
    database: Cluster, expected: str
) -> None:
    by_hand(database)
    database.write_accounting_policy(POLICY)
    database.head.run("tee", "/run/killer", stdin=KILLER)
    database.head.run("chmod", "755", "/run/killer")
    command = database.reconcile_command("apply", "--delete-running", "--sacctmgr", "/run/killer")
    kills = 0
    while True:
        database.head.run("rm", "-f", "/run/calls")
        done = database.head.try_run("env", "KILL_AT=1", *command, seconds=120)
        if done.returncode == 0:
            break
        assert done.returncode in (-9, 137), done.stderr
        kills += 1
    assert kills >= 12
    assert database.accounting() == expected


def test_drift_is_reported_and_leaves_the_database_alone(database: Cluster) -> None:
    database.apply(POLICY)
    database.sacctmgr("add", "qos", "rich")
    database.sacctmgr("modify", "qos", "normal_qos", "set", "MaxJobsPerUser=99")
    before = database.accounting()
    done = database.head.try_run(*database.reconcile_command("drift"))
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        "  set QOS normal_qos: MaxJobsPerUser=4",
        "  left: QOS rich: not in the policy; --delete deletes it",
    ]
    assert database.accounting() == before


def test_every_setting_of_a_qos_and_an_account_is_written_and_cleared(database: Cluster) -> None:
    full = {
        "max_jobs_per_user": 1,
        "max_submit_jobs_per_user": 2,
        "max_jobs_per_account": 3,
        "max_submit_jobs_per_account": 4,
        "group_jobs": 5,
        "gpus_per_job": 6,
        "gpus_per_user": 7,
        "gpus_per_account": 8,
        "group_gpus": 9,
        "min_gpus_per_job": 1,
        "gpu_minutes_per_job": 10,
        "group_gpu_minutes": 11,
        "max_time": "02:00:00",
        "preempt_exempt_time": "00:05:00",
        "preempts": ["other_qos"],
        "deny_on_limit": True,
        "cpus_follow_gpus": True,
    }
    account = {"description": "a lab", "fairshare": 5, "gpus": 12, "gpu_minutes": 13}
    for qos, settings in (("full_qos", full), ("full_qos", {}), ("full_qos", full)):
        policy = SlurmPolicy.model_validate(
            {
                "qos": {qos: settings, "other_qos": {}},
                "accounts": {"lab": account if settings else {"description": "a lab"}},
            }
        )
        database.apply(policy)
        assert code(database, "drift") == 0


def test_what_parallelcluster_makes_for_itself_stays(database: Cluster) -> None:
    for command in (
        f"add account {PARALLELCLUSTER_ACCOUNT} Organization=none",
        f"add user slurm account={PARALLELCLUSTER_ACCOUNT} AdminLevel=Admin",
        f"add user ubuntu account={PARALLELCLUSTER_ACCOUNT} AdminLevel=Admin",
    ):
        database.sacctmgr(*command.split())
    database.write_accounting_policy(POLICY, keep=[PARALLELCLUSTER_ACCOUNT])
    assert code(database, "apply", "--delete-running") == 0
    assert code(database, "drift", "--delete-running") == 0
    shown = database.sacctmgr("-nP", "show", "user", "format=User,DefaultAccount,AdminLevel")
    assert f"slurm|{PARALLELCLUSTER_ACCOUNT}|Administrator" in shown
    assert f"ubuntu|{PARALLELCLUSTER_ACCOUNT}|Administrator" in shown


def test_accounts_change_places_in_the_tree(database: Cluster) -> None:
    def tree(**parents: str | None) -> SlurmPolicy:
        return SlurmPolicy.model_validate(
            {
                "qos": {"a_qos": {}, "b_qos": {}},
                "accounts": {
                    name: {
                        "description": name,
                        "parent": parent,
                        **(
                            {} if parent else {"qos": [f"{name}_qos"], "default_qos": f"{name}_qos"}
                        ),
                    }
                    for name, parent in parents.items()
                },
            }
        )

    for policy in (
        tree(a=None, b="a", c="b"),
        tree(b=None, a="b", c="a"),
        tree(a=None, c="a", b="c"),
    ):
        database.apply(policy)
        assert code(database, "drift") == 0


def test_a_thousand_users_in_seven_accounts_take_few_calls(database: Cluster) -> None:
    names = [f"inst{number}" for number in range(7)]
    policy = policy_for_lab(
        "kait-hardened",
        accounts={name: {"description": name, "parent": "general"} for name in names},
        users={f"user{number:04}": {"account": names[number % 7]} for number in range(1000)},
    )
    printed = database.apply(policy)
    calls = re.findall(r"^  \[\d+/(\d+)\]", printed, re.MULTILINE)
    assert len(calls) == int(calls[0]) <= 25
    shown = database.sacctmgr("-nP", "show", "user").splitlines()
    assert len([user for user in shown if user.startswith("user")]) == 1000


def test_a_user_with_a_running_job_is_not_deleted_unless_told(hardened: Cluster) -> None:
    hardened.sacctmgr("add", "user", "mallory", "account=general")
    job = wait_until(
        lambda: hardened.head.try_run(
            *("sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null"),
            user="mallory",
            stdin="#!/bin/bash\nsleep 600\n",
        ).stdout.strip(),
        "slurmctld to hear of mallory",
    )
    hardened.wait_state(job, "RUNNING")
    assert "user mallory: has jobs; --delete-running cancels them" in hardened.reconcile(
        "apply", "--delete"
    )
    assert "mallory" in hardened.sacctmgr("-nP", "show", "user")
    hardened.head.run("scancel", job)
    wait_until(lambda: not hardened.head.run("squeue", "-ahu", "mallory"), "the job's end")
    assert "delete user mallory" in hardened.reconcile("apply", "--delete")
    assert "mallory" not in hardened.sacctmgr("-nP", "show", "user")
