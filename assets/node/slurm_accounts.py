#!/usr/bin/env python3
"""Brings Slurm's accounting database to the policy: reads what is, plans, shows, applies.

usage: slurm_accounts.py plan|apply|drift POLICY.json [--delete] [--delete-running] [--exit-code]

One file on the standard library alone (Python 3.9 or later): it runs on a head node as it comes.
Every step can be run again, and a run that was killed is finished by the next one. The number of
sacctmgr calls follows the number of accounts and QOS, not of users.

A cap on a resource that the database does not know yet, as gres/gpu before slurmctld's first start,
is left for the next run. What is in the database and not in the policy is reported, and deleted
with --delete only; what has jobs, with --delete-running only, which cancels them first. What other
clusters have in the same database is neither reported nor deleted.

Exit code: 0 nothing to do, or done; 1 failed; 2 there is something to do (plan, drift), or
something was done (apply with --exit-code).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import functools
import itertools
import json
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

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
    "MaxTRESRunMinsPerUser": TRES,
    "MaxTRESRunMinsPerAccount": TRES,
    "GrpTRESMins": TRES,
    "GrpTRESRunMins": TRES,
    "MaxWall": TIME,
    "GrpWall": TIME,
    "MaxJobsAccruePerUser": NUMBER,
    "MaxJobsAccruePerAccount": NUMBER,
    "GrpJobsAccrue": NUMBER,
    "PreemptExemptTime": TIME,
    "PreemptMode": TEXT,
    "Preempt": NAMES,
    "Flags": NAMES,
    "GraceTime": TIME,
    "LimitFactor": NUMBER,
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
    "MaxJobsAccrue": NUMBER,
    "GrpJobsAccrue": NUMBER,
    "Priority": NUMBER,
}
"""Settings of an account, or of a user in one."""

QOS_DEFAULTS = {"Priority": "0", "GraceTime": "0", "UsageFactor": "1", "PreemptMode": "cluster"}
ASSOCIATION_DEFAULTS = {"Fairshare": "1"}

Settings = dict[str, str]
Sacctmgr = Callable[..., str]

# An account that moves leaves settings behind, a user that comes back finds old ones: 22.05 and
# 26.05 then want the same call again (random policies, 2026-11-30).
_ROUNDS = 3

# Time for a job to end: KillWait, an epilog, and the record of it on its way to the database.
_WAIT_FOR_JOBS = 300

LOCK_FILE = Path("/run/slurm_accounts.lock")
"""Locked by a run."""

# The root of the accounts: sacctmgr refuses some, and the share of nothing has no meaning.
_NOT_OF_ROOT = ("Fairshare", "QOS", "GrpTRESMins", "GrpTRESRunMins", "GrpWall")

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
    coordinators: frozenset[str] = frozenset()


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
    root: Settings = field(default_factory=dict)
    """Settings of the account above all others; they hold for everybody."""
    of_partitions: set[tuple[str, str, str]] = field(default_factory=set)
    """User, account and partition of settings that hold in one partition only."""
    shared: bool = False
    """Other clusters have the database too."""
    users_elsewhere: set[str] = field(default_factory=set)
    accounts_elsewhere: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Step:
    """One call of sacctmgr, and what it does in words.

    ``jobs`` are scancel's words for the jobs to cancel first, which speak against the call.
    """

    text: str
    arguments: tuple[str, ...]
    jobs: tuple[str, ...] = ()


@dataclass
class Plan:
    """Calls in their order, and what is left as it is."""

    steps: list[Step] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def call(self, text: str, *arguments: str, jobs: Sequence[str] = ()) -> None:
        """Add a call of sacctmgr, and the jobs to cancel before it."""
        self.steps.append(Step(text, arguments, tuple(jobs)))


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
        ValueError: It is no document that this program reads.
    """
    try:
        return _read_policy(document)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"this is no policy document: {error!r}") from error


def _read_policy(document: Mapping[str, Any]) -> State:
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
    unknown = {key for each in state.qos.values() for key in each} - set(QOS_SETTINGS)
    for account in state.accounts.values():
        unknown |= set(account.settings) - set(ASSOCIATION_SETTINGS)
    if unknown:
        raise ValueError(f"this program knows no setting {', '.join(sorted(unknown))}")
    return state


