"""The ``trainshed`` command: what it does to a file it says, and nothing reaches AWS."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from . import alert_test as alert_test_command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return its exit code: 0, or 1 where something is wrong."""
    options = _parser().parse_args(arguments)
    return int(options.run(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="trainshed", description="GPU training clusters on AWS from one file an institution."
    )
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")

    validate = verbs.add_parser("validate", help="check institution files, all faults at once")
    validate.add_argument("files", nargs="+", type=Path, metavar="FILE")
    validate.set_defaults(run=_validate)

    render = verbs.add_parser("render", help="write every file that a cluster gets, without AWS")
    render.add_argument("file", type=Path, metavar="FILE")
    render.add_argument("--out", type=Path, required=True, metavar="DIR")
    render.set_defaults(run=_render)

    schema = verbs.add_parser("schema", help="print the JSON schema of an institution file")
    schema.set_defaults(run=_schema)

    check = verbs.add_parser("check", help="validate the templates of a synthesised assembly")
    check.add_argument("assembly", type=Path, metavar="DIR", help="such as cdk.out")
    check.set_defaults(run=_check)

    report = verbs.add_parser("report", help="say what a synthesised assembly holds")
    report.add_argument("assembly", type=Path, metavar="DIR", help="such as cdk.out")
    report.set_defaults(run=_report)

    alert_test = verbs.add_parser("alert-test", help="send one message of each kind to Slack")
    alert_test_command.add_arguments(alert_test)
    alert_test.set_defaults(run=alert_test_command.run)
    return parser


def _validate(options: argparse.Namespace) -> int:
    from ..config import ConfigError
    from .checked import load_checked

    failed = False
    for path in options.files:
        try:
            institution = load_checked(path)
        except ConfigError as error:
            print(error, file=sys.stderr)
            failed = True
        else:
            print(f"{path}: {institution.name} is right")
    return int(failed)


def _render(options: argparse.Namespace) -> int:
    from ..config import ConfigError
    from .checked import load_checked
    from .render import write_rendered

    try:
        institution = load_checked(options.file)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    for path in write_rendered(institution, options.out):
        print(path)
    return 0


def _schema(options: argparse.Namespace) -> int:
    import json

    from ..config import json_schema

    print(json.dumps(json_schema(), indent=1))
    return 0


def _check(options: argparse.Namespace) -> int:
    from .check import check_assembly

    return check_assembly(options.assembly)


def _report(options: argparse.Namespace) -> int:
    from .report import print_report

    return print_report(options.assembly)
