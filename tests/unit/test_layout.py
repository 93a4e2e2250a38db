"""What the folders and imports promise."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_constructs_folder_does_not_hide_the_constructs_package() -> None:
    spec = find_spec("constructs")
    assert spec is not None and spec.origin is not None
    assert Path(spec.origin).parent != ROOT / "constructs", "delete constructs/__init__.py"


def test_source_roots_have_no_init_file() -> None:
    roots = [ROOT / "constructs", *(p for p in (ROOT / "tests").rglob("*") if p.is_dir())]
    assert not [root for root in roots if (root / "__init__.py").exists()]


@pytest.mark.parametrize(
    "module",
    [
        "trainshed",
        "trainshed.config",
        "trainshed.facts",
        "trainshed.health",
        "trainshed.pcluster",
        "trainshed.slurm",
        "trainshed.slurm_fleet",
    ],
)
def test_the_ground_floor_does_not_import_the_cdk(module: str) -> None:
    code = f"import {module}, sys; print({{'aws_cdk', 'jsii', 'boto3'}} & set(sys.modules))"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert output.stdout.strip() == "set()"


def test_nothing_imports_upward() -> None:
    layers = ["records", "facts", "config", "health", "slurm", "slurm_fleet", "pcluster"]
    ground = [ROOT / "constructs" / "trainshed" / layer for layer in layers]
    files = [file for place in ground for file in place.rglob("*.py")]
    assert files
    upward = [
        f"{file.relative_to(ROOT)}: {line}"
        for file in files
        for line in file.read_text().splitlines()
        if line.startswith(("import aws_cdk", "from aws_cdk", "from constructs", "from stacks"))
    ]
    assert not upward


def test_types_of_records_are_read_once() -> None:
    package = ROOT / "constructs" / "trainshed"
    texts = [file.read_text() for file in package.rglob("*.py")]
    records = [text for text in texts if re.search(r"^class \w+\(Record\):", text, re.M)]
    assert len(records) > 10
    assert not [text[:80] for text in records if "from __future__ import annotations" in text]


def test_no_file_is_longer_than_a_reader_holds() -> None:
    sources = [*(ROOT / "constructs").rglob("*.py"), *(ROOT / "stacks").rglob("*.py")]
    long = {p.name: n for p in sources if (n := len(p.read_text().splitlines())) > 320}
    assert not long
