"""``trainshed quotas``: what an institution's cluster needs of its account, without AWS."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", type=Path, metavar="FILE", help="institution file")


def run(options: argparse.Namespace) -> int:
    """Print the table. Return 1 for a faulty file."""
    from ..config import ConfigError
    from ..quotas import quota_needs, quota_table
    from .checked import load_checked

    try:
        institution = load_checked(options.file)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    print(quota_table(quota_needs(institution), institution.region), end="")
    return 0
