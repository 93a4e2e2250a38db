"""The document of what a node should have, and the table of bandwidths."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from assets.node.health.checks import expectation, metrics
from assets.node.health.checks.node import Node
from tests.fixtures.health.node import SaidNode, fault, p5en
from trainshed import facts
from trainshed.alerts.agent import SENT_BY_NODES, NodeAgent, NodeRole
from trainshed.health import MEASURED, NVLINKS, bandwidth_rows, expected_hardware
from trainshed.health.bandwidth import BORROWED, SAME

ROOT = Path(__file__).parents[3]


def test_a_p5en_should_have_what_ec2_says() -> None:
    document = expected_hardware(
        facts.instance_type("p5en.48xlarge"), cluster_name="kait", mounts=["/fsx"], driver="580.1"
    )
    rows = document.pop("nccl")
    assert document == {
        "format": 1,
        "instance_type": "p5en.48xlarge",
        "gpus": 8,
        "gpu_name": "h200",
        "gpu_memory_mib": 144384,
        "nvlinks": 18,
        "nvswitch": True,
        "neuron_devices": 0,
        "efa_interfaces": 16,
        "nvme_disks": 8,
        "memory_mib": 2097152,
        "mounts": ["/fsx"],
        "driver": "580.1",
        "dimensions": {"ClusterName": "kait", "Role": "compute"},
    }
    assert rows == bandwidth_rows("p5en.48xlarge")


def test_a_node_without_efa_interfaces_is_not_asked_for_them() -> None:
    facts_of = facts.instance_type("p5en.48xlarge")
    document = expected_hardware(facts_of, cluster_name="kait", efa=False)
    assert document["efa_interfaces"] == 0


@pytest.mark.parametrize("name", list(facts.INSTANCE_TYPES))
def test_the_program_on_the_nodes_understands_every_instance_type(name: str) -> None:
    document = expected_hardware(facts.instance_type(name), cluster_name="kait")
    read = expectation.parse(document)
    assert read.instance_type == name and len(read.nccl) == len(document["nccl"])


def test_every_gpu_with_nvlink_has_its_number_of_links() -> None:
    joined = {kind.gpu_name for kind in facts.INSTANCE_TYPES.values() if kind.nvlink}
    assert joined == set(NVLINKS)


def test_a_cluster_name_that_breaks_the_metrics_is_refused() -> None:
    with pytest.raises(ValueError, match="a tag of StatsD takes no comma"):
        expected_hardware(facts.instance_type("p5en.48xlarge"), cluster_name="a,b")


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: f"{row.source[:20]}-{row.size_bytes}")
def test_a_measurement_has_a_dated_source_and_known_types(row: object) -> None:
    measured = next(known for known in MEASURED if known is row)
    assert re.search(r"20\d\d-\d\d-\d\d", measured.source)
    assert {*measured.on, *measured.also} <= set(facts.INSTANCE_TYPES)
    assert not set(measured.on) & set(measured.also)
    assert measured.on or measured.also


@pytest.mark.parametrize("name", list(facts.INSTANCE_TYPES))
def test_a_threshold_is_a_measurement_times_a_tolerance(name: str) -> None:
    for row in bandwidth_rows(name):
        ratio = row["least_gb_s"] / row["measured_gb_s"]
        assert any(abs(ratio - tolerance) < 0.001 for tolerance in (SAME, BORROWED))


@pytest.mark.parametrize("name", list(facts.INSTANCE_TYPES))
def test_no_run_has_two_thresholds(name: str) -> None:
    rows = bandwidth_rows(name)
    for nodes in (1, 2, 3, 4, 5, 64):
        for gpus in (2, 8):
            sizes = [
                row["size_bytes"]
                for row in rows
                if row["nodes_from"] <= nodes <= (row["nodes_to"] or nodes)
                and row["gpus_per_node"] == gpus
            ]
            assert len(sizes) == len(set(sizes))


# Runs that others have published, beside those of the table (read 2026-11-29): a threshold that
# such a run misses would be one of those that nobody can meet.
@pytest.mark.parametrize(
    ("name", "nodes", "gpus", "size_gib", "gb_s"),
    [
        ("p5.48xlarge", 2, 8, 1, 382.8),  # torch, 10 repeats, 32 interfaces
        ("p4d.24xlarge", 2, 8, 1, 57.17),  # NVIDIA/nccl#527
        ("p5.48xlarge", 1, 8, 4, 370.0),  # NVIDIA/nccl#2140, without NVLink SHARP
        ("p5en.48xlarge", 1, 2, 16, 344.57),  # ours, the pair check (tests/fixtures/health/h200)
        ("p5en.48xlarge", 1, 2, 1, 326.59),
    ],
)
def test_published_runs_pass(name: str, nodes: int, gpus: int, size_gib: int, gb_s: float) -> None:
    least = next(
        row["least_gb_s"]
        for row in bandwidth_rows(name)
        if row["nodes_from"] <= nodes <= (row["nodes_to"] or nodes)
        and (row["gpus_per_node"], row["size_bytes"]) == (gpus, size_gib * 2**30)
    )
    assert gb_s >= least


def test_nodes_send_metrics_that_alarms_read_under_dimensions_that_they_read() -> None:
    node = Node(SaidNode(), p5en())
    values = metrics.totals(node)
    agent = NodeAgent("kait", NodeRole.COMPUTE)
    assert set(values) <= set(SENT_BY_NODES)
    of_head = {"slurmctld_up", "slurmdbd_up", "nodes_down", "nodes_drained", "pending_minutes"}
    of_head |= {"nodes_held", "queues_closed", "goodput_percent"}
    assert set(values) == set(SENT_BY_NODES) - of_head
    expected = [agent.statsd(name, value) for name, value in values.items()]
    assert metrics.lines(values, p5en().dimensions) == expected


def test_a_missing_gpu_and_a_throttled_one_are_counted() -> None:
    lost = metrics.totals(Node(SaidNode(fault("gpu-fallen-off-the-bus")), p5en()))
    assert (lost["gpus_missing"], lost["xid_hardware"], lost["xid_application"]) == (1, 2, 0)
    hot = metrics.totals(Node(SaidNode(fault("hot")), p5en()))
    assert hot["gpu_throttled"] == 1


def test_an_application_xid_is_no_hardware_xid_and_an_unknown_one_is_looked_at() -> None:
    program = metrics.totals(Node(SaidNode(fault("xid-31-application")), p5en()))
    assert (program["xid_hardware"], program["xid_application"]) == (0, 1)
    unknown = metrics.totals(Node(SaidNode(fault("xid-unknown")), p5en()))
    assert (unknown["xid_hardware"], unknown["xid_application"]) == (1, 0)


def test_counters_are_sent_as_what_was_added() -> None:
    before = {"xid_hardware": 2.0, "efa_errors": 10.0, "gpus_missing": 1.0}
    now = {"xid_hardware": 5.0, "efa_errors": 3.0, "gpus_missing": 1.0}
    # The EFA counter was set back, as by a new driver; a level is sent as it is.
    assert metrics.since(now, before) == {"xid_hardware": 3, "efa_errors": 3, "gpus_missing": 1}


def test_the_package_does_not_import_the_cdk() -> None:
    code = "import trainshed.health, sys; print({'aws_cdk', 'jsii', 'boto3'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "set()"
