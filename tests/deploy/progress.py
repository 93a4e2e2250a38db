"""Tells what the status of a bare fleet says while its stack is deployed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.deploy.emulator.process import Emulator
from tests.waiting import Repeating


class Progress(Repeating):
    """Says each change of a fleet's status. Use it as a context."""

    def __init__(
        self, emulator: Emulator, cluster: str, region: str, say: Callable[[str], None]
    ) -> None:
        super().__init__(self._look, every_seconds=1)
        self._name = f"/trainshed/{cluster}/slurm/status"
        self._ssm = emulator.client("ssm", region)
        self._say = say
        self._last = ""

    def _look(self) -> None:
        told = self._told()
        if told and told != self._last:
            self._say(told)
            self._last = told

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
