"""``trainshed validate``: institution files, with every fault at once."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..config import ConfigError, Institution
from .checked import load_checked, name_clashes, policy_warnings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")


def run(options: argparse.Namespace) -> int:
    """Check each file, and the names of their stacks together. Return 1 for a fault."""
    right: dict[Path, Institution] = {}
    faults = []
    for path in options.files:
        try:
            right[path] = load_checked(path)
        except ConfigError as error:
            faults.append(str(error))
        else:
            print(f"{path}: {right[path].name} is right")
            for warning in policy_warnings(right[path]):
                print(f"{path}: warning: {warning}")
    faults += name_clashes(right)
    for fault in faults:
        print(fault, file=sys.stderr)
    return int(bool(faults))
