#!/usr/bin/env python3
"""Brings Slurm's accounting database to the policy: reads what is, plans, shows, applies.

usage: slurm_accounts.py plan|apply|drift POLICY.json [--delete] [--delete-running] [--exit-code]

One file on the standard library alone (Python 3.9 or later): it runs on a head node as it comes.
Every step can be run again, and a run that was killed is finished by the next one. The number of
sacctmgr calls follows the number of accounts and QOS, not of users.

A cap on a resource that the database does not know yet, as gres/gpu before slurmctld's first start,
is left for the next run. What is in the database and not in the policy is reported, and deleted
with --delete only; what has jobs, with --delete-running only.

Exit code: 0 nothing to do, or done; 1 failed; 2 there is something to do (plan, drift), or
something was done (apply with --exit-code).
"""

from __future__ import annotations

import argparse
import fcntl
import functools
import itertools
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
"""Format of the policy document that this program reads."""

TRES = "TRES"
NAMES = "names"
TIME = "time"
NUMBER = "number"
TEXT = "text"

QOS_SETTINGS = {
    "Priority": NUMBER,
    "MaxJobsPerUser": NUMBER,
    "MaxSubmitJobsPerUser": NUMBER,
    "MaxJobsPerAccount": NUMBER,
    "MaxSubmitJobsPerAccount": NUMBER,
    "GrpJobs": NUMBER,
    "GrpSubmitJobs": NUMBER,
    "MaxTRESPerJob": TRES,
    "MaxTRESPerUser": TRES,
    "MaxTRESPerAccount": TRES,
    "MaxTRESPerNode": TRES,
    "GrpTRES": TRES,
    "MinTRESPerJob": TRES,
    "MaxTRESMinsPerJob": TRES,
    "GrpTRESMins": TRES,
    "GrpTRESRunMins": TRES,
    "MaxWall": TIME,
    "GrpWall": TIME,
    "PreemptExemptTime": TIME,
    "Preempt": NAMES,
    "Flags": NAMES,
    "GraceTime": TIME,
    "UsageFactor": NUMBER,
    "UsageThreshold": NUMBER,
}
"""Settings of a QOS that sacctmgr shows and sets under the same name."""

ASSOCIATION_SETTINGS = {
    "Fairshare": TEXT,
    "QOS": NAMES,
    "DefaultQOS": TEXT,
    "GrpTRES": TRES,
    "GrpTRESMins": TRES,
    "GrpTRESRunMins": TRES,
    "GrpJobs": NUMBER,
    "GrpSubmitJobs": NUMBER,
    "GrpWall": TIME,
    "MaxTRESPerJob": TRES,
    "MaxTRESMinsPerJob": TRES,
    "MaxTRESPerNode": TRES,
    "MaxJobs": NUMBER,
    "MaxSubmitJobs": NUMBER,
    "MaxWall": TIME,
    "Priority": NUMBER,
}
"""Settings of an account, or of a user in one."""

QOS_DEFAULTS = {"Priority": "0", "GraceTime": "0", "UsageFactor": "1"}
ASSOCIATION_DEFAULTS = {"Fairshare": "1"}

Settings = dict[str, str]
Sacctmgr = Callable[..., str]

# A call's longest argument is 128 KiB; names are 33 characters at most, with the comma.
_MOST_NAMES = 2000
_MEMORY_UNITS = {"": 1, "K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}


class SlurmError(Exception):
    """A Slurm program is missing or refused something."""


@dataclass
class Account:
    """An account, in the database or in the policy."""

    parent: str
    description: str
    organization: str
    settings: Settings = field(default_factory=dict)


@dataclass
class User:
    """A user and the accounts it may charge, each with settings of its own."""

    default_account: str
    admin: str
    accounts: dict[str, Settings] = field(default_factory=dict)


@dataclass
class State:
    """QOS, accounts and users: what the database has, or what it should have."""

    cluster: str
    registered: bool = True
    tres: set[str] = field(default_factory=set)
    qos: dict[str, Settings] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)
    keep_accounts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Step:
    """One call of sacctmgr, and what it does in words."""

    text: str
    arguments: tuple[str, ...]


