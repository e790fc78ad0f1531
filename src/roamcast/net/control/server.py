"""The server that answers requests of other programs to a running node."""

from __future__ import annotations

import asyncio
import contextlib
import os
from hashlib import blake2b
from typing import Any, Final

import msgspec

from roamcast import __version__, files
from roamcast.errors import InputError, NodeClosed, RoamcastError, StoreError, error_text
from roamcast.net.control import messages
from roamcast.net.control.messages import (
    VERSION,
    Ack,
    Done,
    Failure,
    Forget,
    Hello,
    HelloReply,
    Motion,
    Publish,
    Published,
    Reply,
    Request,
    Rotate,
    Rotating,
    Rows,
    StatusReply,
    Subscribe,
    Subscribed,
    Watch,
)
from roamcast.net.node.node import Node
from roamcast.net.node.subscription import Subscription

WATCHED_S: Final = 0.2
"""How often a connection that watches gets rows, also if there are none."""
CONNECTIONS: Final = 64
"""How many connections may be open at a time."""


class Control:
    """`async with Control(node): …`. A connection whose program reads slowly slows down no other one."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Control:
        path = messages.socket_path(self._node.config.state)
        path.unlink(missing_ok=True)  # a killed process left it: the store is locked, so no other node has this state
        old = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._serve, path, limit=messages.REQUEST_MAX)
        except OSError as error:
            kind = StoreError if error.errno in files.FAILING else InputError
            raise kind(f"cannot listen on {path}: {error_text(error)}") from None
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
            messages.socket_path(self._node.config.state).unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if len(self._connections) > CONNECTIONS:
                await _send(writer, Failure(f"{CONNECTIONS} connections are open already", again=True))
                return
            while line := await _next_line(reader, writer):
                await self._answer(line, reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the program has closed the connection, or the node stops
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reply: Reply
        try:
            request = messages.read_request(line)
            if isinstance(request, Subscribe):
                await self._subscribe(request, reader, writer)
                return
            if isinstance(request, Watch):
                await self._watch(reader, writer)
                return
            reply = await self._reply(request)
        except RoamcastError as error:
            reply = Failure(str(error), again=isinstance(error, StoreError | NodeClosed))
        await _send(writer, reply)

    async def _reply(self, request: Request) -> Reply:
        node = self._node
        if isinstance(request, Publish):
            content: dict[str, Any] = msgspec.structs.asdict(request)
            return Published(await node.publish(**content))
        if isinstance(request, Hello):
            return self._hello(request)
        if isinstance(request, Rotate):
            return Rotating(await node.rotate(go_on=request.go_on))
        if isinstance(request, Ack):
            raise InputError("ack: this connection has not subscribed with acknowledge")
        if isinstance(request, Forget):
            node.forget(request.name)
            return Done()
        if isinstance(request, Motion):
            node.motion(request.speed_mps)
            return Done()
        return StatusReply(**msgspec.structs.asdict(node.status()))

    def _hello(self, request: Hello) -> HelloReply:
        if not 1 <= request.version <= VERSION:
            raise InputError(f"version {request.version}: this node speaks version {VERSION}")
        group = blake2b(self._node.runner.membership.group_name.encode(), digest_size=4).hexdigest()
        return HelloReply(VERSION, f"roamcast {__version__}", self._node.runner.id, group)

    async def _subscribe(self, request: Subscribe, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The subscription ends with the connection, and the connection with a subscription that fails."""
        subscription = self._node.subscribe(
            request.filter, name=request.name, after=request.after, acknowledge=request.acknowledge
        )
        await _send(writer, Subscribed(str(subscription.filter)))
        closed = asyncio.create_task(_acknowledgements(reader, subscription))
        closed.add_done_callback(lambda _: subscription.close())
        try:
            async for event in subscription:
                await _send(writer, messages.received_event(event, subscription.position))
            failure = closed.result() if closed.done() else Failure(messages.GONE, again=True)
        except StoreError as error:
            failure = Failure(str(error), again=True)
        finally:
            subscription.close()
            closed.cancel()
        if failure is not None:
            await _send(writer, failure)
            writer.close()

    async def _watch(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """It ends with the connection, or with the node."""
        watcher = self._node.watch()
        closed = asyncio.create_task(_closed(reader))
        try:
            while not closed.done():
                await _send(writer, Rows(*watcher.take()))
                await asyncio.wait([closed], timeout=WATCHED_S)
        finally:
            watcher.close()
            closed.cancel()


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> None:
    writer.write(messages.line(reply))
    await writer.drain()


async def _next_line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """The next request, empty if the connection has ended. Lines that are too long are answered and left out."""
    while True:
        try:
            return await reader.readuntil()
        except asyncio.IncompleteReadError as error:
            return error.partial
        except asyncio.LimitOverrunError:
            await _skip_line(reader)
            await _send(writer, Failure(messages.TOO_LONG))


async def _skip_line(reader: asyncio.StreamReader) -> None:
    """Read a line of any length without keeping it."""
    while True:
        try:
            await reader.readuntil()
            return
        except asyncio.IncompleteReadError:
            return
        except asyncio.LimitOverrunError as error:
            await reader.readexactly(error.consumed)


async def _acknowledgements(reader: asyncio.StreamReader, subscription: Subscription) -> Failure | None:
    """Returns when the other end has closed the connection, or when an acknowledgement could not be stored. Apart from
    acknowledgements, what the other end sends is ignored."""
    try:
        while line := await _line(reader):
            position = _acknowledged(line)
            if position is not None:
                await subscription.done(position)
    except ConnectionError:
        pass
    except NodeClosed:
        return Failure(messages.GONE, again=True)
    except RoamcastError as error:
        return Failure(str(error), again=isinstance(error, StoreError))
    return None


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; one that is too long is a line break alone."""
    try:
        return await reader.readline()
    except ValueError:
        return b"\n"


def _acknowledged(line: bytes) -> int | None:
    """The position that the line acknowledges, if it does so."""
    try:
        request = messages.read_request(line)
    except InputError:
        return None
    return request.position if isinstance(request, Ack) else None


async def _closed(reader: asyncio.StreamReader) -> None:
    """Returns when the other end has closed the connection; what it sends is ignored."""
    with contextlib.suppress(ConnectionError):
        while await reader.read(4096):
            pass
