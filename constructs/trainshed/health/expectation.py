"""The hardware that a node of an instance type should have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..alerts.agent import NodeAgent, NodeRole
from ..facts import InstanceType
from .bandwidth import bandwidth_rows, largest_message, own_row

FORMAT = 1
"""Format of the document; ``assets/node/health`` refuses another."""

NVLINKS: Mapping[str, int] = MappingProxyType(
    {"a100": 12, "h100": 18, "h200": 18, "b200": 18, "b300": 18}
)
"""NVLinks of each GPU by EC2's name of it.

NVIDIA's datasheets, read 2026-11-29: 600 GB/s in links of 50 GB/s for A100, 900 for Hopper, 1,800
in links of 100 for Blackwell. 18 was also read off an H200 (tests/fixtures/health/h200).
"""


def expected_hardware(
    facts: InstanceType,
    *,
    cluster_name: str,
    mounts: Sequence[str] = (),
    efa: bool = True,
    driver: str = "",
    role: NodeRole = NodeRole.COMPUTE,
    tolerance: float | None = None,
    least_bus_gb_s: float | None = None,
) -> dict[str, Any]:
    """Return the document that ``health_check.py --expect`` reads.

    Args:
        facts: The instance type, from ``trainshed.facts.instance_type(name)``.
        cluster_name: Name of the cluster, a dimension of every metric.
        mounts: Directories with a Lustre file system. Default: none.
        efa: Whether the nodes are started with all their EFA interfaces.
        driver: Version of the NVIDIA driver that the image has. Default: any.
        role: Role of the nodes, the other dimension.
        tolerance: Share of a measured bandwidth that is enough. Default: that of its row.
        least_bus_gb_s: Least bus bandwidth of an all-reduce at 16 GiB, or at the largest message
            that the GPU's memory holds, in GB/s. Default: the table's.
    """
    return {
        "format": FORMAT,
        "instance_type": facts.name,
        "gpus": facts.gpus,
        "gpu_name": facts.gpu_name,
        "gpu_memory_mib": facts.gpu_memory_mib,
        # A GPU that is too new for the table keeps its links unchecked.
        "nvlinks": NVLINKS.get(facts.gpu_name, 0) if facts.nvlink else 0,
        "nvswitch": facts.nvlink,
        "neuron_devices": facts.neuron_devices,
        "efa_interfaces": facts.efa_interfaces if efa else 0,
        "nvme_disks": facts.nvme_disks,
        "memory_mib": facts.memory_mib,
        "mounts": list(mounts),
        "driver": driver,
        "dimensions": NodeAgent(cluster_name, role).dimensions,
        "nccl": [own_row(facts.gpus, least_bus_gb_s, largest_message(facts.gpu_memory_mib))]
        if least_bus_gb_s
        else bandwidth_rows(facts.name, tolerance),
    }
