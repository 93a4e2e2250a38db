"""Tells what the status of a bare fleet says while its stack is deployed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from tests.deploy.emulator.process import Emulator


class Progress:
    """Says each change of a fleet's status. Use it as a context."""

    def __init__(
        self, emulator: Emulator, cluster: str, region: str, say: Callable[[str], None]
    ) -> None:
        self._name = f"/trainshed/{cluster}/slurm/status"
        self._ssm = emulator.client("ssm", region)
        self._say = say
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Progress:
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._ended.set()
        self._thread.join()

    def _follow(self) -> None:
        last = ""
        while not self._ended.wait(1):
            told = self._told()
            if told and told != last:
                self._say(told)
                last = told

    def _told(self) -> str:
        try:
            text = self._ssm.get_parameter(Name=self._name)["Parameter"]["Value"]
        except Exception:
            return ""  # not written yet
        status: dict[str, Any] = json.loads(text)
        queues = ", ".join(
            f"{name}: {each['idle'] + each['busy']} of {each['desired']} nodes"
            for name, each in status.get("queues", {}).items()
        )
        return f"fleet is {status['phase']} ({queues})"
