"""Everything that happens in a world is reported here once, and passed on to four records: the rows of the log, the
tally, the fingerprint, and the state of published events. None of these knows the others."""

from __future__ import annotations

from typing import final

from librt.vecs import append
from mypy_extensions import i64

from roamcast.log import schema
from roamcast.log.fingerprint import Fingerprint
from roamcast.log.rows import Rows
from roamcast.log.tally import Tally
from roamcast.log.writer import LogSink
from roamcast.protocols.kit.interface import Frame
from roamcast.pubsub.event import Event
from roamcast.world.energy import Energy
from roamcast.world.published import DELIVERED, HAS, PAIRED, WANTED, PublishedEvent, PublishedEvents
from roamcast.world.specs import PowerSpec


@final
class Recorder:
    __slots__ = ("energy", "events", "fingerprint", "rows", "tally")

    def __init__(self, nodes: int, level: str, sink: LogSink, power: PowerSpec) -> None:
        self.rows = Rows(sink, level)
        self.tally = Tally()
        self.fingerprint = Fingerprint()
        self.events = PublishedEvents(nodes)
        self.energy = Energy(power)

    def publish(
        self, t: i64, node: i64, event: Event, interested: list[int], paired: list[int], in_range: list[int]
    ) -> None:
        """`interested` nodes have a matching subscription. `paired` of them count as interested live subscribers,
        except the publisher: if it is one of these, the event is its own."""
        flags = self.events.flags_for(interested, paired)
        own = 1 if flags[node] & PAIRED else 0
        flags[node] = (flags[node] & WANTED) | HAS
        self.events.add(event.id, t, node, flags)
        pairs = len(paired) - own
        self.tally.published(pairs, own)
        self.fingerprint.published(t, node, event.id, pairs)
        self.rows.published(t, node, event, in_range)

    def deliver(self, t: i64, node: i64, event: Event) -> None:
        self.fingerprint.delivered(node, event.id)
        published = self.events.current
        if published is None or published.id != event.id:
            published = self.events.find(event.id)
        if published is not None:
            flags = published.flags[node]
            if flags & (PAIRED | DELIVERED) == PAIRED:
                self.tally.latencies = append(self.tally.latencies, t - published.t)
            published.flags[node] = flags | DELIVERED
        if self.rows.deliveries:
            self.rows.delivered(t, node, event.id)

    def copy_arrived(self, published: PublishedEvent, node: i64) -> None:
        """An event arrived at a node: count whether the node has it already, and whether it wants it."""
        tally = self.tally
        flags = published.flags[node]
        if flags & HAS:
            tally.duplicates += 1
        else:
            published.flags[node] = flags | HAS
            tally.news += 1
        if flags & WANTED == 0:
            tally.parasites += 1
        elif flags & HAS:
            tally.duplicates_wanted += 1

    def lose(
        self, t: i64, node: i64, frame: Frame, serial: i64, peer: i64, size: i64, reason: i64, airtime: i64
    ) -> None:
        self.tally.losses[reason] += 1
        if self.rows.frames:
            self.rows.lost(t, node, frame, serial, peer, size, schema.LOSSES[reason], airtime)

    def overhear(
        self, t: i64, node: i64, frame: Frame | None, serial: i64, sender: i64, size: i64, reason: i64, airtime: i64
    ) -> None:
        """A radio received a frame that the protocol will not see. An acknowledgement has no frame."""
        if reason == schema.FOR_ANOTHER:
            self.tally.overheard += 1
        if self.rows.frames:
            self.rows.overheard(t, node, frame, serial, sender, size, schema.OVERHEARD[reason], airtime)

    def repeat(self, t: i64, node: i64, frame: Frame, serial: i64, to: i64) -> None:
        """The transmission that has just begun repeats an earlier one."""
        self.tally.repeats += 1
        self.rows.repeated(t, node, frame, serial, to)

    def sample(self, t: i64, node: i64, entries: int, size: int) -> None:
        self.tally.sampled(entries, size)
        self.rows.state(t, node, entries, size)
