"""Small assemblies, written as the CDK writes them, from the golden templates of KAIT."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from trainshed.review import Review, review

ROOT = Path(__file__).parents[3]
TEMPLATES = ROOT / "tests" / "golden" / "templates"
KAIT = ROOT / "institutions" / "kait.yaml"
FOUNDATION, CLUSTER = "kait-foundation", "kait-cluster"

Template = dict[str, Any]
Stacks = dict[str, Template]
Config = dict[str, Any]


def kait() -> Stacks:
    """The two stacks of KAIT."""
    names = (FOUNDATION, CLUSTER)
    return {name: json.loads((TEMPLATES / f"{name}.json").read_text()) for name in names}


def kait_text() -> str:
    """The file of KAIT without its policy, so that a row changes nothing beside its key."""
    return re.sub(r"(?s)\n  accounting:.*?(?=\n  monitoring:)", "", KAIT.read_text())


def of_type(template: Template, resource_type: str, part: str = "") -> Template:
    """Return the one resource of a type, with a part of its logical id where there are several."""
    (found,) = [
        resource
        for id, resource in template["Resources"].items()
        if resource["Type"] == resource_type and part in id
    ]
    return found  # type: ignore[no-any-return]


def id_of(template: Template, resource_type: str, part: str = "") -> str:
    """Return the logical id of the one resource of a type."""
    (found,) = [
        id
        for id, resource in template["Resources"].items()
        if resource["Type"] == resource_type and part in id
    ]
    return str(found)


def write(
    folder: Path,
    stacks: Mapping[str, Template],
    *,
    institution: str = "kait",
    metadata: Mapping[str, Any] | None = None,
    protected: bool = True,
    rendered: Mapping[str, str] | None = None,
    report: Mapping[str, Any] | None = None,
) -> Path:
    """Write an assembly and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    artifacts = {}
    for name, template in stacks.items():
        (folder / f"{name}.template.json").write_text(json.dumps(template))
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "environment": "aws://111122223333/ap-northeast-2",
            "displayName": name,
            "properties": {
                "templateFile": f"{name}.template.json",
                "terminationProtection": protected,
                "tags": {"trainshed:institution": institution},
            },
            "metadata": metadata or {},
        }
    (folder / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
    for file, text in (rendered or {}).items():
        path = folder / "rendered" / institution / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if report:
        (folder / "validation-report.json").write_text(json.dumps(report))
    return folder


def changed(folder: Path, change: Callable[[Stacks], object], **options: Any) -> Review:
    """Review KAIT before and after a change of its stacks."""
    base, head = kait(), kait()
    change(head)
    return review(write(folder / "base", base), write(folder / "head", head), **options)


def configured(folder: Path, change: Callable[[Config], object], **base: Any) -> Review:
    """Review a cluster before and after a change of its configuration."""
    before = configuration()
    before["Scheduling"]["SlurmSettings"].update(base)
    after = copy.deepcopy(before)
    change(after)
    return review(
        write(folder / "base", {CLUSTER: cluster_stack(before)}),
        write(folder / "head", {CLUSTER: cluster_stack(after)}),
    )


def configuration() -> Config:
    """The seed's configuration, as this library's peer rig has it."""
    path = ROOT / "tests" / "peers" / "pcluster" / "fixtures" / "kait.yaml"
    config: Config = yaml.safe_load(path.read_text())
    config["HeadNode"].setdefault("Ssh", {})["AllowedIps"] = "10.0.0.0/8"
    return config


def cluster_stack(config: Config) -> Template:
    """A stack of nothing but a cluster."""
    properties = {
        "ServiceToken": "arn:aws:lambda:ap-northeast-2:111122223333:function:provider",
        "ClusterName": "kait",
        "ClusterConfiguration": json.dumps(config),
        "RemovalPolicy": "retain",
    }
    cluster = {"Type": "Custom::TrainshedParallelCluster", "Properties": properties}
    return {"Resources": {"Cluster": cluster}}
