"""Frugal event dissemination (Baehni, Chhabra, Guerraoui 2005, Figs. 4 to 10).

Subscribers send heartbeats with their subscriptions and their speed. A process that shares a topic with the sender
keeps it in the neighbourhood table. Neighbours send each other the ids of the valid events they hold. A process that
holds an event which a neighbour wants and is not known to have waits a back-off, which is shorter the more events it
could send. Then it broadcasts what is still needed, with the ids of the interested neighbours: every process that
overhears the frame knows that these now have the events. Only subscribers store and forward events. The event table
(event_table.py) is bounded, and so are all other tables.

The process id i of the paper's messages is the link address that comes with every frame. Line numbers (l.) are those of
the figures.

Readings, one test each:
  R1  two comparisons are printed the wrong way round (Fig. 7 l. 7, Fig. 10 l. 13): an event is valid while the time is
      before its expiry. Clocks are not shared, so a frame carries the event's age, and it expires by the node's clock.
  R2  HBDelay is 15 s (Fig. 4) until the first heartbeat of any node is heard, which brings it between its bounds.
  R3  ids are sent on detecting a new neighbour (§3, §4.2) or on every heartbeat of one that shares topics (Fig. 6 as
      printed): `ids_on`.
  R4  a neighbour whose entry expired is new when it is heard again.
  R5  the smallest val / (fwd + val) is collected first, val being the event's whole validity period: the example of
      §4.4 fixes the direction, and its unit cancels (event_table.py). Of equals, the first stored.
  R6  the radio range belongs to the scenario.
  R7  two processes share topics when some event could match subscriptions of both: one topic is above the other, or
      the same. For other filters, when a match of both cannot be excluded.
  R8  the sender of an event has it. As printed no process would record that, and every receiver of a fresh event would
      send it back to its publisher.
  R9  the list sent with events names the neighbours that are interested in one of them (§3; "its neighbor
      identifiers", §4.3), and a neighbour is presumed to have those it is interested in: it has dropped the others.
  R10 PUBLISH sends when a neighbour's subscriptions include the event's topic (§4.3; Fig. 9 l. 36 has: shares any
      topic). Its DELIVER is left out: the publishing application has its event.
  R11 a publisher that did not subscribe to the topic keeps the neighbours that want a valid event of its own, and
      sends it to them when it hears their heartbeat. It sends no heartbeat and so gets no ids. As printed its table
      stays empty and its event is never sent, yet PUBLISH starts the table's garbage collection for just such
      publishers, and Fig. 14 counts them. The collection stops when there are neither subscriptions nor neighbours.
  R12 an event is delivered once, also when it was collected in between (§3 "have not received it yet"): the last
      `seen_limit` ids are remembered, not only until expiry: clocks differ, and a neighbour may send a little later.
  R13 the events to send are computed again when the back-off ends (§4.3; not in Fig. 9). The back-off starts after all
      neighbours were examined, for the total number of events (footnote 10), and not at the first one (Fig. 7 l. 14).
      STOP backOff leaves BODelay as it was, as printed: the next back-off can only be as long or shorter.
  R14 an id list is sent when it is empty, too: it makes the neighbour look for events to send (Fig. 6 l. 30).
  R15 with ids_on="new", ids heard before their sender's heartbeat are kept for it. Otherwise, of two processes that
      meet, only the one that was heard first could ever send: the other's list came before its heartbeat (Fig. 6
      l. 26). A neighbour is new also when its subscriptions, or one's own, have changed.
  R16 the first heartbeat comes at a random phase. A computed delay that is shorter than the wait that is running
      shortens that wait in proportion; a longer one counts from the next period on.
  R17 processes that hear the same frame would answer it in the same microsecond and collide: a random part below
      `jitter_ms` is added to id lists and back-offs. Answers to several heartbeats in that time are one list.
  R18 AVERAGESPEED is over the neighbours whose speed is known (Fig. 8 l. 3), without one's own. At rest, HBDelay is
      its upper bound. UPDATENEIGHBOREVENTINFO renews the store time for ids that the neighbour itself sent (Fig. 6
      l. 28 passes the time, Fig. 9 does not).
  R19 sizes="paper": a heartbeat has 50 bytes, an event 400, an id 16, and nothing else counts. Events that do not fit
      into one frame of `frame_limit` bytes, with the neighbours that want them, go in several. If not even one event
      fits, as many of the neighbours are named as there is room for; a frame is longer only if its event is.
  R20 that a neighbour lacks an event follows from the list of ids it sent (§3): need="listed". As printed (Fig. 7) a
      neighbour that was heard, and has not sent a list yet, lacks everything: need="presumed". Then a process that
      hears a newcomer's heartbeat and any list, such as another answer to that heartbeat, sends the newcomer all events
      that it wants, and it may well have them: with several events the back-off is shorter than the wait for its list.
      Any list counts, whichever process it answers, until one's own subscriptions change (R15). Neighbours that share
      no topics send none, and R11 serves them nevertheless.
  R21 a frame may be lost, and then its sender and all that overheard it presume for good that the named neighbours have
      its events. As printed nothing corrects that while they stay neighbours. repair=true: a list of ids follows each
      heartbeat of its sender, so that publishers that do not subscribe (R11) hear it, too. It has the ids of all valid
      events that the sender has, or had before its table was full. A neighbour that is presumed to have an event for
      longer than half of HBDelay, and does not list it, lacks it. All processes must have the same setting.
"""

