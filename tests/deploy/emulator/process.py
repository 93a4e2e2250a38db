"""Starts the emulator beside a test or a demonstration, on this machine's loopback alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import boto3
import botocore.session
from botocore.config import Config

from tests.deploy.emulator.children import PARENT, SOCKET, end_group

ROOT = Path(__file__).parents[3]
ACCOUNT = "111122223333"
REGION = "us-east-1"
START_SECONDS = 60
_SOON = ROOT / "tests" / "deploy" / "soon.cjs"


class EmulatorError(Exception):
    """The emulator did not start; the end of its log is the reason."""


class Emulator:
    """ministack with our extensions, in a process of its own.

    Args:
        work: Folder for its log, its temporary files and the CDK command line's own.
        enforce: Whether IAM decides on each request; needs TLS, since the CDK's bucket does.
        wait_scale: How long a wait of a state machine takes, as a share of what it says.
        settings: Further environment of the process.
    """

    def __init__(
        self, work: Path, *, enforce: bool = False, wait_scale: float = 0, **settings: str
    ) -> None:
        self.work = work
        self.enforce = enforce
        self.log = work / "emulator.log"
        self.demands = work / "demands.jsonl"
        self.credentials = work / "credentials"
        self._settings = {"SFN_WAIT_SCALE": str(wait_scale), **settings}
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{'https' if self.enforce else 'http'}://localhost:{self._port}"

    def __enter__(self) -> Self:
        """Start it and wait until it answers."""
        for folder in (self.work / "tmp", self.work / "cdk-home"):
            folder.mkdir(parents=True, exist_ok=True)
        if self.enforce:
            _make_certificate(self.work)
        # Handed over bound, so that nobody else has its port meanwhile.
        with self.log.open("wb") as log, socket.socket() as place:
            place.bind(("127.0.0.1", 0))
            self._port = int(place.getsockname()[1])
            environment = {
                **_without_own(),
                **self._own_environment(),
                PARENT: str(os.getpid()),
                SOCKET: str(place.fileno()),
            }
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.deploy.emulator.serve"],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(place.fileno(),),
            )
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it and the handlers that it runs."""
        if self._process is None:
            return
        # At once, since it keeps nothing; its session holds its own processes and no others.
        end_group(self._process.pid)
        self._process.wait()
        self._process = None

    def environment(self) -> dict[str, str]:
        """Return what the AWS tools and the CDK command line need to talk to it."""
        certificate = str(self.work / "certificate.pem")
        tls = ("AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS") if self.enforce else ()
        return {
            **_without_own(),
            **dict.fromkeys(tls, certificate),
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            # It remembers which account a key belongs to; another emulator's answer would mislead.
            "CDK_HOME": str(self.work / "cdk-home"),
            # The developer's own settings are in ~/.cdk.json.
            "HOME": str(self.work / "cdk-home"),
            "CDK_DISABLE_CLI_TELEMETRY": "1",
            "CDK_VALIDATION": "false",
            "NO_COLOR": "1",
            "NODE_OPTIONS": f'--require "{_SOON}"',
            "TMPDIR": str(self.work / "tmp"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }

    def client(self, service: str, region: str = REGION) -> Any:
        """Return a boto3 client of a service."""
        # Whatever profile, files and proxy the environment names.
        nothing = (None, None, None, None)
        files = (None, None, os.devnull, None)
        bare = botocore.session.Session(
            {"profile": nothing, "config_file": files, "credentials_file": files}
        )
        session = boto3.Session("test", "test", region_name=region, botocore_session=bare)
        return session.client(
            service,
            endpoint_url=self.url,
            verify=str(self.work / "certificate.pem") if self.enforce else None,
            config=Config(
                retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}, proxies={}
            ),
        )

    def _own_environment(self) -> dict[str, str]:
        environment = {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self._port),
            "MINISTACK_HOST": "localhost",
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
            "LAMBDA_EXECUTOR": "local",
            # It would listen on all addresses.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "TMPDIR": str(self.work / "tmp"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            **self._settings,
        }
        if self.enforce:
            certificate = str(self.work / "certificate.pem")
            trust = ("AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "MINISTACK_SSL_CERT")
            environment |= dict.fromkeys(trust, certificate) | {
                "AUTH": "true",
                "USE_SSL": "1",
                "MINISTACK_SSL_KEY": str(self.work / "key.pem"),
                "TRAINSHED_DEMANDS": str(self.demands),
                "TRAINSHED_CREDENTIALS": str(self.credentials),
            }
        return environment

    def _wait(self) -> None:
        assert self._process is not None
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            try:
                self.client("sts").get_caller_identity()
                return
            except Exception:
                time.sleep(0.1)
        tail = self.log.read_text(errors="replace")[-2000:]
        raise EmulatorError(f"the emulator did not start on port {self._port}: {tail}")


def _without_own() -> dict[str, str]:
    """Return the environment without the developer's own account, Python packages and proxy."""
    return {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("AWS_", "PYTHONPATH", "PYTHONHOME"))
        and not key.lower().endswith("_proxy")
    }


def _make_certificate(folder: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", "key.pem", "-out", "certificate.pem", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,DNS:*.localhost,IP:127.0.0.1"),
            *("-addext", "basicConstraints=critical,CA:TRUE"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
