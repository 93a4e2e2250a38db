#!/usr/bin/env python3
"""Judges what an all-reduce of nccl-tests printed, in one line of JSON.

usage: nccl_gate.py OUTPUT --expect EXPECT.json --nodes N [--gpus-per-node N] [--code N] [--strict]
       nccl_gate.py --gpus --expect EXPECT.json

Ends with 0 when the nodes may be used, 1 when not, 2 when nothing could be said. With --strict a
run that nobody has measured before is not good enough.
"""

import importlib
import sys

if __name__ == "__main__":
    sys.exit(importlib.import_module("checks.gate").main())
