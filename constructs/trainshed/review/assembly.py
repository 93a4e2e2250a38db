"""A synthesised assembly, as far as a review reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
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
from .intrinsics import STORED, resolved
from .values import INSTITUTION_TAG, references

Template = Mapping[str, Any]

# Assets that people read: scripts and the code of functions.
READABLE = {".sh", ".py", ".js", ".json", ".yaml", ".conf"}
LARGEST_ASSET_BYTES = 200_000
# What the CDK calls the resource inside a construct; people know the construct.
_INNER = re.compile("(/Resource|/Default)+$")


@dataclass(frozen=True)
class Stack:
    """One stack: its template, and what its constructs say of themselves."""

    name: str
    institution: str
    """The institution whose tag it carries; the stack's own name where it carries none."""
    environment: str
    """Account and Region, as ``aws://111122223333/us-east-1``."""
    template: Template
    paths: Mapping[str, str] = field(default_factory=dict)
    """Logical id -> path of the construct, without the stack."""
    acknowledged: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Construct path and rule -> the reason that stands beside it."""
    protected: bool = False
    """Termination protection is on."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags of the stack, which every resource in it gets."""
    assets: Mapping[str, Path] = field(default_factory=dict, compare=False)
    """Construct path -> file or folder that is shipped; its text counts, not its place."""
    parent: str = ""
    """The stack that has this one inside it; empty for a stack of its own."""
    unread: tuple[str, ...] = ()
    """What of it cannot be read before the deployment."""

    @property
    def region(self) -> str:
        """Its Region; Virginia where it is not known before the deployment."""
        return _region(self.environment) or "us-east-1"

    @property
    def resources(self) -> Mapping[str, Any]:
        """Logical id -> resource."""
        found: Mapping[str, Any] = self.template.get("Resources", {})
        return found

    def leaves_to_deployment(self, value: Any) -> bool:
        """Tell whether anything may come of a value: a parameter, or what nobody can work out.

        What a resource has, what the Parameter Store answers and what another stack exports have
        reviews of their own.
        """
        if not isinstance(value, Mapping) or {"Fn::GetAtt", "Fn::ImportValue"} & value.keys():
            return False
        parameters = self.template.get("Parameters", {})
        ids = list(references(value))
        return not ids or any(
            id in parameters and not str(parameters[id].get("Type")).startswith(STORED)
            for id in ids
        )

    def place(self, logical_id: str) -> str:
        """Return the resource in the words of the code, with its stack."""
        return f"{self.name}/{self.paths.get(logical_id, logical_id)}"


@dataclass(frozen=True)
class Assembly:
    """All stacks of a folder such as cdk.out, with the files that were rendered beside them."""

    folder: Path
    stacks: Mapping[str, Stack]

    @property
    def institutions(self) -> list[str]:
        """Names of the institutions, in the order of the stacks."""
        return list(dict.fromkeys(stack.institution for stack in self.stacks.values()))

    def of(self, institution: str) -> dict[str, Stack]:
        """Return the stacks of one institution."""
        found = self.stacks.items()
        return {name: stack for name, stack in found if stack.institution == institution}

    def rendered(self, institution: str) -> dict[str, str]:
        """Return the rendered files of one institution, by name."""
        folder = self.folder / "rendered" / institution
        # A hidden one is trainshed's own list of the others.
        files = sorted(path for path in folder.rglob("[!.]*") if path.is_file())
        return {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
            for path in files
        }

    @cached_property
    def violations(self) -> frozenset[tuple[str, str, str]]:
        """What validation plugins such as cdk-nag found: construct path, rule, description."""
        # Many institutions are synthesised in shares, each with a report of its own.
        folders = {self.folder, *(folder for folder, _ in artifacts_of(self.folder))}
        return frozenset(found for folder in folders for found in _violations(folder))


def _violations(folder: Path) -> Iterator[tuple[str, str, str]]:
    report = folder / "validation-report.json"
    if not report.exists():
        return
    with reading(report):
        for plugin in read_object(report).get("pluginReports") or []:
            for violation in plugin.get("violations") or []:
                rule, description = violation["ruleName"], violation["description"]
                for construct in violation.get("violatingConstructs") or []:
                    # The CDK does not know the construct of every resource.
                    yield construct.get("constructPath") or "", rule, description


def read(folder: Path) -> Assembly:
    """Read an assembly, with the assemblies of stages inside it.

    Raises:
        AssemblyError: A file of it is not what the CDK writes.
    """
    stacks: dict[str, Stack] = {}
    for stack in _stacks(folder.resolve()):
        # Two stages may have a stack of one name, each in an account of its own.
        name = stack.name if stack.name not in stacks else f"{stack.name} of {stack.environment}"
        while name in stacks:
            name += "+"
        stacks[name] = replace(stack, name=name)
    return Assembly(folder, stacks)


def _stacks(assembly: Path) -> Iterator[Stack]:
    for folder, artifact in artifacts_of(assembly):
        if artifact["type"] == "aws:cloudformation:stack":
            with reading(folder / "manifest.json"):
                file = folder / artifact["properties"]["templateFile"]
                stack = _stack(folder, artifact, file)
            yield from _with_inner(stack, file, {})


