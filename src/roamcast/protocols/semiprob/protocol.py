"""Semi-probabilistic publish-subscribe by broadcast (Costa, Picco, Rossetto 2005).

Subscriptions are known only near the subscriber: each is broadcast φ times in all, from node to node, and every node
that hears it keeps the filter until its lease ends. A node that receives an event for the first time forwards it if it
knows a matching filter of another node; if it knows none, it forwards it with probability τ. Nodes that receive an
event directly from its publisher act as if τ were 1, so that the event leaves its neighbourhood. τ=1 is flooding, φ=0
is purely probabilistic. Nodes send only when their own periodic timer expires (*delay*); with *delay-drop* a node also
drops an event that it has received again from a neighbour in the meantime.

Every rebroadcast of an event is a `forward` in the log: "deterministic" if a matching filter is known, and otherwise
"probabilistic", with the τ that decided, in percent, as its value.

Readings, one test each in tests/paper/test_costa.py:
  R1  when the timer expires the whole queue is handed to the MAC (§II-C does not say how much is sent)
  R2  "each node bootstraps at a different time" (§II-C): a random phase, drawn whenever a node comes up
  R3  the hop count is decremented on arrival and the subscription is forwarded if it is not zero: so φ counts
      broadcasts, and φ=1 means that the neighbours take no further action (§II-A; §III only says "if not zero")
  R4  only subscriptions of other nodes make a node forward. §III checks "the non-local subscription table", and §II-A
      calls φ=0 purely probabilistic, and it would not be if a subscriber's own filter counted
  R5  the first-hop rule comes after the table: a fresh event with a matching filter makes a deterministic hop, any
      other a probabilistic one with τ=100 % and without a draw (no subscription decided it)
  R6  delay-drop takes an event from the queue for whatever reason it was put there, the first-hop rule included (§II-D:
      A "simply" removes e); subscriptions and a node's own events are never taken
  R7  "a more recent lease" (§III) is the one that ends later: a short lease does not shorten a long one
  R8  subscriptions are distinguished by (source, message id) and the first copy counts, even if a later one may go
      farther
  R9  a node's own subscription that comes back from a neighbour is not a non-local one
  R10 message ids start at random at every boot: after a crash, a subscriber's first subscription is no duplicate
  R11 "the most recently received" events (§III), table and queue have a size: the oldest id, the lease that ends first
      and the newest message give way. A forgotten event that is heard again is a new one
  R12 an event older than its validity is neither delivered nor sent; the paper's messages have no lifetime
  R13 36-byte packets, CSMA, at the MICA2's rate (CC1000: 38.4 kbaud, 19.2 kbit/s after Manchester coding) or with
      the airtime of the first mica's radio, whose stack TOSSIM simulated (40 kbit/s, 11.8 ms a packet): `rate_bps`
  R14 nodes stand one in each cell of a lattice (`placement`, `placement_jitter`), on a square of such a size that the
      mean number of neighbours, borders counted, is η. §IV only gives η, that connectivity is stable and that flooding
      "delivers all the events". Areas with nodes drawn uniformly are hardly ever connected at η = 5
  R15 a message is sent once. TinyOS sends a broadcast again that no neighbour acknowledged (§II-C), but there the radio
      does it and not the protocol: the paper gives neither the time-out nor the number of attempts, and an answer by
      frames would take a packet's time for each neighbour, while the radio's takes a few bits for all of them at once
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from roamcast.protocols.kit.interface import Frame, Host, Params, Protocol, no_room, param, reason
from roamcast.protocols.kit.wire import as_int, counted, measure, uint_size
from roamcast.pubsub.event import FOREVER, Event, event_from_fields
from roamcast.pubsub.filters import Filter, filter_from_fields

TICK: Final = 1
REFRESH: Final = 2
LEASES: Final = 3

SECOND_US: Final = 1_000_000
HOPS_MAX: Final = 255
LEASE_MAX_S: Final = 65_535
NODE_MAX: Final = (1 << 31) - 1
MSGID_MAX: Final = (1 << 32) - 1

DETERMINISTIC: Final = reason("forward", "deterministic", "{event} matches a subscription known near here")
PROBABILISTIC: Final = reason("forward", "probabilistic", "{event} matches no known filter; drawn, tau {value} %")
TAU: Final = reason("suppress", "tau", "{event} matches no known filter; not drawn, tau {value} %")
HEARD_AGAIN: Final = reason("suppress", "heard again", "{event} was sent by {peer} first")
WAITS: Final = reason("delay", "tick", "{event} waits for the transmission timer")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")
QUEUE_FULL: Final = no_room("queue full", "{event}: no room in the transmission queue")
TABLE_FULL: Final = reason("note", "subscriptions full", "the subscription whose lease ends first made room")
LEASE_OVER: Final = reason("note", "lease over", "{value} subscriptions were not refreshed in time")
HORIZON: Final = reason("note", "horizon", "a subscription of {peer} goes on, broadcasts left: {value}")


@dataclass(frozen=True)
class SemiProbParams(Params):
    phi: int = param(
        2,
        "horizon: how often a subscription is broadcast in all",
        "ours: §IV prefers 2 from N = 200 on",
        low=0,
        high=HOPS_MAX,
    )
    tau: float = param(
        0.5, "probability of forwarding where no filter matches", "§IV: the best trade-off", low=0, high=1
    )
    technique: str = param(
        "delay", "when to send", "§IV: runs use the delay technique", choices=("none", "delay", "delay-drop")
    )
    interval_s: float = param(1.0, "period of the transmission timer", "Table I", unit="s", low=0.001)
    lease_s: int = param(
        255, "how long a subscription is valid", "ours: the largest value of Fig. 2's byte", unit="s", low=1,
        high=LEASE_MAX_S,
    )  # fmt: skip
    refresh_s: float = param(
        100.0,
        "period of sending own subscriptions again; 0 means never",
        "ours: two may be lost before the lease ends; no refresh falls into the 61 s of a run in §IV",
        unit="s",
        low=0,
    )
    recent: int = param(4096, "events, and subscriptions, remembered to recognise duplicates", "ours", low=1)
    table: int = param(1024, "most subscriptions of other nodes kept", "ours", low=1)
    queue: int = param(32, "most frames that wait for the timer", "TinyOS 1.x QueuedSend, used in §III", low=1)

    def __post_init__(self) -> None:
        if self.refresh_s >= self.lease_s:
            raise ValueError(f"refresh_s ({self.refresh_s:g}) must be below lease_s ({self.lease_s:g})")


# ---------------------------------------------------------------------------------------------------------- frames


@final
class SubscriptionFrame(Frame):
    """Fig. 2's MultiHopMsgSub: the subscriber, the message's number, broadcasts left, the lease, the filter."""

    __slots__ = ("filter", "hopcount", "lease_s", "msgid", "source")

    def __init__(self, source: int, msgid: int, hopcount: int, lease_s: int, filter: Filter) -> None:
        self.source = source
        self.msgid = msgid
        self.hopcount = hopcount
        self.lease_s = lease_s
        self.filter = filter
        super().__init__("subscription", 0, measure([source, msgid, hopcount, lease_s, filter.fields()]))

    def fields(self) -> list[Any]:
        return [self.source, self.msgid, self.hopcount, self.lease_s, self.filter.fields()]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> SubscriptionFrame:
        source, msgid, hopcount, lease_s, filter = counted(fields, 5)
        return SubscriptionFrame(
            as_int(source, 0, NODE_MAX),
            as_int(msgid, 0, MSGID_MAX),
            as_int(hopcount, 1, HOPS_MAX),
            as_int(lease_s, 1, LEASE_MAX_S),
            filter_from_fields(filter),
        )


@final
class PublicationFrame(Frame):
    """An event, whether it comes directly from its publisher (§II-B), and its age when it was handed to the MAC."""

    __slots__ = ("age_us", "event", "fresh")

    def __init__(self, event: Event, fresh: bool, age_us: int) -> None:
        super().__init__("event", event.id, 3 + uint_size(age_us) + event.size)
        self.event = event
        self.fresh = fresh
        self.age_us = age_us

    def events(self) -> list[Event]:
        return [self.event]

    def fields(self) -> list[Any]:
        return [int(self.fresh), self.age_us, self.event.fields()]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> PublicationFrame:
        fresh, age_us, event = counted(fields, 3)
        return PublicationFrame(event_from_fields(event), as_int(fresh, 0, 1) == 1, as_int(age_us, 0, FOREVER))


@final
class WaitingEvent:
    """An event in the transmission queue. `why` is the reason to forward it (0: published here), `tau` in percent."""

    __slots__ = ("born_us", "event", "tau", "why")

    def __init__(self, event: Event, born_us: int, why: int, tau: int) -> None:
        self.event = event
        self.born_us = born_us
        self.why = why
        self.tau = tau


# -------------------------------------------------------------------------------------------------------- protocol


@final
class SemiProb(Protocol):
    params_class = SemiProbParams
    frames = (SubscriptionFrame, PublicationFrame)

    def __init__(self, host: Host, params: SemiProbParams) -> None:
        super().__init__(host, params)
        self.params = params
        self.interval_us = round(params.interval_s * SECOND_US)
        self.refresh_us = round(params.refresh_s * SECOND_US) if params.phi else 0
        self.drops = params.technique == "delay-drop"
        self.local: dict[int, Filter] = {}
        self.nonlocal_: dict[Filter, int] = {}  # filter -> when its lease ends
        self.recent_events: dict[int, None] = {}
        self.recent_subscriptions: dict[int, None] = {}
        self.queue: list[WaitingEvent | SubscriptionFrame] = []
        self.msgid = -1
        self.phase_us = 0
        self.ticking = False  # the timer runs only while the queue is not empty

    def on_start(self) -> None:
        self.phase_us = self.host.now() + int(self.host.random() * self.interval_us)  # R2
        self.ticking = False
        if self.queue:
            self.await_tick()
        if self.local and self.refresh_us:
            self.host.set_timer(REFRESH, self.refresh_us)
        if self.nonlocal_:
            self.host.set_timer(LEASES, 0)

    def on_timer(self, key: int) -> None:
        if key == TICK:
            self.ticking = False
            queue, self.queue = self.queue, []
            for message in queue:  # R1
                self.transmit(message)
        elif key == REFRESH:
            for filter in dict.fromkeys(self.local.values()):
                self.disseminate(filter)
            self.host.set_timer(REFRESH, self.refresh_us)
        elif key == LEASES:
            self.remove_expired()

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, PublicationFrame):
            self.receive_event(frame, sender)
        elif isinstance(frame, SubscriptionFrame):
            self.receive_subscription(frame)

    # ---- disseminating and managing subscriptions (§II-A)

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        if not self.local and self.refresh_us:
            self.host.set_timer(REFRESH, self.refresh_us)
        self.local[subscription] = filter
        self.disseminate(filter)

    def on_unsubscribe(self, subscription: int) -> None:
        self.local.pop(subscription, None)
        if not self.local:
            self.host.cancel_timer(REFRESH)

    def disseminate(self, filter: Filter) -> None:
        params = self.params
        if params.phi == 0:
            return
        if self.msgid < 0:
            self.msgid = int(self.host.random() * MSGID_MAX)  # R10
        self.msgid = (self.msgid + 1) & MSGID_MAX
        self.enqueue(SubscriptionFrame(self.host.id, self.msgid, params.phi, params.lease_s, filter))

    def receive_subscription(self, frame: SubscriptionFrame) -> None:
        key = frame.source << 32 | frame.msgid
        if frame.source == self.host.id or key in self.recent_subscriptions:  # R9, R8
            return
        remember(self.recent_subscriptions, key, self.params.recent)
        self.store(frame.filter, self.host.now() + frame.lease_s * SECOND_US)
        hopcount = frame.hopcount - 1  # R3
        if hopcount:
            self.host.note(HORIZON, 0, frame.source, hopcount)
            self.enqueue(SubscriptionFrame(frame.source, frame.msgid, hopcount, frame.lease_s, frame.filter))

    def store(self, filter: Filter, until_us: int) -> None:
        table = self.nonlocal_
        if filter in table:
            table[filter] = max(table[filter], until_us)  # R7
            return
        if len(table) >= self.params.table:
            first = min(table, key=table.__getitem__)  # R11
            del table[first]
            self.host.note(TABLE_FULL)
        if not table or until_us < min(table.values()):
            self.host.set_timer(LEASES, until_us - self.host.now())
        table[filter] = until_us

    def remove_expired(self) -> None:
        now = self.host.now()
        expired = [filter for filter, until_us in self.nonlocal_.items() if until_us <= now]
        for filter in expired:
            del self.nonlocal_[filter]
        if expired:
            self.host.note(LEASE_OVER, value=len(expired))
        if self.nonlocal_:
            self.host.set_timer(LEASES, min(self.nonlocal_.values()) - now)

    # ---- routing events (§II-B)

    def on_publish(self, event: Event) -> None:
        self.remember_event(event.id)
        self.host.mute(event.id)
        self.enqueue(WaitingEvent(event, self.host.now(), 0, 0))

    def receive_event(self, frame: PublicationFrame, sender: int) -> None:
        event = frame.event
        if event.id in self.recent_events:
            if self.drops:
                self.drop_waiting(event.id, sender)
            return
        if frame.age_us >= event.validity_us:  # R12
            self.host.note(EXPIRED, event.id)
            return
        self.remember_event(event.id)
        for filter in self.local.values():
            if filter.matches(event):
                self.host.deliver(event)
                break
        waits = self.route(frame)
        if not (self.drops and waits):  # while it waits, a later copy can remove it from the queue
            self.host.mute(event.id)

    def route(self, frame: PublicationFrame) -> bool:
        """Returns whether the event now waits in the queue."""
        event = frame.event
        tau = 1.0 if frame.fresh else self.params.tau
        why = 0
        if self.matches_known_filter(event):  # R4
            why = DETERMINISTIC
        elif frame.fresh or self.host.random() < tau:  # R5
            why = PROBABILISTIC
        if not why:
            self.host.note(TAU, event.id, value=round(tau * 100))
            return False
        percent = round(tau * 100) if why == PROBABILISTIC else 0
        return self.enqueue(WaitingEvent(event, self.host.now() - frame.age_us, why, percent))

    def matches_known_filter(self, event: Event) -> bool:
        now = self.host.now()
        for filter, until_us in self.nonlocal_.items():  # noqa: SIM110 (a generator costs more than the loop)
            if until_us > now and filter.matches(event):
                return True
        return False

    # ---- dealing with collisions (§II-C), avoiding unnecessary propagation (§II-D)

    def enqueue(self, message: WaitingEvent | SubscriptionFrame) -> bool:
        """Returns whether the message now waits for the timer."""
        if self.params.technique == "none":
            self.transmit(message)
            return False
        id = message.event.id if isinstance(message, WaitingEvent) else 0
        if len(self.queue) >= self.params.queue:
            self.host.note(QUEUE_FULL, id)
            return False
        self.queue.append(message)
        self.await_tick()
        if id:
            self.host.note(WAITS, id)
        return True

    def await_tick(self) -> None:
        if not self.ticking:
            self.ticking = True
            self.host.set_timer(TICK, self.interval_us - (self.host.now() - self.phase_us) % self.interval_us)

    def transmit(self, message: WaitingEvent | SubscriptionFrame) -> None:
        if isinstance(message, SubscriptionFrame):
            self.host.broadcast(message)
            return
        event = message.event
        if self.drops and event.id in self.recent_events:  # it may have been forgotten while it waited
            self.host.mute(event.id)
        age_us = min(self.host.now() - message.born_us, FOREVER)
        if age_us >= event.validity_us:  # R12
            self.host.note(EXPIRED, event.id)
            return
        if message.why:
            self.host.note(message.why, event.id, value=message.tau)
        self.host.broadcast(PublicationFrame(event, not message.why, age_us))

    def drop_waiting(self, id: int, sender: int) -> None:
        for i, message in enumerate(self.queue):
            if isinstance(message, WaitingEvent) and message.event.id == id and message.why:  # R6
                del self.queue[i]
                self.host.note(HEARD_AGAIN, id, sender)
                self.host.mute(id)
                return

    # ---- memory

    def remember_event(self, id: int) -> None:
        forgotten = remember(self.recent_events, id, self.params.recent)
        if forgotten:
            self.host.unmute(forgotten)

    def memory(self) -> tuple[int, int]:
        """The table (filter and timestamp) and the queue."""
        size = sum([measure(filter.fields()) + 8 for filter in self.nonlocal_])
        for message in self.queue:
            size += message.event.size + 8 if isinstance(message, WaitingEvent) else message.size
        return (len(self.nonlocal_) + len(self.queue), size)


def remember(recent: dict[int, None], key: int, limit: int) -> int:
    """Returns the key that was forgotten to make room, 0 if there was room (R11)."""
    forgotten = 0
    if len(recent) >= limit:
        forgotten = next(iter(recent))
        del recent[forgotten]
    recent[key] = None
    return forgotten
