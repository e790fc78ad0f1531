"""Requests to a running node and its replies: one JSON object per line, each with a field that names its kind.

    {"do":"publish","topic":"…","attrs":{…},"payload":"base64","validity_s":60,"local":false}
                                             -> {"reply":"published","id":…}
    {"do":"subscribe","filter":"…","name":"","after":null}
                                             -> {"reply":"subscribed","subscribed":"…"}, then for each event
    {"reply":"event","id":…,"publisher":…,"topic":"…","attrs":{…},"payload":"base64","validity_s":…,"position":…}
    {"do":"forget","name":"…"}               -> {"reply":"done"}
    {"do":"motion","speed_mps":1.5}          -> {"reply":"done"}; null: the speed is not known any more
    {"do":"status"}                          -> {"reply":"status", and the fields of `NodeStatus`}
    {"do":"watch"}                           -> {"reply":"rows","rows":[[t, node, "kind", "event", "frame", peer, bytes,
                                                value, "text"], …],"lost":0}, some times a second (host/watched.py)
    a request that is wrong                  -> {"reply":"error","error":"what is wrong with it"}

Every field of a request has a default. A connection that has subscribed gets events until it is closed, and one
that watches gets rows.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from roamcast.errors import InputError
from roamcast.net.host.watched import WatchedRow
from roamcast.net.node.status import NodeStatus
from roamcast.pubsub.event import FOREVER, Event, Value

SOCKET: Final = "control"
REQUEST_MAX: Final = 1 << 20
"""Bytes of the longest request."""
PATH_MAX: Final = 100
GONE: Final = "the node has stopped"
_REPLY: Final = "reply"


class _Request(msgspec.Struct, frozen=True, tag_field="do", tag=str.lower):
    """Fields that are not known are ignored."""


class Publish(_Request, frozen=True):
    topic: str = ""
    attrs: dict[str, Value] = {}
    payload: bytes = b""
    validity_s: float | None = None
    local: bool = False


class Subscribe(_Request, frozen=True):
    filter: str = ""
    name: str = ""
    after: int | None = None


class Forget(_Request, frozen=True):
    name: str = ""


class Motion(_Request, frozen=True):
    speed_mps: float | None = None


class Status(_Request, frozen=True):
    pass


class Watch(_Request, frozen=True):
    pass


class _Reply(msgspec.Struct, frozen=True, tag_field=_REPLY, tag=str.lower):
    pass


class Published(_Reply, frozen=True):
    id: int


class Subscribed(_Reply, frozen=True):
    subscribed: str
    """The filter, as the node writes it."""


class ReceivedEvent(_Reply, frozen=True, tag="event"):
    id: int
    publisher: int
    topic: str
    attrs: dict[str, Value | None]
    """None stands for numbers that JSON does not have: infinite ones, and NaN."""
    payload: bytes
    validity_s: float | None
    position: int


class Done(_Reply, frozen=True):
    pass


class StatusReply(NodeStatus, frozen=True, kw_only=True, tag_field=_REPLY, tag="status"):
    pass


class Rows(_Reply, frozen=True):
    rows: list[WatchedRow]
    """What the node has logged since the reply before."""
    lost: int
    """Rows that came too fast for this connection."""


class Failure(_Reply, frozen=True, tag="error"):
    error: str


Request = Publish | Subscribe | Forget | Motion | Status | Watch
Reply = Published | Subscribed | ReceivedEvent | Done | StatusReply | Rows | Failure
Expected = TypeVar("Expected", bound=Reply)

_encoder: Final = msgspec.json.Encoder()
_requests: Final[msgspec.json.Decoder[Request]] = msgspec.json.Decoder(Request)
_replies: Final[msgspec.json.Decoder[Reply]] = msgspec.json.Decoder(Reply)


def line(message: Request | Reply) -> bytes:
    return _encoder.encode(message) + b"\n"


def read_request(line: bytes) -> Request:
    """The request in a line; InputError says in one line what is wrong with it."""
    try:
        return _requests.decode(line)
    except msgspec.ValidationError as error:
        raise InputError(_explained(str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InputError(_explained("")) from None


def read_reply(line: bytes) -> Reply:
    try:
        return _replies.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InputError("the node's answer cannot be read: it may run another version of roamcast") from None


def expected_reply(line: bytes, expected: type[Expected]) -> Expected:
    """The reply in a line, which is empty if the connection has ended; a failure becomes an InputError."""
    if not line:
        raise InputError(GONE)
    reply = read_reply(line)
    if isinstance(reply, Failure):
        raise InputError(reply.error)
    if not isinstance(reply, expected):
        raise InputError(f"the node sent a {type(reply).__name__}, not a {expected.__name__}")
    return reply


def plain(message: Reply) -> dict[str, Any]:
    """A reply for people: without the field that names its kind."""
    fields: dict[str, Any] = msgspec.to_builtins(message)
    del fields[_REPLY]
    return fields


def received_event(event: Event, position: int) -> ReceivedEvent:
    return ReceivedEvent(
        id=event.id,
        publisher=event.publisher,
        topic=event.topic,
        attrs=dict(event.attrs),
        payload=event.payload,
        validity_s=None if event.validity_us == FOREVER else event.validity_us / 1e6,
        position=position,
    )


def socket_path(state: str | Path) -> Path:
    """The path of the socket. Such paths must be short: if an absolute path is too long, a relative one may fit."""
    path = Path(state) / SOCKET
    if len(os.fsencode(path)) > PATH_MAX:
        path = Path(os.path.relpath(path))
    if len(os.fsencode(path)) > PATH_MAX:
        raise InputError(f"state {state}: the path is too long for a socket in it ({PATH_MAX} bytes)")
    return path


def _explained(error: str) -> str:
    """msgspec's `Expected `str`, got `int` - at `$.topic`` as a sentence about the field."""
    problem, _, place = error.partition(" - at `$.")
    field = place.rstrip("`").removesuffix("[...]")
    if field == "do" and problem.startswith("Invalid value "):
        what = problem.removeprefix("Invalid value ")
        return f"cannot do {what}: must be publish, subscribe, forget, motion, status or watch"
    if not field or field == "do":
        return 'a request is a JSON object with "do"'
    return f"{field}: {problem[:1].lower()}{problem[1:].replace('`', '')}"