@dataclass
class Plan:
    """Calls in their order, and what is left as it is."""

    steps: list[Step] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def call(self, text: str, *arguments: str) -> None:
        """Add a call of sacctmgr."""
        self.steps.append(Step(text, arguments))


def canonical(kind: str, text: str) -> Any:
    """Return a value that is equal for equal settings, however they are written."""
    if kind == TRES:
        return frozenset(_amounts(text).items())
    if kind == NAMES:
        return _name_set(text)
    if not text:
        return None
    if kind == TIME:
        return _seconds(text)
    return float(text) if kind == NUMBER else text


def _name_set(text: str) -> frozenset[str]:
    return frozenset(name.lstrip("+") for name in text.split(",") if name)


def _amounts(text: str) -> dict[str, int]:
    amounts = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.rpartition("=")
        number, unit = re.fullmatch(r"([\d.]+)([KMGTP]?)", value).groups()  # type: ignore[union-attr]
        scale = _MEMORY_UNITS[unit] if name == "mem" else 1
        amounts[name] = round(float(number) * scale)
    return amounts


def _seconds(text: str) -> int:
    days, _, clock = text.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    while len(parts) < 3:
        parts.insert(0, 0)
    return int(days or 0) * 86400 + parts[0] * 3600 + parts[1] * 60 + parts[2]


def read_policy(document: Mapping[str, Any]) -> State:
    """Return what the database should have, from a policy document.

    Raises:
        ValueError: The document has another format than this program reads.
    """
    if document.get("format") != FORMAT:
        raise ValueError(f"format is {document.get('format')!r}; this program reads {FORMAT}")
    state = State(document["cluster"], keep_accounts=frozenset(document["keep_accounts"]))
    state.qos = {name: dict(settings) for name, settings in document["qos"].items()}
    for name, entry in document["accounts"].items():
        state.accounts[name] = Account(
            entry["parent"], entry["description"], entry["organization"], dict(entry["settings"])
        )
    for name, entry in document["users"].items():
        own = {"Fairshare": str(entry["fairshare"])}
        accounts = {account: dict(own) for account in entry["accounts"]}
        state.users[name] = User(entry["default_account"], entry["admin"], accounts)
    return state


def read_database(sacctmgr: Sacctmgr, cluster: str) -> State:
    """Return what the database has, in six calls."""
    state = State(cluster)
    state.registered = cluster in _lines(sacctmgr("show", "cluster", "format=Cluster"))
    for type_, name in _rows(sacctmgr("show", "tres", "format=Type,Name"), 2):
        state.tres.add(f"{type_}/{name}" if name else type_)
    columns = list(QOS_SETTINGS)
    shown = sacctmgr("show", "qos", f"format=Name,{','.join(columns)}")
    for name, *values in _rows(shown, len(columns) + 1):
        state.qos[name] = dict(itertools.zip_longest(columns, values))
    shown = sacctmgr("show", "account", "format=Account,Organization,Description")
    for name, organization, description in _rows(shown, 3):
        if name != "root":
            state.accounts[name] = Account("", description, organization)
    for name, default, admin in _rows(
        sacctmgr("show", "user", "format=User,DefaultAccount,AdminLevel"), 3
    ):
        if name != "root":
            state.users[name] = User(default, admin)
    columns = list(ASSOCIATION_SETTINGS)
    shown = sacctmgr(
        "show",
        "association",
        "WOPLimits",
        f"cluster={cluster}",
        f"format=Account,User,ParentName,{','.join(columns)}",
    )
    for account, user, parent, *values in _rows(shown, len(columns) + 3):
        settings = dict(itertools.zip_longest(columns, values))
        if user:
            if user in state.users:
                state.users[user].accounts[account] = settings
        elif account in state.accounts:
            state.accounts[account].parent = parent
            state.accounts[account].settings = settings
    return state


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def _rows(text: str, columns: int) -> Iterator[list[str]]:
    """Split what sacctmgr shows; a bar in a hand-written last column stays in it."""
    for line in _lines(text):
        yield line.split("|", columns - 1)


