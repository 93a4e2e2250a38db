"""What a held node does by itself: it resets its GPUs when told to, is checked, and says how it is.

The fast checks come first: what they find says more than what a diagnostic makes of it. A node in
use, or that a person has drained, is left alone. The words in reasons and comments are those of
keeper/recovery/words.py, which a test compares.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import apart
from .probe import Probe
from .results import Result, failed, unmade, without_verdict

CHECKED = Path(os.environ.get("ROOT_DIR") or "/") / "run/trainshed/gate-checked"
PASSED = "trainshed: passed"
WAITS = "trainshed: waits for its checks"
HELD = "health: held until its checks have passed"
RESET, REBOOT = "health: reset now: ", "health: rebooting: "
NOT_RESET = "trainshed: failed gpu_reset [reboot] "
MEND = "trainshed-mend-"
RESET_ORDER, REBOOT_ORDER = "trainshed: reset now: ", "trainshed: rebooting: "
_IN_USE = ("ALLOCATED", "MIXED", "COMPLETING")
_LONGEST = 180
_SECONDS = 60.0
_RESET_SECONDS = 300.0


def field(shown: str, name: str) -> str:
    """Return a field of a node as scontrol shows it on one line."""
    match = re.search(rf" {name}=(.*?)(?= \w+=| \[\S+@\S+\]|\s*$)", shown)
    return match[1].strip() if match else ""


def verdict(results: Sequence[Result]) -> str:
    """Return what the comment says of what the checks found."""
    # Without a verdict nobody knows whether it is well, and no repair is known either.
    bad = failed(results) or [without_verdict(result) for result in unmade(results)]
    if not bad:
        return PASSED
    text = _words(f"{bad[0].check} [{bad[0].severity}] {bad[0].evidence}")
    return f"trainshed: failed {text}"[:_LONGEST].strip()


def checked(probe: Probe, level: str) -> str:
    """Return what the comment says of the fast checks, and of those of a level after them."""
    text = PASSED
    expect = os.environ.get("TRAINSHED_EXPECT")
    for each in dict.fromkeys(("fast", level)):
        text = verdict(apart.run(probe, each, ["--expect", expect] if expect else []))
        if text != PASSED:
            break
    return text


def _reset(probe: Probe) -> str:
    """Reset the GPUs; return what the comment says when it could not be made."""
    # Persistence mode holds the GPUs: "In use by another client" (NVIDIA/NVSentinel#1690).
    asked = ("nvidia-smi", "--query-gpu=persistence_mode", "--format=csv,noheader")
    held = "Enabled" in probe.run(*asked, seconds=_SECONDS).text
    if held:
        probe.run("nvidia-smi", "-pm", "0", seconds=_SECONDS)
    done = probe.run("nvidia-smi", "--gpu-reset", seconds=_RESET_SECONDS)
    if held:
        probe.run("nvidia-smi", "-pm", "1", seconds=_SECONDS)
    said = done.text.strip()
    print(f"node_gate: reset of the GPUs: {done.code} {said[-200:]}")
    if done.code != 0:
        # The errors of before are not dealt with: no check may pass over them.
        return (NOT_RESET + _words(said[-100:]))[:_LONGEST].strip()
    probe.run(*apart.PROGRAM, "acknowledge", seconds=_SECONDS)
    return ""


def _words(text: str) -> str:
    """Return a text as one line that scontrol takes and shows whole."""
    return re.sub(r"[\"'\\=\s]+", " ", text)


def _ours(reason: str) -> bool:
    """Tell whether a drained node waits for its checks. One that joins held has no reason yet."""
    return reason in ("", HELD) or reason.startswith((RESET, REBOOT))


def _drained_order(shown: str) -> tuple[bool, bool]:
    """Return whether a drained node is to be checked, and whether its GPUs are reset before."""
    state, reason = field(shown, "State"), field(shown, "Reason")
    if "DRAIN" not in state or not _ours(reason):
        return False, False
    reset = reason.startswith(RESET) and field(shown, "Comment") == WAITS
    return reset or not CHECKED.exists(), reset


def _reserved_order(probe: Probe, node: str, shown: str) -> tuple[bool, bool]:
    """Return the same of a node that is reserved: it does what its comment orders."""
    comment = field(shown, "Comment")
    if comment.startswith(REBOOT_ORDER):
        # What was seen of this boot is gone after the next one, and Slurm's flag once it is up.
        due, reset = not CHECKED.exists() and "REBOOT" not in field(shown, "State"), False
    else:
        CHECKED.parent.mkdir(parents=True, exist_ok=True)
        CHECKED.touch()
        due = reset = comment.startswith(RESET_ORDER)
    asked = ("scontrol", "--oneliner", "show", "reservation", MEND + node)
    return due and probe.run(*asked, seconds=_SECONDS).code == 0, reset


def main(arguments: Sequence[str], usage: str | None) -> int:
    """Do what is due for this node; nothing, most times."""
    reserved = list(arguments[:1]) == ["--reserved"]
    given = list(arguments[reserved:])
    if not given:
        print(usage, file=sys.stderr)
        return 2
    node, level = given[0], (given[1:] or ["basic"])[0]
    probe = Probe()
    asked = probe.run("scontrol", "--oneliner", "show", "node", node, seconds=_SECONDS)
    shown = asked.text
    if asked.code != 0 or any(flag in field(shown, "State") for flag in _IN_USE):
        return 0
    due, reset = _reserved_order(probe, node, shown) if reserved else _drained_order(shown)
    if not due:
        return 0
    text = (_reset(probe) if reset else "") or checked(probe, level)
    at = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    text = f"{text} {level} {at}" if text == PASSED else text
    print(f"node_gate: {text}")
    told = ("scontrol", "update", f"nodename={node}", f"comment={text}")
    done = probe.run(*told, seconds=_SECONDS)
    if done.code != 0:
        print(f"node_gate: {done.text.strip()}", file=sys.stderr)
        return 1
    CHECKED.parent.mkdir(parents=True, exist_ok=True)
    CHECKED.touch()
    return 0
