#!/usr/bin/env python3
"""Checks the health of this node and says it in a line of JSON for each check.

usage: health_check.py fast|basic|deep --expect EXPECT.json [--only NAME] [--json] [--drain]
       [--publish] [--node-name NAME]
       health_check.py acknowledge

The folder beside this file is the program; both run as they are, with Python 3.10 or later.
"""

import importlib
import sys

if __name__ == "__main__":
    # By name: only a node has this folder on its path, and it has nothing else there.
    sys.exit(importlib.import_module("checks.cli").main())
