"""Keys of a policy as people read them, and as the key paths of its file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..faults import Fault, KeyPath

if TYPE_CHECKING:
    from .policy import SlurmPolicy

_NAMED = ("partitions", "qos", "accounts", "users")
_KEY = re.compile(rf"((?:{'|'.join(_NAMED)}|scheduler)(?:\.[A-Za-z0-9_.*-]+)?):? (.*)", re.DOTALL)


def key_path(policy: SlurmPolicy, key: str) -> KeyPath:
    """Return the path of a key such as ``qos.big.jobs.priority``, whose QOS is ``big.jobs``.

    A key of every entry, ``partitions.*.priority_tier``, is that of the section.
    """
    section, _, rest = key.partition(".")
    if section not in _NAMED:
        return tuple(key.split("."))
    names = [n for n in getattr(policy, section) if f"{rest}.".startswith(f"{n}.")]
    if not names:
        return (section,)
    name = max(names, key=len)
    return (section, name, *filter(None, rest[len(name) + 1 :].split(".")))


def fault_at(policy: SlurmPolicy, text: str) -> Fault:
    """Return the fault that a text of key and reason tells of."""
    found = _KEY.fullmatch(text)
    if found is None:
        return Fault((), text)
    return Fault(key_path(policy, found[1]), found[2])
