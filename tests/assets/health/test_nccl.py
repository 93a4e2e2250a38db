"""The judge of an all-reduce: its table, the proof of its transport, its thresholds."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from assets.node.health.checks import nccl
from assets.node.health.checks.expectation import Expectation, parse
from assets.node.health.checks.results import Result
from tests.fixtures.health.node import RECORDED, expected, p5en
from trainshed import facts
from trainshed.health import expected_hardware

GATE = Path(__file__).parents[3] / "assets" / "node" / "health" / "nccl_gate.py"
GIB = 2**30
P5 = expected(facts.instance_type("p5.48xlarge"))
# AWS, awsome-distributed-ai, micro-benchmarks/nccl-tests/README.md, read 2026-11-29: two p5.
TWO_P5 = """\
0: #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
0:    134217728      33554432     float     sum      -1    870.3  154.22  289.16      0    876.8  153.07  287.01      0
0:   1073741824     268435456     float     sum      -1   4607.6  233.04  436.95      0   4565.6  235.18  440.96      0
0:  17179869184    4294967296     float     sum      -1    66132  259.78  487.09      0    66109  259.87  487.25      0
0: # Out of bounds values : 0 OK
"""  # noqa: E501, as it was printed
PROOF = (
    "{host}:4711:4811 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.17.2\n"
    "{host}:4711:4811 [0] NCCL INFO NET/OFI Selected provider is {provider}, "
    "fabric is efa-direct (found {nics} nics)\n"
)


def proofs(hosts: int = 2, nics: int = 32, provider: str = "efa") -> str:
    """Return the lines of hosts that say what carries the data."""
    return "".join(
        PROOF.format(host=f"ip-10-0-1-{number}", nics=nics, provider=provider)
        for number in range(hosts)
    )


def judged(output: str, expected: Expectation = P5, *, code: int | None = 0) -> Result:
    """Return the verdict on a run over two nodes."""
    return nccl.judge(output, expected, nodes=2, gpus_per_node=8, code=code)


def test_two_h200_reach_the_row_of_the_table_with_messages_of_16_gib() -> None:
    output = (RECORDED / "all_reduce.txt").read_text()
    table = nccl.measurements(output)
    assert [size.size_bytes for size in table] == [2**power for power in range(27, 35)]
    assert table[-1] == nccl.Measurement(16 * GIB, 350.2, 0)
    row = nccl.row_for(p5en().nccl, 1, 2, 16 * GIB)
    assert row is not None and row.measured_gb_s == 345.19 and row.least_gb_s == 293.4
    result = nccl.judge(output, p5en(), nodes=1, gpus_per_node=2)
    assert result.verdict == "ok"
    assert "350.2 GB/s at 16 GiB, least 293.4 (measured 345.19: 2 H200" in result.evidence


def test_published_figures_of_two_p5_pass() -> None:
    result = judged(proofs() + TWO_P5)
    assert (result.verdict, result.check) == ("ok", "nccl")
    assert "487.25 GB/s at 16 GiB, least 414" in result.evidence


SLOW = TWO_P5.replace("487.09", "311.20").replace("487.25", "311.50")
# As nccl-tests does when memory is taken: the sizes that decide are not run.
SHORT = "0: # Reducing maxBytes to 9663676416 due to memory limitation\n" + "".join(
    line for line in TWO_P5.splitlines(keepends=True) if "17179869184" not in line
)
UNSAID = "the all-reduce does not say that its values are right"


@pytest.mark.parametrize(
    ("output", "code", "evidence"),
    [
        (proofs() + SLOW, 0, "311.5 GB/s at 16 GiB, least 414"),
        (TWO_P5, 0, "0 of 2 nodes say 'Selected provider is efa'"),
        (proofs(hosts=1) + TWO_P5, 0, "1 of 2 nodes say"),
        (proofs(nics=31) + TWO_P5, 0, "ip-10-0-1-0 found 31 of 32 nics"),
        (proofs(provider="tcp") + TWO_P5, 0, "0 of 2 nodes say"),
        (
            "ip-10-0-1-0:1:2 [0] NCCL INFO Using network Socket\n" + TWO_P5,
            0,
            "NCCL fell back to sockets",
        ),
        (
            proofs() + TWO_P5.replace("     0    876.8", "     3    876.8"),
            0,
            "3 values came out wrong",
        ),
        (
            proofs() + "ip-10-0-1-0: Test NCCL failure common.cu:958 'unhandled system error'\n",
            1,
            "the all-reduce failed: ip-10-0-1-0: Test NCCL failure common.cu:958",
        ),
        (
            proofs() + TWO_P5.replace("      0    66109", " 1.2e+06    66109"),
            0,
            "1200000 values came out wrong",
        ),
        (proofs() + TWO_P5.replace(": 0 OK", ": 12 FAILED"), 0, "12 values came out wrong"),
        (proofs() + TWO_P5.replace("      0    66109", "    N/A    66109"), 0, UNSAID),
        (proofs() + TWO_P5.partition("0: # Out")[0], 0, UNSAID),
        (
            proofs() + TWO_P5.replace("487.09", "nan").replace("487.25", "-nan"),
            0,
            "0 GB/s at 16 GiB, least 414",
        ),
        (
            proofs() + SHORT,
            0,
            "nothing was measured at 16 GiB, by which it is judged: Reducing maxBytes to 9663",
        ),
        (proofs(provider="tcp") + proofs() + TWO_P5, 0, "0 of 2 nodes say"),
        (proofs() + proofs(nics=16) + proofs() + TWO_P5, 0, "ip-10-0-1-0 found 16 of 32 nics"),
        (
            proofs()
            + "ip-10-0-1-0:1:2 [0] NCCL INFO Assigned NET plugin Socket to comm\n"
            + TWO_P5,
            0,
            "NCCL fell back to sockets",
        ),
        (proofs() + TWO_P5, 1, "the all-reduce failed: exit code 1"),
        ("", 0, "the all-reduce failed"),
        (proofs(), None, "the all-reduce did not end in time"),
    ],
    ids=[
        "slow",
        "no-proof",
        "one-node-without-proof",
        "interface-short",
        "another-provider",
        "sockets",
        "wrong-values",
        "error",
        "a-million-wrong-values",
        "wrong-values-in-total",
        "values-not-looked-at",
        "cut-off",
        "no-number",
        "not-all-sizes",
        "a-process-with-another-provider",
        "a-process-with-fewer-interfaces",
        "sockets-of-newer-nccl",
        "exit-code",
        "nothing-printed",
        "too-long",
    ],
)
def test_a_bad_run_closes_the_gate(output: str, code: int | None, evidence: str) -> None:
    result = judged(output, code=code)
    assert (result.verdict, result.severity) == ("fail", "isolate")
    assert evidence in result.evidence


def test_the_older_words_of_the_plugin_are_a_proof_too() -> None:
    line = "ip-10-0-1-7:1:2 [3] NCCL INFO NET/OFI Selected Provider is efa (found 4 nics)"
    assert nccl.transports(line) == {"ip-10-0-1-7": nccl.Transport("efa", "", 4)}


def test_a_type_that_nobody_has_measured_is_not_judged_by_bandwidth() -> None:
    g6e = expected(facts.instance_type("g6e.48xlarge"))
    result = judged(proofs(nics=4) + TWO_P5, g6e)
    assert (result.verdict, result.severity) == ("warn", "monitor")
    assert "487.25 GB/s at 16 GiB is not judged: nobody has measured 2 x 8 GPUs" in result.evidence


def test_nodes_without_efa_need_no_proof_of_it() -> None:
    g5 = expected(facts.instance_type("g5.xlarge"))
    line = "ip-10-0-1-0:1:2 [0] NCCL INFO Using network Socket\n"
    assert nccl.judge(line + TWO_P5, g5, nodes=2, gpus_per_node=1).verdict == "warn"


def test_a_measured_type_is_never_said_to_be_unmeasured_by_a_run_that_was_cut() -> None:
    """Its gate would have opened: what nobody has measured is judged by values and transport."""
    slow = SHORT.replace("436.95", "5.1").replace("440.96", "5.2")
    result = nccl.judge(proofs(4, 16) + slow, p5en(), nodes=4, gpus_per_node=8)
    assert (result.verdict, "nobody has measured" in result.evidence) == ("fail", False)
    assert "nothing was measured at 16 GiB" in result.evidence


def test_processes_that_are_each_alone_prove_nothing() -> None:
    """nccl-tests built without MPI: each process prints a table, with the right values and 0 GB/s.

    The recorded run of one GPU says the same; there nothing else can be.
    """
    alone = (RECORDED.parent / "one" / "gate.txt").read_text()
    g6e = expected(facts.instance_type("g6e.48xlarge"))
    result = nccl.judge(proofs(2, 4) + alone * 16, g6e, nodes=2, gpus_per_node=8)
    assert (result.verdict, result.severity) == ("fail", "isolate")
    assert "nothing went between GPUs: is all_reduce_perf built with MPI?" in result.evidence
    assert nccl.judge(alone, g6e, nodes=1, gpus_per_node=1).verdict == "warn"


@pytest.mark.parametrize(
    ("name", "gib"),
    [("p4d.24xlarge", 8), ("g5.48xlarge", 4), ("g4dn.metal", 4), ("p5en.48xlarge", 16)],
)
def test_a_threshold_of_ones_own_is_for_the_largest_message_that_fits(name: str, gib: int) -> None:
    """A100 of 40 GB and V100 of 16 GB said 12703978837 and 5284866730 bytes (public logs)."""
    document = expected_hardware(facts.instance_type(name), cluster_name="kait", least_bus_gb_s=70)
    own = parse(document)
    assert [row.size_bytes for row in own.nccl] == [gib * GIB]
    row = f"{gib * GIB} {gib * GIB // 4} float sum -1 100 6 5.1 0 100 6 5.2 0\n"
    output = proofs(4, 32) + row + "# Out of bounds values : 0 OK\n"
    result = nccl.judge(output, own, nodes=4, gpus_per_node=own.gpus)
    assert (result.verdict, result.severity) == ("fail", "isolate")
    assert f"5.2 GB/s at {gib} GiB, least 70" in result.evidence


def test_half_of_the_efa_interfaces_is_caught_by_the_proof_and_by_bandwidth() -> None:
    # A public run on two p5en with 8 of 16 EFA interfaces: 257 GB/s (read 2026-11-29).
    slow = SLOW.replace("311.50", "257.10").replace("311.20", "257.00")
    result = judged(proofs(nics=8) + slow, p5en())
    assert result.verdict == "fail"
    assert "found 8 of 16 nics" in result.evidence and "257.1 GB/s" in result.evidence


def gate(directory: Path, output: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the judge as the gate does."""
    run, expect = directory / "run.txt", directory / "expect.json"
    run.write_text(output)
    document = expected_hardware(facts.instance_type("p5.48xlarge"), cluster_name="kait")
    expect.write_text(json.dumps(document))
    return subprocess.run(
        [sys.executable, "-S", "-E", str(GATE), str(run), "--expect", str(expect), *options],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("output", "options", "code", "verdict"),
    [
        (proofs() + TWO_P5, ("--nodes", "2"), 0, "ok"),
        (proofs() + SLOW, ("--nodes", "2"), 1, "fail"),
        (proofs() + TWO_P5, ("--nodes", "2", "--code", "124"), 1, "fail"),
        (proofs() + TWO_P5, ("--nodes", "2", "--gpus-per-node", "4"), 0, "warn"),
        (proofs() + TWO_P5, ("--nodes", "2", "--gpus-per-node", "4", "--strict"), 1, "warn"),
    ],
    ids=["good", "slow", "too-long", "not-measured", "not-measured-strict"],
)
def test_the_exit_code_of_the_gate_decides(
    tmp_path: Path, output: str, options: tuple[str, ...], code: int, verdict: str
) -> None:
    done = gate(tmp_path, output, *options)
    assert (done.returncode, done.stderr) == (code, "")
    said = json.loads(done.stdout)
    assert (said["check"], said["verdict"]) == ("nccl_gate", verdict)
    assert ("did not end in time" in said["evidence"]) is ("124" in options)


def test_the_gate_says_what_it_misses(tmp_path: Path) -> None:
    done = gate(tmp_path, "")
    assert done.returncode == 2
    assert done.stderr == "nccl_gate: name the output of the run, and --nodes\n"


def test_the_gate_knows_the_gpus_of_a_node(tmp_path: Path) -> None:
    assert gate(tmp_path, "", "--gpus").stdout == "8\n"


def test_a_row_for_any_number_of_nodes_has_no_end() -> None:
    assert nccl.row_for(p5en().nccl, 512, 8, 16 * GIB) is not None
    assert nccl.row_for(replace(p5en(), nccl=()).nccl, 512, 8, 16 * GIB) is None
