"""Says for the head of a bare fleet, whose image only AWS has, that all is done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime

from tests.deploy.place import Place
from tests.waiting import Repeating

Queues = Mapping[str, Mapping[str, int]]


class ReadyHead(Repeating):
    """Answers each fleet document of a cluster with a status. Use it as a context."""

    def __init__(self, place: Place, cluster: str, region: str) -> None:
        super().__init__(self._look, every_seconds=0.1)
        self._ssm = place.client("ssm", region)
        self._path = f"/trainshed/{cluster}/slurm"
        self._queues: Queues = {}
        self._said: tuple[str, str, Queues] | None = None
        self._applied: set[str] = set()
        self._refusal = ""

    def tell(self, queues: Queues) -> None:
        """Say how many nodes of each queue do what, now and of each later document."""
        self._queues = queues

    def refuse(self, reason: str) -> None:
        """Say of each document that is not applied yet why it cannot be; ``""`` ends that."""
        self._refusal = reason

    def _look(self) -> None:
        names = [f"{self._path}/{each}" for each in ("fleet", "command", "status")]
        answer = self._ssm.get_parameters(Names=names)["Parameters"]
        found = {each["Name"]: each["Value"] for each in answer}
        if names[0] not in found:
            self._said = None
            return
        if self._said and self._said[1] == "drained" and names[2] not in found:
            return  # the keeper tells nothing either of a fleet that is deleted
        phase = "drained" if names[1] in found else "ready"
        if self._refusal and found[names[0]] not in self._applied:
            phase = "failed"
        saying = (found[names[0]], phase, self._queues)
        if saying != self._said:
            self._say(*saying)
            self._said = saying

    def _say(self, document: str, phase: str, queues: Queues) -> None:
        failed = phase == "failed"
        if not failed:
            self._applied.add(document)
        status = {
            "schema": 1,
            "generation": hashlib.sha256(document.encode()).hexdigest()[:16],
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "phase": phase,
            "step": "slurm.conf" if failed else "",
            "reason": self._refusal if failed else "",
            "remedy": "",
            "queues": queues,
            "first_job": None,
            "nodes": [],
        }
        self._ssm.put_parameter(
            Name=f"{self._path}/status", Value=json.dumps(status), Type="String", Overwrite=True
        )
