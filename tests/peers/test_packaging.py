"""The wheel and every way of starting see the PyPI package ``constructs``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import trainshed

ROOT = Path(__file__).parents[2]
SITE = sysconfig.get_path("purelib")
SHOW = "import constructs, trainshed; print(constructs.__file__); print(trainshed.__file__)"

pytestmark = pytest.mark.slow


def run(*command: str, cwd: Path = ROOT, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(folder),
        ".",
    )
    return next(folder.glob("trainshed-*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the installed wheel; its dependencies are the environment's."""
    folder = tmp_path_factory.mktemp("installed")
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
        "--target", str(folder), str(wheel),
    )  # fmt: skip
    return folder


def test_the_wheel_holds_the_package_its_assets_and_no_constructs_folder(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if "dist-info" not in name} == {"trainshed"}
    assert "trainshed/py.typed" in names
    assert "trainshed/pcluster/schema-3.16.1.json" in names
    shipped = {n.removeprefix("trainshed/") for n in names if n.startswith("trainshed/assets/")}
    tracked = run("git", "ls-files", "assets").split()
    assert shipped == set(tracked)


def test_scripts_in_the_wheel_stay_executable(wheel: Path) -> None:
    scripts = [i for i in zipfile.ZipFile(wheel).infolist() if i.filename.endswith(".sh")]
    assert scripts
    assert all(script.external_attr >> 16 & 0o111 for script in scripts)


def test_an_installed_wheel_works_elsewhere(installed: Path, tmp_path: Path) -> None:
    shown = run(sys.executable, "-c", SHOW, cwd=tmp_path, PYTHONPATH=str(installed)).split()
    assert shown[0].startswith(SITE)
    assert shown[1].startswith(str(installed))


def test_a_consumer_synthesises_every_construct_from_the_installed_wheel(
    installed: Path, tmp_path: Path
) -> None:
    app = tmp_path / "app.py"
    app.write_text((ROOT / "tests" / "peers" / "foreign_app.py").read_text())
    run(sys.executable, "app.py", cwd=tmp_path, PYTHONPATH=str(installed), CDK_OUTDIR="out")
    stacks = {
        path.name.removesuffix(".template.json") for path in tmp_path.glob("out/*.template.json")
    }
    assert stacks == {"Owned", "Imported", "Twice"}


def test_the_consumer_uses_every_construct() -> None:
    made = (getattr(trainshed, name) for name in trainshed.__all__)
    constructs = {each.__name__ for each in made if isinstance(each, type)}
    app = (ROOT / "tests" / "peers" / "foreign_app.py").read_text()
    assert constructs <= set(re.findall(r"\b(\w+)[.(]", app))


def test_the_readme_brings_node_where_the_machine_has_none(tmp_path: Path) -> None:
    (export,) = re.findall(r"^export JSII_NODE=.*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    show = "import aws_cdk; print(aws_cdk.App().node.path == '')"
    bare = {"PATH": str(tmp_path), "HOME": str(tmp_path)}

    def shell(script: str) -> subprocess.CompletedProcess[str]:
        command = ["/bin/bash", "-c", script]
        return subprocess.run(command, env=bare, capture_output=True, text=True, check=False)

    assert shell(f'python -c "{show}"').returncode != 0
    done = shell(f'{export}\npython -c "{show}"')
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "-c", SHOW],
        [sys.executable, "-P", "-c", SHOW],
        [sys.executable, "-m", "pytest", "-q", "tests/unit/test_layout.py", "-k", "hide"],
        ["pytest", "-q", "tests/unit/test_layout.py", "-k", "hide"],
    ],
    ids=["python", "python -P", "python -m pytest", "pytest"],
)
def test_constructs_is_the_pypi_package_however_python_starts(command: list[str]) -> None:
    output = run(*command)
    assert "passed" in output or output.startswith(SITE)


def test_the_app_and_the_command_line_synthesise_the_same(tmp_path: Path) -> None:
    context = '{"institution": "minimal"}'
    run(sys.executable, "app.py", CDK_OUTDIR=str(tmp_path / "app"), CDK_CONTEXT_JSON=context)
    run(
        "cdk", "synth", "--quiet", "--no-notices", "-c", "institution=minimal",
        "--output", str(tmp_path / "cli"),
        CDK_DISABLE_CLI_TELEMETRY="1", AWS_EC2_METADATA_DISABLED="true",
    )  # fmt: skip
    for stack in ("minimal-foundation", "minimal-cluster"):
        name = f"{stack}.template.json"
        assert (tmp_path / "app" / name).read_text() == (tmp_path / "cli" / name).read_text()
