"""The socket of a node, for programs on its machine: whatever is asked, it answers with a line and goes on."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net import control
from roamcast.net.config import Config
from roamcast.net.control import Connection, Control
from roamcast.net.node import Node
from tests.conformance.real import network


def test_nonsense_is_answered_by_one_line(tmp_path: Path) -> None:
    def ask() -> None:
        with Connection(tmp_path) as connection:
            for wrong in ("fly", "publish"):
                with pytest.raises(InputError, match=r"cannot do|wrong type"):
                    connection.ask(wrong, topic=7)
            for nonsense in (b"nonsense", b"[" * 100_000, b"7", b'{"do": 7}', b'{"do": ' + b"[" * 100_000):
                connection._socket.sendall(nonsense + b"\n")
                with pytest.raises(InputError, match="a request is a JSON object"):
                    connection._heard()
            assert connection.ask("status")["node"] >= 0

    async def go() -> None:
        config = Config(state=str(tmp_path), insecure=True, protocol="gossip", network=network())
        async with Node(config) as node, Control(node):
            await asyncio.to_thread(ask)

    asyncio.run(go())


def test_a_node_that_does_not_answer_is_one_line_and_a_publication_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(control, "ANSWER_S", 0.05)
    with socket.socket(socket.AF_UNIX) as node:
        node.bind("control")
        node.listen()

        def slow() -> None:
            asked, _ = node.accept()
            with asked:
                asked.recv(1000)
                time.sleep(0.3)
                asked.sendall(b'{"id": 7}\n')

        with Connection(".") as silent, pytest.raises(InputError, match="the node does not answer"):
            silent.ask("status")
        node.accept()[0].close()
        answering = threading.Thread(target=slow)
        answering.start()
        with Connection(".") as patient:
            assert patient.ask("publish") == {"id": 7}
        answering.join()
