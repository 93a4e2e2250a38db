"""Xid errors: what the NVIDIA driver writes to the kernel log, and what it asks for.

Source of classes and actions: NVIDIA, "Analyzing Xid Errors with the Xid Catalog" (r590,
docs.nvidia.com/deploy/xid-errors), read 2026-11-29, together with the same catalog's reading in
AWS's awsome-distributed-ai, ``2.gpu-cluster-healthcheck``. Two choices are ours, as theirs: 64, a
failed row remap, is isolated, because NVIDIA replaces such a GPU; 74, an NVLink error, is rebooted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from .results import ISOLATE, MONITOR, REBOOT, RESET, Finding, Result, conclude, failure, warning

HARDWARE, APPLICATION, INFORMATION, UNKNOWN = "hardware", "application", "information", "unknown"


@dataclass(frozen=True)
class Xid:
    """One kind of Xid error.

    Args:
        kind: ``hardware`` takes the node out of use; ``application`` is the doing of a program;
            ``information`` goes with another error, or asks for nothing now.
        severity: What mends it.
        action: NVIDIA's immediate action.
        meaning: What it is.
    """

    kind: str
    severity: str
    action: str
    meaning: str


TABLE: dict[int, Xid] = {
    8: Xid(APPLICATION, MONITOR, "RESTART_APP", "GPU stopped processing"),
    11: Xid(APPLICATION, MONITOR, "RESTART_APP", "invalid or corrupted push buffer stream"),
    13: Xid(APPLICATION, MONITOR, "RESTART_APP", "graphics engine exception"),
    31: Xid(APPLICATION, MONITOR, "RESTART_APP", "memory page fault"),
    43: Xid(APPLICATION, MONITOR, "IGNORE", "GPU stopped processing for one program"),
    45: Xid(INFORMATION, MONITOR, "IGNORE", "channels removed after an earlier error"),
    46: Xid(HARDWARE, RESET, "RESET_GPU", "GPU stopped processing"),
    48: Xid(HARDWARE, RESET, "WORKFLOW_XID_48", "double-bit ECC error"),
    54: Xid(HARDWARE, ISOLATE, "CHECK_MECHANICALS", "auxiliary power is not connected"),
    62: Xid(HARDWARE, RESET, "RESET_GPU", "micro-controller halted"),
    63: Xid(INFORMATION, MONITOR, "IGNORE", "a row of memory will be remapped at the next reset"),
    64: Xid(HARDWARE, ISOLATE, "RESET_GPU, CONTACT_SUPPORT", "a row of memory was not remapped"),
    74: Xid(HARDWARE, REBOOT, "WORKFLOW_NVLINK_ERR", "NVLink error"),
    79: Xid(HARDWARE, REBOOT, "RESTART_BM", "GPU has fallen off the bus"),
    92: Xid(INFORMATION, MONITOR, "IGNORE", "many corrected ECC errors"),
    94: Xid(APPLICATION, MONITOR, "RESTART_APP", "contained memory error"),
    95: Xid(HARDWARE, RESET, "RESET_GPU", "uncontained memory error"),
    109: Xid(HARDWARE, RESET, "RESET_GPU", "context switch timeout"),
    110: Xid(HARDWARE, RESET, "RESET_GPU", "security fault"),
    119: Xid(HARDWARE, RESET, "RESET_GPU", "GSP timeout"),
    120: Xid(HARDWARE, RESET, "RESET_GPU", "GSP error"),
    121: Xid(INFORMATION, MONITOR, "IGNORE", "corrected C2C link error"),
    126: Xid(APPLICATION, MONITOR, "RESTART_APP", "program error"),
    136: Xid(HARDWARE, RESET, "RESET_GPU", "link training failed"),
    140: Xid(HARDWARE, RESET, "RESET_GPU", "ECC error that was not recovered from"),
    143: Xid(HARDWARE, RESET, "RESET_GPU", "GPU initialization error"),
    151: Xid(HARDWARE, REBOOT, "RESTART_VM", "key rotation error"),
    155: Xid(HARDWARE, RESET, "RESET_GPU", "NVLink reset error"),
    156: Xid(HARDWARE, RESET, "RESET_GPU", "resource retirement"),
    158: Xid(HARDWARE, RESET, "RESET_GPU", "fatal timeout"),
    162: Xid(INFORMATION, MONITOR, "PSHC_INFO", "power smoothing"),
    163: Xid(INFORMATION, MONITOR, "PSHC_INFO", "power smoothing"),
    164: Xid(INFORMATION, MONITOR, "PSHC_LOW_LIFETIME", "power smoothing, low lifetime"),
    165: Xid(INFORMATION, MONITOR, "PSHC_ZERO_LIFETIME", "power smoothing, no lifetime left"),
    168: Xid(HARDWARE, REBOOT, "BOOT_REATTEMPT_OR_ENABLE_ECC", "GPU memory is protected"),
    **dict.fromkeys(
        # Engines for copies, video, images and optical flow; and what a program gives them.
        (60, *range(68, 73), *range(75, 78), 80, *range(82, 87), 88, 89, *range(96, 106)),
        Xid(APPLICATION, MONITOR, "RESTART_APP", "engine error of one program"),
    ),
    **dict.fromkeys(
        (*range(127, 136), 139),
        Xid(APPLICATION, MONITOR, "RESTART_APP", "engine error of one program"),
    ),
    **dict.fromkeys(
        (66, 67, 93, 106, 107, 108, 137, 141, 157, 160, 161),
        Xid(INFORMATION, MONITOR, "IGNORE", "nothing to do now"),
    ),
    **dict.fromkeys(
        # NVLink 5 of Blackwell. The code alone does not say whether the link recovers.
        range(144, 151),
        Xid(INFORMATION, MONITOR, "WORKFLOW_NVLINK5_ERR", "NVLink 5 error"),
    ),
}
"""Xid errors by code."""

_RECOVERY = 154
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([^)]+)\): (\d+)(?:, *(.*))?")
# The lines with severity and data that follow each SXid say nothing of their own.
_SXID = re.compile(
    r"nvidia-nvswitch\S*:? SXid \((?:PCI:)?([^)]+)\): (\d+),(?! *(?:Severity \d|Data \{)) *(.*)"
)
_SECONDS = re.compile(r"^\s*\[\s*(\d+\.\d+)\]|^(\d+\.\d+) ")


@dataclass(frozen=True)
class Event:
    """One Xid line of the kernel log.

    Args:
        seconds: Seconds after boot; -1 when the line does not say.
        gpu: PCI address.
        code: Number of the error.
        text: The rest of the line.
        switch: Whether an NVSwitch reports it, not a GPU.
    """

    seconds: float
    gpu: str
    code: int
    text: str
    switch: bool = False

    @property
    def xid(self) -> Xid:
        """The class of the error."""
        if self.switch:
            fatal = not self.text.startswith("Non-fatal")
            kind, severity = (HARDWARE, REBOOT) if fatal else (INFORMATION, MONITOR)
            return Xid(kind, severity, "fabric manager user guide", "NVSwitch error")
        if self.code == _RECOVERY:
            asked = recovery_severity(self.text.rpartition(" to ")[2])
            kind = HARDWARE if asked else INFORMATION
            return Xid(kind, asked or MONITOR, self.text, "recovery action")
        unknown = Xid(UNKNOWN, MONITOR, "look it up", "not in the table")
        return TABLE.get(self.code, unknown)

    def __str__(self) -> str:
        name = "SXid" if self.switch else "Xid"
        return f"{name} {self.code} ({self.xid.meaning}) on {self.gpu}"


def recovery_severity(action: str) -> str | None:
    """Return the severity of the driver's own recovery action; None when it asks for nothing.

    The driver knows best: its action overrides the table. Words: ``None``, ``GPU Reset Required``,
    ``Node Reboot Required``, ``Drain P2P``, ``Drain and Reset``; driver 610 says ``OS Reboot`` and
    ``PF FLR``; nvidia-smi says ``Reset`` and ``Reboot``.
    """
    if "Reboot" in action:
        return REBOOT
    if re.search(r"Reset|FLR|Drain", action):
        return RESET
    return None


def events(log: str, since: float = -1) -> list[Event]:
    """Return the Xid errors of a kernel log.

    Args:
        log: Text of ``dmesg`` or of ``journalctl --dmesg --output=short-monotonic``.
        since: Seconds after boot; what is older has been dealt with.
    """
    found = []
    for line in log.splitlines():
        xid, sxid = _XID.search(line), _SXID.search(line)
        match = xid or sxid
        if match is None:
            continue
        stamp = _SECONDS.search(line)
        seconds = float(stamp[1] or stamp[2]) if stamp else -1.0
        if 0 <= seconds <= since:
            continue
        text = (match[3] or "").strip()
        found.append(Event(seconds, match[1], int(match[2]), text, switch=sxid is not None))
    return found


def judge(found: Iterable[Event]) -> Result:
    """Return the verdict on the Xid errors since boot."""
    times = Counter(str(event) for event in found)
    by_text = {str(event): event for event in found}
    findings = [_finding(by_text[text], count) for text, count in times.items()]
    return conclude("xid", findings, "no Xid error since boot")


def _finding(event: Event, count: int) -> Finding:
    text = str(event) + (f", {count} times" if count > 1 else "")
    if event.xid.kind == HARDWARE:
        return failure(event.xid.severity, text)
    return warning(text)
