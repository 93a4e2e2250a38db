"""What leaves a Slurm policy, and stays in the accounting database.

A deployment applies the policy without ``--delete`` (docs/slurm-policy.md): what only the database
has is reported, not deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..config import Institution
from .effects import Effect, Finding
from .institution import shown

# Where the head node has the program and its document: assets/node, pc_slurm_policy.sh and boot.
COMMANDS = {
    "slurm": "sudo python3 /opt/trainshed/current/slurm_accounts.py apply "
    "/etc/trainshed/files/policy.json --delete",
    "parallelcluster": "sudo python3 /opt/trainshed/slurm-policy/slurm_accounts.py apply "
    "/opt/trainshed/slurm-policy/policy.json --delete",
}
WORDS = {
    "users": "The user stays in the accounting database and may submit jobs",
    "accounts": "The account stays in the accounting database, with its users",
    "qos": "The QOS stays in the accounting database",
}
JOBS = "It leaves what has jobs; --delete-running cancels them first."
UNIX_USER = " Nodes that run keep the Unix user, and later ones do not have it."
OF_OTHERS = " In a database that several clusters share it stays."
# Slurm's own QOS, which is never deleted.
BUILT_IN = ("qos", "normal")


def leavers(base: Institution, head: Institution) -> Iterator[Finding]:
    """Yield what leaves the policy, with what becomes of it.

    Args:
        base: What is deployed.
        head: What is asked for, of the same backend.
    """
    before, after = base.fleet.policy, head.fleet.policy
    if before is None:
        return
    is_bare = head.fleet.backend == "slurm"
    until = f"until this is run on the head node: {COMMANDS[head.fleet.backend]}. {JOBS}"
    if after is None:
        # ParallelCluster's head node has no document then.
        words = until if is_bare else "until somebody deletes it with sacctmgr."
        yield _stays("fleet.policy", None, f"All of it stays in the accounting database {words}")
        return
    for kind, words in WORDS.items():
        entries = getattr(before, kind)
        for name in entries.keys() - getattr(after, kind).keys():
            if (kind, name) == BUILT_IN:
                continue
            has_uid = is_bare and kind == "users" and entries[name].uid is not None
            more = UNIX_USER if has_uid else OF_OTHERS if kind == "qos" else ""
            place = f"fleet.policy.{kind}.{name}"
            yield _stays(place, entries[name], f"{words} {until}{more}")
    for name in before.users.keys() & after.users.keys():
        old, new = before.users[name], after.users[name]
        kept = {new.account, *new.more_accounts}
        for key, accounts in (("account", {old.account}), ("more_accounts", {*old.more_accounts})):
            if accounts - kept:
                gone = ", ".join(sorted(accounts - kept))
                place = f"fleet.policy.users.{name}.{key}"
                yield _stays(place, gone, f"The user may charge {gone} as before, {until}")


def _stays(place: str, before: Any, sentence: str) -> Finding:
    return Finding(place, shown(before), "", Effect.UNTOUCHED, sentence)
