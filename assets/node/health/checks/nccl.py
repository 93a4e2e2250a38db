"""An all-reduce of nccl-tests: its table, the proof of its transport, and the verdict."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from .expectation import BandwidthRow, Expectation
from .results import ISOLATE, Finding, Result, conclude, failure, warning

# Numbers are printed by %g and the like: 1.2e+06 values may be wrong, and a bandwidth be nan.
_ROW = re.compile(
    r"^(?:\[?[\w,.<>\[\]-]+:\s+)?\s*(\d+)\s+(\d+)\s+([a-z]\w*)\s+(\w+)\s+(-?\d+)"
    r"\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)(?:\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+))?\s*$"
)
_TOTAL = re.compile(r"# Out of bounds values : (\d+) ")
_LESS = re.compile(r"# (Reducing maxBytes to \d+ due to memory limitation)")
_PROVIDER = re.compile(
    r"(\S+?):\d+:\d+ \[\d+\] NCCL INFO NET/OFI Selected [Pp]rovider is ([\w;-]+)"
    r"(?:, fabric is ([\w-]+))? \(found (\d+) nics\)"
)
_SOCKETS = re.compile(
    r"NCCL INFO (?:Using network Socket|Assigned NET plugin Socket|.*via NET/Socket)"
)
_FAILED = re.compile(r"^(?:.*\b)?(?:Test (?:NCCL|CUDA) failure|Test failure|NCCL WARN)\b.*$", re.M)


@dataclass(frozen=True)
class Measurement:
    """One message size of the table.

    Args:
        size_bytes: Size of the message.
        bus_gb_s: Bus bandwidth in GB/s, the better of out of place and in place.
        wrong: Values that came out wrong, of both. None: nobody looked.
    """

    size_bytes: int
    bus_gb_s: float
    wrong: int | None


@dataclass(frozen=True)
class Transport:
    """What a host says of the network that NCCL uses.

    Args:
        provider: Provider of libfabric, such as ``efa``.
        fabric: Such as ``efa`` or ``efa-direct``; empty in older plugins.
        nics: Interfaces found.
    """

    provider: str
    fabric: str
    nics: int

    @property
    def is_efa(self) -> bool:
        """Whether the data goes over EFA."""
        return self.provider.startswith("efa")


def measurements(output: str) -> list[Measurement]:
    """Return the table of an nccl-tests program, with or without srun's labels."""
    found = []
    for line in output.splitlines():
        row = _ROW.match(line)
        if row:
            wrong = [_number(value) for value in (row[9], row[13]) if value]
            looked = None not in wrong
            best = max(_number(row[8]) or 0.0, _number(row[12] or "") or 0.0)
            count = int(sum(each or 0 for each in wrong)) if looked else None
            found.append(Measurement(int(row[1]), best, count))
    return found