def plan(
    current: State,
    wanted: State,
    *,
    delete: bool = False,
    busy: Iterable[tuple[str, str]] = (),
) -> Plan:
    """Return the calls that bring the database to the policy.

    Args:
        current: What the database has.
        wanted: What the policy says.
        delete: Delete what the policy does not have.
        busy: User and account of every job that keeps them from being deleted.
    """
    made = Plan()
    if not current.registered:
        made.call(f"register cluster {wanted.cluster}", "add", "cluster", wanted.cluster)
    known = _known_tres(current, wanted, made)
    _plan_qos(current, known, made)
    _plan_own_qos(current, known, made)
    _plan_accounts(current, known, made)
    _add_associations(current, known, made)
    _plan_users(current, known, made)
    _change_associations(current, known, made)
    _plan_deletions(current, known, made, _Deletion(delete, frozenset(busy)))
    return made


def _known_tres(current: State, wanted: State, made: Plan) -> State:
    """Return the policy without caps on resources that the database does not know yet."""
    missing: set[str] = set()

    def strip(settings: Settings, kinds: Mapping[str, str]) -> Settings:
        kept = dict(settings)
        for key, value in settings.items():
            if kinds[key] == TRES:
                names = {part.rpartition("=")[0]: part for part in value.split(",")}
                missing.update(set(names) - current.tres)
                kept[key] = ",".join(part for n, part in names.items() if n in current.tres)
        return kept

    known = State(wanted.cluster, users=wanted.users, keep_accounts=wanted.keep_accounts)
    known.qos = {name: strip(qos, QOS_SETTINGS) for name, qos in wanted.qos.items()}
    for name, account in wanted.accounts.items():
        settings = strip(account.settings, ASSOCIATION_SETTINGS)
        known.accounts[name] = Account(
            account.parent, account.description, account.organization, settings
        )
    for name in sorted(missing):
        made.left.append(f"caps on {name}: slurmctld's first start makes it known; run this again")
    return known


def _plan_qos(current: State, wanted: State, made: Plan) -> None:
    new = sorted(set(wanted.qos) - set(current.qos))
    if new:
        made.call(f"add QOS {', '.join(new)}", "add", "qos", ",".join(new))
    changes = []
    for name in sorted(wanted.qos):
        have, want = current.qos.get(name, {}), wanted.qos[name]
        sets = differences(have, want, QOS_SETTINGS, QOS_DEFAULTS)
        gone = _name_set(have.get("Preempt", "")) - _name_set(want.get("Preempt", ""))
        if sets:
            changes.append((not gone, name, sets))
    # sacctmgr refuses a circle of QOS that preempt each other, so what ends one goes first.
    for _, name, sets in sorted(changes, key=lambda change: change[:2]):
        made.call(f"set QOS {name}: {' '.join(sets)}", "modify", "qos", name, "set", *sets)


def differences(
    have: Mapping[str, str],
    want: Mapping[str, str],
    kinds: Mapping[str, str],
    defaults: Mapping[str, str],
) -> list[str]:
    """Return the assignments that turn one group of settings into another."""
    sets = []
    for key, kind in kinds.items():
        old = have.get(key) or defaults.get(key, "")
        new = want.get(key) or defaults.get(key, "")
        if canonical(kind, old) == canonical(kind, new):
            continue
        if kind == TRES:
            # Resources that are not named keep their cap.
            gone = sorted(set(_amounts(old)) - set(_amounts(new)))
            new = ",".join([*filter(None, new.split(",")), *(f"{name}=-1" for name in gone)])
        elif not new and (kind != NAMES or key == "Flags"):
            new = "-1"
        sets.append(f"{key}={new}")
    return sets


