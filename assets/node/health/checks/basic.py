"""Basic checks: minutes, on a node without jobs; at boot, or on schedule in a reservation."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from . import dcgm, efa, gpu_report, gpus, nvlink
from .node import Node, slurm_context
from .results import REBOOT, Result, conclude, failure

# awsome-distributed-ai, README of 2.gpu-cluster-healthcheck: level 2 takes 2.5 to 10.5 minutes.
_LEVEL_2_SECONDS = 900.0
_REPORT_SECONDS = 30.0
_PINGPONG_SECONDS = 60.0
_STRESS_SECONDS = 60
_LOAD = str(Path(__file__).resolve().parents[1] / "load.py")
_OUR_STRESS = 'exec python3 -S -E "$0" "$@"'


class NotHereError(Exception):
    """A check that takes minutes was asked for where a job waits for it."""


def refuse_where_jobs_wait(level: str, environment: Mapping[str, str] | None = None) -> None:
    """Refuse a check of minutes in a prolog or as HealthCheckProgram.

    Slurm gives a batch job up after BatchStartTimeout, and a health check after 60 s, and drains
    the node: DCGM's level 2 takes 2.5 to 10 minutes (aws-parallelcluster CHANGELOG 3.6.0).

    Raises:
        NotHereError: It runs in one of them.
    """
    context = slurm_context(None if environment is None else dict(environment))
    if context:
        raise NotHereError(
            f"the {level} checks take minutes and are refused in Slurm's {context}: run them on a "
            "drained node or in a reservation"
        )


def diagnose(node: Node, level: int, check: str, seconds: float, *, memory_test: bool) -> Result:
    """Run a diagnostic of DCGM.

    Raises:
        NotHereError: A job waits for it.
    """
    refuse_where_jobs_wait(f"DCGM level {level}")
    if not node.expected.gpus:
        return conclude(check, [], "no GPU")
    said = node.probe.run("dcgmi", "diag", "--run", str(level), "--json", seconds=seconds)
    return dcgm.judge(check, said.code, said.text, memory_test=memory_test)


def _gpu_repairs(node: Node) -> Result:
    """Judge the memory of the GPUs by the full report, which has what waits for a repair."""
    if not node.expected.gpus:
        return conclude("gpu_repairs", [], "no GPU")
    said = node.probe.run(*gpu_report.REPORT, seconds=_REPORT_SECONDS)
    try:
        report = gpu_report.Report.of_xml(said.out)
    except ValueError as error:
        return conclude("gpu_repairs", [failure(REBOOT, str(error))], "")
    return gpus.judge_ecc(report, node.expected, check="gpu_repairs")


def _dcgm(node: Node) -> Result:
    return diagnose(node, 2, "dcgm_level_2", _LEVEL_2_SECONDS, memory_test=False)


def _nvlink_errors(node: Node) -> Result:
    if not node.expected.nvlinks:
        return conclude("nvlink_errors", [], "no NVLink")
    counters = ("nvidia-smi", "nvlink", "--errorcounters")
    return nvlink.judge_errors(node.probe.run(*counters, seconds=_REPORT_SECONDS).out)


def _libfabric(node: Node) -> Result:
    if not node.expected.efa_interfaces:
        return conclude("libfabric", [], "no EFA")
    said = node.probe.run("fi_info", "-p", "efa", "-t", "FI_EP_RDM", seconds=_REPORT_SECONDS)
    return efa.judge_libfabric(said.text, node.expected)


def _efa_loopback(node: Node) -> Result:
    outcomes = {device.name: _ping(node, device.name) for device in node.efa_devices}
    return efa.judge_loopback(outcomes)


def _ping(node: Node, device: str) -> tuple[int | None, str]:
    """Send data from one EFA device to itself, as AWS's ``efa_test.sh`` does.

    Shared memory is off: libfabric would not touch the device otherwise. FI_EFA_IFACE binds the
    test to the device.
    """
    server, client = _free_port(), _free_port()
    settings = f"FI_EFA_ENABLE_SHM_TRANSFER=0 FI_EFA_IFACE={device}"
    ping = f"{settings} fi_pingpong -e rdm -p efa"
    # What kill says of a server that has ended is not what was wrong.
    quietly = "kill $there 2>/dev/null"
    there_and_back = f"{ping} -B {client} -P {server} localhost; code=$?; {quietly}; exit $code"
    script = f"{ping} -B {server} & there=$!; sleep 1; {there_and_back}"
    said = node.probe.run("bash", "-c", script, seconds=_PINGPONG_SECONDS)
    return said.code, said.text


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _stress(node: Node) -> Result:
    """Load all cores, some GiB of memory and the disk, and see that nothing falls over."""
    cores = os.cpu_count() or 1
    memory_mib = _memory_mib(node)
    load = ["--cpu", str(cores), "--io", "4", "--vm", "4", "--vm-bytes", f"{memory_mib // 4}M"]
    begun = time.monotonic()
    command = ["stress", *load, "--timeout", str(_STRESS_SECONDS)]
    said = node.probe.run(*command, seconds=_STRESS_SECONDS + 60)
    if said.code == 127:
        # Most images have no such package. Each core holds its share twice.
        share = max(1, min(64, memory_mib // (2 * cores)))
        ours = [_LOAD, str(cores), str(_STRESS_SECONDS), str(share)]
        said = node.probe.run("bash", "-c", _OUR_STRESS, *ours, seconds=_STRESS_SECONDS + 60)
    took = time.monotonic() - begun
    if said.code is None or said.code:
        last = said.text.strip().splitlines()[-1:] or ["no word"]
        return conclude("stress", [failure(REBOOT, f"stress failed: {last[0]}")], "")
    return conclude("stress", [], f"{cores} cores under load for {took:.0f} s")


def _memory_mib(node: Node) -> int:
    """Return how much memory to load: 8 GiB, and on small instances a quarter of what there is."""
    total = re.search(r"^MemTotal:\s+(\d+) kB", node.probe.read("/proc/meminfo"), re.MULTILINE)
    return min(8192, int(total[1]) // 4096) if total else 1024


CHECKS: dict[str, Callable[[Node], Result]] = {
    "gpu_repairs": _gpu_repairs,
    "nvlink_errors": _nvlink_errors,
    "libfabric": _libfabric,
    "dcgm_level_2": _dcgm,
    "efa_loopback": _efa_loopback,
    "stress": _stress,
}
"""The basic checks by name."""
