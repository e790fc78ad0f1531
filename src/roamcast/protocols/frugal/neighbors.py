"""The neighbourhood table of frugal dissemination (Baehni et al., 001_a488c218c5fd0a02, Fig. 2): who needs what.

Fig. 7 goes through all neighbours and all events whenever something is heard. Here the same is kept up to date instead.
Each neighbour is one bit, so that those who have an event, or lack it, are one number: a row of the event table has its
`holders`, who are presumed to have it, `wanting`, whose subscriptions match it, and `lacking`, who need it: it is
valid, they want it, they are not presumed to have it, and either they share topics with this node, and have sent a list
of ids where that is asked for (R20 of protocol.py), or the event is this node's own and they share none. `needed` are
the rows that somebody lacks. Whoever changes one of the conditions calls the table:

  a neighbour comes, goes, or asks for something else      join, leave, ask
  this node's own topics have changed                      share_again
  a neighbour has named ids, or is presumed to have some   mention_list, presume_received, presume_sent
  an event is stored, collected, or has expired            stored, collected, expired

Neighbours that ask for the same have one `Interest` between them: a row is matched once for all of them. The holders of
events that this node never had are kept, too, because it may get the event later (`elsewhere`): of the last `ids_limit`
such ids. It forgets nothing about its rows, which it would send again, and has nothing to know about events that have
gone, which it does not take again.
"""

from __future__ import annotations

from math import isnan, nan
from typing import Final, final

from roamcast.errors import InputError
from roamcast.protocols.frugal.event_table import EventTable, StoredEvent, place
from roamcast.protocols.frugal.frames import EventsIds, Id, filed
from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.wire import uint_size
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import And, Filter, Topic
from roamcast.pubsub.necessary import unsatisfiable

NEIGHBOR_BYTES: Final = 24
"""Of a neighbour's row, without subscriptions and ids: identifier, speed and store time."""

NO_IDS: Final = EventsIds([])


# ------------------------------------------------------------------------------------------------- shared topics (R7)


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


# --------------------------------------------------------------------------------------------------------- neighbours


def how_many(bits: int) -> int:
    count = 0
    while bits:
        bits &= bits - 1
        count += 1
    return count


@final
class Interest:
    """Subscriptions of one or more neighbours, whether they share topics with this node, and what they match."""

    __slots__ = ("bits", "ids", "ids_bytes", "list", "shares", "subscriptions")

    def __init__(self, subscriptions: list[Filter], shares: bool) -> None:
        self.subscriptions = subscriptions
        self.shares = shares
        self.bits = 0  # of the members
        self.ids: list[Id] = []  # of the valid rows that the members want, in the order of the event table
        self.ids_bytes = 0
        self.list: EventsIds | None = None  # of these, as it was sent; None when they have changed since

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
    """A row of the neighbourhood table (Fig. 2). Its event ids are `NeighborhoodTable.ids_of`."""

    __slots__ = ("bit", "interest", "introduced", "last", "size", "speed_mps", "store_time_us", "subscriptions")

    def __init__(self, interest: Interest, bit: int) -> None:
        self.bit = bit
        self.last = NO_IDS  # the list it sent last
        self.store_time_us = 0
        self.interest = interest
        self.subscriptions = interest.subscriptions  # or equal ones, as it sent them last
        self.speed_mps = nan
        self.introduced = False  # has been sent ids for the subscriptions as they are
        self.size = 0  # of its heartbeat

    def asks(self, subscriptions: list[Filter]) -> bool:
        return self.subscriptions is subscriptions or self.subscriptions == subscriptions


# ------------------------------------------------------------------------------------------------------------ the table


