"""Slurm of a ParallelCluster cluster: its queues are partitions, and its nodes have fixed names."""

from __future__ import annotations

import re
import shlex

from .mending import RESERVATION
from .recovery.gate import Run as RunGate
from .recovery.slurm import Slurm
from .slurm import Run

CHECKING = "trainshed-check-"
PAIR = "trainshed-pair-"
_INSTANCE = re.compile(r"^NodeName=(\S+).*? InstanceId=(i-\w+)")
_SCRIPT = """\
#!/bin/bash
export GATE_SECONDS={{seconds}} NCCL_TESTS={program}
export PATH="/opt/trainshed/bin:$PATH:/opt/slurm/bin"
expect={{folder}}/expect-{{queue}}.json
exec /opt/trainshed/current/health/nccl_gate.sh {{strict}} "$expect" {{folder}}
"""


class ClusterSlurm(Slurm):
    """The cluster.

    Args:
        run: What runs commands.
        program: ``all_reduce_perf`` of nccl-tests on the compute nodes.
    """

    def __init__(self, run: Run, program: str) -> None:
        super().__init__(run, _SCRIPT.format(program=shlex.quote(program)))

    def kept(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the nodes that are kept free for their checks, and those that failed them.

        The one is what pc_basic_check.sh reserves, the other what health/checks/hold.py does.
        """
        said = self._run(("scontrol", "--oneliner", "show", "reservation"), "")
        names = re.findall(r"ReservationName=(\S+)", said)
        checking, failed = (
            frozenset(name.removeprefix(start) for name in names if name.startswith(start))
            for start in (CHECKING, RESERVATION)
        )
        return checking, failed

    def instance_ids(self) -> dict[str, str]:
        """Return the ids of instances by node; Slurm 22.05 knows none."""
        said = self._run(("scontrol", "--oneliner", "show", "nodes"), "")
        found = (_INSTANCE.match(line) for line in said.splitlines())
        return {match[1]: match[2] for match in found if match}

    def reserve_idle(self, name: str, nodes: tuple[str, ...]) -> None:
        """Keep nodes without jobs for root; Slurm refuses when one has started.

        A reservation that is left behind ends by itself.
        """
        told = (f"nodes={','.join(nodes)}", "users=root", "flags=MAINT", "starttime=now")
        self._run(("scontrol", "create", f"reservationname={name}", *told, "duration=40"), "")

    def _where(self, step: RunGate) -> list[str]:
        return [f"--partition={step.queue}", f"--nodelist={','.join(step.nodes)}"]
