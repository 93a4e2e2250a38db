"""Where a deployment goes: an emulator, or a real account."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import boto3


class Place(Protocol):
    """What the command line and the looks into an account need of it."""

    @property
    def work(self) -> Path:
        """A folder for files."""

    def environment(self) -> dict[str, str]:
        """Return the environment of commands."""

    def client(self, service: str, region: str = ...) -> Any:
        """Return a boto3 client."""


@dataclass(frozen=True)
class RealAccount:
    """The account of the credentials in the environment."""

    work: Path
    account: str
    region: str

    def environment(self) -> dict[str, str]:
        """Return the environment, with the Python and Node of this project first."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        quiet = {"CDK_DISABLE_CLI_TELEMETRY": "1", "CDK_VALIDATION": "false", "NO_COLOR": "1"}
        return {**os.environ, **quiet, "PATH": path}

    def client(self, service: str, region: str = "") -> Any:
        """Return a boto3 client of a service in the account's Region."""
        return boto3.Session(region_name=region or self.region).client(service)
