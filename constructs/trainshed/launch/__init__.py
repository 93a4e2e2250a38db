"""How a node is launched: its interfaces, and where the instance comes from. Pure."""

from .capacity_warnings import capacity_warnings
from .interfaces import (
    PRIMARY_INTERFACE,
    EfaStyle,
    InterfaceType,
    NetworkInterface,
    addresses_per_node,
    check_interfaces,
    efa_interfaces,
)
from .options import LaunchOptions, launch_options, launch_template_data

__all__ = [
    "PRIMARY_INTERFACE",
    "EfaStyle",
    "InterfaceType",
    "LaunchOptions",
    "NetworkInterface",
    "addresses_per_node",
    "capacity_warnings",
    "check_interfaces",
    "efa_interfaces",
    "launch_options",
    "launch_template_data",
]
