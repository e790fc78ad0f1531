"""Metrics for Prometheus: the status of the node, in the text format, for this machine alone."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket

import pytest

from roamcast.errors import InputError
from roamcast.net.control import metrics
from roamcast.net.control.metrics import Metric, MetricsServer, page
from roamcast.net.node.node import Node
from tests.net.node.nodes import PATIENCE_S, config, run

SAMPLE = re.compile(r'([a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-z]+="(?:[^"\\\n]|\\[\\"n])*")*\})? (\S+)')


def parsed(text: str) -> dict[str, float]:
    """The samples of a page, whose every line must be one of the format's."""
    samples: dict[str, float] = {}
    declared = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            declared = line.split(" ")[2]
            continue
        if line.startswith("# TYPE "):
            assert line.split(" ")[2:] in ([declared, "counter"], [declared, "gauge"])
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample is not None, line
        assert sample[1] == declared
        assert sample[1] + (sample[2] or "") not in samples
        samples[sample[1] + (sample[2] or "")] = float(sample[3])
    return samples


async def ask(port: int, request: bytes = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") -> tuple[str, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        head, _, body = (await asyncio.wait_for(reader.read(), PATIENCE_S)).decode().partition("\r\n\r\n")
    finally:
        writer.close()
    return head, body


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_the_page_has_the_counts_of_the_status() -> None:
    async def go() -> None:
        async with Node(config("", insecure=True)) as node, MetricsServer(node, free_port()) as server:
            node.subscribe("true", name='odd "name" \\ here')
            for _ in range(3):
                await node.publish("news")
            node.runner.tally.drop("forged")
            head, body = await ask(server.port)
            assert head.startswith("HTTP/1.1 200 OK\r\n")
            assert "text/plain; version=0.0.4" in head
            assert f"Content-Length: {len(body.encode())}\r\n" in head
            samples = parsed(body)
            status = node.status()
            assert samples["roamcast_published_total"] == 3
            assert samples["roamcast_frames_sent_total"] == status.frames_out
            assert samples['roamcast_dropped_total{reason="forged"}'] == 1
            assert samples['roamcast_medium_up{medium="udp"}'] == 1
            assert samples['roamcast_stored_events{table="publications"}'] == 3
            assert 'roamcast_behind_events{name="odd \\"name\\" \\\\ here"}' in samples
            assert any(name.startswith("roamcast_info{") and 'protocol="gossip"' in name for name in samples)

    run(go())


def test_anything_else_is_refused_and_the_server_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "ANSWER_S", 0.2)

    async def go() -> None:
        async with Node(config("", insecure=True)) as node, MetricsServer(node, free_port()) as server:
            for request, answer in (
                (b"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
                (b"POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405"),
                (b"GET /metrics", ""),
                (b"x" * 100_000, ""),
                (b"\r\n\r\n", "HTTP/1.1 405"),
                (b"HEAD /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 200"),
                (b"GET /metrics?x=1 HTTP/1.0\r\n\r\n", "HTTP/1.1 200"),
            ):
                try:
                    head, _ = await ask(server.port, request)
                except ConnectionError:
                    head = ""
                assert head.startswith(answer)

    run(go())


def test_a_request_that_is_too_long_or_a_store_that_fails_leaves_no_connection_open() -> None:
    async def go() -> None:
        problems: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        async with Node(config("", insecure=True)) as node, MetricsServer(node, free_port()) as server:
            with contextlib.suppress(ConnectionError):
                assert await ask(server.port, b"x" * 100_000) == ("", "")
            node.store.db.run("alter table held rename to elsewhere")
            head, body = await ask(server.port)
            assert head.startswith("HTTP/1.1 503")
            assert body.startswith("the node's store failed")
            node.store.db.run("alter table elsewhere rename to held")
            assert (await ask(server.port))[0].startswith("HTTP/1.1 200")
            await node.stop()
            assert await ask(server.port) != ("", "")
        assert problems == []

    run(go())


def test_a_port_that_is_taken_gets_one_line() -> None:
    async def go() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            async with Node(config("", insecure=True)) as node:
                with pytest.raises(InputError, match="cannot serve metrics on port"):
                    await MetricsServer(node, taken.getsockname()[1]).__aenter__()

    run(go())


def test_a_metric_without_samples_is_a_page_still() -> None:
    assert parsed(page([Metric("roamcast_x", "gauge", "Nothing.", [])])) == {}
