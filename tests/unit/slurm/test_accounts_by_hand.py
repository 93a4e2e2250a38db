"""What others put into the accounting database: by hand, and for clusters beside this one."""

from __future__ import annotations

import json

import pytest

from assets.node import slurm_accounts as accounts
from trainshed.slurm import NodeGroup, NodeShape, SlurmPolicy, accounting_document

COMPUTE = NodeGroup("compute", NodeShape(192, 2_097_152, 2, 48, 2, 8, "h200"), 16)
USERS = {"alice": {"account": "general"}, "bob": {"account": "priority"}}


def wanted() -> accounts.State:
    """Return what the hardened preset wants in the database, with two users."""
    values = {"preset": "kait-hardened", "users": USERS}
    document = accounting_document(SlurmPolicy.model_validate(values), [COMPUTE], cluster="kait")
    return accounts.read_policy(json.loads(json.dumps(document)))


def reached() -> accounts.State:
    """Return a database that is as the policy wants it."""
    state = wanted()
    state.tres = {"cpu", "mem", "node", "gres/gpu"}
    state.qos["normal"] = {}
    return state


def calls(made: accounts.Plan) -> list[str]:
    """Return the calls of a plan as text."""
    return [" ".join(step.arguments) for step in made.steps]


def shared() -> accounts.State:
    """Return a database that another cluster has too, with an account and a user of both."""
    state = reached()
    state.shared = True
    state.qos["their_qos"] = {}
    for name in ("theirs", "both"):
        state.accounts[name] = accounts.Account("", name, name)
    state.accounts["both"].parent = "root"
    state.accounts_elsewhere = {"theirs", "both", "general"}
    state.users["zoe"] = accounts.User("", "None")
    state.users["yan"] = accounts.User("both", "None", {"both": {}})
    state.users_elsewhere = {"zoe", "yan", "alice"}
    return state


def test_what_only_another_cluster_has_is_neither_reported_nor_deleted() -> None:
    state = shared()
    made = accounts.plan(state, wanted())
    assert made.steps == []
    assert made.left == [
        "user yan: not in the policy; --delete deletes it",
        "account both: not in the policy; --delete deletes it",
    ]


def test_what_two_clusters_have_is_deleted_on_this_one_alone() -> None:
    assert calls(accounts.plan(shared(), wanted(), delete=True)) == [
        "delete user where name=yan cluster=kait",
        "delete account where name=both cluster=kait",
    ]


def test_a_user_of_another_cluster_gets_its_default_account_on_this_one_alone() -> None:
    state = shared()
    state.users["alice"] = accounts.User("", "None")
    assert calls(accounts.plan(state, wanted())) == [
        "add user name=alice account=general cluster=kait Fairshare=1",
        "modify user where name=alice cluster=kait set DefaultAccount=general",
    ]


def test_what_an_account_of_two_clusters_is_called_is_left_as_it_is() -> None:
    state = shared()
    state.accounts["general"].description = "theirs"
    state.accounts["general"].coordinators = frozenset(["zoe"])
    state.accounts["priority"].description = "ours"
    assert calls(accounts.plan(state, wanted())) == [
        "modify account where name=priority set description=priority user group "
        "organization=priority"
    ]


def test_strangers_are_held_to_the_qos_of_the_account_they_are_in() -> None:
    state = reached()
    state.users["mallory"] = accounts.User("general", "None", {"general": {"DefaultQOS": "x"}})
    state.accounts["hack"] = accounts.Account("general", "h", "h", {"QOS": "x"})
    state.accounts["apart"] = accounts.Account("root", "a", "a", {"QOS": "x"})
    state.users["mallory"].accounts["apart"] = {"DefaultQOS": "x"}
    assert calls(accounts.plan(state, wanted())) == [
        "modify user where name=mallory account=general cluster=kait set DefaultQOS=-1",
        "modify account where name=hack cluster=kait set QOS=",
    ]


def test_a_run_that_was_killed_after_the_first_of_three_calls_does_not_repeat_it() -> None:
    state = reached()
    state.users["alice"].accounts["general"].update(QOS="member_qos,x", DefaultQOS="x")
    assert calls(accounts.plan(state, wanted())) == [
        "modify user where name=alice account=general cluster=kait set DefaultQOS=-1",
        "modify user where name=alice account=general cluster=kait set QOS=",
    ]