from __future__ import annotations

from math import isnan, nan
from typing import ClassVar, Final, final

from roamcast.protocols.frugal.delays import Delays, Task
from roamcast.protocols.frugal.event_table import EventTable, StoredEvent
from roamcast.protocols.frugal.frames import (
    AS_ENCODED,
    MOST,
    PAPER_HEARTBEAT_BYTES,
    PAPER_ID_BYTES,
    Events,
    EventsIds,
    Heartbeat,
    Id,
    ids_frame_bytes,
)
from roamcast.protocols.frugal.neighbors import Neighbor, NeighborhoodTable, SubscriptionSet, count_bits, matches_any
from roamcast.protocols.frugal.params import FrugalParams
from roamcast.protocols.frugal.sending import EventSender
from roamcast.protocols.kit.interface import NOBODY, Frame, Host, Params, Protocol, no_room, reason
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

HEARTBEAT: Final = 1
NEIGHBORHOOD_GC: Final = 2
BACK_OFF: Final = 3
EVENTS_IDS: Final = 4
"""Timers."""

PUBLISHED: Final = reason("forward", "published", "its publisher sends {event} at once")
NEEDED: Final = reason("forward", "neighbour needs it", "{event}: {peer} needs it")
DELAYED: Final = reason("delay", "back-off", "{event} and other needed events in {value} us: {peer} needs it")
NOBODY_NEEDS: Final = reason("suppress", "nobody needs it", "{event}: no neighbour needs it")
NO_LONGER_NEEDED: Final = reason(
    "suppress", "no longer needed", "{event}: no neighbour needs it now that the back-off is over"
)
PARASITE: Final = reason("drop", "parasite", "{event} from {peer} is of a topic not subscribed to")
HEARD_AGAIN: Final = reason("drop", "heard again", "{event} from {peer} was here before")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")
TABLE_FULL: Final = no_room("table full", "{event}, forwarded {value} times, made room for another")
NOT_LISTED: Final = reason("note", "not listed", "{peer} does not list {event}, and so lacks it")
NEIGHBORS_FULL: Final = reason("note", "neighbours full", "no room for {peer} in the neighbourhood table")


