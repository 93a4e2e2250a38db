"""``scripts/review.sh`` in a small repository, with the real git and an app that is quick."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.review.assemblies import KAIT, ROOT

APP = """
import os
from pathlib import Path

out = Path(os.environ["CDK_OUTDIR"])
out.mkdir(parents=True)
(out / "manifest.json").write_text(Path("VERSION").read_text())
"""
# Stands for the command: says what it was given and what lies there, and ends as a review may.
COMMAND = """#!/usr/bin/env bash
printf '%s\\n' "$@" >"$SEEN"
cat "$2/manifest.json" "$3/manifest.json" >>"$SEEN"
find "$3/rendered" -type f -printf '%P\\n' | sort >>"$SEEN"
exit 2
"""
USER = ["-c", "user.name=t", "-c", "user.email=t@example.edu", "-c", "commit.gpgsign=false"]


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *USER, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits, ``old`` and ``new``."""
    folder = tmp_path / "repository"
    (folder / "institutions").mkdir(parents=True)
    (folder / "scripts").mkdir()
    shutil.copy(KAIT, folder / "institutions")
    shutil.copy(ROOT / "scripts" / "review.sh", folder / "scripts")
    (folder / "app.py").write_text(APP)
    git(folder, "init", "--quiet")
    for name in ("old", "new"):
        (folder / "VERSION").write_text(f"{name} assembly\n")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", name)
        git(folder, "tag", name)
    return folder


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    commands = folder.parent / "bin"
    commands.mkdir(exist_ok=True)
    (commands / "trainshed").write_text(COMMAND)
    (commands / "trainshed").chmod(0o755)
    return subprocess.run(
        [folder / "scripts" / "review.sh", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "SEEN": str(folder.parent / "seen"),
        },
        capture_output=True,
        text=True,
    )


def test_both_commits_are_synthesised_and_compared(repository: Path) -> None:
    done = call(repository, "old..new", "out", "--accept", "orphan-data")
    assert done.returncode == 2, done.stderr
    seen = (repository.parent / "seen").read_text().splitlines()
    assert seen[0] == "review"
    assert seen[3:] == [
        "--markdown",
        f"{repository}/out/review.md",
        "--html",
        f"{repository}/out/review.html",
        "--accept",
        "orphan-data",
        "old assembly",
        "new assembly",
        "kait/cluster-config.yaml",
        *[line for line in seen if line.startswith("kait/") and "cluster-config" not in line],
    ]
    assert "kait/institution.yaml" in seen


def test_nothing_is_left_behind(repository: Path) -> None:
    call(repository, "old..new", "out")
    trees = subprocess.run(
        ["git", "worktree", "list"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert len(trees.stdout.splitlines()) == 1
    work = Path((repository.parent / "seen").read_text().splitlines()[1]).parents[1]
    assert not work.exists()


def test_three_dots_start_where_the_branch_left(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "other", "old")
    (repository / "VERSION").write_text("other assembly\n")
    git(repository, "commit", "--quiet", "-am", "other")
    call(repository, "other...new", "out")
    assert "old assembly" in (repository.parent / "seen").read_text()


@pytest.mark.parametrize("range", ["new", "..new", "old.."])
def test_what_is_no_range_is_refused(repository: Path, range: str) -> None:
    done = call(repository, range, "out")
    assert done.returncode == 1
    assert done.stderr == f"review: {range} is no range of commits; write BASE..HEAD\n"
