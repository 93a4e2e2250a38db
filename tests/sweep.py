"""Whether this run is the long one, which has what takes too long for every run."""

from __future__ import annotations

import os

SWEEP = bool(os.environ.get("TRAINSHED_SWEEP"))
