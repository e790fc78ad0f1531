"""Frugal event dissemination (Baehni, Chhabra, Guerraoui; 001_a488c218c5fd0a02, Figs. 4 to 10).

Subscribers send heartbeats with their subscriptions and their speed; who shares a topic with the sender keeps it in the
neighbourhood table. Neighbours tell each other the ids of the valid events they hold. Who holds an event that a
neighbour wants and is not known to have waits a back-off, the shorter the more events it could send, and broadcasts
what is still needed then, with the ids of the interested neighbours: whoever overhears the frame knows that those now
have the events. Only subscribers store and pass on events. The event table (event_table.py) is bounded, and so is all
else.

The process id i of the paper's messages is the link address that every frame comes with. Lines are the figures'.

Readings, one test each:
  R1  two comparisons are printed the wrong way round (Fig. 7 l. 7, Fig. 10 l. 13): an event is valid while the time is
      before its expiry. Clocks are not shared, so an event travels with its age, and expires by the node's own clock.
  R2  HBDelay is 15 s (Fig. 4) until the first heartbeat of anybody is heard, which brings it between its bounds.
  R3  ids are sent on detecting a new neighbour (§3, §4.2) or on every heartbeat of one that shares topics (Fig. 6 as
      printed): `ids_on`.
  R4  a neighbour whose entry expired is new when it is heard again.
  R5  the smallest val / (fwd + val) is collected first, val being the event's whole validity period: the example of
      §4.4 fixes the direction, and its unit cancels (event_table.py). Of equals, the first stored.
  R6  the radio range belongs to the scenario.
  R7  two processes share topics when some event could match subscriptions of both: one topic is above the other, or
      the same. For other filters, when a match of both cannot be excluded.
  R8  who sends an event has it. As printed nobody would note that, and every receiver of a fresh event would send it
      back to its publisher.
  R9  the list sent with events names the neighbours that are interested in one of them (§3; "its neighbor
      identifiers", §4.3), and a neighbour is presumed to have those it is interested in: others it has dropped.
  R10 PUBLISH sends when a neighbour has subscribed to the topic of the event (§4.3; Fig. 9 l. 36 has: shares any
      topic). Its DELIVER is left out: the publishing application has its event.
  R11 a publisher that did not subscribe to the topic keeps the neighbours that want a valid event of its own, and
      serves them when it hears their heartbeat. It sends no heartbeat and so gets no ids. As printed its table stays
      empty and its event never leaves, yet PUBLISH starts the table's garbage collection for just such publishers,
      and Fig. 14 counts them. The collection stops when there are neither subscriptions nor neighbours.
  R12 an event is delivered once, also when it was collected in between (§3 "have not received it yet"): the last
      `seen_limit` ids are remembered. Not until expiry only: clocks run apart, and a neighbour may send a little later.
  R13 the events to send are computed anew when the back-off ends (§4.3; not in Fig. 9). The back-off starts once all
      neighbours were looked at, for the total number of events (footnote 10), and not at the first one (Fig. 7 l. 14).
      STOP backOff leaves BODelay as it was, as printed: the next back-off can only be as long or shorter.
  R14 an id list is sent when it is empty, too: it is what makes the neighbour look for events to send (Fig. 6 l. 30).
  R15 with ids_on="new", ids heard before their sender's heartbeat are kept for it. Otherwise, of two that meet, only
      the one that was heard first could ever send: the other's list came before its heartbeat (Fig. 6 l. 26). A
      neighbour is new also when its subscriptions, or one's own, have changed.
  R16 the first heartbeat comes at a random phase. A computed delay that is shorter than the wait that is running
      shortens that wait in proportion; a longer one counts from the next period on.
  R17 those that hear the same frame would answer it in the same microsecond and collide: id lists and back-offs have a
      random part below `jitter_ms` on top. Answers to several heartbeats in that time are one list.
  R18 AVERAGESPEED is over the neighbours whose speed is known (Fig. 8 l. 3), without one's own. At rest, HBDelay is
      its upper bound. UPDATENEIGHBOREVENTINFO renews the store time for ids that the neighbour itself sent (Fig. 6
      l. 28 passes the time, Fig. 9 does not).
  R19 sizes="paper": a heartbeat has 50 bytes, an event 400, an id 16, and nothing else counts. Events that do not fit
      into one frame of `frame_limit` bytes go in several.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import Any, ClassVar, Final, final

from roamcast.errors import InputError, Malformed
from roamcast.protocols.event_table import EventTable, StoredEvent
from roamcast.protocols.interface import NOBODY, Frame, Host, Params, Protocol, param, reason
from roamcast.protocols.wire import as_float, as_int, as_list, counted, measure, uint_size
from roamcast.pubsub.event import FOREVER, Event, event_from_fields
from roamcast.pubsub.filters import And, Filter, Topic, filter_from_fields, unsatisfiable

HEARTBEAT: Final = 1
NEIGHBORHOOD_GC: Final = 2
BACK_OFF: Final = 3
EVENTS_IDS: Final = 4
"""Timers."""

NULL: Final = -1
MOST: Final = 4096
"""Elements of any list on the air."""
NODE_MAX: Final = (1 << 31) - 1

PAPER_HEARTBEAT_BYTES: Final = 50
PAPER_EVENT_BYTES: Final = 400
PAPER_ID_BYTES: Final = 16

NEIGHBOR_BYTES: Final = 24
"""Of a neighbour's row, without subscriptions and ids: identifier, speed and store time."""