def _plan_own_qos(current: State, wanted: State, made: Plan) -> None:
    """Let users have their account's QOS again, before an account loses one of them."""
    for key, value in (("DefaultQOS", "-1"), ("QOS", "")):
        groups: dict[str, list[str]] = defaultdict(list)
        for name in sorted(set(current.users) & set(wanted.users)):
            for account, settings in current.users[name].accounts.items():
                if settings.get(key):
                    groups[account].append(name)
        for account, users in sorted(groups.items()):
            for some in _chunks(users):
                where = _where(some, account, wanted.cluster)
                made.call(
                    f"clear {key} of {_names(some)} in account {account}",
                    *("modify", "user", *where, "set", f"{key}={value}"),
                )


def _plan_accounts(current: State, wanted: State, made: Plan) -> None:
    narrow = []
    for name in _top_down(wanted.accounts):
        account, have = wanted.accounts[name], current.accounts.get(name)
        texts = [f"description={account.description}", f"organization={account.organization}"]
        at = ("where", f"name={name}", f"cluster={wanted.cluster}")
        if have is None or not have.parent:
            sets = differences({}, account.settings, ASSOCIATION_SETTINGS, ASSOCIATION_DEFAULTS)
            place = (f"cluster={wanted.cluster}", f"parent={account.parent}")
            made.call(
                f"add account {name} below {account.parent}{_also(sets)}",
                *("add", "account", f"name={name}", *place, *texts, *sets),
            )
            continue
        if (have.description, have.organization) != (account.description, account.organization):
            where = ("where", f"name={name}")
            made.call(f"describe account {name}", "modify", "account", *where, "set", *texts)
        if have.parent != account.parent:
            made.call(
                f"move account {name} from {have.parent} to {account.parent}",
                *("modify", "account", *at, "set", f"parent={account.parent}"),
            )
        sets, exact = _widened(current, wanted, name)
        if sets:
            text = f"set account {name}: {' '.join(sets)}"
            made.call(text, "modify", "account", *at, "set", *sets)
        if exact:
            text = f"set account {name}: {exact}"
            narrow.append(Step(text, ("modify", "account", *at, "set", exact)))
    made.steps += reversed(narrow)


def _also(sets: Sequence[str]) -> str:
    return f": {' '.join(sets)}" if sets else ""


def _widened(current: State, wanted: State, name: str) -> tuple[list[str], str]:
    """Return what to set now, and the QOS list to set once every default has changed.

    sacctmgr refuses a QOS list without the default QOS of the account or of one below it, so an
    account has both old and new QOS in between.
    """
    have, want = current.accounts[name].settings, wanted.accounts[name].settings
    sets = differences(have, want, ASSOCIATION_SETTINGS, ASSOCIATION_DEFAULTS)
    exact = next((text for text in sets if text.startswith("QOS=")), "")
    old, new = _effective_qos(current, name), _effective_qos(wanted, name)
    if not exact or (old <= new and want.get("QOS")):
        return sets, ""
    widen = [] if new <= old else [f"QOS={','.join(sorted(old | new))}"]
    return [*widen, *(text for text in sets if text != exact)], exact


def _effective_qos(state: State, name: str) -> frozenset[str]:
    for _ in range(len(state.accounts)):
        if name not in state.accounts:
            break
        own = _name_set(state.accounts[name].settings.get("QOS", ""))
        if own:
            return own
        name = state.accounts[name].parent
    return frozenset(["normal"])


def _top_down(accounts: Mapping[str, Account]) -> list[str]:
    def depth(name: str) -> int:
        steps = 0
        while name in accounts and steps <= len(accounts):
            name = accounts[name].parent
            steps += 1
        return steps

    return sorted(accounts, key=lambda name: (depth(name), name))


