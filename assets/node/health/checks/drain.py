"""Taking a node out of use in Slurm, with the reason."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .probe import Probe
from .results import Result, failed

PREFIX = "health:"
"""Reasons of ours begin with it: whoever resumes nodes can tell them from a person's."""

_SECONDS = 10.0
_LONGEST_REASON = 180
_DRAINED = re.compile(r"\bState=\S*DRAIN", re.IGNORECASE)
_OUT_OF_USE = re.compile(r"\bState=\S*(?:DRAIN|DOWN)", re.IGNORECASE)


class DrainError(Exception):
    """Slurm did not take the node out of use."""


def reason(results: Sequence[Result]) -> str:
    """Return the reason for Slurm: what failed and what mends it, the worst first.

    One line without quotes: it goes through sinfo, mails and Slack.
    """
    worst, *others = failed(results)
    more = f" (+{', '.join(result.check for result in others)})" if others else ""
    text = f"{PREFIX} {worst.check} [{worst.severity}] {worst.evidence}"
    text = re.sub(r"[\"'\\\s]+", " ", text)
    return text[: _LONGEST_REASON - len(more)].rstrip() + more


def drain(probe: Probe, node_name: str, results: Sequence[Result], *, joining: bool = False) -> str:
    """Drain the node when a check failed; return the reason, or nothing when it was not needed.

    A node that is drained or down already keeps the reason that it has: a person's word, or the
    first sign of what is wrong. Running jobs end by themselves.

    Args:
        probe: Runs Slurm's programs.
        node_name: Name of the node in Slurm.
        results: What the checks found.
        joining: The node is down only until its slurmd has started, and would be up then.

    Raises:
        DrainError: Slurm refused.
    """
    if not failed(results):
        return ""
    if out_of_use(probe, node_name, joining=joining):
        return ""
    why = reason(results)
    update = ("scontrol", "update", f"nodename={node_name}", "state=drain", f"reason={why}")
    done = probe.run(*update, seconds=_SECONDS)
    if done.code:
        raise DrainError(f"{node_name} is not drained ({why}): {done.text.strip()}")
    if done.code is None:
        raise DrainError(f"{node_name} is not drained ({why}): scontrol gave no answer")
    return why


def out_of_use(probe: Probe, node_name: str, *, joining: bool = False) -> bool:
    """Tell whether a node is drained, or down and not joining; False where Slurm does not say."""
    shown = probe.run("scontrol", "--oneliner", "show", "node", node_name, seconds=_SECONDS)
    return shown.code == 0 and bool((_DRAINED if joining else _OUT_OF_USE).search(shown.out))
