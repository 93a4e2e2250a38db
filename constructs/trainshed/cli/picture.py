"""``trainshed picture``: a diagram of what an institution gets, as SVG."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", type=Path, metavar="FILE", help="institution file")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write it there; default: print it"
    )


def run(options: argparse.Namespace) -> int:
    """Write the picture. Return 1 for a faulty file."""
    from ..config import ConfigError
    from ..picture import picture
    from .checked import load_checked

    try:
        svg = picture(load_checked(options.file))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    if options.out:
        options.out.write_text(svg, encoding="utf-8")
        print(options.out)
    else:
        print(svg, end="")
    return 0