def _add_associations(current: State, wanted: State, made: Plan) -> None:
    """Add users to accounts: their default account first, so that it becomes the default."""
    for first in (True, False):
        groups: dict[tuple[str, str], list[str]] = defaultdict(list)
        for name in sorted(wanted.users):
            user = wanted.users[name]
            had = current.users[name].accounts if name in current.users else {}
            for account, settings in user.accounts.items():
                if account not in had and (account == user.default_account) == first:
                    groups[account, settings["Fairshare"]].append(name)
        for (account, share), users in sorted(groups.items()):
            for some in _chunks(users):
                place = (f"account={account}", f"cluster={wanted.cluster}", f"Fairshare={share}")
                made.call(
                    f"add {_names(some)} to account {account}, share {share}",
                    *("add", "user", f"name={','.join(some)}", *place),
                )


def _plan_users(current: State, wanted: State, made: Plan) -> None:
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(wanted.users):
        user, have = wanted.users[name], current.users.get(name)
        # The first account of a new user has become the default one.
        if have is not None and have.default_account != user.default_account:
            groups[f"DefaultAccount={user.default_account}"].append(name)
        if user.admin != (have.admin if have else "None"):
            groups[f"AdminLevel={user.admin}"].append(name)
    for assignment, users in sorted(groups.items()):
        for some in _chunks(users):
            where = ("where", f"name={','.join(some)}")
            text = f"set {assignment} of {_names(some)}"
            made.call(text, "modify", "user", *where, "set", assignment)


def _change_associations(current: State, wanted: State, made: Plan) -> None:
    kinds = {k: v for k, v in ASSOCIATION_SETTINGS.items() if k not in ("QOS", "DefaultQOS")}
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for name in sorted(set(wanted.users) & set(current.users)):
        for account, settings in wanted.users[name].accounts.items():
            have = current.users[name].accounts.get(account)
            sets = differences(have or settings, settings, kinds, ASSOCIATION_DEFAULTS)
            if sets:
                groups[account, tuple(sets)].append(name)
    for (account, assignments), users in sorted(groups.items()):
        for some in _chunks(users):
            where = _where(some, account, wanted.cluster)
            text = f"set {_names(some)} in account {account}: {' '.join(assignments)}"
            made.call(text, "modify", "user", *where, "set", *assignments)


@dataclass(frozen=True)
class _Deletion:
    """Whether to delete, and user and account of every job that speaks against it."""

    wanted: bool
    busy: frozenset[tuple[str, str]]

    def plan(self, made: Plan, what: str, has_jobs: bool, *arguments: str) -> None:
        if not self.wanted:
            made.left.append(f"{what}: not in the policy; --delete deletes it")
        elif has_jobs:
            made.left.append(f"{what}: has jobs; --delete-running deletes it all the same")
        else:
            made.call(f"delete {what}", "delete", *arguments)


def _plan_deletions(current: State, wanted: State, made: Plan, deletion: _Deletion) -> None:
    busy, keep = deletion.busy, wanted.keep_accounts
    for name in sorted(set(current.users) & set(wanted.users)):
        strange = set(current.users[name].accounts) - set(wanted.users[name].accounts)
        for account in sorted(strange - keep):
            what = f"user {name} in account {account}"
            where = _where([name], account, wanted.cluster)
            deletion.plan(made, what, (name, account) in busy, "user", *where)
    kept = {account for _, account in busy}
    for name in sorted(set(current.users) - set(wanted.users)):
        if current.users[name].accounts and keep.issuperset(current.users[name].accounts):
            continue
        has_jobs = any(user == name for user, _ in busy)
        if has_jobs:
            kept.update(current.users[name].accounts)
        deletion.plan(made, f"user {name}", has_jobs, "user", "where", f"name={name}")
    for name in reversed(_top_down(current.accounts)):
        if name in kept:
            kept.add(current.accounts[name].parent)
        if name not in wanted.accounts and name not in keep:
            where = ("where", f"name={name}")
            deletion.plan(made, f"account {name}", name in kept, "account", *where)
    for name in sorted(set(current.qos) - set(wanted.qos) - {"normal"}):
        deletion.plan(made, f"QOS {name}", bool(busy), "qos", "where", f"name={name}")


