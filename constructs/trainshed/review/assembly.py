"""A synthesised assembly, as far as a review reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .values import INSTITUTION_TAG

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

    @property
    def region(self) -> str:
        """Its Region; Virginia where it is not known before the deployment."""
        region = self.environment.rpartition("/")[2]
        return "us-east-1" if not region or region.startswith("unknown") else region

    @property
    def resources(self) -> Mapping[str, Any]:
        """Logical id -> resource."""
        found: Mapping[str, Any] = self.template.get("Resources", {})
        return found

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
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_text() for path in files}

    @cached_property
    def violations(self) -> frozenset[tuple[str, str, str]]:
        """What validation plugins such as cdk-nag found: construct path, rule, description."""
        report = self.folder / "validation-report.json"
        if not report.exists():
            return frozenset()
        return frozenset(
            (construct["constructPath"], violation["ruleName"], violation["description"])
            for plugin in json.loads(report.read_text()).get("pluginReports", [])
            for violation in plugin.get("violations", [])
            for construct in violation.get("violatingConstructs", [])
        )


def read(folder: Path) -> Assembly:
    """Read an assembly, with the assemblies of stages inside it."""
    return Assembly(folder, {stack.name: stack for stack in _stacks(folder)})


def _stacks(folder: Path) -> Iterator[Stack]:
    manifest = json.loads((folder / "manifest.json").read_text())
    for artifact in manifest["artifacts"].values():
        properties = artifact.get("properties", {})
        if artifact["type"] == "cdk:cloud-assembly":
            yield from _stacks(folder / properties["directoryName"])
        elif artifact["type"] == "aws:cloudformation:stack":
            yield _stack(folder, artifact, properties)


def _stack(folder: Path, artifact: Template, properties: Template) -> Stack:
    name = properties.get("stackName") or artifact["displayName"]
    tags = properties.get("tags", {})
    paths, acknowledged = _said(_metadata(folder, artifact))
    return Stack(
        name=name,
        institution=tags.get(INSTITUTION_TAG, name),
        environment=artifact.get("environment", ""),
        template=json.loads((folder / properties["templateFile"]).read_text()),
        paths=paths,
        acknowledged=acknowledged,
        protected=bool(properties.get("terminationProtection")),
        tags=tags,
        assets=_assets(folder, properties["templateFile"]),
    )


def _metadata(folder: Path, artifact: Template) -> Template:
    found: Template = artifact.get("metadata", {})
    if "additionalMetadataFile" in artifact:
        found = json.loads((folder / artifact["additionalMetadataFile"]).read_text())
    return found


def _said(metadata: Template) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return the paths by logical id, and the acknowledged rules with their reasons."""
    paths: dict[str, str] = {}
    acknowledged: dict[tuple[str, str], str] = {}
    for construct, entries in metadata.items():
        path = construct.strip("/").partition("/")[2]
        path = _INNER.sub("", path) or construct.strip("/")
        for entry in entries:
            if entry["type"] == "aws:cdk:logicalId":
                paths[entry["data"]] = path
            elif entry["type"] == "aws:cdk:acknowledged-rules":
                reasons = entry["data"].items()
                acknowledged |= {(path, rule): str(reason) for rule, reason in reasons}
    return paths, acknowledged


def _assets(folder: Path, template_file: str) -> dict[str, Path]:
    manifest = folder / template_file.replace(".template.json", ".assets.json")
    if not manifest.exists():
        return {}
    files = json.loads(manifest.read_text()).get("files", {}).values()
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
                    texts[name + suffix] = file.read_text(errors="replace")
    return texts