def read_database(sacctmgr: Sacctmgr, cluster: str) -> State:
    """Return what the database has, in six calls; in eight where other clusters share it."""
    state = State(cluster)
    clusters = _lines(sacctmgr("show", "cluster", "format=Cluster"))
    others = sorted(set(clusters) - {cluster})
    state.registered, state.shared = cluster in clusters, bool(others)
    for type_, name in _rows(sacctmgr("show", "tres", "format=Type,Name"), 2):
        state.tres.add(f"{type_}/{name}" if name else type_)
    columns = list(QOS_SETTINGS)
    shown = sacctmgr("show", "qos", f"format=Name,{','.join(columns)}")
    for name, *values in _rows(shown, len(columns) + 1):
        state.qos[name] = dict(itertools.zip_longest(columns, values))
    _read_accounts_and_users(state, sacctmgr)
    _read_associations(state, sacctmgr)
    if others:
        _read_other_clusters(state, sacctmgr, others)
    return state


def _read_accounts_and_users(state: State, sacctmgr: Sacctmgr) -> None:
    columns = "format=Account,Coordinators,Organization,Description"
    for name, coordinators, organization, description in _rows(
        sacctmgr("show", "account", "WithCoordinators", columns), 4
    ):
        if name != "root":
            people = _name_set(coordinators)
            state.accounts[name] = Account("", description, organization, coordinators=people)
    for name, default, admin in _rows(
        sacctmgr("show", "user", "format=User,DefaultAccount,AdminLevel"), 3
    ):
        if name != "root":
            state.users[name] = User(default, admin)


def _read_associations(state: State, sacctmgr: Sacctmgr) -> None:
    columns = list(ASSOCIATION_SETTINGS)
    fields = f"format=Account,User,Partition,ParentName,{','.join(columns)}"
    shown = sacctmgr("show", "association", "WOPLimits", f"cluster={state.cluster}", fields)
    for account, user, partition, parent, *values in _rows(shown, len(columns) + 4):
        settings = dict(itertools.zip_longest(columns, values))
        if partition:
            state.of_partitions.add((user, account, partition))
        elif user:
            if user in state.users:
                state.users[user].accounts[account] = settings
        elif account == "root":
            state.root = settings
        elif account in state.accounts:
            state.accounts[account].parent = parent
            state.accounts[account].settings = settings


def _read_other_clusters(state: State, sacctmgr: Sacctmgr, others: Sequence[str]) -> None:
    """Tell what is another cluster's, and which account is the default one on this cluster."""
    place = f"cluster={','.join(others)}"
    for account, user in _rows(
        sacctmgr("show", "association", "WOPLimits", place, "format=Account,User"), 2
    ):
        state.accounts_elsewhere.add(account)
        if user:
            state.users_elsewhere.add(user)
    place = f"cluster={state.cluster}"
    defaults = sacctmgr("show", "association", "OnlyDefaults", place, "format=User,Account")
    for known in state.users.values():
        known.default_account = ""
    for name, account in _rows(defaults, 2):
        if name in state.users:
            state.users[name].default_account = account


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


def _rows(text: str, columns: int) -> Iterator[list[str]]:
    """Split what sacctmgr shows; a bar in a hand-written last column stays in it."""
    for line in _lines(text):
        yield line.split("|", columns - 1)


