"""The plan that brings the accounting database to a policy, without a database."""

from __future__ import annotations

import ast
import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from assets.node import slurm_accounts as accounts
from trainshed.slurm import NodeGroup, NodeShape, SlurmPolicy, accounting_document

SOURCE = Path(accounts.__file__)
COMPUTE = NodeGroup("compute", NodeShape(192, 2_097_152, 2, 48, 2, 8, "h200"), 16)
TRES = {"cpu", "mem", "node", "gres/gpu"}


def wanted(**over: Any) -> accounts.State:
    """Return what the hardened preset wants in the database, with users."""
    users = {"alice": {"account": "general"}, "bob": {"account": "priority"}}
    general = {"qos": ["debug_qos", "normal_qos"], "default_qos": "normal_qos"}
    tree = {"general": general, **over.pop("accounts", {})}
    values = {"preset": "kait-hardened", "users": users, "accounts": tree, **over}
    document = accounting_document(SlurmPolicy.model_validate(values), [COMPUTE], cluster="kait")
    return accounts.read_policy(json.loads(json.dumps(document)))


def empty() -> accounts.State:
    """Return a database with a registered cluster and nothing else."""
    return accounts.State("kait", tres=set(TRES), qos={"normal": {}})


def reached(**over: Any) -> accounts.State:
    """Return a database that is as the policy wants it."""
    state = copy.deepcopy(wanted(**over))
    state.tres = set(TRES)
    state.qos["normal"] = {}
    return state


def calls(made: accounts.Plan) -> list[str]:
    """Return the calls of a plan as text."""
    return [" ".join(step.arguments) for step in made.steps]


def test_the_program_runs_on_python_3_9_with_the_standard_library_alone() -> None:
    tree = ast.parse(SOURCE.read_text(), feature_version=(3, 9))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
        )
    }
    assert imported <= sys.stdlib_module_names


def test_an_empty_database_gets_everything_in_the_order_slurm_needs() -> None:
    made = accounts.plan(empty(), wanted())
    assert [" ".join(call.split()[:2]) for call in calls(made)] == [
        "add qos",
        *["modify qos"] * 4,
        *["add account"] * 2,
        *["add user"] * 2,
    ]
    assert made.left == []


def test_an_unregistered_cluster_is_registered_first() -> None:
    state = empty()
    state.registered = False
    assert calls(accounts.plan(state, wanted()))[0] == "add cluster name=kait"


def test_a_database_that_is_as_wanted_needs_nothing() -> None:
    assert accounts.plan(reached(), wanted()) == accounts.Plan()


def test_the_way_a_value_is_written_makes_no_difference() -> None:
    state = reached()
    state.qos["normal_qos"]["MaxTRESPerUser"] = "mem=996144M,gres/gpu=4,cpu=96"
    state.qos["normal_qos"]["GraceTime"] = "00:00:00"
    state.qos["normal_qos"]["UsageFactor"] = "1.000000"
    state.accounts["general"].settings["QOS"] = "+normal_qos,+debug_qos"
    assert accounts.plan(state, wanted()).steps == []


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (accounts.TRES, "mem=2G,cpu=4", "cpu=4,mem=2048M"),
        (accounts.TRES, "mem=2T", "mem=2097152M"),
        (accounts.TIME, "1-00:00:00", "24:00:00"),
        (accounts.TIME, "00:10:00", "10:00"),
        (accounts.NUMBER, "1.000000", "1"),
        (accounts.NAMES, "b,a", "a,b"),
    ],
)
def test_equal_settings_are_seen_as_equal(kind: str, one: str, other: str) -> None:
    assert accounts.canonical(kind, one) == accounts.canonical(kind, other)


def test_a_cap_on_an_unknown_resource_is_left_for_the_next_run() -> None:
    state = empty()
    state.tres.remove("gres/gpu")
    made = accounts.plan(state, wanted())
    assert "gres/gpu" not in "".join(calls(made))
    assert made.left == ["caps on gres/gpu: slurmctld's first start makes it known; run this again"]


def test_a_limit_set_by_hand_is_cleared() -> None:
    state = reached()
    state.qos["normal_qos"].update(
        GrpWall="00:30:00", Flags="DenyOnLimit", MaxTRESPerJob="cpu=5", MaxJobsPerUser="99"
    )
    assert calls(accounts.plan(state, wanted())) == [
        "modify qos where name=normal_qos set MaxJobsPerUser=4 MaxTRESPerJob=cpu=-1 GrpWall=-1 "
        "Flags=-1"
    ]


def test_qos_are_set_exactly_and_never_added_to() -> None:
    state = reached()
    state.accounts["general"].settings["QOS"] = "debug_qos,normal,normal_qos"
    made = accounts.plan(state, wanted())
    assert calls(made) == [
        "modify account where name=general cluster=kait set QOS=debug_qos,normal_qos"
    ]
    assert "+=" not in "".join(calls(accounts.plan(empty(), wanted())))


def test_a_default_qos_changes_before_the_old_one_is_taken_away() -> None:
    state = reached()
    state.accounts["general"].settings.update(QOS="normal,priority_qos", DefaultQOS="normal")
    assert calls(accounts.plan(state, wanted())) == [
        "modify account where name=general cluster=kait set "
        "QOS=debug_qos,normal,normal_qos,priority_qos DefaultQOS=normal_qos",
        "modify account where name=general cluster=kait set QOS=debug_qos,normal_qos",
    ]


