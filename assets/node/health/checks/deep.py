"""Deep checks: up to hours, on a drained node, after a failure only."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

from . import nccl, neuron
from .basic import diagnose
from .fast import CHECKS as FAST
from .node import Node
from .results import Result, conclude, warning

# awsome-distributed-ai, README of 2.gpu-cluster-healthcheck: level 4 takes 0.75 to 2.25 hours.
_LEVEL_4_SECONDS = 3 * 3600.0
_PAIR_SECONDS = 300.0
_NCCOM_SECONDS = 600.0
_PROGRAMS = (
    "/opt/nccl-tests/build/all_reduce_perf",
    "/usr/local/cuda/efa/test-cuda/all_reduce_perf",
)
# 16 GiB: below, the time to start is a part of what is measured.
_PAIR = (
    "--minbytes",
    "1G",
    "--maxbytes",
    "16G",
    "--stepfactor",
    "4",
    "--ngpus",
    "2",
    "--check",
    "1",
)


def _dcgm(node: Node) -> Result:
    return diagnose(node, 4, "dcgm_level_4", _LEVEL_4_SECONDS, memory_test=True)


def _nccl_pairs(node: Node) -> Result:
    """Run an all-reduce over each pair of neighbours, which finds the GPU that is slow."""
    if node.expected.gpus < 2:
        return conclude("nccl_pairs", [], "no pair of GPUs")
    program = all_reduce_program()
    if not program:
        return conclude("nccl_pairs", [warning("all_reduce_perf of nccl-tests is not there")], "")
    results = [_pair(node, program, first) for first in range(node.expected.gpus - 1)]
    bad = [result for result in results if result.verdict != "ok"]
    worst = max(bad, key=lambda result: result.verdict == "fail", default=results[0])
    return Result("nccl_pairs", worst.verdict, worst.severity, worst.evidence)


def _pair(node: Node, program: str, first: int) -> Result:
    pair = f"{first},{first + 1}"
    settings = {"CUDA_VISIBLE_DEVICES": pair, "NCCL_DEBUG": "WARN"}
    said = node.probe.run(program, *_PAIR, seconds=_PAIR_SECONDS, env=settings)
    name = f"nccl_pair {pair}"
    expected = node.expected
    result = nccl.judge(said.text, expected, nodes=1, gpus_per_node=2, code=said.code, check=name)
    evidence = f"GPUs {pair}: {result.evidence}"
    return Result(name, result.verdict, result.severity, evidence)


def all_reduce_program() -> str:
    """Return where ``all_reduce_perf`` is; empty when it is nowhere. NCCL_TESTS names another."""
    named = os.environ.get("NCCL_TESTS", "")
    places = (named, *_PROGRAMS) if named else _PROGRAMS
    found = next((place for place in places if os.access(place, os.X_OK)), "")
    return found or shutil.which("all_reduce_perf") or ""


def _nccom(node: Node) -> Result:
    if not node.expected.neuron_devices:
        return conclude("nccom", [], "no Neuron device")
    ranks = str(2 * node.expected.neuron_devices)
    said = node.probe.run("nccom-test", "-r", ranks, "allr", seconds=_NCCOM_SECONDS)
    return neuron.judge_nccom(said.code, said.text)


CHECKS: dict[str, Callable[[Node], Result]] = {
    "dcgm_level_4": _dcgm,
    "nccl_pairs": _nccl_pairs,
    "neuron": FAST["neuron"],
    "nccom": _nccom,
}
"""The deep checks by name."""
