"""Says for the head of a bare fleet, whose image only AWS has, that all is ready."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import suppress
from datetime import UTC, datetime

from tests.deploy.place import Place


class ReadyHead:
    """Answers each fleet document of a cluster with a status. Use it as a context."""

    def __init__(self, place: Place, cluster: str, region: str) -> None:
        self._ssm = place.client("ssm", region)
        self._path = f"/trainshed/{cluster}/slurm"
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> ReadyHead:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._ended.set()
        self._thread.join()

    def _follow(self) -> None:
        last = ""
        while not self._ended.wait(0.1):
            with suppress(self._ssm.exceptions.ParameterNotFound):
                answer = self._ssm.get_parameter(Name=f"{self._path}/fleet")
                document = answer["Parameter"]["Value"]
                if document != last:
                    self._say(document)
                    last = document

    def _say(self, document: str) -> None:
        status = {
            "schema": 1,
            "generation": hashlib.sha256(document.encode()).hexdigest()[:16],
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "phase": "ready",
            "step": "",
            "reason": "",
            "remedy": "",
            "queues": {},
            "first_job": None,
            "nodes": [],
        }
        self._ssm.put_parameter(
            Name=f"{self._path}/status", Value=json.dumps(status), Type="String", Overwrite=True
        )
