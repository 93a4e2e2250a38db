"""A real database that others wrote to, by hand or for another cluster, reaches the policy."""

from __future__ import annotations

from tests.slurm.lab.cluster import MEMBERS, Cluster
from tests.slurm.test_reconcile import POLICY, code
from tests.waiting import wait_until
from trainshed.slurm import SlurmPolicy

# Each gives somebody more, or everybody less, than the policy says; with how drift tells of it.
BY_HAND = {
    "modify qos normal_qos set LimitFactor=3 PreemptMode=cancel": "LimitFactor=-1",
    "modify qos normal_qos set MaxJobsAccruePerUser=1 MaxJobsAccruePerAccount=1 GrpJobsAccrue=1": (
        "MaxJobsAccruePerUser=-1 MaxJobsAccruePerAccount=-1 GrpJobsAccrue=-1 PreemptMode=cluster"
    ),
    "modify qos normal_qos set GrpTRESRunMins=cpu=9": "GrpTRESRunMins=cpu=-1",
    "modify account general set MaxJobsAccrue=1 GrpJobsAccrue=1 qos=member_qos,normal_qos": (
        "set account general: MaxJobsAccrue=-1 GrpJobsAccrue=-1"
    ),
    "add coordinator account=general names=alice": "what coordinators of account general may do",
    "modify account root set GrpTRES=cpu=1 MaxJobs=1": (
        "set the account above all others: GrpTRES=cpu=-1 MaxJobs=-1"
    ),
    "add user alice account=general partition=debug MaxJobs=9": (
        "left: user alice in account general for partition debug"
    ),
    "modify user alice set qos=normal_qos defaultqos=normal_qos": (
        "hold alice to the QOS of account general"
    ),
    "add user mallory account=general defaultqos=normal_qos": (
        "hold alice, mallory to the QOS of account general: DefaultQOS=-1"
    ),
    "add account hack parent=general qos=normal_qos,member_qos defaultqos=normal_qos": (
        "hold account hack to the QOS of the one above it"
    ),
}
# Slurm 22.05 can show them and not set them.
SINCE_23 = {
    "modify qos normal_qos set MaxTRESRunMinsPerUser=cpu=9": "MaxTRESRunMinsPerUser=cpu=-1",
    "modify qos normal_qos set MaxTRESRunMinsPerAccount=cpu=9": "MaxTRESRunMinsPerAccount=cpu=-1",
}


def test_what_was_written_by_hand_is_seen_and_put_right(database: Cluster) -> None:
    database.apply(POLICY)
    before = database.accounting()
    edits = {**BY_HAND, **(SINCE_23 if database.version > (23, 0) else {})}
    for edit in edits:
        database.sacctmgr(*edit.split())
    drift = database.head.try_run(*database.reconcile_command("drift"))
    assert drift.returncode == 2
    for told in edits.values():
        assert told in drift.stdout
    assert code(database, "apply") == 0
    assert code(database, "apply", "--delete-running") == 0
    assert code(database, "drift") == 0
    assert database.accounting() == before


def test_another_cluster_of_the_database_keeps_what_it_has(database: Cluster) -> None:
    for command in (
        "add cluster name=other",
        "add qos name=their_qos",
        "add account name=theirs cluster=other",
        "add account name=general cluster=other",
        "add account name=both cluster=other,kait",
        "add user name=zoe account=theirs cluster=other",
        "add user name=alice account=theirs cluster=other",
        "add user name=yan account=both cluster=other,kait",
    ):
        database.sacctmgr(*command.split())

    def theirs() -> str:
        return database.sacctmgr("-nP", "show", "assoc", "cluster=other", "WOPInfo")

    before = theirs()
    database.apply(POLICY)
    assert theirs() == before
    drift = database.head.try_run(*database.reconcile_command("drift"))
    assert drift.stdout.splitlines() == [
        "  left: user yan: not in the policy; --delete deletes it",
        "  left: account both: not in the policy; --delete deletes it",
    ]
    assert code(database, "apply", "--delete-running") == 0
    assert theirs() == before
    assert code(database, "drift") == 0
    ours = database.sacctmgr("-nP", "show", "assoc", "cluster=kait", "format=Account,User")
    assert "yan" not in ours and "both" not in ours
    assert "their_qos" in database.sacctmgr("-nP", "show", "qos", "format=Name")
    defaults = database.sacctmgr(
        "-nP", "show", "assoc", "OnlyDefaults", "user=alice", "format=Cluster,Account"
    )
    assert sorted(defaults.splitlines()) == ["kait|general", "other|theirs"]


def test_names_that_are_words_of_sacctmgr_are_names(database: Cluster) -> None:
    names = ["set", "where", "name", "withdeleted", "cluster", "account", "default"]
    policy = SlurmPolicy.model_validate(
        {
            "qos": {name: {"priority": 7} for name in names},
            "accounts": {
                name: {"description": name, "qos": [name], "default_qos": name} for name in names
            },
            "users": {name: {"account": name} for name in names},
        }
    )
    database.apply(policy)
    assert code(database, "drift") == 0


def test_a_user_with_a_running_job_is_deleted_when_told(hardened: Cluster) -> None:
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
    printed = hardened.reconcile("apply", "--delete-running")
    assert "cancel the jobs of user mallory and delete it" in printed
    assert "mallory" not in hardened.sacctmgr("-nP", "show", "user")
    wait_until(lambda: not hardened.head.run("squeue", "-ahu", "mallory"), "the job's end")
    shown = hardened.sacctmgr("-nP", "show", "user", "format=User")
    assert {*MEMBERS} <= {*shown.splitlines()}
