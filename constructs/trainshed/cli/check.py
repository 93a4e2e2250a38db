"""``trainshed check``: the templates of an assembly against AWS's own CloudFormation validator.

The CDK's built-in validation runs the same engine as WebAssembly in every synthesis, which costs
seconds and 380 MB each time; the native engine does it in a fraction, and templates that were
found right before are not looked at again. docs/performance.md has the measurements.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._assembly import (
    AssemblyError,
    acknowledged_in,
    artifacts_of,
    metadata_of,
    read_object,
    reading,
)

# What aws-cdk-lib 2.275.0 leaves out by default, since CDK templates break these rules by nature
# (core/lib/validation/cloudformation-validate-plugin.js, IGNORE_RULES, read 2026-11-29).
IGNORED_RULES = ("W3005", "W1020", "E1018", "W9002", "W9013", "W1103")

# Where a rule is acknowledged that a stack, and no resource of it, breaks.
WHOLE_STACK = "*"


@dataclass(frozen=True)
class Finding:
    """What the validator says of one place of a template."""

    stack: str
    rule: str
    is_error: bool
    place: str
    message: str

    def __str__(self) -> str:
        kind = "error" if self.is_error else "warning"
        return f"{self.stack}: {kind} {self.rule} at {self.place}: {self.message}"


@dataclass(frozen=True)
class StackTemplate:
    """One stack of an assembly."""

    name: str
    path: Path
    account: str | None
    region: str | None
    acknowledged: tuple[tuple[str, str], ...]
    """Pairs of logical id and rule that a construct acknowledges, with its reason beside it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("assembly", type=Path, metavar="DIR", help="such as cdk.out")


def run(options: argparse.Namespace) -> int:
    """Validate every template and print what is found.

    Return 1 for an error, or for what is no assembly, else 0.
    """
    assembly: Path = options.assembly
    try:
        findings = list(validate(assembly))
    except AssemblyError as error:
        print(error, file=sys.stderr)
        return 1
    for finding in findings:
        print(finding, file=sys.stderr if finding.is_error else sys.stdout)
    errors = sum(finding.is_error for finding in findings)
    stacks = len(list(stack_templates(assembly)))
    print(f"{stacks} templates validated: {errors} errors, {len(findings) - errors} warnings")
    return int(errors > 0)


def validate(assembly: Path) -> Iterator[Finding]:
    """Yield the findings of every template; those of unchanged templates from the last time.

    Raises:
        AssemblyError: The folder is no whole assembly.
    """
    known = _KnownFindings(assembly / ".validated.json")
    engine = None
    for template in stack_templates(assembly):
        if not template.path.is_file():
            raise AssemblyError(f"{template.path} is not there; run cdk synth again")
        digest = known.digest(template)
        if digest not in known.findings:
            engine = engine or _engine()
            known.findings[digest] = list(_findings(engine, template))
        yield from known.findings[digest]
    known.save()


def stack_templates(assembly: Path) -> Iterator[StackTemplate]:
    """Yield the stacks of an assembly, and of those inside it, in the order of their manifests.

    Raises:
        AssemblyError: The folder is no whole assembly.
    """
    for folder, artifact in artifacts_of(assembly):
        if artifact["type"] == "aws:cloudformation:stack":
            with reading(folder / "manifest.json"):
                template = _stack_template(folder, artifact)
            yield template


def _stack_template(folder: Path, artifact: Mapping[str, Any]) -> StackTemplate:
    properties = artifact["properties"]
    account, region = artifact["environment"].removeprefix("aws://").split("/")
    return StackTemplate(
        name=properties.get("stackName") or artifact["displayName"],
        path=folder / properties["templateFile"],
        account=None if account.startswith("unknown") else account,
        region=None if region.startswith("unknown") else region,
        acknowledged=tuple(sorted(_acknowledged(metadata_of(folder, artifact)))),
    )


def _acknowledged(said: Mapping[str, Mapping[str, list[Any]]]) -> Iterator[tuple[str, str]]:
    resources = [
        (path, str(logical_id))
        for path, kinds in said.items()
        for logical_id in kinds.get("aws:cdk:logicalId", [])
    ]
    for path, kinds in said.items():
        for acknowledged in acknowledged_in(kinds):
            rule = acknowledged.removeprefix("CloudFormation-Validate::")
            if path.count("/") == 1:
                yield WHOLE_STACK, rule
            # As for the CDK, it counts for the construct and for all below it.
            for resource, logical_id in resources:
                if f"{resource}/".startswith(f"{path}/"):
                    yield logical_id, rule


class _KnownFindings:
    """What this version of validator and command found before, by the content of the template."""

    def __init__(self, path: Path) -> None:
        import cloudformation_validate

        self._path = path
        # The folder outlives a version of trainshed, which may leave out less than the last.
        own = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
        self._version = f"{cloudformation_validate.version()} {own}"
        self.findings: dict[str, list[Finding]] = {}
        # It saves time alone: one that is not there, or is broken, is made anew.
        with suppress(AssemblyError, TypeError):
            self.findings = {
                digest: [Finding(**each) for each in found]
                for digest, found in read_object(path).items()
                if isinstance(found, list)
            }

    def digest(self, template: StackTemplate) -> str:
        known = (template.name, template.account, template.region, template.acknowledged)
        about = f"{self._version} {known}"
        return hashlib.sha256(about.encode() + template.path.read_bytes()).hexdigest()

    def save(self) -> None:
        findings = {
            digest: [asdict(each) for each in found] for digest, found in self.findings.items()
        }
        # An assembly may be one that nobody writes to, and is checked all the same.
        with suppress(OSError):
            self._path.write_text(json.dumps(findings, indent=1, sort_keys=True), encoding="utf-8")


def _engine() -> Any:
    from cloudformation_validate import CompositeEngine

    return CompositeEngine()


def _findings(engine: Any, template: StackTemplate) -> Iterator[Finding]:
    from cloudformation_validate import (
        PseudoParameterOverrides,
        RuleFilterConfig,
        Severity,
        ValidateConfig,
    )

    report = engine.validate_template(
        str(template.path),
        ValidateConfig(
            exclude=RuleFilterConfig(ids=list(IGNORED_RULES)),
            severity_level=Severity.WARN,
            pseudo_parameter_overrides=PseudoParameterOverrides(
                account_id=template.account, region=template.region
            ),
        ),
    )
    for diagnostic in report.diagnostics:
        is_error = diagnostic.severity in (Severity.ERROR, Severity.FATAL)
        place = diagnostic.entity.logical_id if diagnostic.entity else "the template"
        told = (
            (where, diagnostic.rule_id) in template.acknowledged for where in (place, WHOLE_STACK)
        )
        if not is_error and any(told):
            continue
        yield Finding(
            stack=template.name,
            rule=diagnostic.rule_id,
            is_error=is_error,
            place=f"{place}.{diagnostic.property_path}" if diagnostic.property_path else place,
            message=diagnostic.message,
        )