def test_coordinators_lose_what_they_may_do() -> None:
    state = reached()
    state.accounts["general"].coordinators = frozenset(["bob", "alice"])
    made = accounts.plan(state, wanted())
    assert calls(made) == ["delete coordinator account=general names=alice,bob"]
    assert made.steps[0].text == (
        "take from alice, bob what coordinators of account general may do"
    )


def test_limits_above_all_accounts_are_cleared() -> None:
    state = reached()
    state.root = {"Fairshare": "1", "QOS": "normal", "GrpTRES": "cpu=5", "MaxJobs": "1"}
    assert calls(accounts.plan(state, wanted())) == [
        "modify account where name=root cluster=kait set GrpTRES=cpu=-1 MaxJobs=-1"
    ]


def test_settings_of_a_user_in_one_partition_are_reported_and_deleted_when_told() -> None:
    state = reached()
    state.of_partitions = {("alice", "general", "debug"), ("alice", "priority", "debug")}
    what = "user alice in account {} for partition debug"
    assert accounts.plan(state, wanted()).left == [
        f"{what.format(account)}: not in the policy; --delete deletes it"
        for account in ("general", "priority")
    ]
    assert calls(accounts.plan(state, wanted(), delete=True)) == [
        f"delete user where name=alice account={account} cluster=kait partition=debug"
        for account in ("general", "priority")
    ]
    busy = [("alice", "general")]
    assert len(accounts.plan(state, wanted(), delete=True, busy=busy).steps) == 1


@pytest.mark.parametrize(
    ("key", "value", "back"),
    [
        ("LimitFactor", "3.000000", "LimitFactor=-1"),
        ("PreemptMode", "cancel", "PreemptMode=cluster"),
        ("MaxTRESRunMinsPerUser", "cpu=2", "MaxTRESRunMinsPerUser=cpu=-1"),
        ("MaxJobsAccruePerUser", "2", "MaxJobsAccruePerUser=-1"),
    ],
)
def test_every_setting_of_a_qos_that_was_made_by_hand_is_cleared(
    key: str, value: str, back: str
) -> None:
    state = reached()
    state.qos["normal_qos"][key] = value
    assert calls(accounts.plan(state, wanted())) == [f"modify qos where name=normal_qos set {back}"]


TABLES = {
    "cluster": "kait\nother\n",
    "tres": "cpu|\ngres|gpu\n",
    "account": "root||root|default\ngeneral|bob,alice|general|general user group\ntheirs||t|t\n",
    "user": "root|root|Administrator\nalice|theirs|None\nzoe|theirs|None\n",
}


def sacctmgr(*arguments: str) -> str:
    """Show a database of two clusters, in which alice is on both."""
    if arguments[1] != "association":
        return TABLES.get(arguments[1], "")
    if "cluster=other" in arguments:
        return "root|\nroot|root\ntheirs|\ntheirs|zoe\ntheirs|alice\n"
    if "OnlyDefaults" in arguments:
        return "root|root\nalice|general\n"
    columns = len(accounts.ASSOCIATION_SETTINGS)
    lines = ["root||||1", "general|||root|1", "general|alice|||1", "general|alice|debug||9"]
    return "".join(f"{line}{'|' * (columns - 1)}\n" for line in lines)


def test_a_shared_database_is_read_for_one_cluster() -> None:
    state = accounts.read_database(sacctmgr, "kait")
    assert state.registered and state.shared
    assert (state.users_elsewhere, state.accounts_elsewhere) == (
        {"root", "zoe", "alice"},
        {"root", "theirs"},
    )
    assert state.users["alice"].default_account == "general"
    assert list(state.users["alice"].accounts) == ["general"]
    assert state.users["alice"].accounts["general"]["Fairshare"] == "1"
    assert state.of_partitions == {("alice", "general", "debug")}
    assert state.accounts["general"].coordinators == {"alice", "bob"}
    assert state.accounts["theirs"].parent == ""
    assert state.root["Fairshare"] == "1"
