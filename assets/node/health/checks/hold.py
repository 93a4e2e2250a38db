"""Keeping a static node of ParallelCluster from jobs, so that the head node can have it mended.

ParallelCluster replaces a drained node without jobs within a minute, whatever ails it. A node that
is reserved it calls healthy (aws-parallelcluster-node 3.16.1, is_state_healthy, read 2026-11-30).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .drain import PREFIX, drain, out_of_use, reason
from .probe import Probe
from .results import Result, failed, unmade, without_verdict

RESERVATION = "trainshed-mend-"
"""Begins the name of a held node's reservation."""

# A queue may have -st- in its own name: the last of them says what a node is (parse_nodename).
_STATIC = re.compile(r"[a-z0-9-]+-st-(?!.*-(?:st|dy)-)[a-z0-9-]+-\d+")
_SECONDS = 10.0


def hold(probe: Probe, node_name: str, results: Sequence[Result], *, joining: bool = False) -> str:
    """Reserve the node for root when a check failed, with what failed in its comment; return that.

    A node that is held, drained or down already keeps what it has. Running jobs end by themselves.
    Another node than a static one is drained: nobody would start it again while it is reserved.
    A static node that joins is held also when a check could not be made: nobody knows whether it is
    well, and no repair is known either. Another one is used: a new one would be drained as well.

    Args:
        probe: Runs Slurm's programs.
        node_name: Name of the node in Slurm.
        results: What the checks found.
        joining: The node is down only until its slurmd has started, and would be up then.

    Raises:
        DrainError: Slurm took the node out of use in neither way.
    """
    if not _STATIC.fullmatch(node_name):
        return drain(probe, node_name, results, joining=joining)
    if joining and not failed(results):
        results = [without_verdict(result) for result in unmade(results)[:1]]
    if not failed(results) or out_of_use(probe, node_name, joining=joining):
        return ""
    name = RESERVATION + node_name
    shown = probe.run("scontrol", "--oneliner", "show", "reservation", name, seconds=_SECONDS)
    if shown.code == 0:
        return ""
    why = reason(results)
    # scontrol shows fields as NAME=VALUE. Before the reservation: one without a word is no use.
    text = re.sub(r"[=\s]+", " ", why.replace(PREFIX, "trainshed: failed", 1))
    told = ("scontrol", "update", f"nodename={node_name}", f"comment={text}")
    made = ("scontrol", "create", f"reservationname={name}", f"nodes={node_name}", "users=root")
    always = ("starttime=now", "duration=UNLIMITED", "flags=MAINT,IGNORE_JOBS")
    for command in (told, (*made, *always)):
        if probe.run(*command, seconds=_SECONDS).code != 0:
            return drain(probe, node_name, results, joining=joining)
    return why
