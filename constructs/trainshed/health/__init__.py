"""What a healthy node looks like, as documents for the programs on nodes; pure.

``assets/node/health`` is what checks it, there.
"""

from __future__ import annotations

from .bandwidth import (
    MEASURED,
    MeasuredBandwidth,
    bandwidth_rows,
    is_measured,
    tolerance_of_nothing,
    unmeasured,
)
from .expectation import NVLINKS, expected_hardware

__all__ = [
    "MEASURED",
    "NVLINKS",
    "MeasuredBandwidth",
    "bandwidth_rows",
    "expected_hardware",
    "is_measured",
    "tolerance_of_nothing",
    "unmeasured",
]