PUBLISHED: Final = reason("forward", "published", "its publisher sends {event} at once")
NEEDED: Final = reason("forward", "neighbour needs it", "{event}: {peer} needs it")
DELAYED: Final = reason("delay", "back-off", "{event} and what else is needed in {value} us: {peer} needs it")
NOBODY_NEEDS: Final = reason("suppress", "nobody needs it", "{event}: no neighbour needs it")
NO_LONGER_NEEDED: Final = reason(
    "suppress", "no longer needed", "{event}: nobody needs it now that the back-off is over"
)
PARASITE: Final = reason("drop", "parasite", "{event} from {peer} is of a topic not subscribed to")
HEARD_AGAIN: Final = reason("drop", "heard again", "{event} from {peer} was here before")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")
TABLE_FULL: Final = reason("drop", "table full", "{event}, forwarded {value} times, made room for another")
NEIGHBORS_FULL: Final = reason("note", "neighbours full", "{peer} finds no room in the neighbourhood table")


# ---------------------------------------------------------------------------------------------------------- frames


@final
class Heartbeat(Frame):
    """The sender's subscriptions, and its speed in m/s (NaN when it has no tachometer; nothing on the air)."""

    __slots__ = ("speed_mps", "subscriptions")

    def __init__(self, subscriptions: list[Filter], speed_mps: float, size: int = 0) -> None:
        super().__init__("heartbeat", 0, size)
        self.subscriptions = subscriptions
        self.speed_mps = speed_mps
        if not size:
            self.size = measure(self.fields())

    def fields(self) -> list[Any]:
        return [[f.fields() for f in self.subscriptions], None if isnan(self.speed_mps) else self.speed_mps]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Heartbeat:
        subscriptions, speed = counted(fields, 2)
        return Heartbeat([filter_from_fields(f) for f in as_list(subscriptions, MOST)], _speed_from_field(speed))


def _speed_from_field(field: object) -> float:
    if field is None:
        return nan
    speed_mps = as_float(field)
    if not isfinite(speed_mps) or speed_mps < 0:
        raise Malformed("no speed")
    return speed_mps


@final
class EventsIds(Frame):
    """The ids of the valid events that the sender holds on the topics of those it answers."""

    __slots__ = ("ids",)

    def __init__(self, ids: list[int], size: int = NULL) -> None:
        super().__init__("ids", 0, size)
        self.ids = ids
        if size == NULL:
            self.size = 2 + _ints_size(ids)

    def fields(self) -> list[Any]:
        return [self.ids]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> EventsIds:
        (ids,) = counted(fields, 1)
        return EventsIds([as_int(id) for id in as_list(ids, MOST)])


