"""Runs as ``PYTHONPATH=/opt/trainshed/current python3 -m keeper.recovery``.

usage: python3 -m keeper.recovery [--once | gate [OPTIONS] [QUEUE …] | goodput [--weekly]]
"""

import sys

from .loop import main

sys.exit(main(sys.argv[1:]))
