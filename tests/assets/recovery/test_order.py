"""The order in which a node is mended: a process that is killed in between must harm nobody."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assets.node.keeper.recovery.act import Actor
from assets.node.keeper.recovery.decide import Mend
from assets.node.keeper.recovery.store import Store
from assets.node.keeper.recovery.words import REBOOT, RESET, WAITS, Fault
from assets.node.keeper.slurm import SlurmError

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
GPU = Fault("gpu_count", "reboot", "7 of 8 GPUs")


class Nodes:
    """Slurm's nodes, which note what is done to them, and what had been kept by then."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.did: list[tuple[str, str, int]] = []
        self.refuses_reboots = False

    def __getattr__(self, what: str) -> Callable[..., None]:
        def note(node: str, text: str = "") -> None:
            self.did.append((what, text, len(self._store.history())))
            if what == "reboot" and self.refuses_reboots:
                raise SlurmError("no RebootProgram")

        return note


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    return Nodes(Store(tmp_path, None))


def mend(nodes: Any, action: str, said: list[str]) -> None:
    def say(told: str, **more: object) -> None:
        said.append(told)

    actor = Actor(nodes, nodes._store, lambda *_: None, say)
    actor.act(NOW, [Mend("train-0", action, GPU)])


def test_what_a_node_had_said_is_void_before_it_is_mended(nodes: Nodes) -> None:
    """Else its "passed" of before would release it at once, and nothing would have been done."""
    said: list[str] = []
    mend(nodes, "reset", said)
    assert nodes.did == [("comment", WAITS, 0), ("drain", RESET + GPU.text, 1)]
    assert said == ["did"]


def test_a_reboot_is_noted_before_it_is_made(nodes: Nodes) -> None:
    mend(nodes, "reboot", [])
    assert [what for what, _, _ in nodes.did] == ["comment", "drain", "reboot"]
    assert nodes.did[1:] == [("drain", REBOOT + GPU.text, 1), ("reboot", "", 1)]


def test_a_node_that_cannot_reboot_has_its_fault_as_reason_again(nodes: Nodes) -> None:
    said: list[str] = []
    nodes.refuses_reboots = True
    mend(nodes, "reboot", said)
    assert nodes.did[-1] == ("drain", f"health: {GPU.text}", 1)
    assert said == ["did not succeed"]
