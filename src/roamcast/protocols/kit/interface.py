"""The interface between a protocol and its host: which calls a protocol handles, and what it may request.

The host calls one of the protocol's `on_…` methods when something happens, and the protocol requests effects from its
`Host`. It has no clock, no socket and no randomness of its own, learns about other nodes only from frames, and never
uses an object of another node. So one object runs unchanged in the simulator and over real sockets.

What every host promises (tests/conformance checks both drivers):
  - time never decreases; handlers of one node never nest (no re-entrance); effects happen in the order of requests;
  - setting a live timer replaces it; a cancelled timer never fires; a timer fires once;
  - no node hears itself;
  - after `mute(id)`, later frames with that id are counted (`heard(id)`) and not handed up, until `unmute(id)`.

What every protocol promises, for speed and for determinism (tests/protocols/test_promises.py):
  - the content of a frame does not change after the frame was handed to the host, because all receivers share one
    object. A frame may also hold the result of a computation that each receiver would make from the content, so that
    it is made once (`EventsIds.added` of frugal, `Masks` of treegroup). Such a result is not sent, and a receiver that
    computes it again gets the same;
  - modules hold constants. State belongs to a protocol object, so that runs in one process do not depend on each other.
    Two things at module level do change: the list of reasons, while modules are imported, and the memory of which
    filters cover which and match what (subtree/cover_table.py), from which a broker learns nothing that it could not
    compute itself;
  - parameters are held as `self.params`. An attribute beside it is computed from them, such as a time in microseconds;
  - frame ids and timer keys are ints; nothing iterates over a set; the time comes from the host;
  - a decision is reported with a reason constant and ints (`note`): its text is made when a person reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from roamcast.errors import Malformed
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

BROADCAST: Final = -1
NOBODY: Final = -1
NO_EVENTS: Final[list[Event]] = []


# ---------------------------------------------------------------------------------------------------------- frames


@mypyc_attr(allow_interpreted_subclasses=True)
class Frame:
    """One link-layer payload: a value whose content does not change, with a wire encoding.

    `kind` is its name in the log ("event", "beacon"), `id` is what `Host.mute` refers to (an event's id, or 0 if the
    frame is never muted), and `size` is the length of its wire encoding in bytes (see `wire.py`). A frame that carries
    one event may set `cargo` to it; drivers that count receptions then need not look the event up by its id.
    """

    __slots__ = ("cargo", "id", "kind", "size")

    def __init__(self, kind: str, id: int, size: int) -> None:
        self.kind = kind
        self.id = id
        self.size = size
        self.cargo: Event | None = None

    def events(self) -> list[Event]:
        """The events this frame carries; the list is not to be changed."""
        return NO_EVENTS

    def fields(self) -> list[Any]:
        """What is sent, as msgpack values. `from_fields` is the inverse."""
        raise NotImplementedError

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Frame:
        """Rebuild a frame from received fields; raise `Malformed` for anything that is not such a frame."""
        raise Malformed("no such frame")


# --------------------------------------------------------------------------------------------------------- reasons

_reasons: list[tuple[str, str, str]] = [("note", "", "")]


def reason(kind: str, label: str, template: str = "") -> int:
    """Declare why a protocol does something; returns the constant to pass to `Host.note`.

    `kind` is the log's kind ("forward", "suppress", "drop", "delay", "note"), the log counts by `label`, and `template`
    is the sentence that a reader gets, with {event}, {peer} and {value}.
    """
    entry = (kind, label, template or label)
    if entry in _reasons:
        return _reasons.index(entry)
    _reasons.append(entry)
    return len(_reasons) - 1


_no_room: list[int] = []


def no_room(label: str, template: str = "") -> int:
    """The same for events that a protocol drops although they are valid, because a table is full. Real nodes give such
    events to the protocol again, if they are their own (`Protocol.on_publish_again`)."""
    code = reason("drop", label, template)
    if code not in _no_room:
        _no_room.append(code)
    return code


def lacked_room(code: int) -> bool:
    return code in _no_room


def reason_kind(code: int) -> str:
    return _reasons[code][0]


def reason_label(code: int) -> str:
    return _reasons[code][1]


def reason_count() -> int:
    return len(_reasons)


def sentence(code: int, event: int, peer: int, value: int) -> str:
    """The sentence of a note."""
    kind, _, template = _reasons[code]
    return f"{kind}: " + template.format(event=f"{event:#x}", peer=f"n{peer}", value=value)


def explain(kind: str, label: str, event: int, peer: int, value: int) -> str:
    """The sentence for a note's row in the log. Protocols that share a label mean the same by it."""
    for code, entry in enumerate(_reasons):
        if entry[0] == kind and entry[1] == label:
            return sentence(code, event, peer, value)
    return f"{kind}: {label}"


# ------------------------------------------------------------------------------------------------------ parameters


