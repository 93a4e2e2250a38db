"""What app.py does, without cdk-nag unless asked for. Usage: our_app.py FOLDER [--nag]."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from stacks.node_process import talk_to_node_directly
from stacks.shares import share_of_this_process

gc.disable()
institutions = share_of_this_process(Path(__file__).resolve(), folder=Path(sys.argv[1]))
if institutions:
    talk_to_node_directly()
    from stacks.synthesis import synthesise

    synthesise(institutions, security_packs="--nag" in sys.argv)
gc.freeze()
