"""`scripts/setup.sh` where something that it needs cannot be had."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_package_registry_that_does_not_answer_is_named_with_what_helps(tmp_path: Path) -> None:
    """All of the set-up is there but npm, which says so and fails."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "setup.sh", tmp_path / "scripts")
    npm = tmp_path / "wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    npm.parent.mkdir(parents=True)
    npm.touch()
    programs = {
        tmp_path / ".venv/bin/python": f"echo {tmp_path / 'wheel'}",
        tmp_path / ".venv/bin/pip": "exit 0",
        tmp_path
        / "bin/node": '[ "$1" = --version ] && echo v24.1.0 && exit; echo CERT >&2; exit 1',
    }
    for path, body in programs.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
    done = subprocess.run(
        ["scripts/setup.sh"],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "CERT" in done.stderr
    assert "export NODE_EXTRA_CA_CERTS=/path/to/its.pem" in done.stderr
