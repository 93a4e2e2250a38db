"""What is kept on disk: the history of nodes, records of gates, reports. A restart forgets none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from .. import whole
from ..document import time
from .decide import Event
from .gate import Record
from .patience import Patience

KEPT = timedelta(days=90)


class Store:
    """The files of the head node's state volume.

    Args:
        state: Folder on the state volume.
        shared: Folder on the shared file system, for people. None: there is none.
        patience: By which that folder is touched. It may hang, and no node waits for it.
    """

    def __init__(self, state: Path, shared: Path | None, patience: Patience | None = None) -> None:
        self._state, self.shared = state, shared
        self.patience = patience or Patience()
        self._history = state / "history.jsonl"

    def history(self) -> tuple[Event, ...]:
        """Return what was done to nodes."""
        found = []
        for line in _lines(self._history):
            try:
                values = json.loads(line)
                at = time(values["at"])
                if at is not None:
                    found.append(Event(at, values["node"], values["action"], values["fault"]))
            except (ValueError, KeyError, TypeError):
                continue  # a line that was being written when the power went
        return tuple(found)

    def add(self, event: Event) -> None:
        """Note what is about to be done."""
        kept = [each for each in self.history() if event.at - each.at < KEPT]
        lines = [
            json.dumps(
                {"at": e.at.isoformat(), "node": e.node, "action": e.action, "fault": e.fault}
            )
            for e in (*kept, event)
        ]
        _write(self._history, lines)

    def record(self, queue: str) -> Record | None:
        """Return how a queue's last gate ended."""
        try:
            values = json.loads((self._state / f"gate-{queue}.json").read_text())
            at = time(values["at"])
            names = tuple(values["nodes"])
            if at is None:
                return None
            where = tuple(values.get("addresses", ()))
            if len(where) not in (0, len(names)):
                return None
            return Record(at, values["verdict"], names, values["text"], values["job"], where)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, queue: str, record: Record) -> None:
        """Keep how a gate ended, and for people where they can be reached."""
        values = {
            "at": record.at.isoformat(timespec="seconds"),
            "queue": queue,
            "verdict": record.verdict,
            "nodes": list(record.nodes),
            "text": record.text,
            "job": record.job,
            **({"addresses": list(record.addresses)} if record.addresses else {}),
        }
        _write(self._state / f"gate-{queue}.json", [json.dumps(values)])
        if self.shared is not None:
            path = self.gate_folder / f"{record.at:%Y%m%dT%H%M%S}-{queue}.json"
            self._write_shared(path, [json.dumps(values, indent=1)])

    def asked(self, queue: str) -> Path:
        """Return the file by which a person asks for a queue's gate."""
        return self._state / f"again-{queue}"

    def running(self, queue: str) -> Path:
        """Return the file that has a running gate's job and nodes."""
        return self._state / f"running-{queue}.json"

    def noted(self, queue: str) -> dict[str, Any]:
        """Return how far a gate has come: nothing where there is none, or its job is unknown."""
        try:
            values = json.loads(self.running(queue).read_text())
            return values if values["job"] and values["nodes"] and values["folder"] else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def note(self, queue: str, values: Mapping[str, Any]) -> None:
        """Note how far a gate has come."""
        _write(self.running(queue), [json.dumps(dict(values))])

    @property
    def gate_folder(self) -> Path:
        """Folder of what gates read and write."""
        return (self.shared or Path("/var/log/slurm")) / "gate"

    def prepare_gate(self, files: Mapping[str, str]) -> None:
        """Make the folder of the gates, and write what they read there.

        Args:
            files: Texts by name.

        Raises:
            OSError: It does not take them, or does not answer.
        """
        folder = self.gate_folder

        def make() -> None:
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                _write(folder / name, text.splitlines())

        self.patience.call(make)

    def report(self, name: str, lines: Iterable[str]) -> Path:
        """Write a report for AWS Support; beside the history where people cannot be reached."""
        name, text = f"{name}.txt", list(lines)
        if self.shared is not None:
            path = self.shared / "reports" / name
            if self._write_shared(path, text):
                return path
        path = self._state / "reports" / name
        _write(path, text)
        return path

    def _write_shared(self, path: Path, lines: Iterable[str]) -> bool:
        try:
            self.patience.call(lambda: _write(path, lines))
        except OSError as error:
            print(json.dumps({"not written": str(path), "reason": str(error)}), flush=True)
            return False
        return True


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _write(path: Path, lines: Iterable[str]) -> None:
    whole.write(path, "\n".join(lines) + "\n")
