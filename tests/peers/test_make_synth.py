"""`make synth`, as the README gives it."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from tests import examples

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def make_synth(assembly: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it with no Node on PATH but the environment's own, and no word of AWS."""
    kept = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return subprocess.run(
        ["make", "synth", f"ASSEMBLY={assembly}", *arguments],
        cwd=ROOT,
        env={**kept, "AWS_EC2_METADATA_DISABLED": "true"},
        capture_output=True,
        text=True,
        check=False,
    )


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def git_status() -> str:
    return subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def test_it_names_both_stacks_and_a_second_run_changes_no_byte(tmp_path: Path) -> None:
    before = git_status()
    assembly = tmp_path / "cdk.out"
    first = make_synth(assembly)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "kait-foundation" in first.stdout
    assert "kait-cluster" in first.stdout
    assert f"{assembly}/rendered/kait/cluster-config.yaml" in first.stdout
    made = digests(assembly)
    assert make_synth(assembly).returncode == 0
    assert digests(assembly) == made
    assert git_status() == before


def test_no_end_of_life_banner_is_shown(tmp_path: Path) -> None:
    done = make_synth(tmp_path / "cdk.out", "INSTITUTION=minimal")
    assert done.returncode == 0
    assert "end-of-life" not in (done.stdout + done.stderr).lower()


def test_an_unknown_institution_is_refused_with_those_there_are(tmp_path: Path) -> None:
    done = make_synth(tmp_path / "cdk.out", "INSTITUTION=kiat")
    assert done.returncode != 0
    assert "there is no institutions/kiat.yaml" in done.stderr
    assert {*examples.NAMES} <= {*done.stderr.split()}