@final
class NeighborhoodTable:
    """Neighbours in the order they came, and the rows of `events` that they need."""

    def __init__(self, limit: int, ids_limit: int, events: EventTable, presume_lack: bool = True) -> None:
        self.limit = limit
        self.ids_limit = ids_limit
        self.events = events
        self.presume_lack = presume_lack  # of whoever has not sent a list (R20)
        self.rows: dict[Id, Neighbor] = {}
        self.free_bits: list[int] = []  # of neighbours that have gone
        self.interests: dict[tuple[Filter, ...], Interest] = {}
        self.strangers: dict[int, tuple[list[Filter], int]] = {}
        self.elsewhere: dict[Id, int] = {}  # holders of events that are not in `events`
        self.presumed = 0  # pairs of a neighbour and an id it is presumed to have
        self.needed: list[StoredEvent] = []  # in the order of the event table
        self.awaited: list[StoredEvent] = []  # all that were to be sent at some time of this back-off
        self.fresh = False  # something may be needed and not awaited
        self.topics: list[Filter] = []  # this node's own
        self.sharing = 0  # the bits of those that share some of them
        self.listed = 0  # the bits of those whose list is known, or need not be (R20)
        self.speed_known = True
        self.speed_mps = nan

    def __len__(self) -> int:
        return len(self.rows)

    # ---- neighbours

    def interest(self, subscriptions: list[Filter]) -> Interest:
        """That of the neighbours which have these subscriptions, or a new one."""
        interest = self.interests.get(tuple(subscriptions))
        if interest is None:
            interest = Interest(subscriptions, share_topics(self.topics, subscriptions))
        return interest

    def concerns(self, interest: Interest) -> bool:
        """Whether its members are kept: they share topics, or want a valid event that this node published (R11)."""
        if interest.shares:
            return True
        for row in self.events.own.values():  # noqa: SIM110 (a generator costs more than the loop)
            if not row.expired and interest.wants(row.event):
                return True
        return False

    def join(self, j: int, interest: Interest) -> Neighbor:
        neighbor = Neighbor(interest, self.free_bits.pop() if self.free_bits else 1 << len(self.rows))
        self.rows[j] = neighbor
        if self.presume_lack:
            self.listed |= neighbor.bit
        self._enter(neighbor, interest)
        return neighbor

    def leave(self, j: int) -> None:
        neighbor = self.rows.pop(j, None)
        if neighbor is not None:
            self._leave_interest(neighbor)
            self._forget(neighbor.bit)
            self.listed &= ~neighbor.bit
            self.free_bits.append(neighbor.bit)
            self.speed_known = False

    def ask(self, neighbor: Neighbor, interest: Interest) -> None:
        if neighbor.interest is not interest:
            self._leave_interest(neighbor)
            self._enter(neighbor, interest)

    def _enter(self, neighbor: Neighbor, interest: Interest) -> None:
        others = interest.bits
        interest.bits |= neighbor.bit
        neighbor.interest = interest
        if interest.shares:
            self.sharing |= neighbor.bit
        if not others:
            self.interests[tuple(interest.subscriptions)] = interest
        for row in self.events.rows:
            is_wanted = row.wanting & others != 0 if others else interest.wants(row.event)
            if is_wanted:
                row.wanting |= neighbor.bit
                self._settle(row)
                if not others and not row.expired:
                    interest.add(row)

    def _leave_interest(self, neighbor: Neighbor) -> None:
        interest = neighbor.interest
        interest.bits &= ~neighbor.bit
        if not interest.bits:
            del self.interests[tuple(interest.subscriptions)]
        self.sharing &= ~neighbor.bit
        for row in self.events.rows:
            if row.wanting & neighbor.bit:
                row.wanting &= ~neighbor.bit
                self._settle(row)

    def share_again(self, topics: list[Filter]) -> None:
        """This node asks for these topics now."""
        self.topics = topics
        self.strangers = {}
        if not self.presume_lack:
            self.listed = 0  # lists were about the topics as they were
        self.sharing = 0
        for interest in self.interests.values():
            interest.shares = share_topics(topics, interest.subscriptions)
            if interest.shares:
                self.sharing |= interest.bits
        for row in self.events.rows:
            self._settle(row)

    def is_stranger(self, j: int, subscriptions: list[Filter]) -> bool:
        """Whether these concern nobody here, as was found before; a publication since may have changed that."""
        known = self.strangers.get(j)
        if known is None or known[1] != self.events.published:
            return False
        return known[0] is subscriptions or known[0] == subscriptions

    def remember_stranger(self, j: int, subscriptions: list[Filter]) -> None:
        self.strangers[j] = (subscriptions, self.events.published)
        if len(self.strangers) > self.limit:
            del self.strangers[next(iter(self.strangers))]

    def set_speed(self, neighbor: Neighbor, speed_mps: float) -> None:
        if neighbor.speed_mps != speed_mps:  # NaN always differs
            neighbor.speed_mps = speed_mps
            self.speed_known = False

    def average_speed(self) -> float:
        """Of the neighbours that tell their speed; NaN if none does."""
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

    def ids_of(self, neighbor: Neighbor) -> list[int]:
        """The ids it is presumed to have, but for events that were here and have gone."""
        ids = [row.event.id for row in self.events.rows if row.holders & neighbor.bit]
        return ids + [filed(id) for id, holders in self.elsewhere.items() if holders & neighbor.bit]

    def mention_list(self, neighbor: Neighbor, list_: EventsIds) -> None:
        """It has named what it has; most of that it has named before."""
        last = neighbor.last
        if list_ is not last:
            bit = neighbor.bit
            known = self.events.known
            for id in list_.added(last):
                row = known.get(id)
                if row is None:
                    self._mention_elsewhere(id, bit)
                elif not row.holders & bit:
                    self._mention(row, bit)
            neighbor.last = list_
        if not self.listed & neighbor.bit:
            self.listed |= neighbor.bit
            for row in self.events.rows:
                if row.wanting & neighbor.bit:
                    self._settle(row)

    def named(self, bits: int) -> list[Id]:
        return [j for j, neighbor in self.rows.items() if neighbor.bit & bits]

    def bits_of(self, neighbors: list[Id]) -> int:
        bits = 0
        for j in neighbors:
            neighbor = self.rows.get(j)
            if neighbor is not None:
                bits |= neighbor.bit
        return bits

    def presume_received(self, event: Event, id: Id, sender: int, near: int) -> bool:
        """The sender has what it sent (R8), and those near it what they are interested in (R9); all of them are bits.

        Gives whether the event has been here. A copy counts as the event that is here, whatever it says of itself.
        """
        row = self.events.known.get(id)
        if row is None:
            self._mention_elsewhere(id, sender | self.interested(event) & near)
            return False
        if (sender | near) & ~row.holders:
            self._mention(row, sender | row.wanting & near)
        return True

    def interested(self, event: Event) -> int:
        """The bits of those who want it."""
        bits = 0
        for interest in self.interests.values():
            if interest.wants(event):
                bits |= interest.bits
        return bits

    def presume_sent(self, rows: list[StoredEvent]) -> list[Id]:
        """All were in range of these events; gives those that are interested in any (R9)."""
        interested = 0
        for row in rows:
            self._mention(row, row.wanting)
            interested |= row.wanting
        return self.named(interested)

    def _mention(self, row: StoredEvent, who: int) -> None:
        more = who & ~row.holders
        if more:
            row.holders |= more
            self.presumed += how_many(more)
            if row.lacking & more:
                self._lack(row, row.lacking & ~more)

    def _mention_elsewhere(self, id: Id, who: int) -> None:
        elsewhere = self.elsewhere
        holders = elsewhere.get(id, 0)
        more = who & ~holders
        if more:
            self.presumed += how_many(more)
            elsewhere[id] = holders | more
            if len(elsewhere) > self.ids_limit:
                self.presumed -= how_many(elsewhere.pop(next(iter(elsewhere))))

    def _forget(self, bit: int) -> None:
        """A neighbour has gone: its bit may be another's soon."""
        for row in self.events.rows:
            if row.holders & bit:
                row.holders &= ~bit
                self.presumed -= 1
        for id, holders in list(self.elsewhere.items()):
            if holders & bit:
                self.presumed -= 1
                if holders == bit:
                    del self.elsewhere[id]
                else:
                    self.elsewhere[id] = holders & ~bit

    # ---- events

    def stored(self, row: StoredEvent) -> None:
        holders = self.elsewhere.get(row.id)
        if holders is not None:
            del self.elsewhere[row.id]
            self.presumed -= how_many(holders & row.holders)
            row.holders |= holders
        row.wanting = self.interested(row.event)
        for interest in self.interests.values():
            if interest.bits & row.wanting:
                interest.add(row)
        self._settle(row)

    def expired(self, row: StoredEvent) -> None:
        self._unlist(row)
        self._lack(row, 0)

    def collected(self, row: StoredEvent) -> None:
        if not row.expired:
            self._unlist(row)
        self._lack(row, 0)
        if row.awaited:
            self.awaited.remove(row)
        self.presumed -= how_many(row.holders)

    def _unlist(self, row: StoredEvent) -> None:
        for interest in self.interests.values():
            if interest.bits & row.wanting:
                interest.remove(row)

    # ---- what is needed

    def _settle(self, row: StoredEvent) -> None:
        if row.expired:
            self._lack(row, 0)
        else:
            served = self.sharing & self.listed
            if row.own:
                served |= ~self.sharing  # R11
            self._lack(row, row.wanting & served & ~row.holders)

    def _lack(self, row: StoredEvent, lacking: int) -> None:
        """These lack it now."""
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
        """What has come to be needed is awaited from now on, in the order of `in_need`."""
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
        """Rows, subscriptions as they came, and 8 bytes for each id."""
        size = 8 * self.presumed
        for neighbor in self.rows.values():
            size += NEIGHBOR_BYTES + neighbor.size
        return size