def plan(
    current: State,
    wanted: State,
    *,
    delete: bool = False,
    cancel: bool = False,
    busy: Iterable[tuple[str, str]] = (),
) -> Plan:
    """Return the calls that bring the database to the policy.

    Args:
        current: What the database has.
        wanted: What the policy says.
        delete: Delete what the policy does not have.
        cancel: Cancel the jobs of what is deleted. False: what has jobs stays.
        busy: User and account of every job.
    """
    made = Plan()
    if not current.registered:
        made.call(f"register cluster {wanted.cluster}", "add", "cluster", f"name={wanted.cluster}")
    known = _known_tres(current, wanted, made)
    _plan_qos(current, known, made)
    _plan_own_qos(current, known, made)
    _plan_root(current, made)
    _plan_accounts(current, known, made)
    _plan_coordinators(current, known, made)
    _add_associations(current, known, made)
    _plan_users(current, known, made)
    _change_associations(current, known, made)
    _plan_deletions(current, known, made, _Deletion(delete, cancel, frozenset(busy)))
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
        made.call(f"add QOS {', '.join(new)}", "add", "qos", f"name={','.join(new)}")
    changes = []
    for name in sorted(wanted.qos):
        have, want = current.qos.get(name, {}), wanted.qos[name]
        sets = differences(have, want, QOS_SETTINGS, QOS_DEFAULTS)
        gone = _name_set(have.get("Preempt", "")) - _name_set(want.get("Preempt", ""))
        if sets:
            changes.append((not gone, name, sets))
    # sacctmgr refuses a circle of QOS that preempt each other, so what ends one goes first.
    for _, name, sets in sorted(changes, key=lambda change: change[:2]):
        where = ("where", f"name={name}")
        made.call(f"set QOS {name}: {' '.join(sets)}", "modify", "qos", *where, "set", *sets)


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
    """Hold everybody to the QOS of their account, before an account loses one of them.

    sacctmgr refuses to take a QOS away that somebody below has as default QOS, policy or not, and a
    QOS list without the default that holds with it. So they first have the account's QOS as well.
    """
    covered = set(_covered(current, wanted))
    users: dict[tuple[int, str, str], list[str]] = defaultdict(list)
    strange: list[tuple[int, str, str]] = []
    for name in sorted(current.users):
        for account, settings in current.users[name].accounts.items():
            if account in covered:
                for stage, text in _own_qos(current, account, settings):
                    users[stage, account, text].append(name)
    for account in covered - set(wanted.accounts):
        have = current.accounts[account]
        for stage, text in _own_qos(current, have.parent, have.settings):
            strange.append((stage, account, text))
    for stage in range(3):
        for (at_stage, account, text), some_users in sorted(users.items()):
            for some in _chunks(some_users) if at_stage == stage else []:
                where = _where(some, account, wanted.cluster)
                said = f"hold {_names(some)} to the QOS of account {account}: {text}"
                made.call(said, "modify", "user", *where, "set", text)
        for at_stage, account, text in sorted(strange):
            if at_stage == stage:
                at = ("where", f"name={account}", f"cluster={wanted.cluster}")
                said = f"hold account {account} to the QOS of the one above it: {text}"
                made.call(said, "modify", "account", *at, "set", text)


def _own_qos(current: State, account: str, settings: Settings) -> Iterator[tuple[int, str]]:
    """Yield what to set for somebody in an account with QOS of its own, and after what."""
    own = _name_set(settings.get("QOS") or "")
    if settings.get("DefaultQOS"):
        of_account = _effective_qos(current, account)
        if own and not of_account <= own:
            yield 0, f"QOS={','.join(sorted(own | of_account))}"
        yield 1, "DefaultQOS=-1"
    if own:
        yield 2, "QOS="


def _covered(current: State, wanted: State) -> Iterator[str]:
    """Yield the accounts of the policy, and those of the database below them."""
    for name in current.accounts:
        at = name
        for _ in range(len(current.accounts)):
            if at in wanted.accounts:
                if name not in wanted.keep_accounts:
                    yield name
                break
            if at not in current.accounts:
                break
            at = current.accounts[at].parent


def _plan_root(current: State, made: Plan) -> None:
    """Clear what was set by hand above all accounts: it holds for everybody."""
    kinds = {k: v for k, v in ASSOCIATION_SETTINGS.items() if k not in _NOT_OF_ROOT}
    sets = differences(current.root, {}, kinds, ASSOCIATION_DEFAULTS)
    if sets:
        at = ("where", "name=root", f"cluster={current.cluster}")
        made.call(
            f"set the account above all others: {' '.join(sets)}",
            *("modify", "account", *at, "set", *sets),
        )


