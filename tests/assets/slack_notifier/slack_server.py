"""A local Slack: the incoming webhook, chat.postMessage and chat.update, with their failures.

Semantics from docs.slack.dev "Sending messages using incoming webhooks", "chat.postMessage",
"chat.update", "Rate limits" and the 2016-05-17 changelog of webhook errors, read 2026-11-29:
a webhook answers text, the Web API answers 200 with ``ok``; 429 carries Retry-After.
Run alone: ``python slack_server.py PORT`` prints each message it takes.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs

TOKEN = "xoxb-planted-token-4f1c9d"
WEBHOOK_PATH = "/services/T0/B0/planted-webhook-8e2b7a"
_LIMITS = {"header": 150, "section": 3000}
# No page says it: slackapi/bolt-js issue 2867 saw a message of 11,341 characters refused.
_ALL_TEXTS = 11_000


class Answer(NamedTuple):
    """What the server answers once; 0 resets, -1 is too slow, -2 takes and resets."""

    status: int
    body: str = ""
    retry_after: int | None = None


RESET = Answer(0)
SLOW = Answer(-1)
TAKEN_THEN_RESET = Answer(-2)


@dataclass
class Message:
    """A message as a reader sees it now."""

    channel: str
    ts: str
    payload: dict[str, Any]
    thread_ts: str = ""
    updates: int = 0

    @property
    def text(self) -> str:
        """The text of the notification."""
        return str(self.payload.get("text", ""))


@dataclass
class SlackServer:
    """The server with what it was told and what it is to answer next."""

    answers: list[Answer] = field(default_factory=list)
    """Used up one by one; then all is taken."""
    messages: list[Message] = field(default_factory=list)
    posts: list[dict[str, Any]] = field(default_factory=list)
    """Every payload that became a message, as it was posted."""
    calls: list[tuple[float, str, str]] = field(default_factory=list)
    """Time, channel and method of each request that came, taken or not."""
    now: Callable[[], float] = lambda: 0.0
    on_request: Callable[[int], None] = lambda count: None
    """Called with the number of the request before it is answered."""
    seconds_between: float = 0.0
    """The rate limit a channel that answers 429; 0: none."""

    def __enter__(self) -> SlackServer:
        """Start the server on a free port."""
        return self.start(0)

    def start(self, port: int) -> SlackServer:
        """Start the server on a port; 0 takes a free one."""
        self._lock = threading.Lock()
        self._taken_at: dict[str, float] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.daemon = True
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def webhook(self) -> str:
        """The webhook's address."""
        return self.url + WEBHOOK_PATH

    def api_secret(self) -> str:
        """Return a secret that names the bot token and this server as the Web API."""
        return json.dumps({"bot_token": TOKEN, "api": f"{self.url}/api/"})

    def text(self) -> str:
        """Return everything that readers see, as one text."""
        return "\n".join(json.dumps(m.payload, ensure_ascii=False) for m in self.messages)

    def answer(self, path: str, token: str, payload: dict[str, Any]) -> Answer:
        """Take or refuse one request."""
        with self._lock:
            channel = str(payload.get("channel", "webhook"))
            method = path.rpartition("/")[2] if path.startswith("/api/") else "webhook"
            self.calls.append((self.now(), channel, method))
            self.on_request(len(self.calls))
            planned = Answer(200)
            if self.answers:
                planned = self.answers.pop(0)
                if planned.body or planned.status not in (200, TAKEN_THEN_RESET.status):
                    return planned
            if limited := self._limited(channel):
                return limited
            if method == "webhook":
                answer = self._webhook(path, payload)
            else:
                answer = Answer(200, json.dumps(self._api(method, token, channel, payload)))
            return RESET if planned == TAKEN_THEN_RESET else answer

    def _limited(self, channel: str) -> Answer | None:
        before = self._taken_at.get(channel)
        if before is not None and self.now() - before < self.seconds_between - 1e-6:
            return Answer(429, "rate_limited", 1)
        self._taken_at[channel] = self.now()
        return None

    def _webhook(self, path: str, payload: dict[str, Any]) -> Answer:
        if path != WEBHOOK_PATH:
            return Answer(404, "no_service")
        if fault := _fault(payload):
            return Answer(400, fault)
        self._add("webhook", payload)
        return Answer(200, "ok")

    def _api(
        self, method: str, token: str, channel: str, payload: dict[str, Any]
    ) -> dict[str, Any]:
        if token != f"Bearer {TOKEN}":
            return {"ok": False, "error": "invalid_auth"}
        if channel.startswith("gone"):
            return {"ok": False, "error": "is_archived"}
        if fault := _fault(payload):
            return {"ok": False, "error": fault}
        channel_id = channel if channel.startswith("C") else f"C-{channel}"
        if method == "chat.postMessage":
            ts = self._add(channel_id, payload)
            return {"ok": True, "channel": channel_id, "ts": ts}
        for message in self.messages:
            if (message.channel, message.ts) == (channel_id, payload["ts"]):
                message.payload, message.updates = payload, message.updates + 1
                return {"ok": True, "channel": channel_id, "ts": message.ts}
        return {"ok": False, "error": "message_not_found"}

    def _add(self, channel: str, payload: dict[str, Any]) -> str:
        self.posts.append(payload)
        ts = f"1795918051.{len(self.messages):06}"
        thread = str(payload.get("thread_ts", ""))
        self.messages.append(Message(channel, ts, payload, thread))
        return ts


def _length(value: object) -> int:
    """Add up the texts of all blocks."""
    if isinstance(value, dict):
        return sum(
            len(part) if key == "text" and isinstance(part, str) else _length(part)
            for key, part in value.items()
        )
    return sum(map(_length, value)) if isinstance(value, list) else 0


def _fault(payload: dict[str, Any]) -> str:
    """Return Slack's name for what is wrong with a payload, or nothing."""
    if not payload.get("text") and not payload.get("attachments"):
        return "no_text"
    blocks = payload.get("blocks", [])
    if _length(blocks) > _ALL_TEXTS:
        return "msg_blocks_too_long"
    if len(blocks) > 50 or any(
        len(block.get("text", {}).get("text", "")) > _LIMITS.get(block["type"], 3000)
        or len(block.get("fields", [])) > 10
        for block in blocks
    ):
        return "invalid_blocks"
    return ""


def _handler(server: SlackServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"])).decode()
            if "urlencoded" in self.headers.get("content-type", ""):
                data = parse_qs(data)["payload"][0]
            payload = json.loads(data)
            answer = server.answer(self.path, self.headers.get("authorization", ""), payload)
            if answer.status <= 0:
                self._leave(answer)
                return
            body = answer.body.encode()
            self.send_response(answer.status)
            self.send_header("content-length", str(len(body)))
            if answer.retry_after is not None:
                self.send_header("retry-after", str(answer.retry_after))
            if 300 <= answer.status < 400:
                self.send_header("location", f"{server.url}/login")
            self.end_headers()
            self.wfile.write(body)

        def _leave(self, answer: Answer) -> None:
            """Hold the connection until the caller gives up, or reset it at once."""
            self.close_connection = True
            if answer == SLOW:
                self.rfile.read(1)
            else:
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def main(arguments: Iterable[str]) -> None:
    """Run until interrupted, printing the notification text of each message."""
    port = next(iter(arguments), "8080")
    server = SlackServer().start(int(port))
    print(f"webhook {server.webhook}\nsecret  {server.api_secret()}", flush=True)
    shown = 0
    while True:
        threading.Event().wait(0.2)
        for message in server.messages[shown:]:
            print(message.text, flush=True)
            shown += 1


if __name__ == "__main__":
    main(sys.argv[1:])