def _where(users: Sequence[str], account: str, cluster: str) -> tuple[str, ...]:
    return ("where", f"name={','.join(users)}", f"account={account}", f"cluster={cluster}")


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), _MOST_NAMES):
        yield names[start : start + _MOST_NAMES]


def _names(users: Sequence[str]) -> str:
    shown = ", ".join(users[:5])
    return shown if len(users) <= 5 else f"{len(users)} users ({shown}, ...)"


def find_program(name: str) -> str:
    """Return the path of a Slurm program; ParallelCluster has them in a place of its own.

    Raises:
        SlurmError: It is nowhere.
    """
    found = shutil.which(name) or shutil.which(name, path="/opt/slurm/bin:/usr/local/bin:/usr/bin")
    if found is None:
        raise SlurmError(f"{name} is neither in PATH nor in /opt/slurm/bin")
    return found


def _run(*command: str) -> str:
    # The program is Slurm's own, the arguments are checked where the policy is made; no shell.
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())
        raise SlurmError(f"{' '.join(command)[:300]}: {said}")
    return done.stdout


def run_sacctmgr(program: str) -> Sacctmgr:
    """Return a function that runs sacctmgr and returns what it shows."""
    return functools.partial(_run, program, "--immediate", "--noheader", "--parsable2")


def busy_pairs() -> list[tuple[str, str]]:
    """Return user and account of every job.

    Raises:
        SlurmError: slurmctld does not answer, so nobody knows.
    """
    shown = _run(find_program("squeue"), "--all", "--noheader", "--format=%u|%a")
    return [(user, account) for user, account in _rows(shown, 2)]


def show(made: Plan) -> None:
    """Print a plan."""
    for step in made.steps:
        print(f"  {step.text}")
    for text in made.left:
        print(f"  left: {text}")
    if not made.steps and not made.left:
        print("  the database is as the policy says")


def apply(made: Plan, sacctmgr: Sacctmgr) -> None:
    """Carry out a plan, a line for each call."""
    for number, step in enumerate(made.steps, start=1):
        print(f"  [{number}/{len(made.steps)}] {step.text}", flush=True)
        sacctmgr(*step.arguments)


def reconcile(given: argparse.Namespace, wanted: State) -> int:
    """Do what the command line asks for and return the exit code.

    Raises:
        SlurmError: A call failed, or did not do what it was accepted for.
    """
    sacctmgr = run_sacctmgr(given.sacctmgr or find_program("sacctmgr"))
    delete = given.delete or given.delete_running
    busy = busy_pairs() if delete and not given.delete_running else []

    def planned() -> Plan:
        return plan(read_database(sacctmgr, wanted.cluster), wanted, delete=delete, busy=busy)

    made = planned()
    if given.action != "apply":
        show(made)
        return 2 if made.steps or made.left else 0
    apply(made, sacctmgr)
    after = planned() if made.steps else made
    show(after)
    if after.steps:
        raise SlurmError("sacctmgr accepted every call, and the above is still to be done")
    return 2 if made.steps and given.exit_code else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("action", choices=("plan", "apply", "drift"))
    parser.add_argument("policy", type=Path)
    parser.add_argument("--delete", action="store_true", help="delete what the policy lacks")
    parser.add_argument("--delete-running", action="store_true", help="and what has jobs")
    parser.add_argument("--exit-code", action="store_true", help="apply: 2 if anything changed")
    parser.add_argument("--sacctmgr", help="program to call; default: sacctmgr")
    given = parser.parse_args(arguments)
    try:
        with given.policy.open(encoding="utf-8") as policy:
            # Two runs at a time would plan from the same state.
            fcntl.flock(policy, fcntl.LOCK_EX)
            return reconcile(given, read_policy(json.load(policy)))
    except (SlurmError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        print(f"slurm_accounts.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
