"""For tests of a protocol: one node without network and clock. The project's own tests of protocols use it.

from roamcast.testing import ScriptHost, make

protocol, host = make(Fading, fade=1.0)
host.hear(protocol, EventFrame(event, 10, 0), sender=3)
host.advance(protocol, to_us=50_000)                      # its timers expire on the way
assert host.frames("event") and host.labels("forward") == ["lucky"]
"""

from __future__ import annotations

from typing import Any

from roamcast.protocols.kit.interface import BROADCAST, Frame, Host, Protocol, reason_kind, reason_label, sentence
from roamcast.protocols.kit.wire import decode, encode
from roamcast.pubsub.event import Event
from roamcast.world.streams import Stream


class ScriptHost(Host):
    """One node with a clock that the test sets. It stores every effect that the protocol requests:

    `sent` is a list of (to, frame), `delivered` of events, `notes` of (kind, label, event, peer, value), `timers` maps
    key to the time it is due, and `effects` has a readable line for each effect in order.
    """

    def __init__(self, id: int = 0, seed: int = 1) -> None:
        super().__init__(id)
        self.clock_us = 0
        self.stream = Stream(seed, id, "protocol")
        self.sent: list[tuple[int, Frame]] = []
        self.delivered: list[Event] = []
        self.notes: list[tuple[str, str, int, int, int]] = []
        self.timers: dict[int, int] = {}
        self.effects: list[str] = []
        self.muted: dict[int, int] = {}
        self.signal_dbm = float("nan")
        self.speed_mps = 0.0
        self.battery_left = 1.0
        self.relay_us = 0  # above 0: the medium orders relays, and they take so long
        self.mesh_role = ""
        self.busy_share = 0.0
        self.relayed: list[tuple[Frame, bool]] = []  # what `relay` was given; such frames wait until a test sends them
        self.draws: list[float] = []  # what `random` returns before it uses the stream

    # ---- what a protocol requests

    def now(self) -> int:
        return self.clock_us

    def random(self) -> float:
        return self.draws.pop(0) if self.draws else self.stream.random()

    def broadcast(self, frame: Frame) -> None:
        self._sent(BROADCAST, frame)

    def send(self, to: int, frame: Frame) -> None:
        self._sent(to, frame)

    def relay(self, frame: Frame, first: bool = False) -> None:
        if self.relay_us == 0:
            self.broadcast(frame)
            return
        self.relayed.append((frame, first))
        self.effects.append(f"relay {frame.kind} {frame.fields()}{' first' if first else ''}")

    def withdraw(self, id: int) -> bool:
        waiting = [entry for entry in self.relayed if entry[0].id == id]
        self.relayed = [entry for entry in self.relayed if entry[0].id != id]
        if waiting:
            self.effects.append(f"withdraw {id:#x}")
        return bool(waiting)

    def echo_us(self, size: int) -> int:
        return self.relay_us

    def busy(self) -> float:
        return self.busy_share

    def role(self) -> str:
        return self.mesh_role

    def set_timer(self, key: int, delay_us: int) -> None:
        assert isinstance(key, int) and isinstance(delay_us, int) and delay_us >= 0
        self.timers[key] = self.clock_us + delay_us
        self.effects.append(f"timer {key:#x} in {delay_us / 1000:g} ms")

    def cancel_timer(self, key: int) -> None:
        if self.timers.pop(key, None) is not None:
            self.effects.append(f"cancel {key:#x}")

    def deliver(self, event: Event) -> None:
        self.delivered.append(event)
        self.effects.append(f"deliver {event.id:#x}")

    def note(self, reason: int, event: int = 0, peer: int = -1, value: int = 0) -> None:
        kind, label = reason_kind(reason), reason_label(reason)
        self.notes.append((kind, label, event, peer, value))
        self.effects.append("note " + sentence(reason, event, peer, value))

    def mute(self, id: int) -> None:
        self.muted.setdefault(id, 0)

    def unmute(self, id: int) -> None:
        self.muted.pop(id, None)

    def heard(self, id: int) -> int:
        return self.muted.get(id, 0)

    def signal(self) -> float:
        return self.signal_dbm

    def speed(self) -> float:
        return self.speed_mps

    def airtime(self, size: int) -> int:
        """At one megabit a second."""
        return 8 * size

    def battery(self) -> float:
        return self.battery_left

    # ---- what a test does

    def hear(self, protocol: Protocol, frame: Frame, sender: int) -> None:
        """The frame arrives. As the host promises, a muted id is only counted."""
        if frame.id in self.muted:
            self.muted[frame.id] += 1
            return
        protocol.on_frame(frame, sender)

    def advance(self, protocol: Protocol, to_us: int) -> None:
        """Let time pass; timers expire in order of (time, key)."""
        while self.timers:
            key = min(self.timers, key=lambda k: (self.timers[k], k))
            due = self.timers[key]
            if due > to_us:
                break
            del self.timers[key]
            self.clock_us = max(self.clock_us, due)
            protocol.on_timer(key)
        self.clock_us = to_us

    def frames(self, kind: str | None = None) -> list[Frame]:
        return [frame for _, frame in self.sent if kind is None or frame.kind == kind]

    def labels(self, kind: str) -> list[str]:
        return [label for k, label, *_ in self.notes if k == kind]

    def take(self) -> list[str]:
        """The effects since the last call."""
        effects, self.effects = self.effects, []
        return effects

    def _sent(self, to: int, frame: Frame) -> None:
        self.sent.append((to, frame))
        where = "broadcast" if to == BROADCAST else f"send n{to}"
        self.effects.append(f"{where} {frame.kind} {frame.fields()}")


def round_trip(protocol: type[Protocol], frame: Frame) -> Frame:
    """The frame as a receiver over real sockets would see it."""
    return decode(protocol, encode(protocol, frame))


def make(protocol: type[Protocol], host: ScriptHost | None = None, **params: Any) -> tuple[Protocol, ScriptHost]:
    """A protocol object with these parameters, and its host."""
    host = host or ScriptHost()
    return protocol(host, protocol.params_class(**params)), host
