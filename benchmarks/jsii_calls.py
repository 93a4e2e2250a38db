"""Count the calls that a synthesis makes to the CDK's Node process.

Usage: python -m benchmarks.jsii_calls MODULE [ARGUMENT…]; prints calls by kind as JSON, last line.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections import Counter
from typing import Any

from jsii._kernel.providers import process

calls: Counter[str] = Counter()
_send = process._NodeProcess.send


def _counted(self: Any, request: Any, response_type: Any) -> Any:
    calls[type(request).__name__.removeprefix("_").removesuffix("Request")] += 1
    return _send(self, request, response_type)


def main() -> None:
    """Run the module of the command line and print what it called."""
    process._NodeProcess.send = _counted  # type: ignore[method-assign]
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__")
    print(json.dumps(calls))


if __name__ == "__main__":
    main()