@final
class Frugal(Protocol):
    params_class: ClassVar[type[Params]] = FrugalParams
    frames: ClassVar[tuple[type[Frame], ...]] = (Heartbeat, EventsIds, Events)
    only_subscribers_forward = True

    def __init__(self, host: Host, params: FrugalParams) -> None:
        """Fig. 4."""
        super().__init__(host, params)
        self.params = params
        self.paper_sizes = params.sizes == "paper"
        self.subscriptions: dict[int, Filter] = {}
        self.topics: list[Filter] = []  # the distinct filters of `subscriptions`, as in heartbeats
        self.topics_bytes = 0
        self.events_table = EventTable(
            params.events_table_size, params.seen_limit, params.repair
        )  # with ids of earlier events (R12)
        self.neighborhood_table = NeighborhoodTable(
            params.neighbors_limit, params.ids_limit, self.events_table, params.need == "presumed"
        )
        self.sender = EventSender(host, params, self.neighborhood_table)
        self.delays = Delays(params)
        self.heartbeat = Task(host, HEARTBEAT)
        self.neighborhood_gc = Task(host, NEIGHBORHOOD_GC)
        self.backing_off = False
        self.answers: dict[int, None] = {}  # the neighbours that get the next list of ids (R17)
        self.early_ids: dict[int, tuple[int, EventsIds]] = {}  # node -> (time, list of ids) (R15)

    # ---- what the host calls

    def on_start(self) -> None:
        """Timers do not survive a crash; tables may, with neighbours that have left since."""
        self.expire_events()
        self.backing_off = False
        self.delays.restart_bo_delay()
        self.neighborhood_table.await_nothing()
        self.answers = {}
        self.heartbeat.started = False
        self.neighborhood_gc.started = False
        self.remove_expired_neighbors()
        self.start_tasks()

    def on_frame(self, frame: Frame, sender: int) -> None:
        self.expire_events()
        if isinstance(frame, EventsIds):
            self.receive_events_ids(sender, frame)
        elif isinstance(frame, Events):
            self.receive_events(sender, frame)
        elif isinstance(frame, Heartbeat):
            self.receive_heartbeat(sender, frame)

    def on_timer(self, key: int) -> None:
        self.expire_events()
        if key == HEARTBEAT:
            self.send_heartbeat()
        elif key == NEIGHBORHOOD_GC:
            self.collect_neighborhood()
        elif key == BACK_OFF:
            self.back_off_expired()
        elif key == EVENTS_IDS:
            self.send_events_ids()

    def on_publish(self, event: Event) -> None:
        self.expire_events()
        self.publish(event)

    def on_publish_again(self, event: Event) -> None:
        """Neighbours that have not listed it get it after a back-off."""
        self.expire_events()
        row = StoredEvent(event, self.host.now() + event.validity_us, own=True)
        if not self.events_table.is_stored(row.id):
            self.store(row)
            self.neighborhood_table.record_listed(row)
            self.retrieve_events_to_send()
            if not self.neighborhood_gc.started:
                self.neighborhood_gc.again(self.delays.ngc_delay_us)

    def expire_events(self) -> None:
        """Before anything else: an event past its validity is neither listed nor needed (R1)."""
        now_us = self.host.now()
        if now_us >= self.events_table.next_expiry_us:
            for row in self.events_table.expire(now_us):
                self.neighborhood_table.expired(row)

    # ---- Fig. 5: subscription, unsubscription

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.expire_events()
        self.subscriptions[subscription] = filter
        self.topics_changed()
        self.start_tasks()

    def on_unsubscribe(self, subscription: int) -> None:
        self.expire_events()
        self.subscriptions.pop(subscription, None)
        self.topics_changed()
        if not self.subscriptions:
            self.heartbeat.stop()
            self.early_ids = {}
            if not self.neighborhood_table:  # R11
                self.neighborhood_gc.stop()

    def start_tasks(self) -> None:
        if self.subscriptions and not self.heartbeat.started:
            self.heartbeat.start(self.delays.hb_delay_us, int(self.host.random() * self.delays.hb_delay_us))  # R16
        if (self.subscriptions or self.neighborhood_table) and not self.neighborhood_gc.started:
            self.neighborhood_gc.again(self.delays.ngc_delay_us)

    def topics_changed(self) -> None:
        topics: list[Filter] = []
        for filter in self.subscriptions.values():
            if filter not in topics:
                topics.append(filter)
        self.topics = topics
        self.topics_bytes = Heartbeat(topics, nan).size - 1
        table = self.neighborhood_table
        table.share_again(topics)
        for j, neighbor in list(table.rows.items()):
            neighbor.introduced = False  # R15
            if not table.is_relevant(neighbor.subscription_set):  # §3
                table.leave(j)

    # ---- Fig. 6: neighborhood detection

    def send_heartbeat(self) -> None:
        speed_mps = self.host.speed()
        size = PAPER_HEARTBEAT_BYTES if self.paper_sizes else self.topics_bytes + (1 if isnan(speed_mps) else 9)
        self.host.broadcast(Heartbeat(self.topics, speed_mps, size))
        if self.params.repair and not self.answers:  # R21
            self.host.set_timer(EVENTS_IDS, self.jitter_us())
        self.heartbeat.again(self.delays.hb_delay_us)

    def receive_heartbeat(self, j: int, frame: Heartbeat) -> None:
        neighbor = self.update_neighbor(j, frame)
        self.delays.compute_hb_delay(self.neighborhood_table.average_speed())
        self.delays.compute_ngc_delay()
        self.heartbeat.shorten(self.delays.hb_delay_us)
        self.neighborhood_gc.shorten(self.delays.ngc_delay_us)
        if neighbor is not None:
            self.answer_heartbeat(j, neighbor)

    def update_neighbor(self, j: int, frame: Heartbeat) -> Neighbor | None:
        """Only nodes that share topics are kept (§3), and those that want an event of this node's own (R11)."""
        table = self.neighborhood_table
        neighbor = table.rows.get(j)
        if neighbor is None and table.is_known_irrelevant(j, frame.subscriptions):
            return None
        if neighbor is not None and neighbor.has(frame.subscriptions):
            subscription_set = neighbor.subscription_set
        else:
            subscription_set = table.set_for(frame.subscriptions)
        if not table.is_relevant(subscription_set):
            table.leave(j)
            table.remember_irrelevant(j, frame.subscriptions)
            return None
        if neighbor is None:
            neighbor = self.add_neighbor(j, subscription_set)
        if neighbor is not None:
            self.update_neighbor_info(neighbor, frame, subscription_set)
        return neighbor

    def add_neighbor(self, j: int, subscription_set: SubscriptionSet) -> Neighbor | None:
        if len(self.neighborhood_table) >= self.params.neighbors_limit:
            self.host.note(NEIGHBORS_FULL, 0, j)
            return None
        neighbor = self.neighborhood_table.join(j, subscription_set)
        self.start_tasks()
        return neighbor

    def update_neighbor_info(self, neighbor: Neighbor, frame: Heartbeat, subscription_set: SubscriptionSet) -> None:
        if neighbor.subscription_set is not subscription_set:
            neighbor.introduced = False  # R15
            self.neighborhood_table.change_set(neighbor, subscription_set)
        neighbor.subscriptions = frame.subscriptions
        self.neighborhood_table.set_speed(neighbor, frame.speed_mps)
        neighbor.store_time_us = self.host.now()
        neighbor.size = frame.size

    def answer_heartbeat(self, j: int, neighbor: Neighbor) -> None:
        """Is the neighbour new (R3), and did ids come before its heartbeat (R15)?"""
        new = not neighbor.introduced
        neighbor.introduced = True
        if not neighbor.subscription_set.shares:
            if new:
                self.retrieve_events_to_send()  # R11
            return
        if new or self.params.ids_on == "heartbeat":
            self.new_neighbor(j)
        early = self.early_ids.pop(j, None) if self.early_ids else None
        if early is not None:
            self.receive_events_ids(j, early[1])

    def new_neighbor(self, j: int) -> None:
        if not self.answers:
            self.host.set_timer(EVENTS_IDS, self.jitter_us())
        self.answers[j] = None

    def send_events_ids(self) -> None:
        """Answer the nodes that are still neighbours (R17)."""
        answered: list[SubscriptionSet] = []
        for j in self.answers:
            neighbor = self.neighborhood_table.rows.get(j)
            if neighbor is not None and neighbor.subscription_set not in answered:
                answered.append(neighbor.subscription_set)
        self.answers = {}
        if self.params.repair:
            self.host.broadcast(self.ids_frame(self.events_table.valid_ids(self.host.now())[:MOST], AS_ENCODED))  # R21
        elif answered:
            self.host.broadcast(self.get_events_ids(answered))  # R14

    def get_events_ids(self, answered: list[SubscriptionSet]) -> EventsIds:
        """The ids of the valid events (§3) that match one of the subscriptions."""
        if len(answered) > 1:
            bits = 0
            for subscription_set in answered:
                bits |= subscription_set.bits
            ids: list[Id] = [r.id for r in self.events_table.rows if r.wanting & bits and not r.expired]
            return self.ids_frame(ids, AS_ENCODED)
        subscription_set = answered[0]
        if subscription_set.list is None:
            size = ids_frame_bytes(len(subscription_set.ids), subscription_set.ids_bytes)
            subscription_set.list = self.ids_frame(list(subscription_set.ids), size)
        return subscription_set.list

    def ids_frame(self, ids: list[Id], size: int) -> EventsIds:
        return EventsIds(ids, PAPER_ID_BYTES * len(ids) if self.paper_sizes else size)

    def receive_events_ids(self, j: int, frame: EventsIds) -> None:
        neighbor = self.neighborhood_table.rows.get(j)
        if neighbor is None:
            self.keep_early_ids(j, frame)
            return
        self.neighborhood_table.record_list(neighbor, frame)
        if self.params.repair:
            before_us = self.host.now() - self.delays.hb_delay_us // 2
            for row in self.neighborhood_table.correct(neighbor, frame, before_us):  # R21
                self.host.note(NOT_LISTED, row.event.id, j)
        neighbor.store_time_us = self.host.now()  # R18
        self.retrieve_events_to_send()

    def keep_early_ids(self, j: int, frame: EventsIds) -> None:
        if self.params.ids_on != "new" or not self.subscriptions:
            return
        if j in self.early_ids or len(self.early_ids) < self.params.neighbors_limit:
            self.early_ids[j] = (self.host.now(), frame)

    # ---- Fig. 7: event retrieval

    def events_to_send(self) -> list[tuple[StoredEvent, int]]:
        """Fig. 7 l. 3 to 11: each event that neighbours need, and the first of them."""
        return self.neighborhood_table.in_need()

    def retrieve_events_to_send(self) -> None:
        table = self.neighborhood_table
        if table.needed:
            table.await_needed()
            self.delays.compute_bo_delay(len(table.needed))
            if not self.backing_off:
                self.backing_off = True
                delay_us = self.delays.bo_delay_us + self.jitter_us()
                first, j = table.first_in_need()
                self.host.note(DELAYED, first, j, delay_us)
                self.host.set_timer(BACK_OFF, delay_us)

    def jitter_us(self) -> int:
        """A random part against collisions (R17)."""
        return int(self.host.random() * self.params.jitter_ms * 1000) if self.params.jitter_ms else 0

    # ---- Fig. 9: dissemination

    def back_off_expired(self) -> None:
        self.backing_off = False
        self.delays.forget_bo_delay()
        self.explain_silence()
        rows: list[StoredEvent] = []
        for row, j in self.events_to_send():  # R13
            self.host.note(NEEDED, row.event.id, j)
            self.events_table.count_forward(row)
            rows.append(row)
        if rows:
            self.sender.send(rows)

    def explain_silence(self) -> None:
        """Note why events that waited for the back-off are not sent after it."""
        for row in self.neighborhood_table.awaited:
            if not row.lacking:
                self.host.note(EXPIRED if row.expired else NO_LONGER_NEEDED, row.event.id)
        self.neighborhood_table.await_nothing()

    def receive_events(self, j: int, frame: Events) -> None:
        table = self.neighborhood_table
        neighbor = table.rows.get(j)
        sender = 0 if neighbor is None else neighbor.bit
        named = table.bits_of(frame.neighbors_ids)
        interested = False
        for k in range(len(frame.carried)):
            event = frame.carried[k]
            id = frame.ids[k]
            again = table.presume_received(event, id, sender, named)
            if again and self.params.repair:
                self.events_table.presumed(id, self.host.now())
            if self.accept(event, id, frame.ages_us[k], again, j):
                interested = True
        if interested:
            self.backing_off = False  # STOP backOff timer
            self.host.cancel_timer(BACK_OFF)
            self.retrieve_events_to_send()
            if not self.backing_off:
                self.explain_silence()

    def accept(self, event: Event, id: Id, age_us: int, again: bool, j: int) -> bool:
        """Store and deliver an event that is new and wanted."""
        if age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id, j)
        elif again:
            self.host.note(HEARD_AGAIN, event.id, j)
        elif not matches_any(self.topics, event):
            self.host.note(PARASITE, event.id, j)
        else:
            self.store(StoredEvent(event, self.host.now() + event.validity_us - age_us, id=id))
            self.host.deliver(event)
            return True
        return False

    def publish(self, event: Event) -> None:
        row = StoredEvent(event, self.host.now() + event.validity_us, own=True)
        if self.events_table.is_stored(row.id):
            self.host.note(HEARD_AGAIN, event.id)
            return
        if self.host.now() >= row.expiry_us:
            self.host.note(EXPIRED, event.id)
            return
        row.wanting = self.neighborhood_table.interested(event)  # R10
        if row.wanting:
            self.host.note(PUBLISHED, event.id, NOBODY, count_bits(row.wanting))
            self.sender.send_batch([row])
        else:
            self.host.note(NOBODY_NEEDS, event.id)
        self.store(row)
        if not self.neighborhood_gc.started:
            self.neighborhood_gc.again(self.delays.ngc_delay_us)

    def store(self, row: StoredEvent) -> None:
        if self.events_table.is_full():
            gc = self.events_table.garbage_collect()
            if gc is not None:
                self.host.note(EXPIRED if gc.expired else TABLE_FULL, gc.event.id, NOBODY, gc.fwd)
                self.neighborhood_table.collected(gc)
        self.events_table.add(row)
        if self.params.repair:
            row.presumed_us = self.host.now()
        self.neighborhood_table.stored(row)

    # ---- Fig. 10: garbage collection (of the events table: event_table.py)

    def collect_neighborhood(self) -> None:
        self.remove_expired_neighbors()
        if self.subscriptions or self.neighborhood_table:
            self.neighborhood_gc.again(self.delays.ngc_delay_us)
        else:
            self.neighborhood_gc.started = False  # R11

    def remove_expired_neighbors(self) -> None:
        oldest_us = self.host.now() - self.delays.ngc_delay_us
        for j, neighbor in list(self.neighborhood_table.rows.items()):
            if oldest_us > neighbor.store_time_us:
                self.neighborhood_table.leave(j)
        for j, (time_us, _) in list(self.early_ids.items()):
            if oldest_us > time_us:
                del self.early_ids[j]

    def memory(self) -> tuple[int, int]:
        """The two tables: their rows, subscriptions as received, and 8 bytes for each id."""
        size = self.events_table.bytes + self.neighborhood_table.bytes()
        return (len(self.neighborhood_table) + len(self.events_table), size)
