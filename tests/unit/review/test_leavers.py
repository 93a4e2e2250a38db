"""What leaves a Slurm policy stays in the accounting database, and a review says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.review.assemblies import KAIT, ROOT
from tests.unit.review.test_key_changes import BARE, files
from trainshed.review import Effect, Finding, Review, markdown
from trainshed.review.leavers import COMMANDS

FULL = KAIT.with_name("full.yaml").read_text()
POLICY = """
  policy:
    preset: kait-hardened
    accounts:
      lab: {description: Lab, parent: general}
      old: {description: Old, parent: general}
    qos:
      old_qos: {gpus_per_user: 8}
    users:
      kim: {account: lab, more_accounts: [general], uid: 2001}
      lee: {account: lab}
"""
WITH_POLICY = BARE.replace("\n  login_nodes:", f"{POLICY}  login_nodes:", 1)
APPLY = (
    "until this is run on the head node: sudo python3 /opt/trainshed/current/slurm_accounts.py "
    "apply /etc/trainshed/files/policy.json --delete. It leaves what has jobs; --delete-running "
    "cancels them first."
)
KIM = "      kim: {account: lab, more_accounts: [general], uid: 2001}\n"


def of_policy(found: Review) -> list[Finding]:
    return [each for each in found.findings if each.place.startswith("fleet.policy")]


LEAVING = {
    "user": (
        KIM,
        "",
        "fleet.policy.users.kim",
        f"The user stays in the accounting database and may submit jobs {APPLY} Nodes that run "
        "keep the Unix user, and later ones do not have it.",
    ),
    "user of a directory": (
        "      lee: {account: lab}\n",
        "",
        "fleet.policy.users.lee",
        f"The user stays in the accounting database and may submit jobs {APPLY}",
    ),
    "account": (
        "      old: {description: Old, parent: general}\n",
        "",
        "fleet.policy.accounts.old",
        f"The account stays in the accounting database, with its users {APPLY}",
    ),
    "QOS": (
        "    qos:\n      old_qos: {gpus_per_user: 8}\n",
        "",
        "fleet.policy.qos.old_qos",
        f"The QOS stays in the accounting database {APPLY} In a database that several clusters "
        "share it stays.",
    ),
    "one of several accounts": (
        ", more_accounts: [general]",
        "",
        "fleet.policy.users.kim.more_accounts",
        f"The user may charge general as before, {APPLY}",
    ),
    "first account": (
        "kim: {account: lab, more_accounts: [general]",
        "kim: {account: general",
        "fleet.policy.users.kim.account",
        f"The user may charge lab as before, {APPLY}",
    ),
    "all of it": (
        POLICY,
        "\n",
        "fleet.policy",
        f"All of it stays in the accounting database {APPLY}",
    ),
}


@pytest.mark.parametrize("name", LEAVING)
def test_what_leaves_the_policy_stays_until_it_is_deleted(name: str, tmp_path: Path) -> None:
    old, new, place, sentence = LEAVING[name]
    found = of_policy(files(tmp_path, old, new, text=WITH_POLICY))
    (stays,) = (each for each in found if each.effect is Effect.UNTOUCHED)
    assert (stays.place, stays.after, stays.sentence) == (place, "", sentence)


def test_a_user_who_leaves_is_not_told_as_done(tmp_path: Path) -> None:
    found = files(tmp_path, KIM, "", text=WITH_POLICY)
    assert [each.effect for each in of_policy(found)] == [Effect.UNTOUCHED]
    assert markdown(found).splitlines()[2] == (
        "Applied while jobs run; no node is touched. A part of it is not done by the deployment."
    )


def test_a_parallelcluster_has_the_program_in_another_place(tmp_path: Path) -> None:
    kim = next(line for line in FULL.splitlines(keepends=True) if "      kim:" in line)
    (stays,) = of_policy(files(tmp_path, kim, "", text=FULL))
    assert COMMANDS["parallelcluster"] in stays.sentence
    assert "Unix user" not in stays.sentence


def test_an_account_that_is_still_charged_does_not_leave(tmp_path: Path) -> None:
    old, new = "account: lab, more_accounts: [general]", "account: general, more_accounts: [lab]"
    found = of_policy(files(tmp_path, old, new, text=WITH_POLICY))
    assert {each.effect for each in found} == {Effect.LIVE}


def test_the_head_node_has_what_the_command_names() -> None:
    nodes = ROOT / "assets" / "node"
    policy, plan = ((nodes / name).read_text() for name in ("pc_slurm_policy.sh", "boot/plan.py"))
    assert 'HOME_DIR="$ROOT_DIR/opt/trainshed/slurm-policy"' in policy
    assert '"$HOME_DIR/slurm_accounts.py" apply "$HOME_DIR/policy.json"' in policy
    assert '("slurmctld.sh", cluster, f"{FILES_DIR}/policy.json")' in plan
    assert (nodes / "slurm_accounts.py").exists()