def test_a_users_own_qos_is_cleared_before_the_accounts_change() -> None:
    state = reached()
    state.users["alice"].accounts["general"].update(QOS="normal", DefaultQOS="normal")
    state.accounts["general"].settings["Fairshare"] = "9"
    assert calls(accounts.plan(state, wanted())) == [
        "modify user where name=alice account=general cluster=kait set "
        "QOS=debug_qos,normal,normal_qos",
        "modify user where name=alice account=general cluster=kait set DefaultQOS=-1",
        "modify user where name=alice account=general cluster=kait set QOS=",
        "modify account where name=general cluster=kait set Fairshare=1",
    ]


def test_an_account_is_made_after_the_one_above_it() -> None:
    tree = {
        "a": {"description": "a", "parent": "z"},
        "z": {"description": "z", "parent": "general"},
    }
    made = calls(accounts.plan(empty(), wanted(accounts=tree)))
    added = [call.split()[2] for call in made if call.startswith("add account")]
    assert added == ["name=general", "name=priority", "name=z", "name=a"]


def test_an_account_elsewhere_in_the_tree_is_moved() -> None:
    state = reached()
    state.accounts["priority"].parent = "general"
    assert calls(accounts.plan(state, wanted())) == [
        "modify account where name=priority cluster=kait set parent=root"
    ]


def test_a_user_is_added_to_the_default_account_first() -> None:
    users = {"kim": {"account": "priority", "more_accounts": ["general"]}}
    made = calls(accounts.plan(empty(), wanted(users=users)))
    added = [call for call in made if call.startswith("add user")]
    assert [call.split()[3] for call in added if "kim" in call] == [
        "account=priority",
        "account=general",
    ]


def test_a_thousand_users_take_one_call_an_account() -> None:
    names = [f"inst{number}" for number in range(7)]
    tree = {name: {"description": name, "parent": "general"} for name in names}
    users = {f"user{n:04}": {"account": names[n % 7]} for n in range(1000)}
    made = accounts.plan(empty(), wanted(accounts=tree, users=users))
    assert len([call for call in calls(made) if call.startswith("add user")]) == 7
    assert len(made.steps) == 21
    assert "143 users (user0000, user0007, user0014, user0021, user0028, ...)" in "".join(
        step.text for step in made.steps
    )


def test_what_the_policy_lacks_is_left_and_reported() -> None:
    state = reached()
    add_strangers(state)
    made = accounts.plan(state, wanted())
    assert made.steps == []
    assert made.left == [
        "user bob in account hack: not in the policy; --delete deletes it",
        "user mallory: not in the policy; --delete deletes it",
        "account hack: not in the policy; --delete deletes it",
        "QOS rich: not in the policy; --delete deletes it",
    ]


def add_strangers(state: accounts.State) -> None:
    """Put an account, a user, a QOS and an association into a database by hand."""
    state.accounts["hack"] = accounts.Account("general", "x", "y")
    state.users["mallory"] = accounts.User("hack", "None", {"hack": {}})
    state.users["bob"].accounts["hack"] = {}
    state.qos["rich"] = {}


def test_what_the_policy_lacks_is_deleted_when_told() -> None:
    state = reached()
    add_strangers(state)
    assert calls(accounts.plan(state, wanted(), delete=True)) == [
        "delete user where name=bob account=hack cluster=kait",
        "delete user where name=mallory",
        "delete account where name=hack",
        "delete qos where name=rich",
    ]


def test_what_parallelcluster_looks_after_is_left_alone() -> None:
    state = reached()
    state.accounts["pcdefault"] = accounts.Account("root", "x", "none")
    state.users["slurm"] = accounts.User("pcdefault", "Administrator", {"pcdefault": {}})
    state.users["alice"].accounts["pcdefault"] = {}
    target = wanted()
    assert len(accounts.plan(state, target, delete=True).steps) == 3
    target.keep_accounts = frozenset(["pcdefault"])
    assert accounts.plan(state, target, delete=True) == accounts.Plan()


def test_what_has_jobs_is_not_deleted() -> None:
    state = reached()
    add_strangers(state)
    made = accounts.plan(state, wanted(), delete=True, busy=[("mallory", "hack")])
    assert calls(made) == ["delete user where name=bob account=hack cluster=kait"]
    assert made.left == [
        "user mallory: has jobs; --delete-running cancels them and deletes it",
        "account hack: has jobs; --delete-running cancels them and deletes it",
        "QOS rich: has jobs; --delete-running cancels them and deletes it",
    ]


@pytest.mark.parametrize(("old", "new"), [("debug", "normal"), ("normal", "debug")])
def test_qos_that_preempt_each_other_are_turned_round_without_a_circle(old: str, new: str) -> None:
    state = reached(qos={f"{old}_qos": {"preempts": [f"{new}_qos"]}})
    made = calls(accounts.plan(state, wanted(qos={f"{new}_qos": {"preempts": [f"{old}_qos"]}})))
    assert made == [
        f"modify qos where name={old}_qos set Preempt=",
        f"modify qos where name={new}_qos set Preempt={old}_qos",
    ]


def test_a_bar_in_a_description_written_by_hand_stays_in_it() -> None:
    def sacctmgr(*arguments: str) -> str:
        return {"account": "lab||org|one|two\n", "cluster": "kait\n"}.get(arguments[1], "")

    state = accounts.read_database(sacctmgr, "kait")
    assert state.accounts["lab"].description == "one|two"
