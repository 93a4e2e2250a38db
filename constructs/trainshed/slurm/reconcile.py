"""Plans and applies an accounting document from Python, with the node's own program."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal

from .._assets import asset
from .accounting import AccountingDocument

Action = Literal["plan", "apply", "drift"]


@cache
def node_program() -> ModuleType:
    """Return ``assets/node/slurm_accounts.py`` as a module.

    The head node runs that file with whatever Python it has, so it imports nothing of trainshed,
    and trainshed takes it from where the node does.
    """
    name = "trainshed_slurm_accounts"
    spec = importlib.util.spec_from_file_location(name, asset("node", "slurm_accounts.py"))
    if spec is None or spec.loader is None:
        raise ImportError("assets/node/slurm_accounts.py cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def first_steps(document: AccountingDocument) -> list[str]:
    """Return, a line each, what a run on a database with nothing but the cluster would do."""
    program = node_program()
    wanted = program.read_policy(document)
    settings = [*wanted.qos.values(), *(account.settings for account in wanted.accounts.values())]
    amounts = [value for each in settings for key, value in each.items() if "TRES" in key]
    known = {part.rpartition("=")[0] for text in amounts for part in text.split(",")}
    made = program.plan(program.State(wanted.cluster, tres=known), wanted)
    return [step.text for step in made.steps]


def reconcile(
    action: Action,
    document: AccountingDocument,
    *,
    delete: bool = False,
    delete_running: bool = False,
    exit_code: bool = False,
    sacctmgr: str | None = None,
) -> int:
    """Plan, apply or look for drift on a machine that has sacctmgr; print what is found.

    Args:
        action: ``plan`` and ``drift`` show what is to be done; ``apply`` does it.
        document: What the database should hold.
        delete: Delete what the document lacks and what has no jobs.
        delete_running: Cancel the jobs of what the document lacks, and delete it.
        exit_code: Let ``apply`` return 2 when it changed something.
        sacctmgr: Program to call. Default: the one in PATH or in ``/opt/slurm/bin``.

    Returns:
        0: nothing to do, or done. 1: failed. 2: there is something to do.
    """
    options = [
        *(["--delete"] if delete else []),
        *(["--delete-running"] if delete_running else []),
        *(["--exit-code"] if exit_code else []),
        *(["--sacctmgr", sacctmgr] if sacctmgr else []),
    ]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "policy.json")
        path.write_text(json.dumps(document), encoding="utf-8")
        result: int = node_program().main([action, str(path), *options])
    return result
