#!/usr/bin/env python3
"""The project's app over another folder of institution files. Usage: app.py FOLDER"""

import sys
from pathlib import Path

from stacks.shares import share_of_this_process
from stacks.synthesis import synthesise

institutions = share_of_this_process(Path(__file__).resolve(), folder=Path(sys.argv[1]))
if institutions:
    synthesise(institutions)
