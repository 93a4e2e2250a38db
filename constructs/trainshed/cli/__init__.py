"""The ``trainshed`` command. Only ``doctor``, ``image`` and ``alert-test`` reach AWS."""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence

# Each verb is a module with ``add_arguments(parser)`` and ``run(options)``, imported when it is
# asked for: checking a file takes less time than some of the others take to be imported.
VERBS = {
    "validate": "check institution files, all faults at once",
    "render": "write every file that a cluster gets, without AWS",
    "schema": "print the JSON schema of an institution file",
    "check": "validate the templates of a synthesised assembly",
    "report": "say what a synthesised assembly holds",
    "review": "say what a change will do, before it is deployed",
    "cost": "what an institution's cluster costs a month",
    "quotas": "which AWS quotas it needs",
    "picture": "draw its architecture as SVG",
    "slurm": "bring the accounting database of a live cluster to its policy",
    "doctor": "ask AWS whether everything is ready for it",
    "image": "print the newest Deep Learning AMI as a lock",
    "alert-test": "send one message of each kind to Slack",
}


def entry() -> int:
    """Run the command in a process of its own."""
    # It is short and then over: collecting cycles meanwhile, and at the end, frees nothing.
    gc.disable()
    # Looking for pydantic's plugins reads the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")
    code = main()
    gc.freeze()
    return code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return its exit code: 0 where all is well."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser(given[0] if given else "").parse_args(given)
    return int(options.run(options))


def _parser(verb: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="trainshed", description="GPU training clusters on AWS from one file an institution."
    )
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, purpose in VERBS.items():
        command = verbs.add_parser(name, help=purpose, description=purpose)
        if name == verb:
            module = importlib.import_module(f".{name.replace('-', '_')}", __name__)
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser
