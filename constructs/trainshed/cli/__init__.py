"""The ``trainshed`` command. ``doctor``, ``image``, ``gate`` and ``alert-test`` alone reach AWS."""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

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
    "gate": "run the all-reduce that opens a live fleet again",
    "slurm": "bring the accounting database of a live cluster to its policy",
    "doctor": "ask AWS whether everything is ready for it",
    "image": "print the newest Deep Learning AMI as a lock",
    "alert-test": "send one message of each kind to Slack",
}


def entry() -> int:
    """Run the command in a process of its own."""
    # It is short and then over: collecting cycles meanwhile, and at the end, frees nothing.
    gc.disable()
    _leave_out_plugins()
    try:
        code = main()
        sys.stdout.flush()
    except OSError as error:
        code = 1
        # The reader of a pipe that leaves early, as head does, has what it wants.
        if not isinstance(error, BrokenPipeError):
            print(_in_words(error), file=sys.stderr)
        # What is left to be written would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    gc.freeze()
    return code


def _in_words(error: OSError) -> str:
    """Say which path the system refused, and why: a folder that is a file, a full disk."""
    place = error.filename or "what it prints"
    return f"trainshed: {place} cannot be written or read: {error.strerror or error}; use another"


def _leave_out_plugins() -> None:
    """Have pydantic find no plugins: looking for them reads the metadata of all that is installed.

    Its own switch, ``PYDANTIC_DISABLE_PLUGINS``, spares the search but not the imports for it, a
    twentieth of ``trainshed validate`` (pydantic 2.14, ``pydantic/plugin/_loader.py``, read
    2026-11-30). Where pydantic looks elsewhere one day, this changes nothing.
    """
    loader = ModuleType("pydantic.plugin._loader")
    loader.__dict__["get_plugins"] = tuple
    sys.modules.setdefault(loader.__name__, loader)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return its exit code: 0 where all is well."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser(given[0] if given else "").parse_args(given)
    return int(options.run(options))


def _parser(verb: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="trainshed",
        description="GPU training clusters on AWS from one file an institution.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version(verb == "--version"))
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    # A parser takes long to make, and the other verbs' are for the list of all alone.
    for name in [verb] if verb in VERBS else VERBS:
        command = verbs.add_parser(name, help=VERBS[name], description=VERBS[name])
        if name == verb:
            module = importlib.import_module(f".{name.replace('-', '_')}", __name__)
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser


def _version(is_asked_for: bool) -> str:
    if not is_asked_for:
        return ""
    # Its import is a tenth of ``trainshed validate``.
    from importlib import metadata

    try:
        return f"trainshed {metadata.version('trainshed')}"
    except metadata.PackageNotFoundError:
        return "trainshed of no version: it runs from its source, and is not installed"