def _number(text: str) -> float | None:
    """Return a number; None for N/A, nan and what else is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def transports(output: str) -> dict[str, Transport]:
    """Return the network by host, from the lines of NCCL_DEBUG=INFO; that of its worst process."""
    found: dict[str, Transport] = {}
    for match in _PROVIDER.finditer(output):
        host = match[1].rpartition(" ")[2]
        seen = Transport(match[2], match[3] or "", int(match[4]))
        found[host] = min(found.get(host, seen), seen, key=lambda each: (each.is_efa, each.nics))
    return found


def row_for(
    rows: tuple[BandwidthRow, ...], nodes: int, gpus_per_node: int, size_bytes: int
) -> BandwidthRow | None:
    """Return the row of the table for a message size, if anybody has measured one."""
    found = rows_for(rows, nodes, gpus_per_node)
    return next((row for row in found if row.size_bytes == size_bytes), None)


def rows_for(
    rows: tuple[BandwidthRow, ...], nodes: int, gpus_per_node: int
) -> tuple[BandwidthRow, ...]:
    """Return the rows of the table for a run."""
    return tuple(
        row
        for row in rows
        if row.nodes_from <= nodes <= (row.nodes_to or nodes) and row.gpus_per_node == gpus_per_node
    )


def judge(
    output: str,
    expected: Expectation,
    *,
    nodes: int,
    gpus_per_node: int,
    code: int | None = 0,
    check: str = "nccl",
) -> Result:
    """Return the verdict on an all-reduce.

    Args:
        output: All that the run printed, with NCCL_DEBUG=INFO.
        expected: What the nodes should have, with the table of bandwidths.
        nodes: Nodes that took part.
        gpus_per_node: GPUs that took part on each.
        code: Exit code of the run; None when it did not end in time.
        check: Name of the result.
    """
    table = measurements(output)
    findings = _of_run(output, table, code)
    if nodes > 1 and expected.efa_interfaces:
        findings += _of_transport(output, expected, nodes)
    if nodes * gpus_per_node > 1 and table and not any(size.bus_gb_s for size in table):
        # nccl-tests without MPI: under srun each process is alone with its GPU, and all is well.
        text = "nothing went between GPUs: is all_reduce_perf built with MPI?"
        findings.append(failure(ISOLATE, text))
    if table and not findings:
        findings += _of_end(output, table, rows_for(expected.nccl, nodes, gpus_per_node))
    judged = []
    for size in table:
        row = row_for(expected.nccl, nodes, gpus_per_node, size.size_bytes)
        if row is None:
            continue
        text = (
            f"{size.bus_gb_s:g} GB/s at {_words(size.size_bytes)}, least {row.least_gb_s:g} "
            f"(measured {row.measured_gb_s:g}: {row.source})"
        )
        judged.append(text)
        if size.bus_gb_s < row.least_gb_s:
            findings.append(failure(ISOLATE, text))
    if table and not judged and not rows_for(expected.nccl, nodes, gpus_per_node):
        best = max(table, key=lambda size: size.bus_gb_s)
        text = (
            f"{best.bus_gb_s:g} GB/s at {_words(best.size_bytes)} is not judged: nobody has "
            f"measured {nodes} x {gpus_per_node} GPUs of {expected.instance_type} at these sizes"
        )
        findings.append(warning(text))
    return conclude(check, findings, "; ".join(reversed(judged)))


def _of_run(output: str, table: list[Measurement], code: int | None) -> list[Finding]:
    if code is None:
        return [failure(ISOLATE, "the all-reduce did not end in time")]
    failed = _FAILED.search(output)
    findings = []
    if code or not table:
        said = failed[0].strip()[:160] if failed else f"exit code {code}"
        findings.append(failure(ISOLATE, f"the all-reduce failed: {said}"))
    totals = [int(total) for total in _TOTAL.findall(output)]
    wrong = max(sum(size.wrong or 0 for size in table), *totals, 0)
    if wrong:
        findings.append(failure(ISOLATE, f"{wrong} values came out wrong"))
    return findings


def _of_end(output: str, table: list[Measurement], rows: tuple[BandwidthRow, ...]) -> list[Finding]:
    """Judge whether a run that found nothing wrong has looked, and came to its end."""
    findings = []
    if any(size.wrong is None for size in table) or not _TOTAL.search(output):
        text = "the all-reduce does not say that its values are right (# Out of bounds values : 0)"
        findings.append(failure(ISOLATE, text))
    largest = max((row.size_bytes for row in rows), default=0)
    if largest and not any(size.size_bytes == largest for size in table):
        less = _LESS.search(output)
        why = f": {less[1]}" if less else ""
        text = f"nothing was measured at {_words(largest)}, by which it is judged{why}"
        findings.append(failure(ISOLATE, text))
    return findings


def _of_transport(output: str, expected: Expectation, nodes: int) -> list[Finding]:
    """Judge the proof that the data went over EFA: without it, sockets carry it, slowly."""
    findings = []
    if _SOCKETS.search(output):
        findings.append(failure(ISOLATE, "NCCL fell back to sockets"))
    hosts = transports(output)
    proved = {host: seen for host, seen in hosts.items() if seen.is_efa}
    if len(proved) < nodes:
        text = f"{len(proved)} of {nodes} nodes say 'Selected provider is efa'"
        findings.append(failure(ISOLATE, text))
    for host, seen in proved.items():
        if seen.nics < expected.efa_interfaces:
            text = f"{host} found {seen.nics} of {expected.efa_interfaces} nics"
            findings.append(failure(ISOLATE, text))
    return findings


def _words(size_bytes: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= size:
            return f"{size_bytes / size:g} {unit}"
    return f"{size_bytes} B"
