"""``scripts/review.sh`` in a small repository, with the real git and an app that is quick."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

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
    for name in ("review.sh", "render_each.py"):
        shutil.copy(ROOT / "scripts" / name, folder / "scripts")
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
    assert seen[3:11] == [
        "--markdown",
        f"{repository}/out/review.md",
        "--html",
        f"{repository}/out/review.html",
        "--accept",
        "orphan-data",
        "old assembly",
        "new assembly",
    ]
    assert "kait/cluster-config.yaml" in seen
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


def test_a_file_that_is_not_right_says_why_and_stops(repository: Path) -> None:
    (repository / "institutions" / "kait.yaml").write_text("name: kait\n")
    git(repository, "commit", "--quiet", "-am", "wrong")
    done = call(repository, "old..HEAD", "out")
    assert done.returncode == 1
    assert "institutions/kait.yaml:1: account: required, but not given" in done.stderr
    assert not (repository.parent / "seen").exists()


def step(name: str) -> str:
    """Return the script of one step of the workflow."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "review.yml").read_text())
    steps = workflow["jobs"]["review"]["steps"]
    return str(next(each["run"] for each in steps if each.get("name") == name))


def workflow_step(folder: Path, labels: list[str], base: str, head: str) -> dict[str, str]:
    """Run the workflow's own step for a pull request; return what it tells the next ones."""
    call(folder, "new..new", "unused")
    told = {name: folder.parent / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    commits = {
        name: subprocess.run(
            ["git", "rev-parse", ref], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()
        for name, ref in (("BASE", base), ("HEAD", head))
    }
    environment = {
        **os.environ,
        **commits,
        **{name: str(path) for name, path in told.items()},
        "PATH": f"{folder.parent / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SEEN": str(folder.parent / "seen"),
        "LABELS": json.dumps(labels),
    }
    # GitHub runs a step like this where no shell is named.
    subprocess.run(["bash", "-e", "-c", step("Review")], cwd=folder, env=environment, check=True)
    return {name: path.read_text() for name, path in told.items() if path.exists()}


def test_the_workflow_reviews_a_branch_since_it_left_and_takes_labels(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "main-moved-on", "new")
    (repository / "VERSION").write_text("newer assembly\n")
    git(repository, "commit", "--quiet", "-am", "newer")
    git(repository, "checkout", "--quiet", "-b", "feature", "new")
    (repository / "VERSION").write_text("feature assembly\n")
    git(repository, "commit", "--quiet", "-am", "feature")
    labels = ["accept: orphan-data", "bug", "accept: lose-data:kait-foundation/Storage"]
    told = workflow_step(repository, labels, "main-moved-on", "feature")
    assert told["GITHUB_OUTPUT"] == "code=2\n"
    seen = (repository.parent / "seen").read_text().splitlines()
    assert seen[7:11] == [
        "--accept=orphan-data",
        "--accept=lose-data:kait-foundation/Storage",
        "new assembly",
        "feature assembly",
    ]


def test_the_workflow_without_labels_accepts_nothing(repository: Path) -> None:
    assert workflow_step(repository, [], "old", "new")["GITHUB_OUTPUT"] == "code=2\n"
    assert "--accept" not in (repository.parent / "seen").read_text()


def test_the_workflow_ends_as_the_review_did_once_it_has_commented() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "review.yml").read_text())
    steps = workflow["jobs"]["review"]["steps"]
    last = steps[-1]
    assert "gh pr comment" in steps[-2]["run"]
    assert last["if"] == "steps.review.outputs.code != '0'"
    assert last["env"] == {"CODE": "${{ steps.review.outputs.code }}"}
    assert not any(each.get("continue-on-error") for each in steps)
    environment = {**os.environ, "CODE": "2"}
    assert subprocess.run(["bash", "-e", "-c", last["run"]], env=environment).returncode == 2


@pytest.mark.parametrize("range", ["new", "..new", "old.."])
def test_what_is_no_range_is_refused(repository: Path, range: str) -> None:
    done = call(repository, range, "out")
    assert done.returncode == 1
    assert done.stderr == f"review: {range} is no range of commits; write BASE..HEAD\n"
