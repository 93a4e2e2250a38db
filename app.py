#!/usr/bin/env python3
"""The CDK app: two stacks for each file in institutions/, or for one with -c institution=NAME."""

import gc
from pathlib import Path

from stacks.node_process import talk_to_node_directly
from stacks.shares import share_of_this_process

# The process ends with the synthesis; collecting its cycles meanwhile costs a tenth of it.
gc.disable()
institutions = share_of_this_process(Path(__file__).resolve())
if institutions:
    talk_to_node_directly()
    # Imported here, as the process that only shares out the work needs no CDK.
    from stacks.synthesis import synthesise

    synthesise(institutions)
gc.freeze()