def _stack(folder: Path, artifact: Mapping[str, Any], file: Path) -> Stack:
    """Return a stack without its template."""
    properties = artifact["properties"]
    name = properties.get("stackName") or artifact["displayName"]
    tags = properties.get("tags") or {}
    paths, acknowledged = _said(metadata_of(folder, artifact))
    return Stack(
        name=name,
        institution=tags.get(INSTITUTION_TAG, name),
        environment=artifact.get("environment") or "",
        template={},
        paths=paths,
        acknowledged=acknowledged,
        protected=bool(properties.get("terminationProtection")),
        tags=tags,
        assets=_assets(file),
    )


NESTED = "AWS::CloudFormation::Stack"
ELSEWHERE = ("AWS::CloudFormation::StackSet", "::MODULE")
"""How types end that make resources which no template here shows."""


def _with_inner(
    stack: Stack, file: Path, given: Mapping[str, Any], around: frozenset[str] = frozenset()
) -> Iterator[Stack]:
    """Yield a stack with its template, and those that it has inside it.

    Args:
        stack: The stack, without a template.
        file: Its template.
        given: What the stack around it gives to its parameters.
        around: The templates that it is in.
    """
    own = os.path.realpath(file)
    if own in around:
        raise AssemblyError(f"{file} holds a stack that it is in; run cdk synth again")
    with reading(file):
        stack, inner = _read(stack, file, given)
    yield stack
    for each in inner:
        yield from _with_inner(*each, around | {own})


Inner = tuple[Stack, Path, Mapping[str, Any]]


def _read(stack: Stack, file: Path, given: Mapping[str, Any]) -> tuple[Stack, list[Inner]]:
    """Return a stack with its template, and what `_with_inner` takes of those inside it."""
    template: Template = read_object(file)
    parameters = dict(template.get("Parameters") or {})
    for name, value in given.items():
        if isinstance(value, str | int) and isinstance(parameters.get(name), dict):
            parameters[name] = {**parameters[name], "Default": value}
    template = resolved({**template, "Parameters": parameters}, _region(stack.environment))
    unread = list(_unread(template, file))
    inner: list[Inner] = []
    for id, resource in template["Resources"].items():
        if resource["Type"].endswith(ELSEWHERE):
            unread.append(f"{stack.paths.get(id, id)}, {resource['Type']}")
        if resource["Type"] != NESTED:
            continue
        name = f"{stack.name}/{stack.paths.get(id, id)}"
        path = (resource.get("Metadata") or {}).get("aws:asset:path")
        if path and (file.parent / path).is_file():
            own = replace(stack, name=name, parent=stack.name, acknowledged={}, assets={})
            passed = resource.get("Properties", {}).get("Parameters", {})
            inner.append((own, file.parent / path, passed))
        else:
            unread.append(f"the template of {name} is not in the assembly")
    return replace(stack, template=template, unread=tuple(unread)), inner


def _unread(template: Template, file: Path) -> Iterator[str]:
    """Yield what makes another template of this one, and only in the deployment."""
    given = template.get("Transform") or []
    macros = [str(each) for each in (given if isinstance(given, list) else [given])]
    yield from (f"macro {each}" for each in macros if each != "AWS::LanguageExtensions")
    text = file.read_bytes()
    for name, words in (("Fn::Transform", "a macro inside"), ("Fn::ForEach", "a loop")):
        if f'"{name}'.encode() in text:
            yield f"{words}, {name}"


def _region(environment: str) -> str:
    region = environment.rpartition("/")[2]
    return "" if region.startswith("unknown") else region


def _said(
    metadata: Mapping[str, Mapping[str, list[Any]]],
) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return the paths by logical id, and the acknowledged rules with their reasons."""
    paths: dict[str, str] = {}
    acknowledged: dict[tuple[str, str], str] = {}
    for construct, kinds in metadata.items():
        path = construct.strip("/").partition("/")[2]
        path = _INNER.sub("", path) or construct.strip("/")
        paths |= {str(id): path for id in kinds.get("aws:cdk:logicalId", [])}
        acknowledged |= {(path, rule): why for rule, why in acknowledged_in(kinds).items()}
    return paths, acknowledged


def _assets(template: Path) -> dict[str, Path]:
    folder = template.parent
    manifest = folder / template.name.replace(".template.json", ".assets.json")
    if manifest == template or not manifest.exists():
        return {}
    with reading(manifest):
        files = (read_object(manifest).get("files") or {}).values()
        return {
            asset.get("displayName") or asset["source"]["path"]: folder / asset["source"]["path"]
            for asset in files
            if not asset["source"].get("path", ".template.json").endswith(".template.json")
        }


def asset_texts(stacks: Mapping[str, Stack]) -> dict[str, str]:
    """Return what the stacks ship and people read, by the path of the construct that ships it."""
    texts: dict[str, str] = {}
    for stack in stacks.values():
        for name, path in stack.assets.items():
            files = [path] if path.is_file() else sorted(path.rglob("*"))
            for file in files:
                if file.suffix in READABLE and file.stat().st_size <= LARGEST_ASSET_BYTES:
                    inside = f"/{file.relative_to(path).as_posix()}" if file != path else ""
                    suffix = inside or file.suffix
                    texts[name + suffix] = file.read_text(encoding="utf-8", errors="replace")
    return texts
