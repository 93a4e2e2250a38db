"""``trainshed doctor``: asks AWS whether the account is ready. It reads and changes nothing."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", type=Path, metavar="FILE", help="institution file")
    parser.add_argument("--profile", metavar="NAME", help="AWS profile; default: as the AWS CLI")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument(
        "--strict", action="store_true", help="fail for what AWS does not tell as well"
    )
    parser.add_argument(
        "--timeout", type=float, default=60, metavar="SECONDS", help="wait at most; default: 60"
    )


def run(options: argparse.Namespace) -> int:
    """Print the verdicts. Return 1 for a faulty file, or where something is not ready."""
    from ..config import ConfigError
    from .checked import load_checked

    try:
        institution = load_checked(options.file)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    from ..doctor import SessionClients, as_json, as_text, diagnose, exit_code

    try:
        session = session_of(options.profile)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    answers = diagnose(
        institution,
        SessionClients(session, institution.region),
        timeout_seconds=options.timeout,
    )
    print(as_json(answers) if options.json else as_text(answers), end="")
    sys.stdout.flush()
    return exit_code(answers, strict=options.strict)


def session_of(profile: str | None) -> Any:
    """Return a boto3 session.

    Raises:
        ValueError: There is no such profile.
    """
    import boto3
    from botocore.exceptions import ProfileNotFound

    try:
        return boto3.session.Session(profile_name=profile)
    except ProfileNotFound as error:
        raise ValueError(f"{error}; aws configure list-profiles shows those that are") from None