def param(
    default: Any,
    doc: str,
    source: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """A protocol parameter. `source` cites the paper's table or section, or says "ours"."""
    return field(
        default=default,
        metadata={"doc": doc, "source": source, "unit": unit, "low": low, "high": high, "choices": choices},
    )


@mypyc_attr(allow_interpreted_subclasses=True)
@dataclass(frozen=True)
class Params:
    """Base of protocols' parameters. Subclasses are frozen dataclasses whose fields are made by `param`."""


# ------------------------------------------------------------------------------------------------------------ host


@mypyc_attr(allow_interpreted_subclasses=True)
class Host:
    """What a protocol can request from the node it runs on."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def now(self) -> int:
        """This node's clock, in microseconds. It need not agree with the clocks of other nodes."""
        raise NotImplementedError

    def random(self) -> float:
        """The next number in [0, 1) of this node's own stream."""
        raise NotImplementedError

    def broadcast(self, frame: Frame) -> None:
        """Hand a frame to the MAC for every node in range."""
        raise NotImplementedError

    def send(self, to: int, frame: Frame) -> None:
        """Hand a frame to the MAC for one neighbour, acknowledged and retried; `on_undelivered` reports a failure."""
        raise NotImplementedError

    def relay(self, frame: Frame, first: bool = False) -> None:
        """Broadcast a frame that passes on the one being handled. Where the medium orders relays by their signals, the
        farthest goes first; `first` is to come before all of these. Elsewhere this is `broadcast`."""
        self.broadcast(frame)

    def withdraw(self, id: int) -> bool:
        """Take a frame with this id back, if it waits for the medium. Returns whether one did."""
        return False

    def echo_us(self, size: int) -> int:
        """How long it takes until neighbours that relay a frame of this size have done so, at most mostly; 0 where the
        medium does not order relays."""
        return 0

    def busy(self) -> float:
        """Share of the last minute or so in which this node sensed that the medium was in use; 0 where that is not
        measured."""
        return 0.0

    def role(self) -> str:
        """What this node is for in its mesh: "client", "mute", "router", "repeater"; empty where nothing says so."""
        return ""

    def set_timer(self, key: int, delay_us: int) -> None:
        raise NotImplementedError

    def cancel_timer(self, key: int) -> None:
        raise NotImplementedError

    def deliver(self, event: Event) -> None:
        """Give an event to the application on this node."""
        raise NotImplementedError

    def note(self, reason: int, event: int = 0, peer: int = NOBODY, value: int = 0) -> None:
        """Record why an event was forwarded, delayed, suppressed or dropped."""
        raise NotImplementedError

    def mute(self, id: int) -> None:
        """From now on the host only counts frames with this id."""
        raise NotImplementedError

    def unmute(self, id: int) -> None:
        """From now on frames with this id are handed up again. A protocol that forgets an id must call this."""
        raise NotImplementedError

    def heard(self, id: int) -> int:
        """How many frames with this id arrived since it was muted."""
        raise NotImplementedError

    def signal(self) -> float:
        """Strength of the frame being handled, in dBm; NaN where the radio does not measure it."""
        raise NotImplementedError

    def speed(self) -> float:
        """This node's own speed in m/s; NaN where it is not measured."""
        raise NotImplementedError

    def airtime(self, size: int) -> int:
        """How long a frame of this many bytes is on the air, in microseconds; on the slowest of several media."""
        raise NotImplementedError

    def battery(self) -> float:
        """Share of this node's energy that is left, in [0, 1]."""
        raise NotImplementedError


# -------------------------------------------------------------------------------------------------------- protocol


@mypyc_attr(allow_interpreted_subclasses=True)
class Protocol:
    """Base of protocols. The host calls these methods; none of them blocks, and all effects go through `self.host`."""

    params_class: ClassVar[type[Params]] = Params
    frames: ClassVar[tuple[type[Frame], ...]] = ()
    """The frames this protocol sends; the position is the tag on the wire, so new ones go to the end."""
    wants_motion: ClassVar[bool] = False
    """Whether the host calls `on_motion`."""
    wants_battery: ClassVar[bool] = False
    """Whether the protocol calls `Host.battery`; otherwise the host may keep a rough value."""

    only_subscribers_forward: ClassVar[bool] = False
    """Whether an event is forwarded only by nodes that subscribe to it: it does not cross other nodes."""

    def __init__(self, host: Host, params: Params) -> None:
        self.host = host

    def on_start(self) -> None:
        """The node has come up: for the first time, or again after a crash (then perhaps with its old tables)."""

    def on_frame(self, frame: Frame, sender: int) -> None:
        """A frame arrived intact from the neighbour with link address `sender`."""

    def on_timer(self, key: int) -> None:
        """The timer with this key has fired."""

    def on_publish(self, event: Event) -> None:
        """The application on this node publishes an event."""

    def on_publish_again(self, event: Event) -> None:
        """The host still has a valid event that this node published: before a restart, or before the protocol dropped
        it for want of room. A protocol that offers its events to new neighbours need not send it at once."""
        self.on_publish(event)

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        """The application on this node subscribes; `subscription` identifies it for `on_unsubscribe`."""

    def on_unsubscribe(self, subscription: int) -> None:
        """The application on this node takes a subscription back."""

    def on_motion(self, moving: bool) -> None:
        """This node started or stopped moving."""

    def on_undelivered(self, frame: Frame, to: int) -> None:
        """`send` gave up: the neighbour did not acknowledge the frame."""

    def memory(self) -> tuple[int, int]:
        """Routing state held now: (entries, bytes). Subscriptions of the node's own application do not count."""
        return (0, 0)

    @classmethod
    def holds_state(cls, params: Params) -> bool:
        """Whether `memory` can be other than (0, 0) with these parameters; otherwise no node needs to be asked."""
        return cls.memory is not Protocol.memory
