"""A synthesis asks nothing of the network and needs no Docker: each attempt is seen and refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Imported by every Python process that finds it on its path.
PYTHON = """
import os, socket

def refuse(*arguments, **named):
    with open(os.environ["ATTEMPTS"], "a") as told:
        told.write(f"python {arguments[-1]}\\n")
    raise OSError("no network here")

class Socket(socket.socket):
    def connect(self, address):
        return refuse(address) if self.family != socket.AF_UNIX else super().connect(address)

    def connect_ex(self, address):
        return refuse(address) if self.family != socket.AF_UNIX else super().connect_ex(address)

    def sendto(self, *arguments):
        return refuse(*arguments)

socket.socket = Socket
socket.getaddrinfo = socket.gethostbyname = refuse
"""
# Loaded by every Node process: what the CDK does, it does in one.
NODE = """
const {appendFileSync, writeFileSync} = require("fs");
const refuse = (...given) => {
  appendFileSync(process.env.ATTEMPTS, `node ${JSON.stringify(given[0])}\\n`);
  throw new Error("no network here");
};
const {Socket} = require("net");
const connect = Socket.prototype.connect;
Socket.prototype.connect = function (...given) {
  const options = Array.isArray(given[0]) ? given[0][0] : given[0];
  const local = options && typeof options === "object" && options.path;
  return local ? connect.apply(this, given) : refuse(options);
};
require("dns").lookup = refuse;
require("dgram").Socket.prototype.send = refuse;
writeFileSync(process.env.ATTEMPTS + ".node", "watched");
"""
DOCKER = """#!/bin/sh
echo "docker $*" >>"$ATTEMPTS"
exit 1
"""


@dataclass(frozen=True)
class Cell:
    """An environment without network and Docker that tells who tried."""

    folder: Path

    @property
    def attempts(self) -> list[str]:
        """Who tried what."""
        told = self.folder / "attempts"
        return told.read_text().splitlines() if told.exists() else []

    @property
    def node_was_watched(self) -> bool:
        """Whether a process of Node ran, and was watched."""
        return (self.folder / "attempts.node").exists()

    def run(self, command: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
        """Run a command in it."""
        environment = {name: text for name, text in os.environ.items() if "AWS" not in name}
        environment |= {
            "ATTEMPTS": str(self.folder / "attempts"),
            "HOME": str(self.folder),
            "NODE_OPTIONS": f"--require={self.folder / 'refuse.cjs'}",
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{self.folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        }
        return subprocess.run(
            list(command),
            cwd=ROOT,
            env=environment | more,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    (tmp_path / "sitecustomize.py").write_text(PYTHON)
    (tmp_path / "refuse.cjs").write_text(NODE)
    (tmp_path / "bin").mkdir()
    for name in ("docker", "podman", "finch"):
        program = tmp_path / "bin" / name
        program.write_text(DOCKER)
        program.chmod(0o755)
    return Cell(tmp_path)


ASK = "http://192.0.2.1/"


@pytest.mark.parametrize(
    ("command", "who"),
    [
        ([sys.executable, "-c", f"import urllib.request as u; u.urlopen('{ASK}')"], "python"),
        ([sys.executable, "-c", "import socket; socket.create_connection(('x', 1))"], "python"),
        (["node", "-e", f"require('http').get('{ASK}')"], "node"),
        (["node", "-e", "require('net').connect(80, 'localhost')"], "node"),
        (["docker", "build", "."], "docker"),
    ],
    ids=["urllib", "name", "http", "net", "docker"],
)
def test_the_cell_sees_and_refuses_each_attempt(command: list[str], who: str, cell: Cell) -> None:
    assert cell.run(command).returncode != 0
    assert [attempt.split()[0] for attempt in cell.attempts] == [who]


@pytest.mark.parametrize("name", ["kait", "bare"])
def test_an_institution_with_alerts_is_synthesised_without_network_and_docker(
    name: str, cell: Cell
) -> None:
    out = cell.folder / "out"
    context = json.dumps({"institution": name})
    done = cell.run([sys.executable, "app.py"], CDK_OUTDIR=str(out), CDK_CONTEXT_JSON=context)
    assert done.returncode == 0, done.stderr
    assert cell.node_was_watched
    assert cell.attempts == []
    template = json.loads((out / f"{name}-cluster.template.json").read_text())
    handlers = [
        resource["Properties"].get("Handler")
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Function"
    ]
    assert "slack_notifier.handler.handler" in handlers
