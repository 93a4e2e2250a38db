"""Trainium and Inferentia: counters of the driver, and a run of nccom-test."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .expectation import Expectation
from .results import ISOLATE, REBOOT, RESET, Result, conclude, failure, warning

COUNTERS = ("mem_ecc_uncorrected", "sram_ecc_uncorrected")
"""Files of a device below ``/sys/devices/virtual/neuron_device``; Neuron 2.31 moved them."""

_BANDWIDTH = re.compile(r"Avg bus bandwidth:\s*([\d.]+)\s*GB/s")


def judge_devices(counters: Mapping[str, Mapping[str, int]], expected: Expectation) -> Result:
    """Return whether all Neuron devices are there and without uncorrected errors.

    Args:
        counters: Counters by device; a device without any is there all the same.
        expected: What the node should have.
    """
    findings = []
    if len(counters) != expected.neuron_devices:
        text = f"{len(counters)} of {expected.neuron_devices} Neuron devices"
        findings.append(failure(ISOLATE, text))
    for device, values in sorted(counters.items()):
        for name, count in values.items():
            if count:
                findings.append(failure(ISOLATE, f"{device}: {count} {name}"))
    return conclude("neuron", findings, f"{len(counters)} Neuron devices, no uncorrected error")


def judge_nccom(code: int | None, output: str) -> Result:
    """Return whether an all-reduce over all cores works, from ``nccom-test``.

    There is no measured bandwidth to judge by, so the figure is only told.
    """
    match = _BANDWIDTH.search(output)
    if code is None:
        findings = [failure(REBOOT, "nccom-test did not end in time")]
    elif code or not match:
        last = output.strip().splitlines()[-1:] or [f"exit code {code}"]
        findings = [failure(RESET, f"nccom-test failed: {last[0]}")]
    elif float(match[1]) == 0:
        findings = [warning("nccom-test moved nothing")]
    else:
        findings = []
    return conclude("nccom", findings, f"{match[1] if match else 0} GB/s on the bus")
