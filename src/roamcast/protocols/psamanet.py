"""PSAMANET: movement carries publications (Rezende, Rocha, Loureiro, 003_158701c642d5c6bc).

A node keeps the last publications it received (PB, a FIFO of PB_size) and the subscriptions of its neighbours (ST, each
for S_ttl, accepted with probability S_prob). It broadcasts publications on four occasions (§3):
  (i)   it created one;
  (ii)  it stopped after it had moved: then also its own subscriptions;
  (iii) a new subscription of a neighbour was accepted, and it has publications that match it;
  (iv)  it received a publication for the first time, and a subscription in the ST matches it.
On each occasion at most PB_max go out, chosen at random when there are more. When a node starts to move it forgets its
neighbours' subscriptions. There are no beacons. Numbers of readings R1 to R3 and R6 belong to the paper's experiment:
they are fields of the scenario (`interested`, `speed_law`, `start`, `carrier_sense_ratio`).

Readings, one test each in tests/paper/test_rezende.py:
  R4  a "duplicate" publication is one that was ever seen, or one that is still in the PB: `duplicates`. Either way the
      application gets it once
  R5  occasion (iv) counts "any stored" subscription, and §3.2 stores own and foreign ones; but §5 says that neighbours
      forward what a node told them it wants: `own_subscriptions`. Only foreign ones give the messages of Table 4 up to
      one common factor, so they are the default
  R7  a node's own publications are in its PB too (§3.1 speaks of received ones): else one that nobody heard is lost
  R8  only an accepted subscription makes occasion (iii) (§3.2: only those are "later checked for publications")
  R9  a subscription that is in the ST is a duplicate: ignored, its time is not prolonged. One that was refused, cleaned
      or has expired is new when it is sent again, and is drawn for again
  R10 the ST's size is not limited in the paper (§3.2); here it is, by `st_size`, and the oldest gives way
  R11 "instantly" in (iii) and (iv) is after a random `jitter_ms`: several neighbours answer the same frame, and without
      it they would all be one DIFS behind it and collide. So it is when a subscription is created, which nodes that
      are switched on together do together. (i) and (ii) happen to one node alone and are not delayed
  R12 a publication older than its validity is neither delivered, buffered nor sent, and leaves the PB before a choice
      is made from it; the paper's publications have no lifetime
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from roamcast.protocols.kit.interface import Frame, Host, Params, Protocol, param, reason
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
NOT_ACCEPTED: Final = reason("drop", "not accepted", "a subscription of {peer}: S_prob said no")
BUFFER_FULL: Final = reason("drop", "buffer full", "{event} was the oldest in a full buffer")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")
RESTARTED: Final = reason("drop", "restarted", "{event} was waiting when the node went down")
CLEANED: Final = reason("note", "cleaned", "{value} subscriptions of neighbours left behind")


@dataclass(frozen=True)
class PsamanetParams(Params):
    pb_size: int = param(200, "publications buffered", "Table 3, configurations I to III", low=1)
    pb_max: int = param(10, "publications forwarded on one occasion at most", "Table 3, I to III", low=1)
    s_ttl_s: float = param(60.0, "how long a neighbour's subscription is valid", "§4.1", unit="s", low=0.001)
    s_prob: float = param(0.4, "probability of accepting a neighbour's subscription", "Table 3, II", low=0, high=1)
    duplicates: str = param("ever", "what makes a publication a duplicate", "ours (R4)", choices=("ever", "buffer"))
    own_subscriptions: bool = param(False, "whether own subscriptions count in occasion (iv)", "§5, Table 4 (R5)")
    jitter_ms: float = param(10.0, "longest random wait before an answer", "ours (R11)", unit="ms", low=0)
    st_size: int = param(4096, "neighbours' subscriptions kept at most", "ours (R10)", low=1)
    seen: int = param(65_536, "ids of publications remembered", "ours", low=1)


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
    """One publication, and its age when it was handed to the MAC."""

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
class Publication:
    """A publication in the buffer: when it was published and expires by this clock, and why it is to be sent."""

    __slots__ = ("born_us", "event", "expires_us", "why")

    def __init__(self, event: Event, born_us: int) -> None:
        self.event = event
        self.born_us = born_us
        self.expires_us = born_us + event.validity_us
        self.why = 0


@final
class Buffer:
    """The PB: a queue of at most `limit` publications, the oldest of which gives way.

    A full one is a ring, in which the newest takes the oldest's place. It is not searched for expired ones before the
    first of those that were added can have expired.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.ring: list[Publication] = []
        self.oldest = 0  # where the ring begins
        self.bytes = 0
        self.earliest_us = NEVER  # nothing here expires before

    def __len__(self) -> int:
        return len(self.ring)

    def publications(self) -> list[Publication]:
        """Oldest first."""
        return self.ring[self.oldest :] + self.ring[: self.oldest]

    def add(self, publication: Publication) -> Publication | None:
        """The one that gave way, if any."""
        self.bytes += publication.event.size
        if publication.expires_us < self.earliest_us:
            self.earliest_us = publication.expires_us
        if len(self.ring) < self.limit:
            self.ring.append(publication)
            return None
        gone = self.ring[self.oldest]
        self.ring[self.oldest] = publication
        self.oldest = self.oldest + 1 if self.oldest + 1 < self.limit else 0
        self.bytes -= gone.event.size
        return gone

    def take_expired(self, now: int) -> list[Publication]:
        """Oldest first."""
        if now < self.earliest_us:
            return []
        everything = self.publications()
        self.ring = [p for p in everything if now < p.expires_us]
        self.oldest = 0
        self.bytes = sum([p.event.size for p in self.ring])
        self.earliest_us = min([p.expires_us for p in self.ring], default=NEVER)
        return [p for p in everything if now >= p.expires_us]


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
        self.held: dict[int, None] = {}  # the ids in it, where these tell a duplicate
        self.wanted = Subscriptions()
        self.own: dict[int, SubscriptionFrame] = {}  # the same, as they are sent
        self.foreign: dict[tuple[int, Filter], int] = {}  # (neighbour, what it wants) -> valid until; oldest first
        self.foreign_until_us = 0  # until when the oldest is valid
        self.seen = Seen()
        self.seen_limit = max(params.seen, params.pb_size)  # so that whatever is in the PB was ever seen
        self.answers: dict[int, Publication] = {}  # waiting for their timer

    def on_start(self) -> None:
        """Timers do not survive a crash: answers are lost with them, and subscriptions are told again."""
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

    # ---- publications

    def on_publish(self, event: Event) -> None:
        publication = Publication(event, self.host.now())
        self.see(event.id)
        self.buffer(publication)  # R7
        self.send(publication, 0)  # (i)

    def receive_publication(self, frame: PublicationFrame) -> None:
        event = frame.event
        known = event.id in self.seen
        if known if self.ever else event.id in self.held:  # R4
            return
        if frame.age_us >= event.validity_us:  # R12
            self.host.note(EXPIRED, event.id)
            return
        if not known:
            self.see(event.id)
        publication = Publication(event, self.host.now() - frame.age_us)
        self.buffer(publication)
        mine = self.wanted.match(event)
        if mine and not known:
            self.host.deliver(event)
        if (mine and self.params.own_subscriptions) or self.wanted_near(event):  # (iv), R5
            self.answer(publication, WANTED)
        else:
            self.host.note(UNWANTED, event.id)

    def wanted_near(self, event: Event) -> bool:
        self.remove_expired()
        for _, filter in self.foreign:  # noqa: SIM110 (a generator costs more than the loop)
            if filter.matches(event):
                return True
        return False

    def buffer(self, publication: Publication) -> None:
        gone = self.pb.add(publication)
        if gone is not None:
            self.host.note(BUFFER_FULL, gone.event.id)
        if not self.ever:
            if gone is not None:
                self.held.pop(gone.event.id, None)
            self.held[publication.event.id] = None

    def see(self, id: int) -> None:
        """An id that was not seen before, or was forgotten."""
        self.seen.add(id)
        if len(self.seen) > self.seen_limit:
            self.host.unmute(self.seen.take_oldest())
        if self.ever:
            self.host.mute(id)

    # ---- subscriptions

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.wanted.add(subscription, filter)
        self.own[subscription] = SubscriptionFrame(filter)
        self.host.set_timer(-1 - subscription, self.jitter_us())  # R11

    def on_unsubscribe(self, subscription: int) -> None:
        self.wanted.remove(subscription)
        self.own.pop(subscription, None)
        self.host.cancel_timer(-1 - subscription)

    def receive_subscription(self, filter: Filter, sender: int) -> None:
        self.remove_expired()
        if (sender, filter) in self.foreign:  # R9
            return
        if self.host.random() >= self.params.s_prob:
            self.host.note(NOT_ACCEPTED, peer=sender)
            return
        if len(self.foreign) >= self.params.st_size:
            del self.foreign[next(iter(self.foreign))]  # R10
        self.foreign[(sender, filter)] = self.host.now() + self.s_ttl_us
        self.foreign_until_us = next(iter(self.foreign.values()))
        for publication in self.choose(filter):  # (iii), R8
            self.answer(publication, ASKED)

    def remove_expired(self) -> None:
        """All have the same lifetime and none is prolonged, so the oldest is always the first to go."""
        now = self.host.now()
        if now < self.foreign_until_us:
            return
        while self.foreign:
            oldest = next(iter(self.foreign))
            self.foreign_until_us = self.foreign[oldest]
            if now < self.foreign_until_us:
                return
            del self.foreign[oldest]

    # ---- movement

    def on_motion(self, moving: bool) -> None:
        if moving:
            if self.foreign:
                self.host.note(CLEANED, value=len(self.foreign))
            self.foreign.clear()
            return
        for subscription in self.own.values():
            self.host.broadcast(subscription)
        for publication in self.choose(None):  # (ii)
            self.send(publication, STOPPED)

    # ---- sending

    def choose(self, filter: Filter | None) -> list[Publication]:
        """At most PB_max of the buffered publications that match (None: all do), uniformly, without replacement."""
        self.forget_expired()
        n = self.params.pb_max
        found = self.pb.publications()
        if filter is not None:
            found = [p for p in found if filter.matches(p.event)]
        if len(found) <= n:
            return found
        self.host.note(NOT_CHOSEN, value=len(found) - n)
        for i in range(n):
            j = i + int(self.host.random() * (len(found) - i))
            found[i], found[j] = found[j], found[i]
        return found[:n]

    def forget_expired(self) -> None:
        for publication in self.pb.take_expired(self.host.now()):  # R12
            self.held.pop(publication.event.id, None)
            self.host.note(EXPIRED, publication.event.id)

    def answer(self, publication: Publication, why: int) -> None:
        id = publication.event.id
        if id not in self.answers:
            publication.why = why
            self.answers[id] = publication
            self.host.set_timer(id, self.jitter_us())  # R11

    def on_timer(self, key: int) -> None:
        """The key is the id of a publication that waits, or below 0 for the subscription -1 - key."""
        if key < 0:
            self.host.broadcast(self.own[-1 - key])
            return
        publication = self.answers.get(key)
        if publication is not None:
            del self.answers[key]
            self.send(publication, publication.why)

    def jitter_us(self) -> int:
        return int(self.host.random() * self.params.jitter_ms * 1000)

    def send(self, publication: Publication, why: int) -> None:
        event = publication.event
        now = self.host.now()
        if now >= publication.expires_us:  # R12
            self.host.note(EXPIRED, event.id)
            return
        if why:
            self.host.note(why, event.id)
        self.host.broadcast(PublicationFrame(event, min(now - publication.born_us, FOREVER)))

    def memory(self) -> tuple[int, int]:
        """The publication buffer and neighbours' subscriptions, with a timestamp each."""
        size = self.pb.bytes + 8 * len(self.pb)
        size += sum([measure(filter.fields()) + 8 for _, filter in self.foreign])
        return (len(self.pb) + len(self.foreign), size)
