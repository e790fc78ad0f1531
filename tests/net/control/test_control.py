"""The socket of a node, for programs on its machine: every request gets one line, and the node goes on."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import InputError, StoreError, WrongRequest
from roamcast.net.config import Config
from roamcast.net.control import client, messages
from roamcast.net.control.client import Connection
from roamcast.net.control.messages import REQUEST_MAX, Done, Publish, Published, Status, StatusReply
from roamcast.net.control.server import Control
from roamcast.net.node.node import Node
from roamcast.net.node.publishing import Publishing
from tests.conformance.real import network
from tests.net.node.nodes import config, run, until

NO_REQUEST = 'a request is a JSON object with "do"'
WRONG = [
    (b"nonsense", NO_REQUEST),
    (b"[" * 100_000, NO_REQUEST),
    (b"7", NO_REQUEST),
    (b'{"do": 7}', NO_REQUEST),
    (b'{"do": ' + b"[" * 100_000, NO_REQUEST),
    (b'{"topic": "x"}', NO_REQUEST),
    (b'{"do": "publish", "topic": "\xff"}', NO_REQUEST),
    (
        b'{"do": "fly"}',
        "cannot do 'fly': must be ack, forget, hello, motion, publish, rotate, status,",
    ),
    (b'{"do": "publish", "topic": 7}', "topic: expected str, got int"),
    (b'{"do": "publish", "payload": "?"}', "payload: invalid base64 encoded string"),
    (b'{"do": "publish", "attrs": {"a": [1]}}', "attrs: expected"),
    (b'{"do": "publish", "attrs": {"a": 1e999}}', "attrs: number out of range"),
    (b'{"do": "publish", "attrs": {"a": 1180591620717411303424}}', "cannot publish this"),
    (b'{"do": "publish", "validity_s": "long"}', "validity_s: expected"),
    (b'{"do": "subscribe", "filter": "n >"}', "expected"),
    (b'{"do": "hello", "version": 2}', "version 2: this node speaks version 1"),
    (b'{"do": "ack", "position": 1}', "ack: this connection has not subscribed with acknowledge"),
    (b'{"do": "subscribe", "filter": "true", "acknowledge": true}', "acknowledge: only a subscription with a name"),
    (b'{"do": "rotate"}', "only a node with a key and a roster can rotate the group's key"),
    (b'{"do": "forget", "name": "x"}', "there is no subscription 'x'"),
]


def with_node(state: Path, work: Callable[[], None]) -> None:
    """Work beside a node on this state."""

    async def go() -> None:
        config = Config(state=str(state), insecure=True, protocol="gossip", network=network())
        async with Node(config) as node, Control(node):
            await asyncio.to_thread(work)

    asyncio.run(go())


def test_a_wrong_request_is_answered_by_one_line(tmp_path: Path) -> None:
    def send_requests() -> None:
        with Connection(tmp_path) as connection:
            for line, problem in WRONG:
                connection._socket.sendall(line + b"\n")
                with pytest.raises(InputError) as error:
                    connection._reply(Done)
                assert str(error.value).startswith(problem)
                assert "\n" not in str(error.value)
            assert connection.request(Status(), StatusReply).node >= 0

    with_node(tmp_path, send_requests)


def test_a_line_that_is_too_long_is_answered_and_the_connection_goes_on(tmp_path: Path) -> None:
    def send_requests() -> None:
        with Connection(tmp_path) as connection:
            for length in (REQUEST_MAX + 1, 3 * REQUEST_MAX, 10 * REQUEST_MAX + 7):
                connection._socket.sendall(b"x" * length + b"\n")
                with pytest.raises(WrongRequest, match="too long: at most 1,048,576 bytes"):
                    connection._reply(Done)
                assert connection.request(Status(), StatusReply).node >= 0
            with pytest.raises(WrongRequest, match="too long"):
                connection.request(Publish(payload=bytes(REQUEST_MAX)), Published)
            with pytest.raises(WrongRequest, match="surrogates not allowed"):
                connection.request(Publish("\ud800"), Published)
            assert connection.request(Status(), StatusReply).published == 0

    with_node(tmp_path, send_requests)


def test_a_request_that_may_succeed_later_is_not_a_wrong_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    def send_requests() -> None:
        with Connection(tmp_path) as connection:
            monkeypatch.setattr(Publishing, "_keep", full)
            with pytest.raises(InputError, match="the disk is full") as error:
                connection.request(Publish("x"), Published)
            assert not isinstance(error.value, WrongRequest)
            monkeypatch.undo()
            with pytest.raises(WrongRequest, match="cannot publish"):
                connection.request(Publish(payload=bytes(REQUEST_MAX // 2)), Published)

    with_node(tmp_path, send_requests)


def test_a_node_that_does_not_answer_gives_one_line_and_publish_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(client, "ANSWER_S", 0.05)
    with socket.socket(socket.AF_UNIX) as node:
        node.bind("control")
        node.listen()

        def slow() -> None:
            connection, _ = node.accept()
            with connection:
                connection.recv(1000)
                time.sleep(0.3)
                connection.sendall(b'{"reply":"published","id":7}\n')

        with Connection(".") as silent, pytest.raises(InputError, match="the node does not answer"):
            silent.request(Status(), StatusReply)
        node.accept()[0].close()
        answering = threading.Thread(target=slow)
        answering.start()
        with Connection(".") as patient:
            assert patient.request(Publish(), Published) == Published(7)
        answering.join()


async def replies(reader: asyncio.StreamReader, n: int) -> list[dict[str, Any]]:
    return [json.loads(await reader.readline()) for _ in range(n)]


def test_a_subscription_ignores_wrong_lines_and_an_acknowledgement_that_cannot_be_stored_ends_it_with_a_reason(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        settings = config("", insecure=True, state=str(tmp_path))
        async with Node(settings) as node, Control(node):
            reader, writer = await asyncio.open_unix_connection(tmp_path / "control")
            writer.write(b'{"do": "subscribe", "filter": "n > 0", "name": "x", "acknowledge": true}\n')
            assert (await replies(reader, 1))[0]["reply"] == "subscribed"
            writer.write(b'nonsense\n{"do": "ack"}\n{"do": "status"}\n')
            for n in (1, 2):
                await node.publish(attrs={"n": n})
            events = await replies(reader, 2)
            assert [event["attrs"]["n"] for event in events] == [1, 2]
            writer.write(b'{"do": "ack", "position": %d}\n' % events[0]["position"])
            await until(lambda: node.store.subscriptions.all()[0].cursor == events[0]["position"])
            node.store.db.run(
                "create trigger failing before update on subscriptions begin select raise(abort, 'bad'); end"
            )
            writer.write(b'{"do": "ack", "position": %d}\n' % events[1]["position"])
            assert await replies(reader, 1) == [
                {"reply": "error", "error": "the node's store failed: bad", "again": True}
            ]
            assert await reader.read() == b""
            writer.close()

    run(go())


def test_a_line_that_is_too_long_does_not_end_a_subscription(tmp_path: Path) -> None:
    async def go() -> None:
        async with Node(config("", insecure=True, state=str(tmp_path))) as node, Control(node):
            reader, writer = await asyncio.open_unix_connection(tmp_path / "control")
            writer.write(b'{"do": "subscribe", "filter": "n > 0"}\n')
            await replies(reader, 1)
            writer.write(b"x" * (messages.REQUEST_MAX + 9) + b"\n")
            await writer.drain()
            await node.publish(attrs={"n": 1})
            assert (await replies(reader, 1))[0]["attrs"] == {"n": 1}
            writer.close()

    run(go())
