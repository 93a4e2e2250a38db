from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.peers.pcluster import rig

pytestmark = pytest.mark.slow

SCRIPT = rig.ROOT / "scripts" / "pcluster_venv.sh"


def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, cwd=cwd)


def test_it_holds_exactly_the_locked_packages() -> None:
    lock = (rig.ROOT / "tests/peers/pcluster/constraints.txt").read_text().splitlines()
    locked = {line for line in lock if not line.startswith("#")}
    code = "import importlib.metadata as m\nfor d in m.distributions(): print(d.name, d.version)"
    listed = subprocess.run([rig.python(), "-c", code], capture_output=True, text=True, check=True)
    installed = [line.split() for line in listed.stdout.splitlines()]
    found = {f"{name.lower().replace('.', '-').replace('_', '-')}=={v}" for name, v in installed}
    assert found - {each for each in found if each.startswith("pip==")} == locked


def test_a_second_run_does_nothing() -> None:
    rig.python()
    again = run()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_it_is_made_where_it_is_asked_for(tmp_path: Path) -> None:
    made = run("here/venv", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    python = str(tmp_path / "here/venv/bin/python")
    subprocess.run([python, "-c", "import pcluster.utils"], check=True)


def test_an_interrupted_one_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").touch()
    (tmp_path / "half").touch()
    assert run(tmp_path).returncode == 0
    assert not (tmp_path / "half").exists()


def test_a_directory_that_is_no_venv_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    refused = run(tmp_path)
    assert refused.returncode == 1
    expected = f"pcluster_venv: {tmp_path} is there and is no virtual environment\n"
    assert refused.stderr == expected
    assert (tmp_path / "thesis.tex").exists()