@final
class Events(Frame):
    """Events, the age of each when it was handed to the MAC, and the neighbours of the sender that want them."""

    __slots__ = ("ages_us", "carried", "neighbors_ids")

    def __init__(self, carried: list[Event], ages_us: list[int], neighbors_ids: list[int], size: int = 0) -> None:
        super().__init__("event", 0, size)
        self.carried = carried
        self.ages_us = ages_us
        self.neighbors_ids = neighbors_ids
        if not size:
            self.size = 2 + _header_size(2 * len(carried)) + _ints_size(neighbors_ids)
            for event, age_us in zip(carried, ages_us, strict=True):
                self.size += event_bytes(event, age_us)

    def events(self) -> list[Event]:
        return self.carried

    def fields(self) -> list[Any]:
        flat: list[Any] = []
        for event, age_us in zip(self.carried, self.ages_us, strict=True):
            flat.append(age_us)
            flat.append(event.fields())
        return [flat, self.neighbors_ids]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Events:
        flat, neighbors_ids = counted(fields, 2)
        pairs = as_list(flat, 2 * MOST)
        if not pairs or len(pairs) % 2:
            raise Malformed("no events, or one without its age")
        return Events(
            [event_from_fields(event) for event in pairs[1::2]],
            [as_int(age_us, 0, FOREVER) for age_us in pairs[0::2]],
            [as_int(id, 0, NODE_MAX) for id in as_list(neighbors_ids, MOST)],
        )


def event_bytes(event: Event, age_us: int) -> int:
    return uint_size(age_us) + event.size


def _header_size(n: int) -> int:
    """Of a msgpack array."""
    return 1 if n < 16 else 3


def _ints_size(ints: list[int]) -> int:
    size = _header_size(len(ints))
    for n in ints:
        size += uint_size(n)
    return size


# ------------------------------------------------------------------------------------------------------------ state


@dataclass(frozen=True)
class FrugalParams(Params):
    x: float = param(40.0, "heartbeat delay times average speed", "§5.1", unit="m", low=0.001)
    hb2bo: float = param(2.0, "HB2BO, heartbeat delay over back-off for one event", "§5.1", low=0.001)
    hb2ngc: float = param(2.5, "HB2NGC, neighbourhood collection delay over heartbeat delay", "§5.1", low=1.0)
    hb_initial_s: float = param(15.0, "HBDelay before any heartbeat was heard", "Fig. 4", unit="s", low=0.001)
    hb_upper_s: float = param(1.0, "heartbeat upper bound", "§5.1; 1 to 5 s in Fig. 13", unit="s", low=0.001)
    hb_lower_s: float = param(0.1, "heartbeat lower bound", "ours; in Fig. 8, without a value", unit="s", low=0.001)
    ids_on: str = param(
        "heartbeat", "what makes a node send its ids", "Fig. 6; §4.2 (R3)", choices=("new", "heartbeat")
    )
    jitter_ms: float = param(
        10.0, "longest random delay on top of answers and back-offs", "ours (R17)", unit="ms", low=0.0
    )
    events_table_size: int = param(100, "events held", "ours; bounded in §4.1", low=1, high=MOST)
    neighbors_limit: int = param(256, "neighbours held", "ours; bounded in §3", low=1, high=1024)
    ids_limit: int = param(512, "events each neighbour is presumed to have", "ours", low=1)
    seen_limit: int = param(4096, "ids of events that are not delivered again", "ours (R12)", low=1)
    frame_limit: int = param(2304, "events in one frame", "ours; IEEE 802.11", unit="B", low=1, high=32_000)
    sizes: str = param("wire", "frame sizes: as encoded, or as in §5.2", "ours; §5.2 (R19)", choices=("wire", "paper"))

    def __post_init__(self) -> None:
        if self.hb_lower_s > self.hb_upper_s:
            raise ValueError(f"hb_lower_s ({self.hb_lower_s:g}) must not be above hb_upper_s ({self.hb_upper_s:g})")
        if self.ids_limit < self.events_table_size:  # what a neighbour has would be forgotten, and sent again for ever
            raise ValueError(
                f"ids_limit ({self.ids_limit}) must not be below events_table_size ({self.events_table_size})"
            )


