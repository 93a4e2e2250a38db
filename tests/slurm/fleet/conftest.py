"""Fleets that several tests look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sweep import SWEEP

from .files import QUEUE
from .lab import FleetLab, Node

# More of the same boots, in other machines, and one more head node: make test-slurm-all has them.
_LONG = ["test_head_partition.py", "test_nspawn.py", "test_power_on.py"]
collect_ignore = [] if SWEEP else _LONG


@pytest.fixture(scope="module")
def fleet(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[FleetLab, Node, list[Node]]]:
    """A head node and four idle nodes of one queue; another queue, without GPUs, has none yet."""
    with FleetLab(tmp_path_factory.mktemp("fleet")) as lab:
        lab.add_cpu_queue()
        head = lab.launch("head")
        nodes = [lab.launch("compute", QUEUE) for _ in range(4)]
        for node in (head, *nodes):
            lab.wait_booted(node)
        lab.wait_idle(*nodes)
        yield lab, head, nodes
