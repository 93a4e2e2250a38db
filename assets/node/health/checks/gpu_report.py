"""What ``nvidia-smi`` says of the GPUs, in one call.

The query is what runs every minute: it costs a fifth of the full report, ``-q -x``, which an older
driver is asked for when it does not know a field of the query. The report alone has what waits for
a repair; the basic checks read that.
"""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET  # the text is the driver's own
from collections.abc import Mapping

# Each value that is judged: its name in the query, and its place in the report.
_EVENT, _VOLATILE = "clocks_event_reasons", "ecc_errors/volatile"
_FIELDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "bus_id": ("pci.bus_id", ("pci/pci_bus_id",)),
    "name": ("name", ("product_name",)),
    "mig": ("mig.mode.current", ("mig_mode/current_mig",)),
    "memory": ("memory.total", ("fb_memory_usage/total",)),
    "ecc_mode": ("ecc.mode.current", ("ecc_mode/current_ecc",)),
    "uncorrected": (
        "ecc.errors.uncorrected.volatile.total",
        (
            f"{_VOLATILE}/sram_uncorrectable_parity",
            f"{_VOLATILE}/sram_uncorrectable_secded",
            f"{_VOLATILE}/dram_uncorrectable",
        ),
    ),
    "sram_worn": (
        "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded",
        ("ecc_errors/aggregate/sram_threshold_exceeded",),
    ),
    "remap_pending": ("remapped_rows.pending", ("remapped_rows/remapped_row_pending",)),
    "remap_failed": ("remapped_rows.failure", ("remapped_rows/remapped_row_failure",)),
    "recovery_action": ("gpu_recovery_action", ("gpu_recovery_action",)),
    "power_brake": (
        f"{_EVENT}.hw_power_brake_slowdown",
        (f"{_EVENT}/clocks_event_reason_hw_power_brake_slowdown",),
    ),
    "hot_hardware": (
        f"{_EVENT}.hw_thermal_slowdown",
        (f"{_EVENT}/clocks_event_reason_hw_thermal_slowdown",),
    ),
    "hot_software": (
        f"{_EVENT}.sw_thermal_slowdown",
        (f"{_EVENT}/clocks_event_reason_sw_thermal_slowdown",),
    ),
    "clock": ("clocks.applications.graphics", ("applications_clocks/graphics_clock",)),
    "usual_clock": (
        "clocks.default_applications.graphics",
        ("default_applications_clocks/graphics_clock",),
    ),
    "lanes": (
        "pcie.link.width.current",
        ("pci/pci_gpu_link_info/link_widths/current_link_width",),
    ),
    "most_lanes": ("pcie.link.width.max", ("pci/pci_gpu_link_info/link_widths/max_link_width",)),
    "fabric_state": ("fabric.state", ("fabric/state",)),
    "fabric_status": ("fabric.status", ("fabric/status",)),
    "utilization": ("utilization.gpu", ("utilization/gpu_util",)),
    "driver": ("driver_version", ()),
}
# Drivers before 535 call it otherwise.
_OLD_EVENT = ("clocks_event_reason", "clocks_throttle_reason")
_REPAIRS = {
    "unrepairable": "ecc_errors/unrepairable_memory",
    "channel_repair": "ecc_errors/channel_repair_pending",
    "processor_repair": "ecc_errors/tpc_repair_pending",
    "page_retirement": "retired_pages/pending_retirement",
}

QUERY = (
    "nvidia-smi",
    "--query-gpu=" + ",".join(query for query, _ in _FIELDS.values()),
    "--format=csv,noheader,nounits",
)
"""The command of every minute."""

REPORT = ("nvidia-smi", "-q", "-x")
"""The command of the full report."""

UNKNOWN_FIELD = "is not a valid field to query"
"""What an older driver says to the query."""

_NOTHING = re.compile(
    r"^\[?(N/A|Not Supported|Not Found|Insufficient Permissions|.*deprecated.*|.*requires reset"
    r"|Unknown Error|GPU is lost)\]?$"
)
# What stands in the place of a value that a GPU cannot give any more.
_LOST = re.compile(r"^\[?(GPU requires reset|Unknown Error|GPU is lost)\]?$")
_ALWAYS = ("name", "memory", "ecc_mode", "uncorrected", "remap_failed")


class Gpu:
    """One GPU.

    Args:
        values: What nvidia-smi says of it, by the names of this module.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.bus_id = values.get("bus_id", "?")

    def text(self, name: str) -> str:
        """Return a value; empty when this GPU or driver does not have it."""
        value = self._values.get(name, "").strip()
        return "" if _NOTHING.match(value) else value

    def number(self, name: str) -> float:
        """Return a value without its unit; 0 when there is none."""
        match = re.match(r"-?\d+(\.\d+)?", self.text(name))
        return float(match[0]) if match else 0.0

    @property
    def silence(self) -> str:
        """What it says in the place of a value that a GPU always gives; empty when it is well."""
        values = (self._values.get(name, "").strip() for name in _ALWAYS)
        return next((match[1] for value in values if (match := _LOST.match(value))), "")

    @property
    def uncorrected(self) -> int:
        """Uncorrected ECC errors since the driver was loaded."""
        return int(self.number("uncorrected"))

    @property
    def is_throttled(self) -> bool:
        """Whether heat or power slow it down; the power limit of its own is no fault."""
        slow = ("power_brake", "hot_hardware", "hot_software")
        return any(self.text(name) == "Active" for name in slow)


class Report:
    """All GPUs of a node, and the driver.

    Args:
        gpus: The GPUs.
        driver: Version of the driver.
    """

    def __init__(self, gpus: list[Gpu], driver: str) -> None:
        self.gpus = gpus
        self.driver = driver

    @classmethod
    def of_query(cls, text: str) -> Report:
        """Read the answer to the query.

        Raises:
            ValueError: It has no GPU.
        """
        rows = csv.reader(text.splitlines(), skipinitialspace=True)
        values = [dict(zip(_FIELDS, row, strict=True)) for row in rows if len(row) == len(_FIELDS)]
        if not values:
            raise ValueError(f"nvidia-smi tells of no GPU: {text.strip()[:120]!r}")
        return cls([Gpu(row) for row in values], values[0]["driver"].strip())

    @classmethod
    def of_xml(cls, text: str) -> Report:
        """Read the full report.

        Raises:
            ValueError: It is no such report.
        """
        end = "</nvidia_smi_log>"
        start, stop = text.find("<?xml"), text.find(end)
        try:
            root = ET.fromstring(text[start : stop + len(end)])  # noqa: S314, the driver's own
        except ET.ParseError as error:
            raise ValueError(f"nvidia-smi printed no report: {text.strip()[:120]!r}") from error
        driver = (root.findtext("driver_version") or "").strip()
        return cls([Gpu(_of_node(node)) for node in root.findall("gpu")], driver)


def _of_node(node: ET.Element) -> dict[str, str]:
    values = {name: _at(node, paths) for name, (_, paths) in _FIELDS.items()}
    values.update({name: _at(node, (path,)) for name, path in _REPAIRS.items()})
    return values


def _at(node: ET.Element, paths: tuple[str, ...]) -> str:
    found = [(node.findtext(path) or node.findtext(_old(path)) or "").strip() for path in paths]
    if len(found) == 1:
        return found[0]
    return str(sum(int(text) for text in found if text.isdigit()))


def _old(path: str) -> str:
    return path.replace(*_OLD_EVENT)
