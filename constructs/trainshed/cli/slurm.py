"""``trainshed slurm``: the accounting database of a live cluster against its policy.

Runs where sacctmgr is, such as the head node, on an institution file or on the document that the
head node has. Exit code: 0 nothing to do, or done; 1 failed; 2 there is something to do (plan,
drift), or something was done (apply with --exit-code).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config import Institution
    from ..slurm import AccountingDocument

ACTIONS = {
    "plan": "show what is to be done",
    "apply": "do it; running it again is harmless",
    "drift": "show what was changed by hand",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    actions = "; ".join(f"{name}: {what}" for name, what in ACTIONS.items())
    parser.add_argument("action", choices=list(ACTIONS), help=actions)
    parser.add_argument("file", type=Path, metavar="FILE", help="institution file")
    parser.add_argument(
        "--document", action="store_true", help="FILE is a policy.json and no institution file"
    )
    parser.add_argument("--delete", action="store_true", help="delete what the policy lacks")
    parser.add_argument(
        "--delete-running", action="store_true", help="and what has jobs, after cancelling them"
    )
    parser.add_argument("--exit-code", action="store_true", help="apply: 2 if anything was changed")
    parser.add_argument("--sacctmgr", metavar="PATH", help="default: in PATH, or in /opt/slurm/bin")


def run(options: argparse.Namespace) -> int:
    """Plan, apply or look for drift. Return 0, 1 for a failure, 2 for something to do."""
    from ..slurm.reconcile import reconcile

    try:
        document = _document(options.file, is_document=options.document)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return reconcile(
        options.action,
        document,
        delete=options.delete,
        delete_running=options.delete_running,
        exit_code=options.exit_code,
        sacctmgr=options.sacctmgr,
    )


def accounting_document_of(institution: Institution) -> AccountingDocument | None:
    """Return what the accounting database of an institution should hold; None without a policy."""
    from ..slurm import PARALLELCLUSTER_ACCOUNT, accounting_document
    from ..slurm.fleet_rules import node_groups

    fleet = institution.fleet
    if fleet.policy is None:
        return None
    keep = [PARALLELCLUSTER_ACCOUNT] if fleet.backend == "parallelcluster" else []
    return accounting_document(
        fleet.policy,
        node_groups(fleet, institution.known_types),
        cluster=institution.cluster_name,
        keep_accounts=keep,
    )


def _document(path: Path, *, is_document: bool) -> AccountingDocument:
    """Return the document of a file.

    Raises:
        ValueError: The file is faulty, or has no policy.
    """
    if is_document:
        try:
            document: AccountingDocument = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: {error}; give the policy.json of a head node") from None
        return document
    from ..config import ConfigError
    from .checked import load_checked

    try:
        found = accounting_document_of(load_checked(path))
    except ConfigError as error:
        raise ValueError(str(error)) from None
    if found is None:
        raise ValueError(f"{path}: fleet.policy is not given, so there is nothing to apply")
    return found
