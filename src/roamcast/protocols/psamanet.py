"""PSAMANET: movement carries publications (Rezende, Rocha, Loureiro 2008).

A node keeps the last events it received (PB, a FIFO of PB_size) and the subscriptions of its neighbours (ST, each for
S_ttl, accepted with probability S_prob). It broadcasts events on four occasions (§3):
  (i)   it published one;
  (ii)  it stopped after it had moved: then also its own subscriptions;
  (iii) it accepted a new subscription of a neighbour, and has events that match it;
  (iv)  it received an event for the first time, and a subscription in the ST matches it.
On each occasion it sends at most PB_max events, chosen at random when there are more. When a node starts to move it
forgets its neighbours' subscriptions. There are no beacons. The paper calls events publications. The readings R1 to R3
and R6 belong to the paper's experiment: they are fields of the scenario (`interested`, `speed_law`, `start`,
`carrier_sense_ratio`).

Readings, one test each in tests/paper/test_rezende.py:
  R4  a "duplicate" publication is one that was ever seen, or one that is still in the PB: `duplicates`. In both cases
      the application gets it once
  R5  occasion (iv) counts "any stored" subscription, and §3.2 stores own and foreign ones; but §5 says that neighbours
      forward what a node has subscribed to: `own_subscriptions`. Only foreign ones give the messages of Table 4 up to
      one common factor, so they are the default
  R7  a node's own events are in its PB too (§3.1 speaks of received ones): otherwise an event that no neighbour
      received would be lost
  R8  only an accepted subscription makes occasion (iii) (§3.2: only those are "later checked for publications")
  R9  a subscription that is in the ST is a duplicate: it is ignored, and its time is not prolonged. One that was
      refused, cleaned or has expired is new when it is sent again, and S_prob decides again
  R10 the ST's size is not limited in the paper (§3.2); here it is, by `st_size`, and the oldest gives way
  R11 "instantly" in (iii) and (iv) is after a random `jitter_ms`: several neighbours answer the same frame, and without
      the delay they would all send one DIFS after it and collide. The same holds for a new subscription, because nodes
      that are switched on together subscribe together. (i) and (ii) happen to one node alone and are not delayed
  R12 an event older than its validity is neither delivered, buffered nor sent, and leaves the PB before a choice is
      made from it; the paper's publications have no lifetime
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from roamcast.protocols.kit.interface import Frame, Host, Params, Protocol, no_room, param, reason
from roamcast.protocols.kit.seen import Seen
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.protocols.kit.wire import as_int, counted, measure, uint_size
from roamcast.pubsub.event import FOREVER, Event, event_from_fields
from roamcast.pubsub.filters import Filter, filter_from_fields

SECOND_US: Final = 1_000_000
NEVER: Final = 1 << 60

STOPPED: Final = reason("forward", "stopped", "{event} was carried here")
ASKED: Final = reason("forward", "asked", "{event} is in the buffer, and a neighbour has just subscribed to it")
WANTED: Final = reason("forward", "wanted", "{event} matches a subscription in the table")
UNWANTED: Final = reason("suppress", "unwanted", "{event}: no other neighbour is known to want it")
NOT_CHOSEN: Final = reason("suppress", "not chosen", "{value} publications above PB_max")
NOT_ACCEPTED: Final = reason("drop", "not accepted", "a subscription of {peer}: the draw with S_prob was against it")
BUFFER_FULL: Final = no_room("buffer full", "{event} was the oldest in a full buffer")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")
RESTARTED: Final = reason("drop", "restarted", "{event} was waiting when the node went down")
CLEANED: Final = reason("note", "cleaned", "{value} subscriptions of neighbours are forgotten on departure")


@dataclass(frozen=True)
class PsamanetParams(Params):
    pb_size: int = param(200, "events buffered", "Table 3, configurations I to III", low=1)
    pb_max: int = param(10, "most events sent on one occasion", "Table 3, I to III", low=1)
    s_ttl_s: float = param(60.0, "how long a neighbour's subscription is valid", "§4.1", unit="s", low=0.001)
    s_prob: float = param(0.4, "probability of accepting a neighbour's subscription", "Table 3, II", low=0, high=1)
    duplicates: str = param("ever", "what makes an event a duplicate", "ours (R4)", choices=("ever", "buffer"))
    own_subscriptions: bool = param(False, "whether own subscriptions count in occasion (iv)", "§5, Table 4 (R5)")
    jitter_ms: float = param(10.0, "longest random wait before an answer", "ours (R11)", unit="ms", low=0)
    st_size: int = param(4096, "most subscriptions of neighbours kept", "ours (R10)", low=1)
    seen: int = param(65_536, "ids of events remembered", "ours", low=1)


# ---------------------------------------------------------------------------------------------------------- frames


@final
class SubscriptionFrame(Frame):
    """One subscription of the sender."""

    __slots__ = ("filter",)

    def __init__(self, filter: Filter) -> None:
        super().__init__("subscription", 0, measure([filter.fields()]))
        self.filter = filter

    def fields(self) -> list[Any]:
        return [self.filter.fields()]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> SubscriptionFrame:
        return SubscriptionFrame(filter_from_fields(counted(fields, 1)[0]))


@final
class PublicationFrame(Frame):
    """One event, and its age when it was handed to the MAC."""

    __slots__ = ("age_us", "event")

    def __init__(self, event: Event, age_us: int) -> None:
        self.kind = "event"  # not by super().__init__: this is made for every transmission
        self.id = event.id
        self.size = 2 + uint_size(age_us) + event.size
        self.cargo = event
        self.event = event
        self.age_us = age_us

    def events(self) -> list[Event]:
        return [self.event]

    def fields(self) -> list[Any]:
        return [self.age_us, self.event.fields()]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> PublicationFrame:
        age_us, event = counted(fields, 2)
        return PublicationFrame(event_from_fields(event), as_int(age_us, 0, FOREVER))


# ------------------------------------------------------------------------------------------------------------ state


@final
class BufferedEvent:
    """An event in the PB: when it was published and expires by this clock, and the reason to send it."""

    __slots__ = ("born_us", "event", "expires_us", "why")

    def __init__(self, event: Event, born_us: int) -> None:
        self.event = event
        self.born_us = born_us
        self.expires_us = born_us + event.validity_us
        self.why = 0


@final
class Buffer:
    """The PB: a queue of at most `limit` events. When it is full, the oldest gives way.

    A full PB is a ring, in which the newest event takes the place of the oldest. It is searched for expired events only
    when one of them can have expired.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.ring: list[BufferedEvent] = []
        self.oldest = 0  # its position in the ring
        self.bytes = 0
        self.earliest_us = NEVER  # no event here expires before

    def __len__(self) -> int:
        return len(self.ring)

    def events(self) -> list[BufferedEvent]:
        """Oldest first."""
        return self.ring[self.oldest :] + self.ring[: self.oldest]

    def add(self, buffered: BufferedEvent) -> BufferedEvent | None:
        """Returns the event that gave way, if any."""
        self.bytes += buffered.event.size
        if buffered.expires_us < self.earliest_us:
            self.earliest_us = buffered.expires_us
        if len(self.ring) < self.limit:
            self.ring.append(buffered)
            return None
        gone = self.ring[self.oldest]
        self.ring[self.oldest] = buffered
        self.oldest = self.oldest + 1 if self.oldest + 1 < self.limit else 0
        self.bytes -= gone.event.size
        return gone

    def take_expired(self, now: int) -> list[BufferedEvent]:
        """Oldest first."""
        if now < self.earliest_us:
            return []
        events = self.events()
        self.ring = [buffered for buffered in events if now < buffered.expires_us]
        self.oldest = 0
        self.bytes = sum([buffered.event.size for buffered in self.ring])
        self.earliest_us = min([buffered.expires_us for buffered in self.ring], default=NEVER)
        return [buffered for buffered in events if now >= buffered.expires_us]


