#!/usr/bin/env python3
"""Checks a node that is held, and writes in its comment whether it may be released.

usage: node_gate.py [--reserved] NODE [LEVEL]

A timer runs it every minute. It checks once after each boot, and once more when the head node has
ordered a reset of the GPUs, which it makes. The fast checks come first: what they find says more
than what a diagnostic makes of it. A node in use, or that a person has drained, is left alone. The
words in reasons and comments are those of keeper/recovery/words.py, which a test compares.

With --reserved, on ParallelCluster, a node is held by a reservation and ordered by its comment.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "health" / "health_check.py"
CHECKED = Path(os.environ.get("ROOT_DIR") or "/") / "run/trainshed/gate-checked"
WAITS = "trainshed: waits for its checks"
HELD = "health: held until its checks have passed"
RESET, REBOOT = "health: reset now: ", "health: rebooting: "
NOT_RESET = "trainshed: failed gpu_reset [reboot] "
MEND = "trainshed-mend-"
RESET_ORDER, REBOOT_ORDER = "trainshed: reset now: ", "trainshed: rebooting: "
_IN_USE = ("ALLOCATED", "MIXED", "COMPLETING")
_SEVERITIES = ("monitor", "reset", "reboot", "isolate")
_LONGEST = 180
_SECONDS = 2400


def run(*command: str, seconds: int = 60) -> tuple[int, str]:
    """Run a command and return its exit code and what it said."""
    try:
        # Slurm's and NVIDIA's programs and our own, with arguments made here.
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return done.returncode, done.stdout + done.stderr


def field(shown: str, name: str) -> str:
    """Return a field of a node as scontrol shows it on one line."""
    match = re.search(rf" {name}=(.*?)(?= \w+=| \[\S+@\S+\]|\s*$)", shown)
    return match[1].strip() if match else ""


def verdict(code: int, said: str) -> str:
    """Return what the comment says of a run of the checks."""
    results = []
    for line in said.splitlines():
        try:
            result = json.loads(line)
        except ValueError:
            continue
        if isinstance(result, dict) and result.get("verdict") == "fail":
            results.append(result)
    if results:
        worst = max(results, key=lambda each: _SEVERITIES.index(each["severity"]))
        text = f"{worst['check']} [{worst['severity']}] {worst['evidence']}"
    elif code == 0:
        return "trainshed: passed"
    else:
        # Without a verdict nobody knows whether it is well, and no repair is known either.
        text = f"checks [monitor] could not be made: {said.strip()[-100:]}"
    return f"trainshed: failed {_words(text)}"[:_LONGEST].strip()


def checked(level: str) -> str:
    """Return what the comment says of the fast checks, and of those of a level after them."""
    text = ""
    expect = os.environ.get("TRAINSHED_EXPECT")
    told = ["--json", *(["--expect", expect] if expect else [])]
    for each in dict.fromkeys(("fast", level)):
        code, said = run(sys.executable, "-S", "-E", str(PROGRAM), each, *told, seconds=_SECONDS)
        text = verdict(code, said)
        if text != "trainshed: passed":
            break
    return text


def _reset() -> str:
    """Reset the GPUs; return what the comment says when it could not be made."""
    # Persistence mode holds the GPUs: "In use by another client" (NVIDIA/NVSentinel#1690).
    _, mode = run("nvidia-smi", "--query-gpu=persistence_mode", "--format=csv,noheader")
    held = "Enabled" in mode
    if held:
        run("nvidia-smi", "-pm", "0")
    code, said = run("nvidia-smi", "--gpu-reset", seconds=300)
    if held:
        run("nvidia-smi", "-pm", "1")
    print(f"node_gate: reset of the GPUs: {code} {said.strip()[-200:]}")
    if code:
        # The errors of before are not dealt with: no check may pass over them.
        return (NOT_RESET + _words(said.strip()[-100:]))[:_LONGEST].strip()
    run(sys.executable, "-S", "-E", str(PROGRAM), "acknowledge")
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


def _reserved_order(node: str, shown: str) -> tuple[bool, bool]:
    """Return the same of a node that is reserved: it does what its comment orders."""
    comment = field(shown, "Comment")
    if comment.startswith(REBOOT_ORDER):
        # What was seen of this boot is gone after the next one, and Slurm's flag once it is up.
        due, reset = not CHECKED.exists() and "REBOOT" not in field(shown, "State"), False
    else:
        CHECKED.parent.mkdir(parents=True, exist_ok=True)
        CHECKED.touch()
        due = reset = comment.startswith(RESET_ORDER)
    held = due and run("scontrol", "--oneliner", "show", "reservation", MEND + node)[0] == 0
    return held, reset


def main(arguments: Sequence[str]) -> int:
    """Do what is due for this node; nothing, most times."""
    reserved = list(arguments[:1]) == ["--reserved"]
    given = list(arguments[reserved:])
    if not given:
        print(__doc__, file=sys.stderr)
        return 2
    node, level = given[0], (given[1:] or ["basic"])[0]
    code, shown = run("scontrol", "--oneliner", "show", "node", node)
    if code or any(flag in field(shown, "State") for flag in _IN_USE):
        return 0
    due, reset = _reserved_order(node, shown) if reserved else _drained_order(shown)
    if not due:
        return 0
    text = (_reset() if reset else "") or checked(level)
    at = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    text = f"{text} {level} {at}" if text == "trainshed: passed" else text
    print(f"node_gate: {text}")
    code, said = run("scontrol", "update", f"nodename={node}", f"comment={text}")
    if code:
        print(f"node_gate: {said.strip()}", file=sys.stderr)
        return 1
    CHECKED.parent.mkdir(parents=True, exist_ok=True)
    CHECKED.touch()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
