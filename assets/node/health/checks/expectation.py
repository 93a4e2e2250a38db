"""What hardware a node should have: the document that ``trainshed.health`` makes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
"""Format of the document that this program reads."""


class ExpectationError(Exception):
    """The document of what a node should have cannot be used."""


@dataclass(frozen=True)
class BandwidthRow:
    """The least bus bandwidth of an all-reduce, for so many nodes and one message size.

    Args:
        nodes_from: Fewest nodes that the row is for.
        nodes_to: Most nodes that the row is for; 0 for any number.
        gpus_per_node: GPUs that take part on each node.
        size_bytes: Size of the message.
        measured_gb_s: What was measured, in GB/s.
        least_gb_s: What a run has to reach, in GB/s.
        source: Who measured it, where and when.
    """

    nodes_from: int
    nodes_to: int
    gpus_per_node: int
    size_bytes: int
    measured_gb_s: float
    least_gb_s: float
    source: str


@dataclass(frozen=True)
class Expectation:
    """What a node should have.

    Args:
        instance_type: Name of the EC2 type.
        gpus: GPUs; 0 for a node without.
        gpu_name: EC2's name of the GPU in lower case, such as ``h200``.
        gpu_memory_mib: Memory of each GPU, in MiB.
        nvlinks: NVLinks of each GPU; 0 without NVLink.
        nvswitch: Whether the GPUs need the fabric manager.
        neuron_devices: Trainium or Inferentia devices.
        efa_interfaces: EFA interfaces that the node was started with.
        nvme_disks: Instance store disks.
        memory_mib: Memory of the instance type, in MiB.
        mounts: Directories with a Lustre file system.
        driver: Version of the NVIDIA driver; empty for any.
        dimensions: Dimensions of the metrics: ``ClusterName`` and ``Role``.
        nccl: Least bandwidths of an all-reduce.
    """

    instance_type: str = ""
    gpus: int = 0
    gpu_name: str = ""
    gpu_memory_mib: int = 0
    nvlinks: int = 0
    nvswitch: bool = False
    neuron_devices: int = 0
    efa_interfaces: int = 0
    nvme_disks: int = 0
    memory_mib: int = 0
    mounts: tuple[str, ...] = ()
    driver: str = ""
    dimensions: dict[str, str] = field(default_factory=dict)
    nccl: tuple[BandwidthRow, ...] = ()


def load(path: Path) -> Expectation:
    """Read the document.

    Raises:
        ExpectationError: It is not there, or not of this format.
    """
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ExpectationError(f"cannot read {path}: {error}") from error
    return parse(document)


def parse(document: Any) -> Expectation:
    """Turn the document into an expectation.

    Raises:
        ExpectationError: It is not of this format.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ExpectationError(f"what a node should have is not of format {FORMAT}")
    values = {key: value for key, value in document.items() if key != "format"}
    try:
        values["mounts"] = tuple(values.get("mounts", ()))
        values["nccl"] = tuple(BandwidthRow(**row) for row in values.get("nccl", ()))
        return Expectation(**values)
    except TypeError as error:
        raise ExpectationError(f"what a node should have is not understood: {error}") from error