def _plan_coordinators(current: State, wanted: State, made: Plan) -> None:
    """Take away coordinators, who may change limits of their account themselves."""
    for name in sorted(set(wanted.accounts) & set(current.accounts) - current.accounts_elsewhere):
        people = sorted(current.accounts[name].coordinators)
        if people:
            made.call(
                f"take from {_names(people)} what coordinators of account {name} may do",
                *("delete", "coordinator", f"account={name}", f"names={','.join(people)}"),
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
        described = (have.description, have.organization)
        # Both are one for all clusters of the database.
        if described != (account.description, account.organization) and (
            name not in current.accounts_elsewhere
        ):
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
            here = current.shared and assignment.startswith("DefaultAccount=")
            where = _named(",".join(some), wanted.cluster if here else "")
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
    cancel: bool
    busy: frozenset[tuple[str, str]]

    def plan(
        self, made: Plan, what: str, has_jobs: bool, *arguments: str, jobs: Sequence[str] = ()
    ) -> None:
        if not self.wanted:
            made.left.append(f"{what}: not in the policy; --delete deletes it")
        elif has_jobs and not self.cancel:
            made.left.append(f"{what}: has jobs; --delete-running cancels them and deletes it")
        elif has_jobs and jobs:
            made.call(f"cancel the jobs of {what} and delete it", "delete", *arguments, jobs=jobs)
        else:
            made.call(f"delete {what}", "delete", *arguments)


def _plan_deletions(current: State, wanted: State, made: Plan, deletion: _Deletion) -> None:
    for name in sorted(set(current.users) & set(wanted.users)):
        _delete_associations(current, wanted, name, made, deletion)
    kept = {account for _, account in deletion.busy}
    for name in sorted(set(current.users) - set(wanted.users)):
        has_jobs = any(user == name for user, _ in deletion.busy)
        if has_jobs:
            kept.update(current.users[name].accounts)
        _delete_user(current, wanted, name, made, deletion, has_jobs=has_jobs)
    for name in reversed(_top_down(current.accounts)):
        if name in kept:
            kept.add(current.accounts[name].parent)
        if name in wanted.accounts or name in wanted.keep_accounts:
            continue
        elsewhere = name in current.accounts_elsewhere
        if elsewhere and not current.accounts[name].parent:
            continue
        where = _named(name, wanted.cluster if elsewhere else "")
        jobs = (f"--account={name}",)
        deletion.plan(made, f"account {name}", name in kept, "account", *where, jobs=jobs)
    # Nobody can tell whose QOS those of a shared database are.
    strange_qos = set() if current.shared else set(current.qos) - set(wanted.qos) - {"normal"}
    for name in sorted(strange_qos):
        jobs = (f"--qos={name}",)
        deletion.plan(made, f"QOS {name}", bool(deletion.busy), "qos", *_named(name), jobs=jobs)


def _delete_associations(
    current: State, wanted: State, name: str, made: Plan, deletion: _Deletion
) -> None:
    """Delete the accounts of a user that the policy does not give it, and those of a partition."""
    busy, keep = deletion.busy, wanted.keep_accounts
    strange = set(current.users[name].accounts) - set(wanted.users[name].accounts) - keep
    for account in sorted(strange):
        where = _where([name], account, wanted.cluster)
        what = f"user {name} in account {account}"
        jobs = [f"--user={name}", f"--account={account}"]
        deletion.plan(made, what, (name, account) in busy, "user", *where, jobs=jobs)
    for user, account, partition in sorted(current.of_partitions):
        if user == name and account not in strange | keep:
            where = (*_where([name], account, wanted.cluster), f"partition={partition}")
            what = f"user {name} in account {account} for partition {partition}"
            jobs = [f"--user={name}", f"--account={account}", f"--partition={partition}"]
            deletion.plan(made, what, (name, account) in busy, "user", *where, jobs=jobs)


def _delete_user(
    current: State, wanted: State, name: str, made: Plan, deletion: _Deletion, *, has_jobs: bool
) -> None:
    accounts = {*current.users[name].accounts}
    accounts |= {account for user, account, _ in current.of_partitions if user == name}
    elsewhere = name in current.users_elsewhere
    if elsewhere and not accounts:
        return
    if not (accounts and wanted.keep_accounts.issuperset(accounts)):
        where = _named(name, wanted.cluster if elsewhere else "")
        jobs = (f"--user={name}",)
        deletion.plan(made, f"user {name}", has_jobs, "user", *where, jobs=jobs)


def _named(name: str, cluster: str = "") -> tuple[str, ...]:
    return ("where", f"name={name}", *([f"cluster={cluster}"] if cluster else []))


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


def _run(*command: str, seconds: int = 600) -> str:
    # The program is Slurm's own, the arguments are checked where the policy is made; no shell.
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, timeout=seconds
    )
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())
        raise SlurmError(f"{' '.join(command)[:300]}: {said}")
    return done.stdout