@final
class Neighbor:
    """A row of the neighbourhood table (Fig. 2)."""

    __slots__ = ("events_ids", "introduced", "shares", "size", "speed_mps", "store_time_us", "subscriptions")

    def __init__(self) -> None:
        self.subscriptions: list[Filter] = []
        self.events_ids: dict[int, None] = {}  # mentioned longest ago first
        self.speed_mps = nan
        self.store_time_us = 0
        self.shares = False  # topics with this node; else it is kept for this node's publications (R11)
        self.introduced = False  # has been sent ids for the subscriptions as they are
        self.size = 0  # of its heartbeat

    def wants(self, event: Event) -> bool:
        return matches_any(self.subscriptions, event)


@final
class Task:
    """A periodic task whose delay changes while it waits (R16)."""

    __slots__ = ("delay_us", "due_us", "host", "key", "started")

    def __init__(self, host: Host, key: int) -> None:
        self.host = host
        self.key = key
        self.started = False
        self.delay_us = 0
        self.due_us = 0

    def start(self, delay_us: int, first_us: int) -> None:
        self.started = True
        self.delay_us = delay_us
        self._wait(first_us)

    def again(self, delay_us: int) -> None:
        self.start(delay_us, delay_us)

    def shorten(self, delay_us: int) -> None:
        left_us = self.due_us - self.host.now()
        if self.started and left_us > delay_us:
            self._wait(left_us * delay_us // self.delay_us)
            self.delay_us = delay_us

    def stop(self) -> None:
        self.started = False
        self.host.cancel_timer(self.key)

    def _wait(self, wait_us: int) -> None:
        self.due_us = self.host.now() + wait_us
        self.host.set_timer(self.key, wait_us)


def matches_any(filters: list[Filter], event: Event) -> bool:
    for filter in filters:  # noqa: SIM110 (a generator costs more than the loop)
        if filter.matches(event):
            return True
    return False


def share_topics(ours: list[Filter], theirs: list[Filter]) -> bool:
    """Whether some event could match both sides (R7)."""
    for a in ours:
        for b in theirs:
            if overlap(a, b):
                return True
    return False


def overlap(a: Filter, b: Filter) -> bool:
    if isinstance(a, Topic) and isinstance(b, Topic):
        return _above(a.name, b.name) or _above(b.name, a.name)
    try:
        return not unsatisfiable(And([a, b]))
    except InputError:  # too long together to be one filter: nothing is excluded
        return True


def _above(general: str, special: str) -> bool:
    return not general or special == general or special.startswith(general + ".")


# --------------------------------------------------------------------------------------------------------- protocol


@final
class Frugal(Protocol):
    params_class: ClassVar[type[Params]] = FrugalParams
    frames: ClassVar[tuple[type[Frame], ...]] = (Heartbeat, EventsIds, Events)

    def __init__(self, host: Host, params: FrugalParams) -> None:
        """Fig. 4."""
        super().__init__(host, params)
        self.params = params
        self.paper_sizes = params.sizes == "paper"
        self.subscriptions: dict[int, Filter] = {}
        self.topics: list[Filter] = []  # the distinct ones of `subscriptions`, as heartbeats carry them
        self.topics_bytes = 0
        self.neighborhood_table: dict[int, Neighbor] = {}
        self.events_table = EventTable(params.events_table_size)
        self.events_to_send: dict[int, int] = {}  # id: a neighbour that needs it
        self.awaited: dict[int, int] = {}  # all that were to be sent at some time of this back-off, alike
        self.hb_delay_us = round(params.hb_initial_s * 1_000_000)
        self.ngc_delay_us = 0
        self.compute_ngc_delay()
        self.bo_delay_us = int(self.hb_delay_us / params.hb2bo)
        self.heartbeat = Task(host, HEARTBEAT)
        self.neighborhood_gc = Task(host, NEIGHBORHOOD_GC)
        self.backing_off = False
        self.answers: dict[int, None] = {}  # the neighbours that are to get our ids (R17)
        self.early_ids: dict[int, tuple[int, list[int]]] = {}  # node: when, ids (R15)
        self.seen: dict[int, None] = {}  # ids, oldest first (R12)

    # ---- what the driver calls

    def on_start(self) -> None:
        """Timers do not survive a crash; tables may, with neighbours that have gone since."""
        self.backing_off = False
        self.bo_delay_us = int(self.hb_delay_us / self.params.hb2bo)
        self.events_to_send = {}
        self.awaited = {}
        self.answers = {}
        self.heartbeat.started = False
        self.neighborhood_gc.started = False
        self.remove_expired_neighbors()
        self.start_tasks()

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, Heartbeat):
            self.receive_heartbeat(sender, frame)
        elif isinstance(frame, EventsIds):
            self.receive_events_ids(sender, frame.ids)
        elif isinstance(frame, Events):
            self.receive_events(sender, frame)

    def on_timer(self, key: int) -> None:
        if key == HEARTBEAT:
            self.send_heartbeat()
        elif key == NEIGHBORHOOD_GC:
            self.collect_neighborhood()
        elif key == BACK_OFF:
            self.back_off_expired()
        elif key == EVENTS_IDS:
            self.send_events_ids()

    def on_publish(self, event: Event) -> None:
        self.publish(event)

    # ---- Fig. 5: subscription, unsubscription

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions[subscription] = filter
        self.topics_changed()
        self.start_tasks()

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.pop(subscription, None)
        self.topics_changed()
        if not self.subscriptions:
            self.heartbeat.stop()
            self.early_ids = {}
            if not self.neighborhood_table:  # R11
                self.neighborhood_gc.stop()

    def start_tasks(self) -> None:
        if self.subscriptions and not self.heartbeat.started:
            self.heartbeat.start(self.hb_delay_us, int(self.host.random() * self.hb_delay_us))  # R16
        if (self.subscriptions or self.neighborhood_table) and not self.neighborhood_gc.started:
            self.neighborhood_gc.again(self.ngc_delay_us)

    def topics_changed(self) -> None:
        topics: list[Filter] = []
        for filter in self.subscriptions.values():
            if filter not in topics:
                topics.append(filter)
        self.topics = topics
        self.topics_bytes = Heartbeat(topics, nan).size - 1
        for j, neighbor in list(self.neighborhood_table.items()):
            neighbor.shares = share_topics(topics, neighbor.subscriptions)
            neighbor.introduced = False  # R15
            if not neighbor.shares and not self.wants_own(neighbor.subscriptions):  # §3
                del self.neighborhood_table[j]

    # ---- Fig. 6: neighborhood detection

    def send_heartbeat(self) -> None:
        speed_mps = self.host.speed()
        size = PAPER_HEARTBEAT_BYTES if self.paper_sizes else self.topics_bytes + (1 if isnan(speed_mps) else 9)
        self.host.broadcast(Heartbeat(self.topics, speed_mps, size))
        self.heartbeat.again(self.hb_delay_us)

    def receive_heartbeat(self, j: int, frame: Heartbeat) -> None:
        neighbor = self.neighborhood_table.get(j)
        unchanged = neighbor is not None and (
            neighbor.subscriptions is frame.subscriptions or neighbor.subscriptions == frame.subscriptions
        )
        if neighbor is not None and unchanged:
            shares = neighbor.shares
        else:
            shares = share_topics(self.topics, frame.subscriptions)
        if not shares and not self.wants_own(frame.subscriptions):  # R11
            self.neighborhood_table.pop(j, None)  # only those whose subscriptions match are kept (§3)
            neighbor = None
        else:
            if neighbor is None:
                neighbor = self.add_neighbor(j)
            if neighbor is not None:
                neighbor.introduced = neighbor.introduced and unchanged  # R15
                self.update_neighbor_info(neighbor, frame, shares)
        self.compute_hb_delay()
        self.compute_ngc_delay()
        self.heartbeat.shorten(self.hb_delay_us)
        self.neighborhood_gc.shorten(self.ngc_delay_us)
        if neighbor is not None:
            self.meet(j, neighbor)

    def add_neighbor(self, j: int) -> Neighbor | None:
        if len(self.neighborhood_table) >= self.params.neighbors_limit:
            self.host.note(NEIGHBORS_FULL, 0, j)
            return None
        neighbor = Neighbor()
        self.neighborhood_table[j] = neighbor
        self.start_tasks()
        return neighbor

    def update_neighbor_info(self, neighbor: Neighbor, frame: Heartbeat, shares: bool) -> None:
        neighbor.subscriptions = frame.subscriptions
        neighbor.shares = shares
        neighbor.speed_mps = frame.speed_mps
        neighbor.store_time_us = self.host.now()
        neighbor.size = frame.size

    def meet(self, j: int, neighbor: Neighbor) -> None:
        """A heartbeat of a neighbour has come: is it new (R3), and are there ids that came before it (R15)?"""
        new = not neighbor.introduced
        neighbor.introduced = True
        if not neighbor.shares:
            if new:
                self.retrieve_events_to_send()  # R11
            return
        if new or self.params.ids_on == "heartbeat":
            self.new_neighbor(j)
        early = self.early_ids.pop(j, None)
        if early is not None:
            self.receive_events_ids(j, early[1])

    def new_neighbor(self, j: int) -> None:
        if not self.answers:
            self.host.set_timer(EVENTS_IDS, self.jitter_us())
        self.answers[j] = None

    def send_events_ids(self) -> None:
        """To those that still are neighbours (R17)."""
        asked: list[Filter] = []
        met = False
        for j in self.answers:
            neighbor = self.neighborhood_table.get(j)
            if neighbor is not None:
                met = True
                asked.extend(neighbor.subscriptions)
        self.answers = {}
        if met:
            ids = self.get_events_ids(asked)
            self.host.broadcast(EventsIds(ids, PAPER_ID_BYTES * len(ids) if self.paper_sizes else NULL))  # R14

    def get_events_ids(self, subscriptions: list[Filter]) -> list[int]:
        """Of the valid events (§3) that match one of the subscriptions."""
        now_us = self.host.now()
        return [
            id
            for id, row in self.events_table.rows.items()
            if now_us < row.expiry_us and matches_any(subscriptions, row.event)
        ]

    def receive_events_ids(self, j: int, events_ids: list[int]) -> None:
        neighbor = self.neighborhood_table.get(j)
        if neighbor is None:
            self.keep_early_ids(j, events_ids)
            return
        for id in events_ids:
            self.update_neighbor_event_info(neighbor, id)
        neighbor.store_time_us = self.host.now()  # R18
        self.retrieve_events_to_send()

    def keep_early_ids(self, j: int, events_ids: list[int]) -> None:
        if self.params.ids_on != "new" or not self.subscriptions:
            return
        if j in self.early_ids or len(self.early_ids) < self.params.neighbors_limit:
            self.early_ids[j] = (self.host.now(), events_ids)

    def update_neighbor_event_info(self, neighbor: Neighbor, id: int) -> None:
        ids = neighbor.events_ids
        ids.pop(id, None)
        ids[id] = None
        if len(ids) > self.params.ids_limit:
            del ids[next(iter(ids))]

    def wants_own(self, subscriptions: list[Filter]) -> bool:
        """Whether they ask for a valid event that this node published (R11)."""
        now_us = self.host.now()
        for row in self.events_table.own.values():
            if now_us < row.expiry_us and matches_any(subscriptions, row.event):
                return True
        return False

    # ---- Fig. 7: event retrieval

    def retrieve_events_to_send(self) -> None:
        self.compute_events_to_send()
        if self.events_to_send:
            self.awaited.update(self.events_to_send)
            self.compute_bo_delay()
            if not self.backing_off:
                self.backing_off = True
                delay_us = self.bo_delay_us + self.jitter_us()
                first = next(iter(self.events_to_send))
                self.host.note(DELAYED, first, self.events_to_send[first], delay_us)
                self.host.set_timer(BACK_OFF, delay_us)

    def compute_events_to_send(self) -> None:
        """Fig. 7 l. 3 to 11."""
        now_us = self.host.now()
        events_to_send: dict[int, int] = {}
        for j, neighbor in self.neighborhood_table.items():
            for id, row in self.events_table.rows.items():
                if id in neighbor.events_ids or now_us >= row.expiry_us or id in events_to_send:  # R1
                    continue
                if (neighbor.shares or row.own) and neighbor.wants(row.event):
                    events_to_send[id] = j
        self.events_to_send = events_to_send

    # ---- Fig. 8: computing delays

    def compute_hb_delay(self) -> None:
        average_mps = self.average_speed()
        if average_mps > 0.0:
            hb_delay_s = self.params.x / average_mps
        elif average_mps == 0.0:
            hb_delay_s = self.params.hb_upper_s  # R18
        else:
            hb_delay_s = self.hb_delay_us / 1_000_000
        hb_delay_s = min(hb_delay_s, self.params.hb_upper_s)
        hb_delay_s = max(hb_delay_s, self.params.hb_lower_s)
        self.hb_delay_us = round(hb_delay_s * 1_000_000)

    def average_speed(self) -> float:
        """Of the neighbours that tell their speed; NaN if none does."""
        total = 0.0
        known = 0
        for neighbor in self.neighborhood_table.values():
            if not isnan(neighbor.speed_mps):
                total += neighbor.speed_mps
                known += 1
        return total / known if known else nan

    def compute_ngc_delay(self) -> None:
        self.ngc_delay_us = int(self.hb_delay_us * self.params.hb2ngc)

    def compute_bo_delay(self) -> None:
        bo_delay_us = int(self.hb_delay_us / (self.params.hb2bo * len(self.events_to_send)))
        if self.bo_delay_us == NULL:
            self.bo_delay_us = bo_delay_us
        else:
            self.bo_delay_us = min(self.bo_delay_us, bo_delay_us)

    def jitter_us(self) -> int:
        """A random part against ties (R17)."""
        return int(self.host.random() * self.params.jitter_ms * 1000) if self.params.jitter_ms else 0

    # ---- Fig. 9: dissemination

    def back_off_expired(self) -> None:
        self.backing_off = False
        self.bo_delay_us = NULL
        self.compute_events_to_send()  # R13
        self.explain_silence()
        if self.events_to_send:
            rows: list[StoredEvent] = []
            for id, j in self.events_to_send.items():
                self.host.note(NEEDED, id, j)
                row = self.events_table.rows[id]
                row.fwd += 1
                rows.append(row)
            self.send_events(rows)
            self.events_to_send = {}

    def explain_silence(self) -> None:
        """Say why events that waited for the back-off are not sent after it."""
        now_us = self.host.now()
        for id in self.awaited:
            if id not in self.events_to_send:
                over = now_us >= self.events_table.rows[id].expiry_us
                self.host.note(EXPIRED if over else NO_LONGER_NEEDED, id)
        self.awaited = {}

    def send_events(self, rows: list[StoredEvent]) -> None:
        """In as few frames as hold them (R19)."""
        now_us = self.host.now()
        batch: list[StoredEvent] = []
        batch_bytes = 0
        for row in rows:
            size = PAPER_EVENT_BYTES if self.paper_sizes else event_bytes(row.event, row.age_us(now_us))
            if batch and batch_bytes + size > self.params.frame_limit:
                self.send_batch(batch)
                batch = []
                batch_bytes = 0
            batch.append(row)
            batch_bytes += size
        self.send_batch(batch)

    def send_batch(self, batch: list[StoredEvent]) -> None:
        now_us = self.host.now()
        events = [row.event for row in batch]
        neighbors_ids: list[int] = []
        for j, neighbor in self.neighborhood_table.items():
            if self.presume_received(neighbor, events):
                neighbors_ids.append(j)
        size = PAPER_EVENT_BYTES * len(batch) if self.paper_sizes else 0
        self.host.broadcast(Events(events, [row.age_us(now_us) for row in batch], neighbors_ids, size))

    def presume_received(self, neighbor: Neighbor, events: list[Event]) -> bool:
        """The neighbour was in range of these events; whether it is interested in any (R9)."""
        interested = False
        for event in events:
            if neighbor.wants(event):
                interested = True
                self.update_neighbor_event_info(neighbor, event.id)
        return interested

    def receive_events(self, j: int, frame: Events) -> None:
        sender = self.neighborhood_table.get(j)
        if sender is not None:
            for event in frame.carried:
                self.update_neighbor_event_info(sender, event.id)  # R8
        for neighbor_id in dict.fromkeys(frame.neighbors_ids):
            neighbor = self.neighborhood_table.get(neighbor_id)
            if neighbor is not None:
                self.presume_received(neighbor, frame.carried)
        interested = False
        for event, age_us in zip(frame.carried, frame.ages_us, strict=True):
            if self.accept(event, age_us, j):
                interested = True
        if interested:
            self.backing_off = False  # STOP backOff timer
            self.host.cancel_timer(BACK_OFF)
            self.retrieve_events_to_send()
            if not self.backing_off:
                self.explain_silence()

    def accept(self, event: Event, age_us: int, j: int) -> bool:
        """Store and deliver an event that is new and wanted."""
        if age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id, j)
        elif event.id in self.events_table or event.id in self.seen:
            self.host.note(HEARD_AGAIN, event.id, j)
        elif not matches_any(self.topics, event):
            self.host.note(PARASITE, event.id, j)
        else:
            self.store(StoredEvent(event, self.host.now() + event.validity_us - age_us))
            self.host.deliver(event)
            return True
        return False

    def publish(self, event: Event) -> None:
        if event.id in self.events_table or event.id in self.seen:
            self.host.note(HEARD_AGAIN, event.id)
            return
        row = StoredEvent(event, self.host.now() + event.validity_us, own=True)
        if self.host.now() >= row.expiry_us:
            self.host.note(EXPIRED, event.id)
            return
        interested = 0
        for neighbor in self.neighborhood_table.values():
            if neighbor.wants(event):  # R10
                interested += 1
        if interested:
            self.host.note(PUBLISHED, event.id, NOBODY, interested)
            self.send_batch([row])
        else:
            self.host.note(NOBODY_NEEDS, event.id)
        self.store(row)
        if not self.neighborhood_gc.started:
            self.neighborhood_gc.again(self.ngc_delay_us)

    def store(self, row: StoredEvent) -> None:
        if self.events_table.is_full():
            gc = self.events_table.garbage_collect(self.host.now())
            if gc is not None:
                self.host.note(EXPIRED if self.host.now() >= gc.expiry_us else TABLE_FULL, gc.event.id, NOBODY, gc.fwd)
                self.awaited.pop(gc.event.id, None)
        self.events_table.add(row)
        self.remember(row.event.id)

    def remember(self, id: int) -> None:
        """R12."""
        self.seen[id] = None
        if len(self.seen) > self.params.seen_limit:
            del self.seen[next(iter(self.seen))]

    # ---- Fig. 10: garbage collection (of the events table: event_table.py)

    def collect_neighborhood(self) -> None:
        self.remove_expired_neighbors()
        if self.subscriptions or self.neighborhood_table:
            self.neighborhood_gc.again(self.ngc_delay_us)
        else:
            self.neighborhood_gc.started = False  # R11

    def remove_expired_neighbors(self) -> None:
        oldest_us = self.host.now() - self.ngc_delay_us
        for j, neighbor in list(self.neighborhood_table.items()):
            if oldest_us > neighbor.store_time_us:
                del self.neighborhood_table[j]
        for j, (time_us, _) in list(self.early_ids.items()):
            if oldest_us > time_us:
                del self.early_ids[j]

    def memory(self) -> tuple[int, int]:
        """Of the two tables: their rows, subscriptions as they came, and 8 bytes for each id."""
        size = self.events_table.bytes()
        for neighbor in self.neighborhood_table.values():
            size += NEIGHBOR_BYTES + neighbor.size + 8 * len(neighbor.events_ids)
        return (len(self.neighborhood_table) + len(self.events_table), size)
