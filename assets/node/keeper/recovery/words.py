"""The words that Slurm keeps for us: reasons and comments of nodes. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

HELD = "health: held until its checks have passed"
RESET = "health: reset now: "
REBOOT = "health: rebooting: "
REPLACE = "health: replace idle: "
"""The keeper replaces a node with it once its jobs are over."""
OURS = "trainshed: "
"""Begins the comments that nodes and head write."""
PASSED = f"{OURS}passed"
FAILED = f"{OURS}failed "
WAITS = f"{OURS}waits for its checks"
NOT_RESET = "gpu_reset"
"""The fault of a node whose GPUs could not be reset."""
# Nodes join with State=DRAIN and without a reason, which nobody else can drain without.
_JOINED_HELD = {"", HELD}
_FAULT = re.compile(
    r"(?P<check>\w+) \[(?P<severity>monitor|reset|reboot|isolate)\] ?(?P<evidence>.*)"
)


@dataclass(frozen=True)
class Fault:
    """What a check said of a node.

    Args:
        check: Name of the check.
        severity: What mends it.
        evidence: What was seen.
    """

    check: str
    severity: str
    evidence: str

    @property
    def text(self) -> str:
        """The fault as reasons have it."""
        return f"{self.check} [{self.severity}] {self.evidence}".strip()


def held(reason: str) -> bool:
    """Tell whether a drained node has not been released yet."""
    return reason in _JOINED_HELD


def mending(reason: str) -> bool:
    """Tell whether a node is being mended by order of ours."""
    return reason.startswith((RESET, REBOOT, REPLACE))


def fault(text: str) -> Fault | None:
    """Return the fault in a reason or a comment, if it is one that waits for somebody."""
    for prefix in (FAILED, "health: "):
        if text.startswith(prefix) and not held(text) and not mending(text):
            match = _FAULT.fullmatch(text[len(prefix) :])
            return Fault(match["check"], match["severity"], match["evidence"]) if match else None
    return None
