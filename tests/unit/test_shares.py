"""How institutions are shared out among processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stacks.shares import FEWEST_A_SHARE, MOST_A_SHARE, cut
from trainshed.cli.check import stack_templates

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("institutions", "shares"), [(1, 1), (10, 1), (11, 2), (50, 2), (51, 4), (100, 4)]
)
def test_how_many_shares_there_are(institutions: int, shares: int) -> None:
    assert len(cut([str(number) for number in range(institutions)])) == shares


@pytest.mark.parametrize("institutions", range(1, 130))
def test_every_institution_is_in_one_share_and_shares_are_even(institutions: int) -> None:
    names = [str(number) for number in range(institutions)]
    shares = cut(names)
    assert [name for share in shares for name in share] == names
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= MOST_A_SHARE
    assert len(shares) == 1 or min(sizes) >= FEWEST_A_SHARE // 2


def app_of(folder: Path, count: int) -> Path:
    """An app of its own: the repository's app.py beside other institutions."""
    (folder / "institutions").mkdir()
    minimal = (ROOT / "institutions" / "minimal.yaml").read_text()
    for number in range(count):
        text = minimal.replace("name: minimal", f"name: uni-{number}")
        (folder / "institutions" / f"uni-{number}.yaml").write_text(text)
    app = folder / "app.py"
    app.write_text((ROOT / "app.py").read_text())
    return app


def run(app: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(app)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "CDK_OUTDIR": str(app.parent / "out")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_many_institutions_end_in_one_assembly_with_all_their_stacks(tmp_path: Path) -> None:
    done = run(app_of(tmp_path, 11))
    assert done.returncode == 0, done.stderr
    stacks = {template.name for template in stack_templates(tmp_path / "out")}
    assert stacks == {f"uni-{n}-{kind}" for n in range(11) for kind in ("foundation", "cluster")}
    listed = subprocess.run(
        ["cdk", "list", "--no-notices", "--app", str(tmp_path / "out")],
        env={**os.environ, "CDK_DISABLE_CLI_TELEMETRY": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(listed.stdout.split()) == len(stacks)
    # Nothing looks for the tree of an assembly in another.
    assert not list((tmp_path / "out").rglob("tree.json"))


@pytest.mark.slow
def test_a_share_that_fails_fails_the_synthesis_with_its_words(tmp_path: Path) -> None:
    app = app_of(tmp_path, 11)
    app.write_text(app.read_text().replace("synthesise(institutions)", "raise SystemExit(names)"))
    done = run(app)
    assert done.returncode == 1
    assert "NameError: name 'names' is not defined" in done.stderr
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_faulty_file_among_many_stops_all(tmp_path: Path) -> None:
    app = app_of(tmp_path, 11)
    (tmp_path / "institutions" / "uni-3.yaml").write_text("name: uni-3\n")
    done = run(app)
    assert done.returncode == 1
    assert "uni-3.yaml:1: account: required, but not given" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_manifest_of_shares_nests_assemblies(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        stack = {
            "type": "aws:cloudformation:stack",
            "environment": "aws://unknown-account/unknown-region",
            "displayName": name,
            "properties": {"templateFile": f"{name}.json"},
        }
        (folder / "manifest.json").write_text(json.dumps({"artifacts": {name: stack}}))
    nested = {
        name: {"type": "cdk:cloud-assembly", "properties": {"directoryName": name}}
        for name in ("one", "two")
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": nested}))
    assert [template.path for template in stack_templates(tmp_path)] == [
        tmp_path / "one" / "one.json",
        tmp_path / "two" / "two.json",
    ]


def test_assertions_are_dropped_for_many_institutions_alone(tmp_path: Path) -> None:
    (tmp_path / "aws_cdk.py").write_text("")
    (tmp_path / "aws_cdk.py").with_name("__pycache__").mkdir()
    version = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    compiled = tmp_path / "__pycache__" / f"aws_cdk.{version}.opt-1.pyc"
    run = "import sys; from stacks.shares import _drop_assertions as drop; "
    run += "drop(); print(sys.flags.optimize, sys.argv)"

    def flags() -> str:
        return subprocess.run(
            [sys.executable, "-c", run, "argument"],
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert flags() == "0 ['-c', 'argument']\n"
    compiled.write_bytes(b"")
    assert flags() == "1 ['-c', 'argument']\n"