def run_sacctmgr(program: str) -> Sacctmgr:
    """Return a function that runs sacctmgr and returns what it shows."""
    return functools.partial(_run, program, "--immediate", "--noheader", "--parsable2")


def busy_pairs(*, sure: bool) -> list[tuple[str, str]]:
    """Return user and account of every job.

    Args:
        sure: Fail where nobody knows. False: where slurmctld does not run, there are no jobs to
            cancel, and slurmdbd keeps what has some.

    Raises:
        SlurmError: slurmctld does not answer.
    """
    if not sure and not _slurmctld_answers():
        return []
    shown = _run(find_program("squeue"), "--all", "--noheader", "--format=%u|%a")
    return [(user, account) for user, account in _rows(shown, 2)]


def _slurmctld_answers() -> bool:
    """Ask by ping: it says so at once where nobody answers, and squeue asks for a minute."""
    try:
        return "is UP" in _run(find_program("scontrol"), "ping", seconds=10)
    except (SlurmError, subprocess.TimeoutExpired):
        return False


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
        if step.jobs:
            _run(find_program("scancel"), *step.jobs)
            _wait_for_their_end(sacctmgr, step)
        else:
            sacctmgr(*step.arguments)


def _wait_for_their_end(sacctmgr: Sacctmgr, step: Step) -> None:
    """Call sacctmgr until it no longer refuses for jobs that are ending."""
    for left in reversed(range(_WAIT_FOR_JOBS)):
        try:
            sacctmgr(*step.arguments)
        except SlurmError as refused:
            if not left or "cancel job(s) before remove" not in str(refused):
                raise
            time.sleep(1)
        else:
            return


def reconcile(given: argparse.Namespace, wanted: State) -> int:
    """Do what the command line asks for and return the exit code.

    Raises:
        SlurmError: A call failed, or did not do what it was accepted for.
    """
    sacctmgr = run_sacctmgr(given.sacctmgr or find_program("sacctmgr"))
    delete = given.delete or given.delete_running

    def planned() -> Plan:
        current = read_database(sacctmgr, wanted.cluster)
        strangers = delete and plan(current, wanted).left
        busy = busy_pairs(sure=not given.delete_running) if strangers else []
        return plan(current, wanted, delete=delete, cancel=given.delete_running, busy=busy)

    made = planned()
    if given.action != "apply":
        show(made)
        return 2 if made.steps or made.left else 0
    changed = bool(made.steps)
    for round_ in range(_ROUNDS):
        if round_:
            print("  once more, for what these calls changed beside what they name:")
        apply(made, sacctmgr)
        made = planned() if made.steps else made
        if not _to_do(made):
            break
    show(made)
    if _to_do(made):
        raise SlurmError("sacctmgr accepted every call, and the above is still to be done")
    return 2 if changed and given.exit_code else 0


def _to_do(made: Plan) -> list[Step]:
    # Slurm 22.05 does not keep every script in a description, which is for reports alone.
    return [step for step in made.steps if not step.text.startswith("describe account")]


@contextlib.contextmanager
def lock(policy: IO[str]) -> Iterator[None]:
    """Wait for other runs on this machine: two at a time would plan from the same state.

    Each may have a policy file of its own, so the lock is a file of the machine; who may not write
    it locks the policy.
    """
    with contextlib.ExitStack() as opened:
        held = policy
        with contextlib.suppress(OSError):
            held = opened.enter_context(LOCK_FILE.open("a", encoding="utf-8"))
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("action", choices=("plan", "apply", "drift"))
    parser.add_argument("policy", type=Path)
    parser.add_argument("--delete", action="store_true", help="delete what the policy lacks")
    parser.add_argument(
        "--delete-running", action="store_true", help="and what has jobs, after cancelling them"
    )
    parser.add_argument("--exit-code", action="store_true", help="apply: 2 if anything changed")
    parser.add_argument("--sacctmgr", help="program to call; default: sacctmgr")
    given = parser.parse_args(arguments)
    try:
        with given.policy.open(encoding="utf-8") as policy, lock(policy):
            return reconcile(given, read_policy(json.load(policy)))
    except (SlurmError, OSError, ValueError, subprocess.TimeoutExpired) as error:
        print(f"slurm_accounts.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
