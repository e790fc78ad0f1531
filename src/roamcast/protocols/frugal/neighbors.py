"""The neighbourhood table of frugal dissemination (Baehni et al., Fig. 2): which neighbour needs which event.

Fig. 7 goes through all neighbours and all events whenever a frame arrives. Here the same result is kept up to date
instead. Each neighbour has one bit, so that a set of neighbours is one number. A row of the event table has three sets:
`holders` are presumed to have the event, `wanting` have a subscription that matches it, and `lacking` need it. A
neighbour needs an event if the event is valid, the neighbour wants it and is not presumed to have it, and either shares
topics with this node, and has sent a list of ids where that is required (R20 of protocol.py), or shares none and the
event is this node's own. `needed` are the rows that some neighbour lacks. A change of one of these conditions is
reported to the table:

  a neighbour comes, goes, or changes its subscriptions    join, leave, change_set
  this node's own topics have changed                      share_again
  a neighbour has listed ids, or is presumed to have some  record_list, presume_received, presume_sent
  a neighbour does not list what it was presumed to have   correct (R21 of protocol.py)
  an event is stored, collected, or has expired            stored, collected, expired

Neighbours with the same subscriptions have one `SubscriptionSet` together, so that a row is matched once for all of
them. The table also keeps the holders of events that this node never had, because it may get such an event later
(`unknown_holders`), for the last `ids_limit` such ids. It forgets nothing about stored events, because this node could
send them again, and knows nothing about collected events, because this node does not take them again.
"""

from __future__ import annotations

from math import isnan, nan
from typing import Final, final

from roamcast.errors import InputError
from roamcast.protocols.frugal.event_table import EventTable, StoredEvent, place
from roamcast.protocols.frugal.frames import EventsIds, Id
from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.wire import uint_size
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import And, Filter, Topic
from roamcast.pubsub.necessary import unsatisfiable

NEIGHBOR_BYTES: Final = 24
"""The size of a neighbour's row without subscriptions and ids: identifier, speed and store time."""

NO_IDS: Final = EventsIds([])


# ------------------------------------------------------------------------------------------------- shared topics (R7)


def matches_any(filters: list[Filter], event: Event) -> bool:
    for filter in filters:  # noqa: SIM110 (a generator costs more than the loop)
        if filter.matches(event):
            return True
    return False


def share_topics(own: list[Filter], others: list[Filter]) -> bool:
    """Whether some event could match both sides (R7)."""
    for a in own:
        for b in others:
            if overlap(a, b):
                return True
    return False


def overlap(a: Filter, b: Filter) -> bool:
    if isinstance(a, Topic) and isinstance(b, Topic):
        return _above(a.name, b.name) or _above(b.name, a.name)
    try:
        return not unsatisfiable(And([a, b]))
    except InputError:  # together they are too long for one filter, so a match is not excluded
        return True


def _above(general: str, special: str) -> bool:
    return not general or special == general or special.startswith(general + ".")


# --------------------------------------------------------------------------------------------------------- neighbours


def count_bits(bits: int) -> int:
    count = 0
    while bits:
        bits &= bits - 1
        count += 1
    return count


@final
class SubscriptionSet:
    """Subscriptions that one or more neighbours have, whether they share topics with this node, and what they match."""

    __slots__ = ("bits", "ids", "ids_bytes", "list", "shares", "subscriptions")

    def __init__(self, subscriptions: list[Filter], shares: bool) -> None:
        self.subscriptions = subscriptions
        self.shares = shares
        self.bits = 0  # of the neighbours
        self.ids: list[Id] = []  # of the valid rows that match, in the order of the event table
        self.ids_bytes = 0
        self.list: EventsIds | None = None  # the frame with these ids; None if they have changed since it was sent

    def wants(self, event: Event) -> bool:
        return matches_any(self.subscriptions, event)

    def add(self, row: StoredEvent) -> None:
        self.ids.append(row.id)
        self.ids_bytes += uint_size(row.event.id)
        self.list = None

    def remove(self, row: StoredEvent) -> None:
        self.ids.remove(row.id)
        self.ids_bytes -= uint_size(row.event.id)
        self.list = None


@final
class Neighbor:
    """A row of the neighbourhood table (Fig. 2)."""

    __slots__ = (
        "bit",
        "introduced",
        "last",
        "size",
        "speed_mps",
        "store_time_us",
        "subscription_set",
        "subscriptions",
    )

    def __init__(self, subscription_set: SubscriptionSet, bit: int) -> None:
        self.bit = bit
        self.last = NO_IDS  # the last list that it sent
        self.store_time_us = 0
        self.subscription_set = subscription_set
        self.subscriptions = subscription_set.subscriptions  # or equal ones, from its last heartbeat
        self.speed_mps = nan
        self.introduced = False  # it got ids for its present subscriptions
        self.size = 0  # of its heartbeat

    def has(self, subscriptions: list[Filter]) -> bool:
        return self.subscriptions is subscriptions or self.subscriptions == subscriptions


