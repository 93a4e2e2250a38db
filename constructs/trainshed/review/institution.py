"""Changes of an institution file: what its keys mean for a cluster that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ..config import Institution
from ..records import OnChange
from . import bare
from .effects import OF_ON_CHANGE, Effect, Finding
from .stacks import STAYS
from .values import days, text


@dataclass(frozen=True)
class KeyChange:
    """A key of the file that is not what it was."""

    path: tuple[str, ...]
    before: Any
    after: Any
    on_change: OnChange

    @property
    def place(self) -> str:
        """The key as the file's faults name it."""
        return ".".join(self.path)


def read_institution(path: Path) -> Institution:
    """Read an institution file, with every check that synthesis makes.

    Raises:
        ConfigError: The file is not right.
    """
    from ..cli.checked import load_checked

    return load_checked(path)


def rendered_files(institution: Institution) -> dict[str, str]:
    """Return the files that the institution renders to, by name."""
    from ..cli.render import rendered

    return dict(rendered(institution))


def cluster_config(institution: Institution) -> dict[str, Any]:
    """Return the cluster configuration that it renders to; empty where it is a bare fleet."""
    if institution.fleet.backend == "slurm":
        return {}
    from ..cli.checked import cluster_configuration

    return cluster_configuration(institution)


def key_changes(base: BaseModel, head: BaseModel) -> Iterator[KeyChange]:
    """Yield every key that differs, with what its record says of a change."""
    yield from _in_record(base, head, ())


def _in_record(base: BaseModel, head: BaseModel, path: tuple[str, ...]) -> Iterator[KeyChange]:
    for name, field in type(base).model_fields.items():
        before, after = getattr(base, name), getattr(head, name)
        if before == after:
            continue
        on_change = next((each for each in field.metadata if isinstance(each, OnChange)), None)
        here = (*path, name)
        kind = on_change or OnChange.REFUSED
        if isinstance(before, BaseModel) and type(before) is type(after):
            yield from _in_record(before, after, here)
        elif isinstance(before, dict) and isinstance(after, dict):
            yield from _in_mapping(before, after, here, kind)
        else:
            yield KeyChange(here, before, after, kind)


def _in_mapping(
    base: dict[str, Any], head: dict[str, Any], path: tuple[str, ...], on_change: OnChange
) -> Iterator[KeyChange]:
    for key in [*base, *(key for key in head if key not in base)]:
        before, after = base.get(key), head.get(key)
        if before == after:
            continue
        if isinstance(before, BaseModel) and isinstance(after, type(before)):
            yield from _in_record(before, after, (*path, key))
        else:
            # What comes new has nothing running that it could disturb.
            kind = OnChange.LIVE if before is None else on_change
            yield KeyChange((*path, key), before, after, kind)


def unseen_changes(base: Institution, head: Institution) -> list[KeyChange]:
    """Return the changed keys that show in no cluster configuration."""
    config = cluster_config(base)
    return [
        change
        for change in key_changes(base, head)
        if not (change.path[0] == "fleet" and _shows(base, change, config))
    ]


def _shows(base: Institution, change: KeyChange, config: Mapping[str, Any]) -> bool:
    """Tell whether this key alone changes the configuration."""
    try:
        return cluster_config(_with(base, change.path, change.after)) != config
    except (AttributeError, KeyError, TypeError, ValueError):
        # It cannot change alone, so the configuration leans on it.
        return True


