"""The page of a running node, for browsers on its machine: `roamcast watch`.

The server listens on 127.0.0.1 only, and answers only requests whose Host header names this machine: a page from
elsewhere whose name suddenly leads here (DNS rebinding) gets nothing. Its address has a random word, so that other
users of this machine get nothing either. There are two things to get, the page and the stream of what happens; nothing
can be changed. The stream are server-sent events, which a browser opens again by itself when they end:

    status  the node's status as `roamcast status --json` prints it
    rows    what it logged since (net/host/watched.py)
    gone    the node has stopped; the server goes on and waits for it to come back
"""

from __future__ import annotations

import json
import time
from http import HTTPStatus
from http.client import HTTP_PORT
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from threading import BoundedSemaphore
from typing import Any, Final, Self

from roamcast.errors import InputError, error_text
from roamcast.log.explanation import words
from roamcast.net.control.client import Connection
from roamcast.net.control.messages import Status, StatusReply, plain
from roamcast.net.host.watched import WatchedRow
from roamcast.pubsub.event import Event
from roamcast.show.replay import page

HERE: Final = "127.0.0.1"
NAMES: Final = (HERE, "localhost")
WORD_BYTES: Final = 12
STREAMS: Final = 8
"""The most pages at a time."""
KIND, TEXT = WatchedRow._fields.index("kind"), WatchedRow._fields.index("text")
AGAIN_S: Final = 2.0
"""How long to wait for a node that has stopped."""
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Server:
    """`with Server(state) as server: server.serve_forever()`; `port` 0 takes any that is free."""

    def __init__(self, state: Path, port: int = 0, every_s: float = 1.0) -> None:
        with Connection(state) as node:  # says in one line if no node runs there
            title = f"node {node.request(Status(), StatusReply).node}"
        try:
            self._http = _Http((HERE, port), _Handler)
        except (OSError, OverflowError) as error:
            line = error_text(error) if isinstance(error, OSError) else "must be from 0 to 65535"
            raise InputError(f"--port {port}: {line}") from None
        self._http.state, self._http.every_s = state, every_s
        self._http.page = page.live(title).encode()
        self._http.word = token_urlsafe(WORD_BYTES)

    @property
    def address(self) -> str:
        return f"http://{HERE}:{self._http.server_port}/{self._http.word}/"

    def serve_forever(self) -> None:
        self._http.serve_forever(poll_interval=0.1)

    def stop(self) -> None:
        """From another thread."""
        self._http.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.server_close()


def names_this_machine(host: str, port: int) -> bool:
    """`host` as browsers write it: without the port if that is the one of HTTP."""
    name, _, given = host.partition(":")
    return name in NAMES and (given == str(port) or (host == name and port == HTTP_PORT))


def in_words(row: list[Any]) -> list[Any]:
    """A row as net/host/watched.py sends it, with the content of a published event as on the pages of logs."""
    kind, text = row[KIND], row[TEXT]
    if kind != "publish":
        return row
    content = json.loads(text)
    return [*row[:TEXT], words.content(Event(0, content["topic"], content["attrs"], b"", 0, 0))]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    state: Path
    every_s: float
    page: bytes
    word: str

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.streams = BoundedSemaphore(STREAMS)


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    server_version = "roamcast"
    sys_version = ""

    def do_GET(self) -> None:
        if not names_this_machine(self.headers.get("Host") or "", self.server.server_port):
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
        elif compare_digest(self.path.encode(), f"/{self.server.word}/".encode()):
            self._begin("text/html; charset=utf-8", len(self.server.page))
            self.wfile.write(self.server.page)
        elif compare_digest(self.path.encode(), f"/{self.server.word}/events".encode()):
            self._stream()
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: the terminal shows the address and is quiet."""

    def _refuse(self, status: HTTPStatus) -> None:
        self.send_error(status)

    def _begin(self, kind: str, length: int | None = None) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()

    # ---- what happens

    def _stream(self) -> None:
        if not self.server.streams.acquire(blocking=False):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        try:
            self._begin("text/event-stream")
            while True:
                try:
                    self._follow()
                except InputError as error:
                    self._send("gone", {"error": str(error)})
                    time.sleep(AGAIN_S)
        except OSError:
            pass  # the page was closed
        finally:
            self.server.streams.release()

    def _follow(self) -> None:
        """Until the node stops, which is an InputError."""
        with Connection(self.server.state) as status, Connection(self.server.state) as rows:
            next_s = 0.0
            for batch in rows.watch():
                if time.monotonic() >= next_s:
                    self._send("status", plain(status.request(Status(), StatusReply)))
                    next_s = time.monotonic() + self.server.every_s
                content = plain(batch)
                self._send("rows", {**content, "rows": [in_words(row) for row in content["rows"]]})

    def _send(self, event: str, content: dict[str, Any]) -> None:
        now_us = time.time_ns() // 1000
        self.wfile.write(f"event: {event}\ndata: {json.dumps({**content, 'now_us': now_us})}\n\n".encode())
        self.wfile.flush()
