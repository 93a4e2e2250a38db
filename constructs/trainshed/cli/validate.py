"""``trainshed validate``: institution files, with every fault at once."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..config import ConfigError
from .checked import load_checked


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")


def run(options: argparse.Namespace) -> int:
    """Check each file. Return 1 where one has a fault."""
    failed = False
    for path in options.files:
        try:
            institution = load_checked(path)
        except ConfigError as error:
            print(error, file=sys.stderr)
            failed = True
        else:
            print(f"{path}: {institution.name} is right")
    return int(failed)
