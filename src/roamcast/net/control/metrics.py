"""A node's status for Prometheus: `http://127.0.0.1:PORT/metrics`, in the text format 0.0.4.

The page is made when somebody asks, from the same status as `roamcast status` shows. Only this machine can ask: what a
node does may concern nobody else. The server is a few lines, because it has one page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final, NamedTuple

from roamcast import __version__
from roamcast.errors import InputError, RoamcastError, error_text
from roamcast.net.node.node import Node
from roamcast.net.node.status import NodeStatus

HOST: Final = "127.0.0.1"
REQUEST_MAX: Final = 8192
ANSWER_S: Final = 5.0
LATELY_S: Final = 60.0
"""A neighbour that was silent for longer does not count."""

Sample = tuple[dict[str, str], float]


class Metric(NamedTuple):
    name: str
    kind: str  # "counter" or "gauge"
    about: str
    samples: list[Sample]


def counter(name: str, about: str, value: float) -> Metric:
    return Metric(f"roamcast_{name}_total", "counter", about, [({}, value)])


def gauge(name: str, about: str, value: float) -> Metric:
    return Metric(f"roamcast_{name}", "gauge", about, [({}, value)])


def labelled(name: str, kind: str, about: str, label: str, values: Iterable[tuple[str, float]]) -> Metric:
    return Metric(f"roamcast_{name}", kind, about, [({label: text}, value) for text, value in values])


def metrics(status: NodeStatus) -> list[Metric]:
    about = {"version": __version__, "protocol": status.protocol, "node": str(status.node)}
    near = sum(peer.silent_s < LATELY_S for peer in status.neighbours)
    stored, named = status.stored, status.named
    tables = {"publications": stored.publications, "received": stored.received, "held": stored.held}
    return [
        Metric("roamcast_info", "gauge", "Which node this is.", [(about, 1)]),
        gauge("up_seconds", "Time since the node started.", status.up_s),
        gauge("network_up", "Whether at least one medium is up.", status.network),
        gauge("neighbours", f"Neighbours that were heard in the last {LATELY_S:.0f} s.", near),
        gauge("queue_frames", "Own frames that wait to be sent.", status.queue),
        counter("airtime_seconds", "Time that own transmissions took.", status.airtime_s),
        counter("datagrams_received", "Datagrams that arrived.", status.datagrams_in),
        counter("datagrams_sent", "Datagrams that were sent.", status.datagrams_out),
        counter("received_bytes", "Bytes of datagrams that arrived.", status.bytes_in),
        counter("sent_bytes", "Bytes of datagrams that were sent.", status.bytes_out),
        counter("frames_received", "Frames that arrived.", status.frames_in),
        counter("frames_sent", "Frames that were sent.", status.frames_out),
        counter("retries", "Frames that were sent again for want of an acknowledgement.", status.retries),
        counter("published", "Events that this node published.", status.published),
        counter("delivered", "Events that the protocol delivered to this node.", status.delivered),
        counter("lost", "Stored events that were removed before all named subscriptions got them.", stored.lost),
        gauge("routing_entries", "Entries of the protocol's tables.", status.routing_entries),
        labelled("stored_events", "gauge", "Events in the store.", "table", tables.items()),
        gauge("stored_bytes", "Bytes of received events in the store.", stored.received_bytes),
        labelled(
            "behind_events", "gauge", "How far a subscription is behind.", "name", [(n.name, n.behind) for n in named]
        ),
        labelled("dropped_total", "counter", "What was dropped, by reason.", "reason", status.dropped.items()),
        labelled("decisions_total", "counter", "What the protocol did.", "decision", status.decisions.items()),
        *_media(status),
    ]


def _media(status: NodeStatus) -> list[Metric]:
    def each(name: str, kind: str, about: str, values: Iterable[float]) -> Metric:
        media = (medium.name for medium in status.media)
        return labelled(f"medium_{name}", kind, about, "medium", zip(media, values, strict=True))

    media = status.media
    return [
        each("up", "gauge", "Whether this medium is up.", [m.up for m in media]),
        each("queue_frames", "gauge", "Frames that wait for this medium.", [m.queue for m in media]),
        each("no_room_total", "counter", "Frames that its queue had no room for.", [m.queue_full for m in media]),
        each("airtime_seconds_total", "counter", "Own transmissions on it.", [m.airtime_s for m in media]),
        each("datagrams_received_total", "counter", "Datagrams that came over it.", [m.datagrams_in for m in media]),
        each("datagrams_sent_total", "counter", "Datagrams that were sent over it.", [m.datagrams_out for m in media]),
    ]


def page(metrics: list[Metric]) -> str:
    lines: list[str] = []
    for metric in metrics:
        lines += [f"# HELP {metric.name} {_escaped(metric.about, quotes=False)}", f"# TYPE {metric.name} {metric.kind}"]
        lines += [f"{metric.name}{_labels(labels)} {float(value):.15g}" for labels, value in metric.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items()) + "}"


def _escaped(text: str, *, quotes: bool = True) -> str:
    plain = text.replace("\\", "\\\\").replace("\n", "\\n")
    return plain.replace('"', '\\"') if quotes else plain


class MetricsServer:
    """`async with MetricsServer(node, port): …`"""

    def __init__(self, node: Node, port: int) -> None:
        self._node = node
        self.port = port
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> MetricsServer:
        try:
            self._server = await asyncio.start_server(self._serve, HOST, self.port, limit=REQUEST_MAX)
        except OSError as error:
            raise InputError(f"cannot serve metrics on port {self.port}: {error_text(error)}") from None
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(ANSWER_S):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(request))
                await writer.drain()
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # it has closed the connection, is too slow, or sent too much
        finally:
            writer.close()

    def _answer(self, request: bytes) -> bytes:
        method, _, rest = request.partition(b" ")
        if method not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", "only GET\n")
        if rest.split(b" ", 1)[0].partition(b"?")[0] != b"/metrics":
            return _response("404 Not Found", "the metrics are at /metrics\n")
        try:
            text = page(metrics(self._node.status()))
        except RoamcastError as error:  # the disk fails, or the node stops
            return _response("503 Service Unavailable", f"{error}\n", body=method == b"GET")
        return _response("200 OK", text, body=method == b"GET")


def _response(status: str, text: str, *, body: bool = True) -> bytes:
    content = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
    head += f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    return head.encode() + (content if body else b"")
