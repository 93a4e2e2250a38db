"""``trainshed cost``: what an institution's cluster costs a month, without AWS."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", type=Path, metavar="FILE", help="institution file")
    parser.add_argument(
        "--prices", type=Path, metavar="FILE", help="prices and assumptions of your own, YAML"
    )
    parser.add_argument(
        "--before",
        type=Path,
        metavar="FILE",
        help="show what changes against this institution file",
    )


def run(options: argparse.Namespace) -> int:
    """Print the estimate, or the difference to another file. Return 1 for a faulty file."""
    from ..config import ConfigError
    from ..cost import Difference, cost_table, difference_table, monthly_cost, read_own_prices
    from .checked import load_checked

    try:
        own = read_own_prices(options.prices) if options.prices else None
        after = monthly_cost(load_checked(options.file), own)
        before = monthly_cost(load_checked(options.before), own) if options.before else None
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    text = difference_table(Difference(before, after)) if before else cost_table(after)
    print(text, end="")
    return 0
