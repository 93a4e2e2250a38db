"""docs/kait.md names every setting of slurm.conf that is not as published."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from trainshed.cli.render import rendered
from trainshed.config import load

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "tests" / "unit" / "slurm" / "seed-slurm-settings.conf"


def published() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the published settings, and the published partitions by name."""
    settings: dict[str, str] = {}
    partitions: dict[str, dict[str, str]] = {}
    for line in PUBLISHED.read_text().splitlines():
        pairs = dict(pair.split("=", 1) for pair in line.split("#")[0].split())
        if "PartitionName" in pairs:
            partitions[pairs.pop("PartitionName")] = pairs
        else:
            settings |= pairs
    return settings, partitions


def ours() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the same of the cluster configuration."""
    files = dict(rendered(load(ROOT / "institutions" / "kait.yaml")))
    scheduling = yaml.safe_load(files["cluster-config.yaml"])["Scheduling"]
    settings: dict[str, str] = {}
    partitions: dict[str, dict[str, str]] = {}
    for line in scheduling["SlurmSettings"]["CustomSlurmSettings"]:
        pairs = {key: str(value) for key, value in line.items()}
        if "PartitionName" in pairs:
            partitions[pairs.pop("PartitionName")] = pairs
        else:
            settings |= pairs
    return settings, partitions


def spoken() -> set[str]:
    """Return the settings that the document speaks of; ``A, -B`` is short for A and its like."""
    text = (ROOT / "docs" / "kait.md").read_text().partition("## Slurm settings")[2]
    cells = re.findall(r"^\| ([A-Z][^|`]*?) \|", text, re.MULTILINE)
    names = set()
    for cell in cells:
        first, *others = cell.removeprefix("Partitions: ").split(", ")
        prefix = next(
            (p for p in ("AccountingStorage", "PriorityWeight", "Priority") if first.startswith(p)),
            "",
        )
        names |= {first, *(f"{prefix}{o[1:]}" if o.startswith("-") else o for o in others)}
    return names


def test_every_setting_that_differs_is_documented() -> None:
    theirs, _ = published()
    mine, _ = ours()
    lower = {key.lower(): value for key, value in mine.items()}
    differing = {key for key, value in theirs.items() if lower.get(key.lower()) != value}
    known = {key.lower() for key in theirs}
    differing |= {key for key in mine if key.lower() not in known}
    assert {key.lower() for key in differing} <= {name.lower() for name in spoken()}


def test_every_attribute_of_a_partition_that_differs_is_documented() -> None:
    _, theirs = published()
    _, mine = ours()
    assert set(theirs) == set(mine)
    replaced = {
        "QOS": "AllowQOS",
        "AllowAccounts": "AllowQOS",
        "PriorityTier": "Priority",
        "PriorityJobFactor": "Priority",
    }
    # Written out as slurmctld has them anyway.
    defaults = {"RootOnly": "NO", "Hidden": "NO"}
    differing = set()
    for name, partition in mine.items():
        for key, value in partition.items():
            if theirs[name].get(key) != value and defaults.get(key) != value:
                differing.add(replaced.get(key, key))
    assert differing <= spoken()


def test_times_and_priorities_are_the_published_ones() -> None:
    _, theirs = published()
    _, mine = ours()
    for name, partition in theirs.items():
        assert mine[name]["MaxTime"] == partition["MaxTime"]
        assert mine[name]["PriorityTier"] == partition["Priority"]
        assert mine[name]["Default"] == partition["Default"]
