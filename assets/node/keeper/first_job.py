"""The first job: before it has run over every node, nobody is told that the fleet is ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .slurm import Slurm, SlurmError
from .view import View

_OPEN = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "REQUEUED", "SUSPENDED")


class FirstJob:
    """The job of each queue, and how they end.

    Args:
        slurm: The cluster.
        told: What the last status said of it, also that of an earlier process.
    """

    def __init__(self, slurm: Slurm, told: Mapping[str, Any] | None) -> None:
        self._slurm = slurm
        told = told or {}
        self.state = str(told.get("state", ""))
        self._generation = str(told.get("generation", ""))
        self._ids = [int(id) for id in told.get("ids", [])]

    @property
    def done(self) -> bool:
        """Whether it has run well, on whatever generation."""
        return self.state == "COMPLETED"

    @property
    def failed(self) -> bool:
        """Whether it has ended badly."""
        return bool(self.state) and not self.done and not self.state.startswith(_OPEN)

    def tell(self) -> dict[str, Any] | None:
        """Return what the status document says of it."""
        if not self._ids:
            return None
        told = {"id": self._ids[0], "ids": self._ids, "state": self.state}
        return {**told, "generation": self._generation}

    def step(self, view: View) -> None:
        """Submit it, or look how far it is. Call it while every node is there.

        Raises:
            SlurmError: Slurm refuses it or does not answer.
        """
        generation = view.document.generation
        if self.done or (self.failed and self._generation == generation):
            return
        if self._ids and not self.failed:
            try:
                states = [self._slurm.job_state(id) for id in self._ids]
                bad = [state for state in states if not state.startswith((*_OPEN, "COMPLETED"))]
                left = [state for state in states if state != "COMPLETED"]
                self.state = (bad or left or ["COMPLETED"])[0]
                return
            except SlurmError as error:
                if "Invalid job id" not in str(error):
                    raise
        queues = [
            queue
            for _, queue in sorted(view.document.queues.items())
            if queue.ceiling(view.now)
            and not queue.waits(view.now, (view.groups or {})[queue.group].desired)
        ]
        self._generation, self._ids, self.state = generation, [], ""
        for queue in queues:
            self._ids.append(self._slurm.submit_first_job(queue.name, queue.nodes, queue.gpus))
            self.state = "PENDING"
