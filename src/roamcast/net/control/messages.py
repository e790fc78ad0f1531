"""Requests to a running node and its replies, version 1: one JSON object per line, each with a field that names its
kind. docs/reference/control.md describes them for programs in any language; it is made from the classes below.

Every field of a request has a default. Fields that a node does not know are ignored, and a client must ignore fields of
replies that it does not know: new fields may come within a version. A connection that has subscribed gets events until
it is closed, and one that watches gets rows (host/watched.py).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar, get_args

import msgspec

from roamcast.errors import InputError, NotNow, WrongRequest, one_line
from roamcast.net.host.watched import WatchedRow
from roamcast.net.node.status import NodeStatus
from roamcast.pubsub.event import FOREVER, Event, Value

SOCKET: Final = "control"
VERSION: Final = 1
"""It rises when a client of the version before would misunderstand something."""
REQUEST_MAX: Final = 1 << 20
"""Bytes of the longest request."""
TOO_LONG: Final = f"the request is too long: at most {REQUEST_MAX:,} bytes"
PATH_MAX: Final = 100
GONE: Final = "the node has stopped"
_REPLY: Final = "reply"


class _Request(msgspec.Struct, frozen=True, tag_field="do", tag=str.lower):
    """Fields that are not known are ignored."""


def _about(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class Hello(_Request, frozen=True):
    """Which version does the node speak, and who is it? Optional; an error if the node does not speak this version."""

    version: Annotated[int, _about("that the client speaks")] = VERSION


class Publish(_Request, frozen=True):
    """Publish an event. The reply comes when the node has stored it."""

    topic: Annotated[str, _about("its topic, with dots between the levels")] = ""
    attrs: Annotated[dict[str, Value], _about("texts, numbers and truth values by name")] = {}
    payload: Annotated[bytes, _about("anything else, in base64")] = b""
    validity_s: Annotated[float | None, _about("seconds until it expires; null: never")] = None
    local: Annotated[bool, _about("only of interest nearby")] = False
    key: Annotated[str, _about("a name of your choice for this publication, so that it can be repeated safely")] = ""
    repeated: Annotated[bool, _about("publish it only if its key is not among the last 256")] = False


class Subscribe(_Request, frozen=True):
    """Get events, on this connection, until it is closed."""

    filter: Annotated[str, _about("which ones, as on the command line")] = ""
    name: Annotated[
        str, _about("with a name, the subscription goes on when nobody is connected, and then where it was")
    ] = ""
    after: Annotated[int | None, _about("begin behind this position; null: now, or where the name was")] = None
    acknowledge: Annotated[bool, _about("a name moves on when the client has sent `ack`, and not before")] = False


class Ack(_Request, frozen=True):
    """The client is done with all events up to this position. Only after `subscribe` with `acknowledge`; no reply."""

    position: Annotated[int, _about("of the last event that is done")] = 0


class Forget(_Request, frozen=True):
    """End a subscription with a name for good."""

    name: Annotated[str, _about("of the subscription")] = ""


class Rotate(_Request, frozen=True):
    """Give the group a new key over the air, for the members on the roster."""

    go_on: Annotated[bool, _about("go on without the members that have not taken the present step")] = False


class Motion(_Request, frozen=True):
    """The node moves at this speed."""

    speed_mps: Annotated[float | None, _about("in m/s; null: it is not known any more")] = None


class Status(_Request, frozen=True):
    """What the node is doing."""


class Watch(_Request, frozen=True):
    """Get what the node logs, some times a second, on this connection, until it is closed."""


class _Reply(msgspec.Struct, frozen=True, tag_field=_REPLY, tag=str.lower):
    pass


class HelloReply(_Reply, frozen=True, tag="hello"):
    """To `hello`."""

    version: Annotated[int, _about("of this protocol")]
    program: Annotated[str, _about("name and version of the program")]
    node: Annotated[int, _about("the node's number")]
    group: Annotated[str, _about("a name for the group of nodes, the same at all of them")]


class Published(_Reply, frozen=True):
    """To `publish`: the event is on disk."""

    id: Annotated[int, _about("the event's id: publisher · 2³² + its sequence number, up to 2⁶³")]


class Subscribed(_Reply, frozen=True):
    """To `subscribe`. Events follow."""

    subscribed: Annotated[str, _about("the filter, as the node writes it")]


class ReceivedEvent(_Reply, frozen=True, tag="event"):
    """An event that a subscription wants."""

    id: Annotated[int, _about("unique in the group")]
    publisher: Annotated[int, _about("the number of the node that published it")]
    topic: Annotated[str, _about("its topic")]
    attrs: Annotated[dict[str, Value | None], _about("null stands for numbers that JSON does not have")]
    payload: Annotated[bytes, _about("in base64")]
    validity_s: Annotated[float | None, _about("how long it was valid when it was published; null: for ever")]
    position: Annotated[int, _about("its place among all events that this node has received, for `after` and `ack`")]


class Done(_Reply, frozen=True):
    """To `forget` and `motion`."""


class Rotating(_Reply, frozen=True):
    """To `rotate`."""

    progress: Annotated[str, _about("what the rotation waits for; empty if it is complete")]


class StatusReply(NodeStatus, frozen=True, kw_only=True, tag_field=_REPLY, tag="status"):
    """To `status`: neighbours, tables, counts and drops."""


class Rows(_Reply, frozen=True):
    """To `watch`, again and again: what the node has logged since the reply before."""

    rows: Annotated[
        list[WatchedRow], _about("time, node, kind, event, frame, peer, bytes, value, text, as in the event log")
    ]
    lost: Annotated[int, _about("rows that came too fast for this connection")]


class Failure(_Reply, frozen=True, tag="error"):
    """The request was wrong, the node's disk failed, or the node has stopped. The connection stays open if it can."""

    error: Annotated[str, _about("what is wrong, in one line")]
    again: Annotated[bool, _about("the same request may succeed later: the disk is full, or the node stops")] = False


Request = Hello | Publish | Subscribe | Ack | Forget | Motion | Rotate | Status | Watch
Reply = HelloReply | Published | Subscribed | ReceivedEvent | Done | Rotating | StatusReply | Rows | Failure
Expected = TypeVar("Expected", bound=Reply)

_KINDS: Final = sorted(str(kind.__struct_config__.tag) for kind in get_args(Request))
_KNOWN: Final = f"{', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
_encoder: Final = msgspec.json.Encoder()
_requests: Final[msgspec.json.Decoder[Request]] = msgspec.json.Decoder(Request)
_replies: Final[msgspec.json.Decoder[Reply]] = msgspec.json.Decoder(Reply)


def line(message: Request | Reply) -> bytes:
    return _encoder.encode(message) + b"\n"


def request_line(request: Request) -> bytes:
    """The line of a request; WrongRequest if no node could read it."""
    try:
        encoded = line(request)
    except ValueError as error:
        raise WrongRequest(f"this cannot be sent to the node: {one_line(error)}") from None
    if len(encoded) > REQUEST_MAX:
        raise WrongRequest(TOO_LONG)
    return encoded


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
        raise NotNow(GONE)
    reply = read_reply(line)
    if isinstance(reply, Failure):
        raise NotNow(reply.error) if reply.again else WrongRequest(reply.error)
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
        return f"cannot do {problem.removeprefix('Invalid value ')}: must be {_KNOWN}"
    if not field or field == "do":
        return 'a request is a JSON object with "do"'
    return f"{field}: {problem[:1].lower()}{problem[1:].replace('`', '')}"
