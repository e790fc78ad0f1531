"""Managed flooding, in the manner of Meshtastic: the farthest receiver forwards first, and the others then do not.

A node that receives an event for the first time waits. The wait is longer for a stronger signal: a strong signal means
that the sender is close, so that forwarding would cover little new area. A random part is added. If the node receives
the event again while it waits, it does not forward it. Where the radio does not measure the signal, only the random
part is left.

Some media order relays by their signals themselves (`Host.relay`), as LoRa meshes do: there a relay waits for slots of
the medium, and is taken back if the event is heard again before it is on the air. Roles, the hop limit and repetitions
are those of Meshtastic's firmware:
  client              relays, unless it hears the event again
  mute                never relays
  router, repeater    relay before clients, and only stop when they have heard the event twice more
A node that publishes listens for its event: a neighbour that relays it has received it. Without such an implicit
acknowledgement it sends the event again, up to `retries` times.

Readings, one test each:
  M1  `hops` is the hop limit as people of such meshes count it: how often an event may be relayed, so that it goes one
      hop more. By default it is 3 where the medium orders relays, and elsewhere `ttl` decides
  M2  sizes="mesh": a frame is as long as an event's content, because a mesh's own header (which is the MAC's here) has
      the sender, the number and the hop limit. Systems are only comparable with sizes="wire", which is the default
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Final, final

from roamcast.protocols.kit.echo import EAGER, NO_AGE, RETRIES, RETRY_S, Echoes
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Host, Params, param, reason
from roamcast.protocols.kit.relay import SOURCE, Relay
from roamcast.pubsub.event import Event

FIRST: Final = reason("forward", "first", "no other node sent {event} in time")
HEARD_AGAIN: Final = reason("suppress", "heard again", "{event} was sent by {peer} first")
WAITING: Final = reason("delay", "by signal", "{event} from {peer} waits {value} us")
RELAYS: Final = reason("forward", "relay", "{event} from {peer} waits for its turn among the relays")
MUTE: Final = reason("suppress", "mute", "this node relays nothing")

HOPS: Final = 3
"""Where the medium orders relays."""
AS_THE_MEDIUM: Final = -1
ROLES: Final = ("node", "client", "mute", "router", "repeater")


@dataclass(frozen=True)
class ManagedParams(Params):
    ttl: int = param(
        7, "hops an event may go; 0 means any number", "Meshtastic's largest", unit="hops", low=0, high=255
    )
    delay_ms: float = param(100.0, "delay at the strongest signal", "ours", unit="ms", low=0.0)
    jitter_ms: float = param(20.0, "longest random part of the delay", "ours", unit="ms", low=0.0)
    weak_dbm: float = param(-93.0, "signal at which the delay is shortest", "ours: sensitivity", unit="dBm", high=0.0)
    strong_dbm: float = param(
        -63.0, "signal from which the delay is longest", "ours: 30 dB above", unit="dBm", high=0.0
    )
    hops: int = param(
        AS_THE_MEDIUM,
        "hop limit: how often an event may be relayed (M1); -1 means 3 on LoRa, and elsewhere what ttl says",
        "Meshtastic: 3 by default, at most 7",
        low=-1,
        high=7,
    )
    retries: int = param(
        AS_THE_MEDIUM,
        "how often a publisher that hears no relay sends again; -1 means 3 on LoRa, and elsewhere 0",
        "Meshtastic's firmware",
        low=-1,
        high=255,
    )
    retry_s: float = param(
        RETRY_S, "how long it waits beside the time that relays need", "Meshtastic's firmware", unit="s", low=0.001
    )
    role: str = param("node", "role of every node; node: as the list of nodes says, or client", "ours", choices=ROLES)
    sizes: str = param("wire", "frame sizes: as encoded, or the content alone (M2)", "ours", choices=("wire", "mesh"))

    def __post_init__(self) -> None:
        if self.strong_dbm <= self.weak_dbm:
            raise ValueError(f"strong_dbm ({self.strong_dbm:g}) must be above weak_dbm ({self.weak_dbm:g})")


@final
class Managed(Relay):
    params_class = ManagedParams

    def __init__(self, host: Host, params: ManagedParams) -> None:
        self.ordered = host.echo_us(0) > 0  # whether the medium orders relays
        hops = HOPS if params.hops == AS_THE_MEDIUM and self.ordered else params.hops
        super().__init__(host, params, params.ttl if hops == AS_THE_MEDIUM else hops + 1)  # M1
        self.params = params
        self.delay_us = params.delay_ms * 1000.0
        self.jitter_us = params.jitter_ms * 1000.0
        self.span_db = params.strong_dbm - params.weak_dbm
        self.retries = (RETRIES if self.ordered else 0) if params.retries == AS_THE_MEDIUM else params.retries
        self.role = (host.role() or "client") if params.role == "node" else params.role
        self.patience = 2 if self.role in EAGER else 1  # copies that stop a relay
        self.content_only = params.sizes == "mesh"
        self.relaying: dict[int, int] = {}  # relays that wait for the medium, and how many copies may still come
        self.echoes = Echoes(host, self.retries)

    def on_start(self) -> None:
        super().on_start()
        for own in self.echoes.own.values():
            self.host.set_timer(own.event.id, self.echo_us(own.event))

    # ---- events of this node

    def on_publish(self, event: Event) -> None:
        if self.retries == 0 or self.ttl == 1:
            self.host.mute(event.id)
        else:
            self.echoes.publish(event, self.echo_us(event))
        self.host.note(SOURCE, event.id)
        self.host.broadcast(self.frame(event, self.ttl, 0))

    def echo_us(self, event: Event) -> int:
        """How long to wait for a neighbour that relays an event."""
        size = self.frame(event, self.ttl, 0).size
        echo_us = self.host.echo_us(size) if self.ordered else int(self.delay_us + self.jitter_us)
        return echo_us + round(self.params.retry_s * 1e6)

    def send_again(self, event: Event) -> None:
        age_us = self.echoes.age_us(event.id)
        if age_us != NO_AGE:
            self.host.broadcast(self.frame(event, self.ttl, age_us))
            self.host.set_timer(event.id, self.echo_us(event))

    def frame(self, event: Event, ttl: int, age_us: int) -> EventFrame:
        frame = EventFrame(event, ttl, age_us)
        if self.content_only:
            frame.size = len(event.payload)  # M2
        return frame

    # ---- events of others

    def on_frame(self, frame: Frame, sender: int) -> None:
        assert isinstance(frame, EventFrame)
        if frame.id in self.echoes.own:
            self.echoes.relayed(frame.id, sender)
        elif self.is_waiting(frame.id):
            self.suppress(frame.id, sender)
        elif frame.id in self.relaying:
            self.heard_again(frame.id, sender)
        elif not self.accept(frame, sender):
            self.host.mute(frame.id)
        elif self.role == "mute":
            self.host.mute(frame.id)
            self.host.note(MUTE, frame.id, sender)
        elif self.ordered:
            self.relay(frame, sender)
        else:
            delay_us = self.delay_for_signal()
            self.host.note(WAITING, frame.id, sender, delay_us)
            self.wait(frame, delay_us)

    def relay(self, frame: EventFrame, sender: int) -> None:
        self.relaying[frame.id] = self.patience
        self.host.note(RELAYS, frame.id, sender)
        self.host.relay(self.frame(frame.event, max(0, frame.ttl - 1), frame.age_us), self.role in EAGER)

    def heard_again(self, id: int, sender: int) -> None:
        """A copy comes while a relay waits for the medium, or after it was sent."""
        self.relaying[id] -= 1
        if self.relaying[id] > 0:
            return
        del self.relaying[id]
        self.host.mute(id)
        if self.host.withdraw(id):
            self.host.note(HEARD_AGAIN, id, sender)

    def suppress(self, id: int, sender: int) -> None:
        self.take(id)
        self.host.cancel_timer(id)
        self.host.mute(id)
        self.host.note(HEARD_AGAIN, id, sender)

    def delay_for_signal(self) -> int:
        signal_dbm = self.host.signal()
        if isnan(signal_dbm):
            strength = 0.0
        else:
            strength = min(max((signal_dbm - self.params.weak_dbm) / self.span_db, 0.0), 1.0)
        return int(strength * self.delay_us + self.host.random() * self.jitter_us)

    def on_timer(self, key: int) -> None:
        own = self.echoes.own.get(key)
        if own is not None:
            self.send_again(own.event)
            return
        self.host.mute(key)
        frame = self.next_hop(key)
        if frame is not None:
            self.host.note(FIRST, key)
            self.host.broadcast(frame)
