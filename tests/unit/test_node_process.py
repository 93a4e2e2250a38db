"""The way from Python to Node without a process in between."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from stacks.node_process import RUNTIME, talk_to_node_directly

ROOT = Path(__file__).parents[2]
PROGRAM = Path("_embedded/jsii/lib__program.js")
WORKER = Path("_embedded/jsii/lib__runtime-index-worker.js")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # Set, then deleted: what the function itself sets is taken back as well.
    for name in ("JSII_RUNTIME", "TRAINSHED_JSII_PROGRAM", "NODE_PRESERVE_SYMLINKS"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def jsii_at(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> None:
    """Have jsii found in a folder, with these files of its own."""
    for name, text in files.items():
        path = folder / {"program": PROGRAM, "worker": WORKER}[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    spec = ModuleSpec("jsii", None, origin=str(folder / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)


def test_the_jsii_that_is_locked_is_talked_to_directly() -> None:
    assert talk_to_node_directly()
    assert os.environ["JSII_RUNTIME"] == str(RUNTIME)
    folder = Path(os.environ["TRAINSHED_JSII_PROGRAM"]).parent
    assert sorted(path.name for path in folder.iterdir()) == [
        "program.js",
        "runtime-index-worker.js",
    ]


def test_a_runtime_of_the_users_own_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JSII_RUNTIME", "/mine.js")
    assert not talk_to_node_directly()
    assert os.environ["JSII_RUNTIME"] == "/mine.js"


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({}, id="no program"),
        pytest.param({"program": "readFD:3,writeFD:3"}, id="no worker"),
        pytest.param({"program": "readFD:0,writeFD:1", "worker": ""}, id="another channel"),
    ],
)
def test_a_jsii_of_another_make_works_in_its_own_way(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jsii_at(tmp_path, monkeypatch, **files)
    assert not talk_to_node_directly()
    assert "JSII_RUNTIME" not in os.environ


def test_what_the_program_prints_is_no_message(tmp_path: Path) -> None:
    program = tmp_path / "program.js"
    program.write_text(
        'const fs = require("fs");\n'
        'console.log("printed");\n'
        "const line = Buffer.alloc(100);\n"
        "const length = fs.readSync(3, line, 0, 100, null);\n"
        'fs.writeSync(3, "answer to " + line.toString("utf-8", 0, length));\n'
    )
    done = subprocess.run(
        [os.environ["JSII_NODE"], RUNTIME],
        env={**os.environ, "TRAINSHED_JSII_PROGRAM": str(program)},
        input="question\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("answer to question\n", "printed\n")


def test_the_package_of_the_cdk_is_linked_and_not_copied(tmp_path: Path) -> None:
    code = (
        "from stacks.node_process import talk_to_node_directly\n"
        "assert talk_to_node_directly()\n"
        "import aws_cdk, pathlib, sys\n"
        "found = pathlib.Path(sys.argv[1]).glob('jsii-kernel-*/node_modules/aws-cdk-lib')\n"
        "print([path.is_symlink() for path in found])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[True]\n"


def test_the_assembly_is_the_same_either_way_and_nothing_is_left(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    settings = {
        **os.environ,
        "CDK_VALIDATION": "false",
        "CDK_CONTEXT_JSON": '{"institution": "minimal"}',
        "TMPDIR": str(temporary),
    }
    embedded = Path(str(importlib.util.find_spec("jsii").origin)).parent / "_embedded" / "jsii"  # type: ignore[union-attr]
    own = tmp_path / "jsii"
    for name in ("bin__jsii-runtime.js", "lib__program.js", "lib__runtime-index-worker.js"):
        target = own / name.replace("__", "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(embedded / name, target)
    for name, extra in (
        ("ours", {}),
        ("jsii", {"JSII_RUNTIME": str(own / "bin" / "jsii-runtime.js")}),
    ):
        done = subprocess.run(
            [sys.executable, "app.py"],
            cwd=ROOT,
            env={**settings, **extra, "CDK_OUTDIR": str(tmp_path / name)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    files = sorted(path.relative_to(tmp_path / "ours") for path in (tmp_path / "ours").rglob("*"))
    assert (
        "minimal-cluster" in json.loads((tmp_path / "ours/manifest.json").read_text())["artifacts"]
    )
    for file in files:
        if (tmp_path / "ours" / file).is_file():
            assert (tmp_path / "ours" / file).read_bytes() == (
                tmp_path / "jsii" / file
            ).read_bytes()
    assert not list(temporary.iterdir())