def _with(node: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(node, dict):
        changed = {**node, key: _with(node.get(key), rest, value)}
        return {name: each for name, each in changed.items() if each is not None}
    return node.model_copy(update={key: _with(getattr(node, key), rest, value)})


def key_findings(changes: list[KeyChange], *, is_bare: bool = False) -> Iterator[Finding]:
    """Yield what each changed key does, by its record.

    Args:
        changes: The keys.
        is_bare: The fleet is a bare one, before and after.
    """
    for change in changes:
        own = bare.verdict(change.path, change.before, change.after) if is_bare else None
        also = bare.verdict_for_head(change.path, change.before, change.after) if is_bare else None
        sides = shown(change.before), shown(change.after)
        yield Finding(change.place, *sides, *(own or _verdict(change)))
        if also:
            yield Finding(change.place, *sides, *also)


def shown(value: Any) -> str:
    """Return a value as the file would have it, on one line."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        value = list(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat().replace("+00:00", "Z"))
    return text(value)


def _verdict(change: KeyChange) -> tuple[Effect, str]:
    lustre = ("storage", "lustre")
    if change.path == (*lustre, "capacity_gib") and change.after < change.before:
        return Effect.REFUSED, "FSx for Lustre only grows: make a smaller file system beside it."
    effect = OF_ON_CHANGE[change.on_change]
    words = WORDS.get(change.path[-1])
    own = words(change.before, change.after) if words else None
    return effect, own or SENTENCES[effect]


def _fewer_days(what: str) -> Callable[[Any, Any], str | None]:
    return lambda before, after: (
        f"What is older than {days(after)} is deleted: {what}." if after < before else None
    )


def _turned(on: bool, words: str) -> Callable[[Any, Any], str | None]:
    return lambda before, after: words if after is on else None


GATE_ON = (
    "A queue in use stays open; one whose instances are all new is closed until its all-reduce has "
    "passed."
)
GATE_OFF = "Users get in within seconds, also where the all-reduce has failed."
# Keys that are live and yet decide what can be had again; None where the usual sentence holds.
WORDS: dict[str, Callable[[Any, Any], str | None]] = {
    "end": lambda before, after: "Warnings move to the new end.",
    "termination_protection": _turned(False, "The stacks may be deleted from now on."),
    "import_deletions": _turned(True, "An object that is deleted takes its file with it."),
    "export_deletions": _turned(True, "A file that is deleted takes its object with it."),
    "noncurrent_days": _fewer_days("versions of objects that were overwritten or deleted"),
    "backup_retention_days": _fewer_days("backups of the database"),
    "retention_days": _fewer_days("backups of the file system"),
    "flow_log_retention_days": _fewer_days("records of the network"),
    "delete_on_termination": _turned(True, "The disk goes with its instance from now on."),
    # Of ParallelCluster, which has one or none.
    "gate": lambda before, after: GATE_OFF if after is None else GATE_ON,
}
SENTENCES = {
    Effect.LIVE: "Applied while jobs run.",
    Effect.DRAINS_NODES: "Nodes finish their jobs, then come back with the new setting.",
    Effect.STOPS_FLEET: "The compute fleet has to be stopped first: running jobs end.",
    Effect.REPLACES_NODES: "Nodes are terminated and made again; what is on their disks is lost.",
    Effect.REPLACES_DATA: "A new, empty one is made. The old one is retained, and nothing uses it.",
    Effect.REFUSED: "AWS cannot change it in place: it takes a new cluster, on the same data.",
}


def data_left_behind(base: Institution, head: Institution) -> Iterator[Finding]:
    """Yield what is left with its data by keys that say another thing of their change."""
    before, after = (_made(each) for each in (base, head))
    for key in ("account", "region"):
        old, new = getattr(base, key), getattr(head, key)
        if old != new and before:
            sentence = f"Everything is made anew in the other place, empty. {STAYS}"
            yield Finding(key, old, new, Effect.REPLACES_DATA, sentence)
    if DATABASE in before and DATABASE not in after:
        sentence = (
            "The database that was made here leaves the stack: it is retained with users, limits "
            "and history, costs on, and nothing uses it."
        )
        yield Finding("fleet.accounting.create", DATABASE, "", Effect.REPLACES_DATA, sentence)


DATABASE = "database"


def _made(institution: Institution) -> set[str]:
    """Return what an institution has made here that holds data."""
    storage, accounting = institution.storage, institution.fleet.accounting
    made = {
        "file system": storage.lustre is not None,
        "bucket": storage.bucket.existing is None,
        DATABASE: accounting is not None and accounting.create is not None,
    }
    return {noun for noun, is_made in made.items() if is_made}
