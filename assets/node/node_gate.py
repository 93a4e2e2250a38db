#!/usr/bin/env python3
"""Checks a node that is held, and writes in its comment whether it may be released.

usage: node_gate.py [--reserved] NODE [LEVEL]

A timer runs it every minute. It checks once after each boot, and once more when the head node has
ordered a reset of the GPUs, which it makes. The program is health/checks/held.py.

With --reserved, on ParallelCluster, a node is held by a reservation and ordered by its comment.
"""

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    # By name: only a node has that folder on its path, and it has nothing else there.
    sys.path.insert(0, str(Path(__file__).resolve().parent / "health"))
    sys.exit(importlib.import_module("checks.held").main(sys.argv[1:], __doc__))
