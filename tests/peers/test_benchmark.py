"""What the benchmark compares is alike, and what makes synthesis cheap stays. Nothing is timed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import synth
from benchmarks.measure import ROOT, environment, measure

pytestmark = pytest.mark.slow

# Calls to the CDK's Node process for each further institution, over those of the plain app. What
# is above 1 is mostly acknowledged findings, each with its reason, which the plain app leaves out,
# and a VPC of plain resources, which needs no lookup.
MOST_CALLS = 1.15


@pytest.fixture(scope="session")
def assemblies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The assemblies of the benchmark for one institution."""
    work = tmp_path_factory.mktemp("benchmark")
    repeated, _ = synth.variants(work, 1)
    for variant in repeated:
        if variant.name in (synth.OURS, synth.PLAIN):
            measure(variant)
    return work / "assemblies-1"


def test_the_plain_app_makes_the_same_resources(assemblies: Path) -> None:
    assert synth.differences(assemblies / "ours", assemblies / "plain") == []


def test_a_missing_resource_is_seen(assemblies: Path, tmp_path: Path) -> None:
    for side in ("ours", "plain"):
        shutil.copytree(assemblies / side, tmp_path / side)
    template = tmp_path / "ours" / "kait-1-foundation.template.json"
    content = json.loads(template.read_text())
    bucket = next(k for k, r in content["Resources"].items() if r["Type"] == "AWS::S3::Bucket")
    del content["Resources"][bucket]
    template.write_text(json.dumps(content, indent=1))
    assert synth.differences(tmp_path / "ours", tmp_path / "plain") == [
        "kait-1-foundation: 0 of AWS::S3::Bucket, plain has 1"
    ]


def test_an_empty_assembly_is_not_alike(tmp_path: Path) -> None:
    for side in ("ours", "plain"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "manifest.json").write_text('{"artifacts": {}}')
    assert synth.differences(tmp_path / "ours", tmp_path / "plain")


def test_the_benchmark_synthesises_what_app_py_does(tmp_path: Path) -> None:
    folder = tmp_path / "institutions"
    folder.mkdir()
    shutil.copy(ROOT / "institutions" / "kait.yaml", folder)
    context = {"CDK_CONTEXT_JSON": '{"institution": "kait"}'}
    for name, command in (
        ("app", [sys.executable, "app.py"]),
        ("benchmark", [sys.executable, "-m", "benchmarks.our_app", str(folder)]),
    ):
        settings = environment(assembly=tmp_path / name) | context
        done = subprocess.run(
            command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    for template in (tmp_path / "app").glob("*.template.json"):
        assert template.read_text() == (tmp_path / "benchmark" / template.name).read_text()


def test_validate_of_a_right_file_imports_nothing_heavy() -> None:
    code = (
        "import sys; from trainshed.cli import entry; "
        "sys.argv[1:] = ['validate', 'institutions/kait.yaml']; assert entry() == 0; "
        "heavy = 'aws_cdk', 'jsii', 'constructs', 'boto3', 'jsonschema', 'importlib.metadata'; "
        "print([module for module in heavy if module in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_institution_takes_few_calls_to_the_cdk(tmp_path: Path) -> None:
    calls = {}
    for count in (1, 2):
        synth.write_institutions(tmp_path / f"{count}", count)
        ours = synth.jsii_calls("benchmarks.our_app", str(tmp_path / f"{count}"), tmp_path / "o")
        plain = synth.jsii_calls("benchmarks.plain_app", str(count), tmp_path / "p")
        calls[count] = (ours.total(), plain.total())
    ours_each, plain_each = (calls[2][side] - calls[1][side] for side in (0, 1))
    assert ours_each <= plain_each * MOST_CALLS, f"{ours_each} calls, {plain_each} of the plain app"
