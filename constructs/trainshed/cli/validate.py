"""``trainshed validate``: institution files, with every fault at once."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..config import ConfigError, Institution
from .checked import load_checked, name_clashes, naming_fault, policy_warnings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")


def run(options: argparse.Namespace) -> int:
    """Check each file, its name, and the names of their stacks. Return 1 for a fault."""
    right: dict[Path, Institution] = {}
    faults = []
    for path in options.files:
        try:
            institution = load_checked(path)
        except ConfigError as error:
            faults.append(str(error))
            continue
        if fault := naming_fault(path, institution.name):
            faults.append(fault)
            continue
        right[path] = institution
        print(f"{path}: {institution.name} is right")
        for warning in policy_warnings(institution):
            print(f"{path}: warning: {warning}")
    faults += name_clashes(right)
    for fault in faults:
        print(fault, file=sys.stderr)
    return int(bool(faults))
