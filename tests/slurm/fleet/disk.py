"""What a machine of the lab has written to its disk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Content = TypeVar("Content")

# What is written by being looked at, or by jobs.
_VOLATILE = (
    "etc/trainshed/expect.json",  # the same text at each boot, from health's own script
    "root/.aws/",
    "tmp/",
    "var/cache/",
    "var/lib/dpkg/updates/tmp.i",  # of a dpkg that was killed: the next one writes it anew
    "var/log/",
    "var/spool/slurmd/",
    "var/tmp/",
)
# What differs between two machines of one kind.
_OWN = (
    "etc/machine-id",
    "etc/.pwd",
    "var/lib/chrony/",
    "var/lib/cloud/",
    "var/lib/munge/munge.seed",  # written when munged stops
    "var/lib/systemd/",
)


def differences(before: Mapping[str, Content], after: Mapping[str, Content]) -> list[str]:
    """Return the files that are not the same, each with what is on either side."""
    return [
        f"{name}: {before.get(name)} then {after.get(name)}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


@dataclass(frozen=True)
class Disk:
    """The files that a machine has over its image, without logs.

    Args:
        upper: The upper directory of its overlay.
        own: Texts that are the machine's own: its name, its address.
    """

    upper: Path
    own: tuple[str, ...]

    def contents_and_times(self) -> dict[str, tuple[str, int]]:
        """Return content and time of each file, the content as a checksum."""
        return {
            name: (self._content(path), 0 if path.is_symlink() else path.stat().st_mtime_ns)
            for name, path in self._files()
        }

    def contents_of_any(self) -> dict[str, str]:
        """Return the content of each file that another machine of its kind has too."""
        return {
            name: self._content(path) for name, path in self._files() if not name.startswith(_OWN)
        }

    def _files(self) -> Iterator[tuple[str, Path]]:
        for path in sorted(self.upper.rglob("*")):
            name = path.relative_to(self.upper).as_posix()
            if name.startswith(_VOLATILE) or "/__pycache__/" in name:
                continue
            if path.is_symlink() or path.is_file():
                yield name, path

    def _content(self, path: Path) -> str:
        if path.is_symlink():
            return str(path.readlink())
        data = path.read_bytes()
        for text in self.own:
            data = data.replace(text.encode(), b"@")
        return hashlib.sha256(data).hexdigest()