# -------------------------------------------------------------------------------------------------------- protocol


@final
class Psamanet(Protocol):
    params_class = PsamanetParams
    frames = (SubscriptionFrame, PublicationFrame)
    wants_motion = True

    def __init__(self, host: Host, params: PsamanetParams) -> None:
        super().__init__(host, params)
        self.params = params
        self.s_ttl_us = round(params.s_ttl_s * SECOND_US)
        self.ever = params.duplicates == "ever"
        self.pb = Buffer(params.pb_size)
        self.buffered_ids: dict[int, None] = {}  # the ids of the events in it, if these decide what a duplicate is
        self.subscriptions = Subscriptions()
        self.own: dict[int, SubscriptionFrame] = {}  # the frames of these subscriptions
        self.st: dict[tuple[int, Filter], int] = {}  # (neighbour, filter) -> valid until; oldest first
        self.st_until_us = 0  # when the oldest one expires
        self.seen = Seen()
        self.seen_limit = max(params.seen, params.pb_size)  # so that the ids of all events in the PB are known
        self.answers: dict[int, BufferedEvent] = {}  # waiting for their timer

    def on_start(self) -> None:
        """Timers do not survive a crash: answers are lost with them, and subscriptions are sent again."""
        for id in self.answers:
            self.host.note(RESTARTED, id)
        self.answers.clear()
        for subscription in self.own:
            self.host.set_timer(-1 - subscription, self.jitter_us())

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, PublicationFrame):
            self.receive_publication(frame)
        elif isinstance(frame, SubscriptionFrame):
            self.receive_subscription(frame.filter, sender)

    # ---- events

    def on_publish(self, event: Event) -> None:
        buffered = BufferedEvent(event, self.host.now())
        self.see(event.id)
        self.buffer(buffered)  # R7
        self.send(buffered, 0)  # (i)

    def receive_publication(self, frame: PublicationFrame) -> None:
        event = frame.event
        known = event.id in self.seen
        if known if self.ever else event.id in self.buffered_ids:  # R4
            return
        if frame.age_us >= event.validity_us:  # R12
            self.host.note(EXPIRED, event.id)
            return
        if not known:
            self.see(event.id)
        buffered = BufferedEvent(event, self.host.now() - frame.age_us)
        self.buffer(buffered)
        is_mine = self.subscriptions.match(event)
        if is_mine and not known:
            self.host.deliver(event)
        if (is_mine and self.params.own_subscriptions) or self.neighbour_wants(event):  # (iv), R5
            self.answer(buffered, WANTED)
        else:
            self.host.note(UNWANTED, event.id)

    def neighbour_wants(self, event: Event) -> bool:
        self.remove_expired()
        for _, filter in self.st:  # noqa: SIM110 (a generator costs more than the loop)
            if filter.matches(event):
                return True
        return False

    def buffer(self, buffered: BufferedEvent) -> None:
        gone = self.pb.add(buffered)
        if gone is not None:
            self.host.note(BUFFER_FULL, gone.event.id)
        if not self.ever:
            if gone is not None:
                self.buffered_ids.pop(gone.event.id, None)
            self.buffered_ids[buffered.event.id] = None

    def see(self, id: int) -> None:
        """Remember an id that was not seen before, or was forgotten."""
        self.seen.add(id)
        if len(self.seen) > self.seen_limit:
            self.host.unmute(self.seen.take_oldest())
        if self.ever:
            self.host.mute(id)

    # ---- subscriptions

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions.add(subscription, filter)
        self.own[subscription] = SubscriptionFrame(filter)
        self.host.set_timer(-1 - subscription, self.jitter_us())  # R11

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.remove(subscription)
        self.own.pop(subscription, None)
        self.host.cancel_timer(-1 - subscription)

    def receive_subscription(self, filter: Filter, sender: int) -> None:
        self.remove_expired()
        if (sender, filter) in self.st:  # R9
            return
        if self.host.random() >= self.params.s_prob:
            self.host.note(NOT_ACCEPTED, peer=sender)
            return
        if len(self.st) >= self.params.st_size:
            del self.st[next(iter(self.st))]  # R10
        self.st[(sender, filter)] = self.host.now() + self.s_ttl_us
        self.st_until_us = next(iter(self.st.values()))
        for buffered in self.choose(filter):  # (iii), R8
            self.answer(buffered, ASKED)

    def remove_expired(self) -> None:
        """All have the same lifetime and none is prolonged, so the oldest always expires first."""
        now = self.host.now()
        if now < self.st_until_us:
            return
        while self.st:
            oldest = next(iter(self.st))
            self.st_until_us = self.st[oldest]
            if now < self.st_until_us:
                return
            del self.st[oldest]

    # ---- movement

    def on_motion(self, moving: bool) -> None:
        if moving:
            if self.st:
                self.host.note(CLEANED, value=len(self.st))
            self.st.clear()
            return
        for subscription in self.own.values():
            self.host.broadcast(subscription)
        for buffered in self.choose(None):  # (ii)
            self.send(buffered, STOPPED)

    # ---- sending

    def choose(self, filter: Filter | None) -> list[BufferedEvent]:
        """At most PB_max of the events in the PB that match (None: all do), uniformly, without replacement."""
        self.forget_expired()
        n = self.params.pb_max
        matching = self.pb.events()
        if filter is not None:
            matching = [buffered for buffered in matching if filter.matches(buffered.event)]
        if len(matching) <= n:
            return matching
        self.host.note(NOT_CHOSEN, value=len(matching) - n)
        for i in range(n):
            j = i + int(self.host.random() * (len(matching) - i))
            matching[i], matching[j] = matching[j], matching[i]
        return matching[:n]

    def forget_expired(self) -> None:
        for buffered in self.pb.take_expired(self.host.now()):  # R12
            self.buffered_ids.pop(buffered.event.id, None)
            self.host.note(EXPIRED, buffered.event.id)

    def answer(self, buffered: BufferedEvent, why: int) -> None:
        id = buffered.event.id
        if id not in self.answers:
            buffered.why = why
            self.answers[id] = buffered
            self.host.set_timer(id, self.jitter_us())  # R11

    def on_timer(self, key: int) -> None:
        """The key is the id of an event that waits, or below 0 for the subscription -1 - key."""
        if key < 0:
            self.host.broadcast(self.own[-1 - key])
            return
        buffered = self.answers.get(key)
        if buffered is not None:
            del self.answers[key]
            self.send(buffered, buffered.why)

    def jitter_us(self) -> int:
        return int(self.host.random() * self.params.jitter_ms * 1000)

    def send(self, buffered: BufferedEvent, why: int) -> None:
        event = buffered.event
        now = self.host.now()
        if now >= buffered.expires_us:  # R12
            self.host.note(EXPIRED, event.id)
            return
        if why:
            self.host.note(why, event.id)
        self.host.broadcast(PublicationFrame(event, min(now - buffered.born_us, FOREVER)))

    def memory(self) -> tuple[int, int]:
        """The PB and the ST, with a timestamp for each entry."""
        size = self.pb.bytes + 8 * len(self.pb)
        size += sum([measure(filter.fields()) + 8 for _, filter in self.st])
        return (len(self.pb) + len(self.st), size)
