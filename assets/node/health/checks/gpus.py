"""Verdicts on the GPUs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .expectation import Expectation
from .gpu_report import Gpu, Report
from .results import ISOLATE, REBOOT, RESET, Finding, Result, conclude, failure, warning
from .xid import recovery_severity

# What nvidia-smi says when it can say nothing of the GPUs, and what mends it.
_BROKEN = (
    (r"couldn't communicate with the NVIDIA driver", "the driver is not loaded"),
    (r"Driver/library version mismatch", "driver and library are of two versions"),
    (r"No devices were found", "the driver finds no GPU"),
    (r"Unable to determine the device handle for (GPU[^\n]*)", "a GPU does not answer"),
    (r"GPU is lost", "a GPU is lost"),
)
# T4 has 15,360 of the 16,384 MiB that EC2 tells (15,109 before R535); a lost stack of memory costs
# an eighth.
_LEAST_MEMORY = 0.9


def judge_driver(
    code: int | None, output: str, report: Report | None, expected: Expectation
) -> Result:
    """Return whether the driver answers, and is the one that is wanted.

    Args:
        code: Exit code of nvidia-smi; None when it gave no answer in time.
        output: All it printed.
        report: The same, read; None when it cannot be.
        expected: What the node should have.
    """
    findings = []
    said = next(
        (
            f"{meaning}: {match[0].strip()}"
            for pattern, meaning in _BROKEN
            if (match := re.search(pattern, output))
        ),
        "",
    )
    if code is None:
        text = "nvidia-smi gives no answer: a GPU or its driver hangs"
        findings.append(failure(REBOOT, text))
    elif said:
        findings.append(failure(REBOOT, said))
    elif report is None:
        said = " ".join(output.split())[:120]
        findings.append(failure(REBOOT, f"nvidia-smi ends with {code}: {said}"))
    elif expected.driver and report.driver != expected.driver:
        findings.append(warning(f"driver {report.driver}, not {expected.driver}"))
    for gpu in report.gpus if report else ():
        if gpu.silence:
            severity = RESET if "reset" in gpu.silence else REBOOT
            findings.append(failure(severity, f"{gpu.bus_id} says nothing but: {gpu.silence}"))
    return conclude("driver", findings, f"driver {report.driver if report else '?'}")


def judge_count(report: Report, expected: Expectation) -> Result:
    """Return whether all GPUs are there, and the right ones."""
    found = len(report.gpus)
    findings = []
    if found != expected.gpus:
        text = f"{found} of {expected.gpus} GPUs, at {', '.join(gpu.bus_id for gpu in report.gpus)}"
        # NVIDIA's order for it: reset, reboot, service (Health Validation, "Node Checks").
        findings.append(failure(REBOOT, text))
    for gpu in report.gpus:
        if gpu.text("mig") == "Enabled":
            # It does not outlive a reboot, from Hopper on (MIG user guide, read 2026-11-30).
            findings.append(failure(REBOOT, f"{gpu.bus_id} is cut in parts: MIG is on"))
        if gpu.silence:
            continue  # no proof of another GPU; the driver's check has it
        name = gpu.text("name")
        memory = gpu.number("memory")
        if expected.gpu_name and expected.gpu_name not in name.lower().replace(" ", ""):
            findings.append(failure(ISOLATE, f"{name} on {gpu.bus_id}, not {expected.gpu_name}"))
        elif memory < expected.gpu_memory_mib * _LEAST_MEMORY:
            text = f"{memory:g} of {expected.gpu_memory_mib} MiB on {gpu.bus_id}"
            findings.append(failure(ISOLATE, text))
    return conclude("gpu_count", findings, f"{found} x {expected.gpu_name}")


def judge_ecc(report: Report, expected: Expectation, check: str = "ecc") -> Result:
    """Return the state of the memory of the GPUs; the full report tells more than the query."""
    fine = f"no uncorrected error on {expected.gpus} GPUs"
    return _each(check, report, _memory_findings, fine)


def judge_recovery(report: Report, expected: Expectation) -> Result:
    """Return what the driver itself asks for; it does so also when the log has rolled over."""

    def findings(gpu: Gpu) -> Iterator[Finding]:
        action = gpu.text("recovery_action")
        severity = recovery_severity(action)
        if severity:
            yield failure(severity, f"the driver asks for {action}")

    return _each("recovery_action", report, findings, "the driver asks for nothing")


def judge_clocks(report: Report, expected: Expectation) -> Result:
    """Return whether something slows the GPUs down.

    Heat comes and goes, so it is a warning; the alarm on ``gpu_throttled`` asks for a drain when it
    lasts. A power brake comes from the server's power supply, which only another server mends.
    """
    return _each("clocks", report, _clock_findings, "no GPU is slowed down")


def judge_pcie(report: Report, expected: Expectation) -> Result:
    """Return whether the links to the GPUs have all their lanes.

    The generation is not judged: an idle GPU lowers it to save power.
    """

    def findings(gpu: Gpu) -> Iterator[Finding]:
        now, most = gpu.text("lanes"), gpu.text("most_lanes")
        if now and most and now != most:
            yield failure(REBOOT, f"PCI Express x{now.rstrip('x')} of x{most.rstrip('x')}")

    return _each("pcie", report, findings, "all lanes")


def judge_fabric(report: Report, expected: Expectation) -> Result:
    """Return whether the fabric manager has joined the GPUs; CUDA gives error 802 otherwise."""
    if not expected.nvswitch:
        return conclude("fabric", [], "no NVSwitch")

    def findings(gpu: Gpu) -> Iterator[Finding]:
        state, status = gpu.text("fabric_state"), gpu.text("fabric_status")
        if state == "In Progress":
            yield warning("the fabric is being joined")
        elif state == "Not Started":
            yield failure(REBOOT, "the fabric is not joined: is nvidia-fabricmanager running?")
        elif status and status != "Success":
            yield failure(REBOOT, f"the fabric was not joined: {status}")

    return _each("fabric", report, findings, "the fabric is joined")


def _each(
    check: str, report: Report, find: Callable[[Gpu], Iterator[Finding]], fine: str
) -> Result:
    findings = [
        Finding(found.verdict, found.severity, f"{gpu.bus_id}: {found.text}")
        for gpu in report.gpus
        for found in find(gpu)
    ]
    return conclude(check, findings, fine)


def _memory_findings(gpu: Gpu) -> Iterator[Finding]:
    if gpu.text("ecc_mode") == "Disabled":
        yield failure(REBOOT, "ECC is off")
    elif not gpu.text("ecc_mode") and not gpu.silence:
        yield warning("nvidia-smi tells nothing of memory errors")
    if gpu.uncorrected:
        yield failure(RESET, f"{gpu.uncorrected} uncorrected ECC errors")
    if gpu.text("sram_worn") == "Yes":
        yield failure(ISOLATE, "too many SRAM errors in its life")
    if gpu.text("unrepairable") == "Yes":
        yield failure(ISOLATE, "memory that cannot be repaired")
    if gpu.text("remap_failed") == "Yes":
        yield failure(ISOLATE, "a row of memory was not remapped")
    # What runs is not affected, NVIDIA says: it waits for the next reset.
    for name, what in (
        ("remap_pending", "a row of memory waits for remapping"),
        ("channel_repair", "a memory channel waits for repair"),
        ("processor_repair", "a processor waits for repair"),
        ("page_retirement", "a page of memory waits for retirement"),
    ):
        if gpu.text(name) == "Yes":
            yield warning(f"{what}, which a reset brings", RESET)


def _clock_findings(gpu: Gpu) -> Iterator[Finding]:
    if gpu.text("power_brake") == "Active":
        yield failure(ISOLATE, "slowed by a power brake")
    if gpu.text("hot_hardware") == "Active":
        yield warning("slowed by heat, in hardware")
    if gpu.text("hot_software") == "Active":
        yield warning("slowed by heat, by the driver")
    now = gpu.number("clock")
    usual = gpu.number("usual_clock")
    if 0 < now < usual:
        yield warning(f"clock set to {now:g} of {usual:g} MHz: nvidia-smi -rac takes it back")
