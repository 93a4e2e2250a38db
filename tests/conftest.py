"""Fixtures shared by every test."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"

# A busy machine is no fault of the code.
hypothesis.settings.register_profile("trainshed", deadline=None)
hypothesis.settings.load_profile("trainshed")
# Templates are validated by a step of their own (tests/peers), not inside every synth.
os.environ.setdefault("CDK_VALIDATION", "false")
# jsii looks for `node` on PATH; the environment brings one of a supported version.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ.setdefault("JSII_NODE", shutil.which("node") or "node")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden/")


class _Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Keeps in one process what shares a slow start: a file, or one version of real Slurm."""

    def _split_scope(self, nodeid: str) -> str:
        version = re.search(r"^tests/slurm/.*[\[-](\d\d\.\d\d)[\]-]", nodeid)
        return f"Slurm {version[1]}" if version else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Scheduling:
    """Schedule by :class:`_Scheduling`, whatever ``--dist`` says."""
    return _Scheduling(config, log)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, object], None]:
    """Compare a value with ``tests/golden/NAME``; ``--update-golden`` rewrites the file."""

    def check(name: str, value: object) -> None:
        text = value if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True)
        text = re.sub(r"[0-9a-f]{64}", "ASSET-HASH", text).rstrip() + "\n"
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{path} is not there; if meant: pytest --update-golden"
        assert text == path.read_text(), f"{path} differs; if meant: pytest --update-golden"

    return check
