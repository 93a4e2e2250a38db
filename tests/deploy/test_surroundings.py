"""What the environment of a developer has is no part of the emulated account."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.deploy import account
from tests.deploy.cdk import bootstrap
from tests.deploy.emulator.process import ACCOUNT, REGION, ROOT, Emulator

# Nothing listens there.
NOWHERE = "http://127.0.0.1:9"


def test_profiles_settings_packages_and_proxies_of_a_developer_are_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "config"
    broken.write_text("[profile of somebody")
    for key, value in {
        "AWS_PROFILE": "of-somebody",
        "AWS_CONFIG_FILE": str(broken),
        "AWS_SHARED_CREDENTIALS_FILE": str(broken),
        "PYTHONPATH": str(tmp_path),
        "http_proxy": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
    }.items():
        monkeypatch.setenv(key, value)
    # A package that would be found before ours.
    (tmp_path / "boto3.py").write_text("raise ImportError('another boto3')\n")
    # Settings of the CDK's command line.
    (tmp_path / ".cdk.json").write_text('{"profile": "of-somebody", "toolkitStackName": "Mine"}')
    monkeypatch.setenv("HOME", str(tmp_path))
    with Emulator(tmp_path / "emulator") as running:
        assert running.client("sts").get_caller_identity()["Account"] == ACCOUNT
        assert "bootstrapped" in bootstrap(running, REGION)
        assert account.exists(running, "CDKToolkit")


def test_nobody_else_gets_the_port_of_an_emulator_that_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, refused = subprocess.Popen, []

    def start_late(*arguments: Any, **named: Any) -> Any:
        with socket.socket() as other, pytest.raises(OSError, match="in use") as told:
            other.bind(("127.0.0.1", int(named["env"]["GATEWAY_PORT"])))
        refused.append(told.value)
        return start(*arguments, **named)

    monkeypatch.setattr(subprocess, "Popen", start_late)
    with Emulator(tmp_path) as running:
        assert running.client("sts").get_caller_identity()["Account"] == ACCOUNT
    assert len(refused) == 1


@pytest.mark.parametrize("home", [None, "/no/such/place"], ids=["none", "not there"])
def test_without_a_home_to_write_to_caches_are_the_checkouts_own(home: str | None) -> None:
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"} | ({"HOME": home} if home else {})
    done = subprocess.run(
        ["make", "--eval", 'home:; @echo "$$HOME"', "home"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == str(ROOT / ".cache" / "home"), done.stderr


def test_make_takes_no_packages_of_another_python(tmp_path: Path) -> None:
    (tmp_path / "argparse.py").write_text("raise ImportError('another argparse')\n")
    done = subprocess.run(
        ["make", "-o", ".venv/.ready", "demo", "DEMO=--help"],
        cwd=ROOT,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "--without-slurm" in done.stdout
