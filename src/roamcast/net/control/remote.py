"""A node of another process on this machine, for programs that use asyncio.

    async with RemoteNode("~/node") as node:
        await node.publish("weather.roof", {"temperature": 31.5})
        async for event in node.subscribe("temperature > 30", name="alarm"):
            print(event.topic, event.attrs)

Requests share one connection, one at a time. Each subscription has a connection of its own, because the node sends
events over it until it is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Self

from roamcast.errors import InputError, NotNow
from roamcast.net.control import messages
from roamcast.net.control.client import unreachable
from roamcast.net.control.messages import (
    GONE,
    Ack,
    Done,
    Expected,
    Forget,
    Hello,
    HelloReply,
    Motion,
    Publish,
    Published,
    ReceivedEvent,
    Request,
    Status,
    StatusReply,
    Subscribe,
    Subscribed,
)
from roamcast.net.node.status import NodeStatus
from roamcast.pubsub.event import Value


class RemoteNode:
    """`state` is the folder of the node's state: `roamcast node --state DIR`."""

    def __init__(self, state: str | Path) -> None:
        self._state = Path(state).expanduser()
        self._line: _Line | None = None
        self._turn = asyncio.Lock()
        self._subscriptions: list[RemoteSubscription] = []

    async def __aenter__(self) -> Self:
        self._line = await _Line.open(self._state)
        return self

    async def __aexit__(self, *_: object) -> None:
        for subscription in self._subscriptions:
            await subscription.close()
        if self._line is not None:
            await self._line.close()
            self._line = None

    async def publish(
        self,
        topic: str = "",
        attrs: dict[str, Value] | None = None,
        payload: bytes = b"",
        *,
        validity_s: float | None = None,
        local: bool = False,
        key: str = "",
        repeated: bool = False,
    ) -> int:
        """The event's id, once the node has it on disk. Without a validity it does not expire. For `key` and
        `repeated` see `Node.publish`."""
        request = Publish(topic, attrs or {}, payload, validity_s, local, key, repeated)
        return (await self._request(request, Published)).id

    def subscribe(
        self, filter: str, *, name: str = "", after: int | None = None, acknowledge: bool = False
    ) -> RemoteSubscription:
        """Iterate over the result for the events. The subscription starts now, even before the first iteration.
        `acknowledge`: one with a name moves on when `done` is called, and not before."""
        subscription = RemoteSubscription(self._state, Subscribe(filter, name, after, acknowledge))
        self._subscriptions.append(subscription)
        return subscription

    async def forget(self, name: str) -> None:
        """End a subscription with a name for good."""
        await self._request(Forget(name), Done)

    async def hello(self) -> HelloReply:
        """Which node this is, and which version of the control protocol it speaks."""
        return await self._request(Hello(), HelloReply)

    async def motion(self, speed_mps: float | None) -> None:
        """The node moves at this speed in m/s; None: that is not known any more."""
        await self._request(Motion(speed_mps), Done)

    async def status(self) -> NodeStatus:
        return await self._request(Status(), StatusReply)

    async def _request(self, request: Request, expected: type[Expected]) -> Expected:
        if self._line is None:
            raise InputError("not connected: use `async with rc.connect(…) as node`")
        async with self._turn:
            return await self._line.request(request, expected)


class RemoteSubscription:
    """An asynchronous iterator over events. `position` is that of the last event it gave."""

    def __init__(self, state: Path, request: Subscribe) -> None:
        self.position = -1
        self._opened = asyncio.ensure_future(_subscribed(state, request))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ReceivedEvent:
        line = await asyncio.shield(self._opened)
        event = await line.reply(ReceivedEvent)
        self.position = event.position
        return event

    async def done(self, position: int) -> None:
        """The application is done with all events up to this position; for a subscription with `acknowledge`."""
        await (await asyncio.shield(self._opened)).send(Ack(position))

    async def close(self) -> None:
        """End the iteration. A subscription with a name goes on in the node."""
        self._opened.cancel()
        with contextlib.suppress(asyncio.CancelledError, InputError):
            await (await self._opened).close()


async def _subscribed(state: Path, request: Subscribe) -> _Line:
    line = await _Line.open(state)
    try:
        await line.request(request, Subscribed)
    except BaseException:
        await line.close()
        raise
    return line


class _Line:
    """A connection on which requests and replies are lines."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, state: Path) -> _Line:
        path = messages.socket_path(state)
        try:
            return cls(*await asyncio.open_unix_connection(path, limit=messages.REQUEST_MAX))
        except OSError as error:
            raise unreachable(state, error) from None

    async def request(self, request: Request, expected: type[Expected]) -> Expected:
        await self.send(request)
        return await self.reply(expected)

    async def send(self, request: Request) -> None:
        try:
            self._writer.write(messages.request_line(request))
            await self._writer.drain()
        except ConnectionError:
            raise NotNow(GONE) from None

    async def reply(self, expected: type[Expected]) -> Expected:
        try:
            line = await self._reader.readline()
        except (ConnectionError, ValueError):  # closed, or a line that is too long
            line = b""
        return messages.expected_reply(line, expected)

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
