"""EFA interfaces: count, state, counters, and a loopback over each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .expectation import Expectation
from .results import REBOOT, RESET, Result, conclude, failure

BAD_COUNTERS = (
    "rx_drops",
    "retrans_timeout_events",
    "unresponsive_remote_events",
    "impaired_remote_conn_events",
    "rdma_read_wr_err",
    "rdma_write_wr_err",
)
"""Counters of the driver that only grow when something goes wrong."""

_DOMAIN = re.compile(r"^\s*domain:\s*(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Device:
    """One EFA device as the kernel shows it below ``/sys/class/infiniband``.

    Args:
        name: Such as ``rdmap80s0``.
        state: State of its port, such as ``4: ACTIVE``.
        counters: Its hardware counters since boot.
    """

    name: str
    state: str
    counters: Mapping[str, int] = field(default_factory=dict)


def judge_count(devices: list[Device], expected: Expectation) -> Result:
    """Return whether all interfaces are there and up.

    The caller has already waited for late ones: p5en shows some only seconds after boot.
    """
    findings = []
    if len(devices) < expected.efa_interfaces:
        names = ", ".join(device.name for device in devices) or "none"
        text = f"{len(devices)} of {expected.efa_interfaces} EFA interfaces: {names}"
        findings.append(failure(REBOOT, text))
    for device in devices:
        if device.state and "ACTIVE" not in device.state:
            findings.append(failure(REBOOT, f"{device.name} is {device.state}"))
    return conclude("efa", findings, f"{len(devices)} EFA interfaces are active")


def domains(fi_info: str) -> list[str]:
    """Return the EFA devices that libfabric offers, from ``fi_info -p efa -t FI_EP_RDM``.

    Newer versions list each device twice, for the fabrics efa and efa-direct.
    """
    names = (name.removesuffix("-rdm").removesuffix("-dgrm") for name in _DOMAIN.findall(fi_info))
    return list(dict.fromkeys(names))


def judge_libfabric(fi_info: str, expected: Expectation) -> Result:
    """Return whether libfabric, and so NCCL, can use all interfaces."""
    found = domains(fi_info)
    findings = []
    if len(found) < expected.efa_interfaces:
        said = " ".join(fi_info.split())[:80]
        seen = f": {said}" if not found and said else ""
        text = f"libfabric offers {len(found)} of {expected.efa_interfaces} EFA interfaces{seen}"
        findings.append(failure(REBOOT, text))
    return conclude("libfabric", findings, f"libfabric offers {len(found)} EFA interfaces")


def errors(devices: list[Device]) -> int:
    """Return the errors that all devices have counted since boot."""
    return sum(device.counters.get(name, 0) for device in devices for name in BAD_COUNTERS)


def judge_loopback(outcomes: Mapping[str, tuple[int | None, str]]) -> Result:
    """Return whether data sent over each interface comes back.

    Args:
        outcomes: Exit code (None: no end in time) and output of ``fi_pingpong``, by device.
    """
    findings = []
    for name, (code, output) in outcomes.items():
        if code is None:
            findings.append(failure(RESET, f"{name}: no end in time"))
        elif code:
            last = output.strip().splitlines()[-1:] or [f"exit code {code}"]
            findings.append(failure(RESET, f"{name}: {last[0]}"))
    return conclude("efa_loopback", findings, f"{len(outcomes)} EFA interfaces answer themselves")
