"""A running node for other programs on its machine: a Unix socket in the state folder, which its owner alone may open.

A request is a line of JSON, and so is each answer; {"error": "…"} says what was wrong with the request.

    {"do": "publish", "topic": "…", "attrs": {…}, "payload": "base64", "validity_s": 60, "local": false}  -> {"id": …}
    {"do": "subscribe", "filter": "…", "name": "", "after": null}     -> {"subscribed": "…"}, then a line for each:
        {"id": …, "publisher": …, "topic": "…", "attrs": {…}, "payload": "base64", "validity_s": …, "position": …}
    {"do": "forget", "name": "…"}                                     -> {}
    {"do": "status"}                                                  -> what `Node.status` tells

A connection that subscribed is a subscription: it ends with it. Who reads slowly slows down nobody else.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import json
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from roamcast import files
from roamcast.errors import InputError, NodeClosed, RoamcastError, error_text
from roamcast.net.node import Node
from roamcast.pubsub.event import FOREVER, Event

log: Final = logging.getLogger("roamcast.net")

SOCKET: Final = "control"
REQUEST_MAX: Final = 1 << 20
CONNECTIONS: Final = 64
ANSWER_S: Final = 10.0


def socket_path(state: str | Path) -> Path:
    """Names of Unix sockets are short: a folder with a long name is reached from where we are, if that is shorter."""
    path = Path(state) / SOCKET
    if len(os.fsencode(path)) > 100:
        path = Path(os.path.relpath(path))
    if len(os.fsencode(path)) > 100:
        raise InputError(f"state {state}: the path is too long for a socket in it (100 bytes)")
    return path


class Control:
    """Answers requests to a node that runs: `async with Control(node): …`."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Control:
        path = socket_path(self._node.config.state)
        path.unlink(missing_ok=True)  # of a life that was killed: the store is ours alone, and so is this
        old = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._serve, path, limit=REQUEST_MAX)
        except OSError as error:
            raise InputError(f"cannot listen on {path}: {error_text(error)}") from None
        finally:
            os.umask(old)
        path.chmod(files.PRIVATE)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for connection in list(self._connections):
            connection.cancel()
        if self._connections:
            await asyncio.wait(self._connections)
        with contextlib.suppress(InputError, OSError):
            socket_path(self._node.config.state).unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if len(self._connections) > CONNECTIONS:
                await _say(writer, {"error": f"{CONNECTIONS} connections are open already"})
                return
            while line := await reader.readline():
                await self._answer(line, reader, writer)
        except (ConnectionError, ValueError, asyncio.CancelledError):
            pass  # whoever asked has left, asked without end, or the node stops
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = _Request(line)
            if request.what == "subscribe":
                await self._subscribe(request, reader, writer)
                return
            answer = await self._done(request)
        except RoamcastError as error:
            answer = {"error": str(error)}
        await _say(writer, answer)

    async def _done(self, request: _Request) -> dict[str, Any]:
        if request.what == "publish":
            id = await self._node.publish(
                request.text("topic"),
                request.get("attrs", dict, {}),
                request.payload(),
                validity_s=request.get("validity_s", (int, float), None),
                local=request.get("local", bool, False),
            )
            return {"id": id}
        if request.what == "forget":
            self._node.forget(request.text("name"))
            return {}
        if request.what == "status":
            return self._node.status()
        raise InputError(f"cannot do {request.what!r}: must be publish, subscribe, forget or status")

    async def _subscribe(self, request: _Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        subscription = self._node.subscribe(
            request.text("filter"), name=request.text("name"), after=request.get("after", int, None)
        )
        await _say(writer, {"subscribed": str(subscription.filter)})
        left = asyncio.create_task(_ended(reader))
        left.add_done_callback(lambda _: subscription.close())
        try:
            async for event in subscription:
                await _say(writer, {**described(event), "position": subscription.position})
            if not left.done():
                await _say(writer, {"error": "the node has stopped"})
        except NodeClosed:
            pass
        finally:
            subscription.close()
            left.cancel()


class _Request:
    def __init__(self, line: bytes) -> None:
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or not isinstance(fields.get("do"), str):
            raise InputError('a request is a JSON object with "do"')
        self.what: str = fields["do"]
        self._fields: dict[str, Any] = fields

    def get(self, name: str, kind: type | tuple[type, ...], default: Any) -> Any:
        value = self._fields.get(name)
        if value is None:
            return default
        if not isinstance(value, kind):
            raise InputError(f"{name}={value!r}: is of the wrong type")
        return value

    def text(self, name: str) -> str:
        return str(self.get(name, str, ""))

    def payload(self) -> bytes:
        try:
            return base64.b64decode(self.text("payload"), validate=True)
        except binascii.Error:
            raise InputError("payload: must be base64") from None


async def _say(writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
    writer.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
    await writer.drain()


async def _ended(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        while await reader.read(4096):
            pass


def described(event: Event) -> dict[str, Any]:
    """An event as JSON has it."""
    return {
        "id": event.id,
        "publisher": event.publisher,
        "topic": event.topic,
        "attrs": event.attrs,
        "payload": base64.b64encode(event.payload).decode(),
        "validity_s": None if event.validity_us == FOREVER else event.validity_us / 1e6,
    }


# ------------------------------------------------------------------------------------------------------- the other end


class Connection:
    """To a node that runs on this machine. Plain blocking calls: what asks is a command, not a server."""

    def __init__(self, state: str | Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(ANSWER_S)
        try:
            self._socket.connect(str(socket_path(state)))
        except (FileNotFoundError, ConnectionRefusedError):  # the latter if it was killed, and left its socket
            raise InputError(f"no node runs on the state {state} (`roamcast node --state {state}`)") from None
        except OSError as error:
            raise InputError(f"cannot reach the node of {state}: {error_text(error)}") from None
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()

    def ask(self, what: str, **fields: Any) -> dict[str, Any]:
        """A publication is waited for without end: it is published in any case, and asking again would repeat it."""
        self._socket.settimeout(None if what == "publish" else ANSWER_S)
        try:
            self._socket.sendall(json.dumps({"do": what, **fields}).encode() + b"\n")
            return self._heard()
        except TimeoutError:
            raise InputError("the node does not answer") from None
        except OSError:
            raise InputError("the node has gone") from None

    def events(self, patience_s: float | None = None) -> Iterator[dict[str, Any]]:
        """After `ask("subscribe", …)`; ends when nothing comes for so long."""
        self._socket.settimeout(patience_s)
        while True:
            try:
                yield self._heard()
            except TimeoutError:
                return

    def _heard(self) -> dict[str, Any]:
        try:
            line = self._lines.readline()
        except TimeoutError:
            raise
        except OSError:
            line = b""
        if not line:
            raise InputError("the node has gone")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise InputError(str(answer["error"]))
        return answer
