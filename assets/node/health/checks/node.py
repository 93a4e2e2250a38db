"""A node under check: what several checks ask for is asked once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cached_property

from . import efa, gpu_report, xid
from .expectation import Expectation
from .probe import Probe, Said, integer
from .results import UNMADE, Result, conclude, warning

EFA_TRIES, EFA_SECONDS_BETWEEN = 4, 5.0
"""p5en shows some EFA devices up to 15 s late (awsome-distributed-ai, ``2-efa-enumeration.sh``)."""

_AMAZON = "0x1d0f"
_EFA_DIRECTORY = "/sys/class/infiniband"
# A node with all cores at work, or whose driver sets eight GPUs up first, takes some seconds.
_SMI_SECONDS = 15.0
_LOG_SECONDS = 5.0


class Node:
    """One node, and what it should have.

    Args:
        probe: What touches it.
        expected: What it should have.
        xid_since: Seconds after boot; Xid errors before have been dealt with.
        sleep: How to wait for late EFA devices.
    """

    def __init__(
        self,
        probe: Probe,
        expected: Expectation,
        *,
        xid_since: float = -1,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.probe = probe
        self.expected = expected
        self._xid_since = xid_since
        self._sleep = sleep

    @cached_property
    def smi(self) -> Said:
        """What ``nvidia-smi`` says of all GPUs."""
        said = self.probe.run(*gpu_report.QUERY, seconds=_SMI_SECONDS)
        if gpu_report.UNKNOWN_FIELD in said.text:
            return self.probe.run(*gpu_report.REPORT, seconds=_SMI_SECONDS)
        return said

    @cached_property
    def report(self) -> gpu_report.Report | None:
        """The same, read; None when it cannot be."""
        read = gpu_report.Report.of_xml if "<?xml" in self.smi.out else gpu_report.Report.of_query
        try:
            return read(self.smi.out)
        except ValueError:
            return None

    @cached_property
    def xid_events(self) -> list[xid.Event] | None:
        """Xid errors since boot that nobody has dealt with; None when the log cannot be read."""
        journal = ("journalctl", "--dmesg", "--boot", "--no-pager", "--quiet")
        found = self.probe.run(
            *journal, "--output=short-monotonic", "--grep=S?Xid \\(", seconds=_LOG_SECONDS
        )
        if found.code not in (0, 1) or found.err.strip():
            # No journal, or one without search: the kernel's own buffer, which forgets old lines.
            found = self.probe.run("dmesg", seconds=_LOG_SECONDS)
        if found.code not in (0, 1) or (found.code and found.err.strip()):
            return None
        return xid.events(found.out, self._xid_since)

    @cached_property
    def efa_devices(self) -> list[efa.Device]:
        """The EFA devices, after late ones have been waited for."""
        for _ in range(EFA_TRIES - 1):
            found = self._look_for_efa()
            if len(found) >= self.expected.efa_interfaces:
                return found
            self._sleep(EFA_SECONDS_BETWEEN)
        return self._look_for_efa()

    def _look_for_efa(self) -> list[efa.Device]:
        return [
            self._efa_device(name)
            for name in self.probe.names(_EFA_DIRECTORY)
            if self.probe.read(f"{_EFA_DIRECTORY}/{name}/device/vendor").strip() == _AMAZON
        ]

    def _efa_device(self, name: str) -> efa.Device:
        port = f"{_EFA_DIRECTORY}/{name}/ports/1"
        counters = {
            counter: integer(self.probe.read(f"{port}/hw_counters/{counter}"))
            for counter in efa.BAD_COUNTERS
        }
        return efa.Device(name, self.probe.read(f"{port}/state").strip(), counters)


def made(name: str, check: Callable[[Node], Result], node: Node) -> Result:
    """Return the result of a check; one that nobody foresaw what it read says so itself."""
    try:
        return check(node)
    except Exception as error:  # Whatever it was, it must not take the other checks with it.
        return conclude(name, [warning(f"{UNMADE}{error!r}")], "")


def slurm_context(environment: dict[str, str] | None = None) -> str:
    """Return where Slurm runs us: ``prolog``, ``health_check``, or nothing.

    Slurm sets SLURM_SCRIPT_CONTEXT in prologs and epilogs; our wrappers say it as well.
    """
    settings = os.environ if environment is None else environment
    ours = settings.get("TRAINSHED_HEALTH_CONTEXT", "")
    return ours or settings.get("SLURM_SCRIPT_CONTEXT", "").partition("_")[0]