# ------------------------------------------------------------------------------------------------------------ the table


@final
class NeighborhoodTable:
    """Neighbours in the order they came, and the rows of `events` that they need."""

    def __init__(self, limit: int, ids_limit: int, events: EventTable, presume_lack: bool = True) -> None:
        self.limit = limit
        self.ids_limit = ids_limit
        self.events = events
        self.presume_lack = presume_lack  # also of neighbours that have not sent a list (R20)
        self.rows: dict[Id, Neighbor] = {}
        self.free_bits: list[int] = []  # of neighbours that have left
        self.subscription_sets: dict[tuple[Filter, ...], SubscriptionSet] = {}
        self.irrelevant: dict[int, tuple[list[Filter], int]] = {}  # nodes that are not kept (R11)
        self.unknown_holders: dict[Id, int] = {}  # holders of events that are not in `events`
        self.presumed = 0  # pairs of a neighbour and an id it is presumed to have
        self.needed: list[StoredEvent] = []  # in the order of the event table
        self.awaited: list[StoredEvent] = []  # all rows that were needed at some time of this back-off
        self.fresh = False  # there may be needed rows that are not awaited
        self.topics: list[Filter] = []  # this node's own
        self.sharing = 0  # the bits of neighbours that share some of them
        self.listed = 0  # the bits of neighbours whose list is known, or not required (R20)
        self.speed_known = True
        self.speed_mps = nan

    def __len__(self) -> int:
        return len(self.rows)

    # ---- neighbours

    def set_for(self, subscriptions: list[Filter]) -> SubscriptionSet:
        """The set of the neighbours that have these subscriptions, or a new one."""
        subscription_set = self.subscription_sets.get(tuple(subscriptions))
        if subscription_set is None:
            subscription_set = SubscriptionSet(subscriptions, share_topics(self.topics, subscriptions))
        return subscription_set

    def is_relevant(self, subscription_set: SubscriptionSet) -> bool:
        """Whether its neighbours are kept: they share topics, or want a valid event that this node published (R11)."""
        if subscription_set.shares:
            return True
        for row in self.events.own.values():  # noqa: SIM110 (a generator costs more than the loop)
            if not row.expired and subscription_set.wants(row.event):
                return True
        return False

    def join(self, j: int, subscription_set: SubscriptionSet) -> Neighbor:
        neighbor = Neighbor(subscription_set, self.free_bits.pop() if self.free_bits else 1 << len(self.rows))
        self.rows[j] = neighbor
        if self.presume_lack:
            self.listed |= neighbor.bit
        self._enter_set(neighbor, subscription_set)
        return neighbor

    def leave(self, j: int) -> None:
        neighbor = self.rows.pop(j, None)
        if neighbor is not None:
            self._leave_set(neighbor)
            self._forget(neighbor.bit)
            self.listed &= ~neighbor.bit
            self.free_bits.append(neighbor.bit)
            self.speed_known = False

    def change_set(self, neighbor: Neighbor, subscription_set: SubscriptionSet) -> None:
        if neighbor.subscription_set is not subscription_set:
            self._leave_set(neighbor)
            self._enter_set(neighbor, subscription_set)

    def _enter_set(self, neighbor: Neighbor, subscription_set: SubscriptionSet) -> None:
        members = subscription_set.bits
        subscription_set.bits |= neighbor.bit
        neighbor.subscription_set = subscription_set
        if subscription_set.shares:
            self.sharing |= neighbor.bit
        if not members:
            self.subscription_sets[tuple(subscription_set.subscriptions)] = subscription_set
        for row in self.events.rows:
            is_wanted = row.wanting & members != 0 if members else subscription_set.wants(row.event)
            if is_wanted:
                row.wanting |= neighbor.bit
                self._update_lacking(row)
                if not members and not row.expired:
                    subscription_set.add(row)

    def _leave_set(self, neighbor: Neighbor) -> None:
        subscription_set = neighbor.subscription_set
        subscription_set.bits &= ~neighbor.bit
        if not subscription_set.bits:
            del self.subscription_sets[tuple(subscription_set.subscriptions)]
        self.sharing &= ~neighbor.bit
        for row in self.events.rows:
            if row.wanting & neighbor.bit:
                row.wanting &= ~neighbor.bit
                self._update_lacking(row)

    def share_again(self, topics: list[Filter]) -> None:
        """This node has these topics now."""
        self.topics = topics
        self.irrelevant = {}
        if not self.presume_lack:
            self.listed = 0  # the lists were about the former topics
        self.sharing = 0
        for subscription_set in self.subscription_sets.values():
            subscription_set.shares = share_topics(topics, subscription_set.subscriptions)
            if subscription_set.shares:
                self.sharing |= subscription_set.bits
        for row in self.events.rows:
            self._update_lacking(row)

    def is_known_irrelevant(self, j: int, subscriptions: list[Filter]) -> bool:
        """Whether node j was irrelevant with these subscriptions, and this node has published no event since then."""
        known = self.irrelevant.get(j)
        if known is None or known[1] != self.events.published:
            return False
        return known[0] is subscriptions or known[0] == subscriptions

    def remember_irrelevant(self, j: int, subscriptions: list[Filter]) -> None:
        self.irrelevant[j] = (subscriptions, self.events.published)
        if len(self.irrelevant) > self.limit:
            del self.irrelevant[next(iter(self.irrelevant))]

    def set_speed(self, neighbor: Neighbor, speed_mps: float) -> None:
        if neighbor.speed_mps != speed_mps:  # NaN always differs
            neighbor.speed_mps = speed_mps
            self.speed_known = False

    def average_speed(self) -> float:
        """The average over neighbours whose speed is known; NaN if there are none."""
        if not self.speed_known:
            total = 0.0
            known = 0
            for neighbor in self.rows.values():
                if not isnan(neighbor.speed_mps):
                    total += neighbor.speed_mps
                    known += 1
            self.speed_mps = total / known if known else nan
            self.speed_known = True
        return self.speed_mps

    # ---- what neighbours have

    def record_list(self, neighbor: Neighbor, list_: EventsIds) -> None:
        """A neighbour has sent a list of its ids; mostly it has listed them before."""
        last = neighbor.last
        if list_ is not last:
            bit = neighbor.bit
            known = self.events.known
            for id in list_.added(last):
                row = known.get(id)
                if row is None:
                    self._record_unknown(id, bit)
                elif not row.holders & bit:
                    self._record_holders(row, bit)
            neighbor.last = list_
        if not self.listed & neighbor.bit:
            self.listed |= neighbor.bit
            for row in self.events.rows:
                if row.wanting & neighbor.bit:
                    self._update_lacking(row)

    def record_listed(self, row: StoredEvent) -> None:
        """A row that was collected is stored again: neighbours that have it in their last list have it."""
        for neighbor in self.rows.values():
            if row.id in neighbor.last.ids:
                self._record_holders(row, neighbor.bit)

    def correct(self, neighbor: Neighbor, list_: EventsIds, before_us: int) -> list[StoredEvent]:
        """The neighbour lacks what it wants and does not list, although it was presumed, before this time, to have got
        it (R21). Returns these rows."""
        bit = neighbor.bit
        listed: dict[Id, None] = dict.fromkeys(list_.ids)
        missed: list[StoredEvent] = []
        for row in self.events.rows:
            if row.holders & row.wanting & bit and row.presumed_us < before_us and row.id not in listed:
                row.holders &= ~bit
                self.presumed -= 1
                self._update_lacking(row)
                missed.append(row)
        return missed

    def named(self, bits: int) -> list[Id]:
        return [j for j, neighbor in self.rows.items() if neighbor.bit & bits]

    def bits_of(self, neighbors: list[Id]) -> int:
        bits = 0
        for j in neighbors:
            neighbor = self.rows.get(j)
            if neighbor is not None:
                bits |= neighbor.bit
        return bits

    def presume_received(self, event: Event, id: Id, sender: int, named: int) -> bool:
        """Presume that the sender (R8) and the named neighbours that want the event (R9) have it; both are bits.

        Returns whether the event is stored or was collected. Then the stored event counts, not the received copy.
        """
        row = self.events.known.get(id)
        if row is None:
            self._record_unknown(id, sender | self.interested(event) & named)
            return False
        if (sender | named) & ~row.holders:
            self._record_holders(row, sender | row.wanting & named)
        return True

    def interested(self, event: Event) -> int:
        """The bits of the neighbours that want it."""
        bits = 0
        for subscription_set in self.subscription_sets.values():
            if subscription_set.wants(event):
                bits |= subscription_set.bits
        return bits

    def presume_sent(self, rows: list[StoredEvent]) -> list[Id]:
        """Presume that all neighbours received these events; returns the neighbours that want any of them (R9)."""
        interested = 0
        for row in rows:
            self._record_holders(row, row.wanting)
            interested |= row.wanting
        return self.named(interested)

    def _record_holders(self, row: StoredEvent, holders: int) -> None:
        new = holders & ~row.holders
        if new:
            row.holders |= new
            self.presumed += count_bits(new)
            if row.lacking & new:
                self._set_lacking(row, row.lacking & ~new)

    def _record_unknown(self, id: Id, holders: int) -> None:
        unknown = self.unknown_holders
        before = unknown.get(id, 0)
        new = holders & ~before
        if new:
            self.presumed += count_bits(new)
            unknown[id] = before | new
            if len(unknown) > self.ids_limit:
                self.presumed -= count_bits(unknown.pop(next(iter(unknown))))

    def _forget(self, bit: int) -> None:
        """A neighbour has left, and another one may get its bit."""
        for row in self.events.rows:
            if row.holders & bit:
                row.holders &= ~bit
                self.presumed -= 1
        for id, holders in list(self.unknown_holders.items()):
            if holders & bit:
                self.presumed -= 1
                if holders == bit:
                    del self.unknown_holders[id]
                else:
                    self.unknown_holders[id] = holders & ~bit

    # ---- events

    def stored(self, row: StoredEvent) -> None:
        holders = self.unknown_holders.get(row.id)
        if holders is not None:
            del self.unknown_holders[row.id]
            self.presumed -= count_bits(holders & row.holders)
            row.holders |= holders
        row.wanting = self.interested(row.event)
        for subscription_set in self.subscription_sets.values():
            if subscription_set.bits & row.wanting:
                subscription_set.add(row)
        self._update_lacking(row)

    def expired(self, row: StoredEvent) -> None:
        self._unlist(row)
        self._set_lacking(row, 0)

    def collected(self, row: StoredEvent) -> None:
        if not row.expired:
            self._unlist(row)
        self._set_lacking(row, 0)
        if row.awaited:
            self.awaited.remove(row)
        self.presumed -= count_bits(row.holders)

    def _unlist(self, row: StoredEvent) -> None:
        for subscription_set in self.subscription_sets.values():
            if subscription_set.bits & row.wanting:
                subscription_set.remove(row)

    # ---- what is needed

    def _update_lacking(self, row: StoredEvent) -> None:
        if row.expired:
            self._set_lacking(row, 0)
        else:
            served = self.sharing & self.listed
            if row.own:
                served |= ~self.sharing  # R11
            self._set_lacking(row, row.wanting & served & ~row.holders)

    def _set_lacking(self, row: StoredEvent, lacking: int) -> None:
        """From now on these neighbours lack it."""
        if lacking and not row.lacking:
            self.needed.insert(place(self.needed, row), row)
            self.fresh = True
        elif row.lacking and not lacking:
            del self.needed[place(self.needed, row)]
        row.lacking = lacking

    def in_need(self) -> list[tuple[StoredEvent, int]]:
        """Each needed event, and the first neighbour that needs it: by neighbours and then by events, as in Fig. 7."""
        return self._in_turn(self.needed)

    def _in_turn(self, rows: list[StoredEvent]) -> list[tuple[StoredEvent, int]]:
        turns: list[tuple[StoredEvent, int]] = []
        before = 0
        for j, neighbor in self.rows.items():
            if len(turns) == len(rows):
                break
            for row in rows:
                if row.lacking & neighbor.bit and not row.lacking & before:
                    turns.append((row, j))
            before |= neighbor.bit
        return turns

    def first_in_need(self) -> tuple[int, int]:
        """The id and the neighbour of the first entry of `in_need`."""
        lacking = 0
        for row in self.needed:
            lacking |= row.lacking
        for j, neighbor in self.rows.items():
            if lacking & neighbor.bit:
                for row in self.needed:
                    if row.lacking & neighbor.bit:
                        return row.event.id, j
        return 0, NOBODY

    def await_needed(self) -> None:
        """From now on needed rows are awaited, in the order of `in_need`."""
        if self.fresh:
            self.fresh = False
            for row, _ in self._in_turn([row for row in self.needed if not row.awaited]):
                row.awaited = True
                self.awaited.append(row)

    def await_nothing(self) -> None:
        for row in self.awaited:
            row.awaited = False
        self.awaited = []
        self.fresh = True

    def bytes(self) -> int:
        """The size of the rows, of subscriptions as received, and 8 bytes for each id."""
        size = 8 * self.presumed
        for neighbor in self.rows.values():
            size += NEIGHBOR_BYTES + neighbor.size
        return size
