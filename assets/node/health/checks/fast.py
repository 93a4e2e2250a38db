"""Fast checks: seconds, on a node in use; in a prolog, as HealthCheckProgram, by a timer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from . import efa, gpus, host, neuron, nvlink, xid
from .expectation import Expectation
from .gpu_report import Report
from .node import Node, made
from .probe import integer
from .results import Result, conclude, warning

# For all of them. Whoever writes large checkpoints waits some seconds for a healthy file system.
_MOUNTS_SECONDS = 30.0
_SHORT_SECONDS = 3.0
# As long as for the GPUs: what is slow on a node with all cores at work is not broken.
_NVLINK_SECONDS = 8.0
_NEURON_DIRECTORY = "/sys/devices/virtual/neuron_device"


def _gpus(judge: Callable[[Report, Expectation], Result], name: str) -> Callable[[Node], Result]:
    def check(node: Node) -> Result:
        if not node.expected.gpus:
            return conclude(name, [], "no GPU")
        if node.report is None:
            return conclude(name, [warning("nvidia-smi tells nothing of the GPUs")], "")
        return judge(node.report, node.expected)

    return check


def _driver(node: Node) -> Result:
    if not node.expected.gpus:
        return conclude("driver", [], "no GPU")
    said = node.smi
    return gpus.judge_driver(said.code, said.text, node.report, node.expected)


def _nvlink(node: Node) -> Result:
    if not node.expected.nvlinks:
        return nvlink.judge("", node.expected)
    status = node.probe.run("nvidia-smi", "nvlink", "--status", seconds=_NVLINK_SECONDS)
    return nvlink.judge(status.text, node.expected)


def _xid(node: Node) -> Result:
    if node.xid_events is None:
        return conclude("xid", [warning("the kernel log cannot be read: run it as root")], "")
    return xid.judge(node.xid_events)


def _efa(node: Node) -> Result:
    return efa.judge_count(node.efa_devices, node.expected)


def _fsx(node: Node) -> Result:
    answers = {}
    seconds = _MOUNTS_SECONDS / max(1, len(node.expected.mounts))
    for directory in node.expected.mounts:
        said = node.probe.run("stat", "--file-system", directory, seconds=seconds)
        answers[directory] = (said.code, said.text)
    return host.judge_mounts(node.probe.read("/proc/self/mounts"), answers, node.expected)


def _nvme(node: Node) -> Result:
    models = [
        node.probe.read(f"/sys/block/{name}/device/model")
        for name in node.probe.names("/sys/block")
        if name.startswith("nvme")
    ]
    return host.judge_nvme(models, node.expected)


def _clock(node: Node) -> Result:
    chrony = node.probe.run("chronyc", "-n", "-c", "tracking", seconds=_SHORT_SECONDS)
    if chrony.code == 0:
        return host.judge_clock(chrony.out, "")
    show = ("timedatectl", "show", "--property=NTPSynchronized", "--value")
    return host.judge_clock("", node.probe.run(*show, seconds=_SHORT_SECONDS).out)


def _memory(node: Node) -> Result:
    edac = "/sys/devices/system/edac/mc"
    uncorrected = {
        name: integer(node.probe.read(f"{edac}/{name}/ue_count"))
        for name in node.probe.names(edac)
        if name.startswith("mc")
    }
    return host.judge_memory(node.probe.read("/proc/meminfo"), uncorrected, node.expected)


def _locked_memory(node: Node) -> Result:
    return host.judge_locked_memory(node.probe.read("/proc/self/limits"), node.expected)


def _neuron(node: Node) -> Result:
    counters = {}
    for device in node.probe.names(_NEURON_DIRECTORY):
        directory = f"{_NEURON_DIRECTORY}/{device}"
        counters[device] = {
            name: max(integer(node.probe.read(path)) for path in paths)
            for name in neuron.COUNTERS
            # A counter is a file, or a directory with the file "total".
            if (paths := _counter_files(node, directory, name))
        }
    return neuron.judge_devices(counters, node.expected)


def _counter_files(node: Node, directory: str, name: str) -> list[str]:
    totals = [path for path in node.probe.find(directory, "total") if f"/{name}/" in path]
    return totals or node.probe.find(directory, name)


CHECKS: dict[str, Callable[[Node], Result]] = {
    "driver": _driver,
    "gpu_count": _gpus(gpus.judge_count, "gpu_count"),
    "ecc": _gpus(gpus.judge_ecc, "ecc"),
    "recovery_action": _gpus(gpus.judge_recovery, "recovery_action"),
    "clocks": _gpus(gpus.judge_clocks, "clocks"),
    "pcie": _gpus(gpus.judge_pcie, "pcie"),
    "fabric": _gpus(gpus.judge_fabric, "fabric"),
    "nvlink": _nvlink,
    "xid": _xid,
    "neuron": _neuron,
    "efa": _efa,
    "fsx": _fsx,
    "nvme": _nvme,
    "clock": _clock,
    "memory": _memory,
    "locked_memory": _locked_memory,
}
"""The fast checks by name."""


_BY_NVIDIA_SMI = (
    "driver",
    "gpu_count",
    "ecc",
    "recovery_action",
    "clocks",
    "pcie",
    "fabric",
    "nvlink",
)


def run(node: Node, names: Sequence[str]) -> list[Result]:
    """Run checks and return their results in the order of the names.

    Those that wait for something else run beside the ones that ask nvidia-smi.
    """
    beside = [name for name in names if name not in _BY_NVIDIA_SMI]
    with ThreadPoolExecutor(max_workers=len(beside) or 1) as pool:
        waiting = {name: pool.submit(made, name, CHECKS[name], node) for name in beside}
        done = {name: made(name, CHECKS[name], node) for name in names if name in _BY_NVIDIA_SMI}
    done.update({name: future.result() for name, future in waiting.items()})
    return [done[name] for name in names]
