"""``trainshed schema``: the JSON schema of an institution file, for editors."""

from __future__ import annotations

import argparse
import json

from ..config import json_schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes: nothing."""


def run(options: argparse.Namespace) -> int:
    """Print the schema."""
    print(json.dumps(json_schema(), indent=1))
    return 0
