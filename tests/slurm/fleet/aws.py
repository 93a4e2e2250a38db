"""What stands in for AWS around a lab's machines: APIs, instance metadata, time and name servers.

The APIs are moto's, in this process: a test looks into them with boto3. Everything listens inside
the lab's own network; the host is not touched.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote
from wsgiref.types import StartResponse, WSGIEnvironment

import boto3
from moto.core.models import MockAWS
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

REGION = "us-east-2"
GATEWAY = "10.77.0.254"
METADATA = "169.254.169.254"
TIME = "169.254.169.123"
ENDPOINT = f"http://{GATEWAY}:5000"
ADDRESSES = (f"{GATEWAY}/24", f"{METADATA}/32", f"{TIME}/32")
_NEW_NETWORK = 0x40000000
_NTP_EPOCH = 2_208_988_800
_A = 1
_ACCOUNTS = itertools.count(100_000_000_001)


@dataclass
class Instance:
    """What instance metadata says to one address.

    Args:
        instance_id: EC2 instance id.
        instance_type: EC2 instance type.
        user_data: User data.
        mac: Address of its network card, where cloud-init looks for it.
    """

    instance_id: str
    instance_type: str
    user_data: str
    mac: str = "02:00:0a:4d:00:01"

    def metadata(self, address: str) -> dict[str, str]:
        """Return what is below ``/latest/meta-data/``."""
        card = f"network/interfaces/macs/{self.mac}"
        return {
            "instance-id": self.instance_id,
            "instance-type": self.instance_type,
            "ami-id": "ami-0123456789abcdef0",
            "local-ipv4": address,
            "local-hostname": f"ip-{address.replace('.', '-')}.{REGION}.compute.internal",
            "hostname": f"ip-{address.replace('.', '-')}.{REGION}.compute.internal",
            "mac": self.mac,
            "placement/region": REGION,
            "placement/availability-zone": f"{REGION}a",
            f"{card}/device-number": "0",
            f"{card}/local-ipv4s": address,
            f"{card}/mac": self.mac,
            f"{card}/subnet-ipv4-cidr-block": "10.77.0.0/24",
            f"{card}/vpc-ipv4-cidr-block": "10.77.0.0/16",
            "iam/security-credentials/node": (
                '{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"ASIALAB","SecretAccessKey":'
                '"lab","Token":"lab","Expiration":"2099-01-01T00:00:00Z"}'
            ),
        }


@dataclass
class Aws:
    """The stand-ins. Use it as a context, with the network to listen in.

    Args:
        network: Network namespace of the lab.
        after_call: Called after each call of an API that changes EC2 or Auto Scaling.
    """

    network: Path
    after_call: Callable[[str], None] = lambda action: None
    instances: dict[str, Instance] = field(default_factory=dict)
    """By address."""
    names: dict[str, str] = field(default_factory=dict)
    """Addresses by host name: the private zone."""
    clock_offset_seconds: float = 0
    """How far the time service is ahead of the host's clock."""
    calls: list[str] = field(default_factory=list)
    """Operations that were called, in their order."""
    refuse: Callable[[str], str | None] = lambda action: None
    """Gets each operation; what it returns is the error code of the answer."""
    packages: Path | None = None
    """Directory that the package mirror at ``http://10.77.0.254:8080`` serves."""

    def __enter__(self) -> Aws:
        """Listen."""
        os.environ.setdefault("AWS_ACCESS_KEY_ID", "lab")
        os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "lab")
        self._guard = patch.object(MockAWS, "start", _refuse_mock)
        self._guard.start()
        self._sockets: list[socket.socket] = []
        self._servers: list[BaseWSGIServer | ThreadingHTTPServer] = []
        # moto's state is the process's; each lab has an account of its own in it.
        self.account = f"{next(_ACCOUNTS):012d}"
        # moto is not made for threads.
        self._lock = threading.RLock()
        app = DomainDispatcherApplication(create_backend_app)

        def counted(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
            return self._call(app, environ, start)

        inside = self._inside(lambda: _tcp(GATEWAY, 5000))
        self._serve(make_server(GATEWAY, 5000, counted, True, 1, _Quiet, fd=inside.fileno()))
        local = _tcp("127.0.0.1", 0)
        self._sockets += [inside, local]
        port = local.getsockname()[1]
        self._serve(make_server("127.0.0.1", port, counted, True, 1, _Quiet, fd=local.fileno()))
        self.endpoint = f"http://127.0.0.1:{port}"
        self._serve(self._http(METADATA, 80, self._metadata_handler()))
        self._serve(self._http(GATEWAY, 8080, self._mirror_handler()))
        self._answer(TIME, 123, self._time)
        self._answer(GATEWAY, 53, self._name)
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop."""
        self._guard.stop()
        for server in self._servers:
            server.shutdown()
            server.server_close()
        for listening in self._sockets:
            listening.close()

    def client(self, service: str) -> Any:
        """Return a boto3 client of the stand-in."""
        return boto3.client(service, region_name=REGION, endpoint_url=self.endpoint)

    def _call(
        self, app: DomainDispatcherApplication, environ: WSGIEnvironment, start: StartResponse
    ) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        action = environ.get("HTTP_X_AMZ_TARGET", "").split(".")[-1] or _form_action(body)
        action = action or f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
        self.calls.append(action)
        refused = self.refuse(action)
        if refused:
            forbidden = refused == "AccessDenied"
            status = "403 Forbidden" if forbidden else "400 Bad Request"
            start(status, [("Content-Type", "text/xml")])
            answer = (
                f"<Response><Errors><Error><Code>{refused}</Code><Message>{refused} in this lab"
                "</Message></Error></Errors><RequestID>lab</RequestID></Response>"
            )
            return [answer.encode()]
        environ["wsgi.input"] = _Body(body)
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = self.account
        with self._lock:
            answer_parts = list(app(environ, start))
        if not action.startswith(("Describe", "Get", "List", "GET")):
            self.after_call(action)
        return answer_parts

    def _inside(self, make: Callable[[], socket.socket]) -> socket.socket:
        """Make a socket in the lab's network; only the thread that makes it goes there."""
        made: list[socket.socket] = []

        def enter() -> None:
            libc = ctypes.CDLL(None, use_errno=True)
            with self.network.open() as namespace:
                if libc.setns(namespace.fileno(), _NEW_NETWORK):
                    raise OSError(ctypes.get_errno(), "setns")
            made.append(make())

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return made[0]

    def _serve(self, server: BaseWSGIServer | ThreadingHTTPServer) -> None:
        self._servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()

    def _http(
        self, address: str, port: int, handler: type[BaseHTTPRequestHandler]
    ) -> ThreadingHTTPServer:
        server = ThreadingHTTPServer((address, port), handler, bind_and_activate=False)
        server.socket.close()
        server.socket = self._inside(lambda: _tcp(address, port))
        return server

    def _answer(self, address: str, port: int, reply: Callable[[bytes, str], bytes | None]) -> None:
        server = self._inside(lambda: _udp(address, port))
        self._sockets.append(server)

        def serve() -> None:
            while True:
                try:
                    asked, source = server.recvfrom(512)
                    answer = reply(asked, source[0])
                    if answer is not None:
                        server.sendto(answer, source)
                except OSError:
                    return  # closed, maybe while it was answering

        threading.Thread(target=serve, daemon=True).start()

    def _metadata_handler(self) -> type[BaseHTTPRequestHandler]:
        aws = self

        class Handler(_Handler):
            def do_PUT(self) -> None:
                asked = "X-aws-ec2-metadata-token-ttl-seconds" in self.headers
                self.answer(b"TOKEN" if asked and self.path == "/latest/api/token" else None)

            def do_GET(self) -> None:
                version, _, path = self.path.lstrip("/").partition("/")
                # cloud-init asks its dated versions without a token first.
                if version == "latest" and self.headers.get("X-aws-ec2-metadata-token") != "TOKEN":
                    self.answer(None, 401)
                    return
                self.answer(aws._metadata(self.client_address[0], path))

        return Handler

    def _metadata(self, address: str, path: str) -> bytes | None:
        instance = self.instances.get(address)
        if instance is None:
            return None
        if path == "user-data":
            return instance.user_data.encode()
        if path.startswith("dynamic/instance-identity/document"):
            return f'{{"instanceId":"{instance.instance_id}","region":"{REGION}"}}'.encode()
        return _below(instance.metadata(address), path.removeprefix("meta-data").strip("/"))

    def _mirror_handler(self) -> type[BaseHTTPRequestHandler]:
        aws = self

        class Handler(_Handler):
            def do_GET(self) -> None:
                path = aws.packages and aws.packages / unquote(self.path).lstrip("/")
                self.answer(path.read_bytes() if path and path.is_file() else None)

        return Handler

    def _time(self, asked: bytes, source: str) -> bytes:
        now = time.time() + self.clock_offset_seconds + _NTP_EPOCH
        stamp = struct.pack("!II", int(now), int(now % 1 * 2**32))
        # A server of stratum 1 (RFC 5905): version 4, mode 4.
        head = struct.pack("!BBbbII4s", 0x24, 1, 4, -20, 0, 0, b"LAB\0")
        return head + stamp + asked[40:48] + stamp + stamp

    def _name(self, asked: bytes, source: str) -> bytes:
        labels, at = [], 12
        while asked[at]:
            labels.append(asked[at + 1 : at + 1 + asked[at]].decode())
            at += 1 + asked[at]
        (kind,) = struct.unpack("!H", asked[at + 1 : at + 3])
        question = asked[12 : at + 5]
        address = self.names.get(".".join(labels).lower())
        flags = 0x8580 if address else 0x8583
        answers = 1 if address and kind == _A else 0
        reply = asked[:2] + struct.pack("!HHHHH", flags, 1, answers, 0, 0) + question
        if answers and address:
            reply += struct.pack("!HHHIH", 0xC00C, _A, 1, 1, 4) + socket.inet_aton(address)
        return reply


def _refuse_mock(*_: object, **__: object) -> None:
    # A boot waits half an hour for the fleet document that such a test would take away.
    raise RuntimeError(
        "mock_aws empties moto's state in this process, and a fleet lab is open that has its AWS "
        "there: leave the lab first"
    )


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def answer(self, body: bytes | None, code: int = 404) -> None:
        """Answer with a body, or an error code without one."""
        self.send_response(200 if body is not None else code)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")


class _Body:
    """A request's body that was read already."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, size: int = -1) -> bytes:
        size = len(self._data) if size is None or size < 0 else size
        part, self._data = self._data[:size], self._data[size:]
        return part


def _below(tree: Mapping[str, str], path: str) -> bytes | None:
    if path in tree:
        return tree[path].encode()
    prefix = f"{path}/" if path else ""
    below = {key.removeprefix(prefix) for key in tree if key.startswith(prefix)}
    names = {key.split("/")[0] + ("/" if "/" in key else "") for key in below}
    return "\n".join(sorted(names)).encode() if names else None


def _form_action(body: bytes) -> str:
    for part in body.split(b"&"):
        if part.startswith(b"Action="):
            return part.removeprefix(b"Action=").decode()
    return ""


def _tcp(address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((address, port))
    made.listen(128)
    return made


def _udp(address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((address, port))
    return made
