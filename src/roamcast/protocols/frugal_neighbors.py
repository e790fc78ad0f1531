"""The neighbourhood table of frugal dissemination (Baehni et al., 001_a488c218c5fd0a02, Fig. 2): who needs what.

Fig. 7 goes through all neighbours and all events whenever something is heard. Here the same is kept up to date instead:
each neighbour has the rows of the event table that it `lacks` (valid, wanted, not presumed to be there, and either it
shares topics with this node or the event is this node's own), each row counts those that lack it, and `needed` are the
rows with a count. Whoever changes one of the conditions calls the table:

  a neighbour comes, goes, or asks for something else      join, leave, ask
  this node's own topics have changed                      share_again
  a neighbour has named ids, or is presumed to have some   mention_list, mention
  an event is stored, collected, or has expired            stored, collected, expired

Neighbours that ask for the same have one `Interest` between them: a row is matched once for all of them. The ids that a
neighbour is presumed to have are in `Presumed`.
"""

from __future__ import annotations

from itertools import islice
from math import isnan, nan
from typing import Final, final

from roamcast.errors import InputError
from roamcast.protocols.event_table import EventTable, StoredEvent
from roamcast.protocols.frugal_frames import EventsIds, Id, each_once
from roamcast.protocols.interface import NOBODY
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import And, Filter, Topic, unsatisfiable

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


# ---------------------------------------------------------------------------------------------- what a neighbour has


@final
class Presumed:
    """The ids that a neighbour is presumed to have: the `limit` ids mentioned last.

    Neighbours repeat their lists all the time, with few changes. So the order of mention, which decides what is
    forgotten, is in three parts: `older`, then the last list as a whole, then `newer`, a table for each later occasion.
    A list that takes the place of the last one costs as much as the two differ by, and not what they have in common.
    `older` has nothing of the last list; what is in `newer` may be anywhere else, too, and counts only once.
    """

    __slots__ = ("last", "limit", "mentions", "newer", "older")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.older: dict[Id, None] = {}
        self.last = NO_IDS
        self.newer: list[dict[Id, None]] = []
        self.mentions = 0  # in `newer`

    def __contains__(self, id: Id) -> bool:
        for ids in self.newer:
            if id in ids:
                return True
        return id in self.last.known() or id in self.older

    def __len__(self) -> int:
        known = self.last.known()
        count = len(self.older) + len(known)
        for id in self._newer_once():
            if id not in known and id not in self.older:
                count += 1
        return count

    def in_order(self) -> list[Id]:
        """Mentioned longest ago first."""
        newer = self._newer_once()
        order = [id for id in self.older if id not in newer]
        order.extend([id for id in self.last.ids if id not in newer])
        order.extend(newer)
        return order

    def _newer_once(self) -> dict[Id, None]:
        """`newer` made one."""
        if len(self.newer) == 1:
            return self.newer[0]
        once: dict[Id, None] = {}
        for ids in self.newer:
            for id in ids:
                if id in once:
                    del once[id]  # noqa: RUF051 (compiled, `pop` costs three times as much)
                once[id] = None
        self.newer = [once]
        self.mentions = len(once)
        return once

    def mention(self, ids: dict[Id, None]) -> None:
        self.newer.append(ids)
        self.mentions += len(ids)

    def mention_list(self, list_: EventsIds) -> None:
        known = list_.known()
        if len(known) < len(list_.ids) or len(known) > self.limit:  # no list of ours: it repeats itself, or is too long
            self.mention(each_once(list_.ids))
            return
        older = self.older
        if list_ is not self.last:
            for id in list_.dropped(self.last):
                older[id] = None
            for id in list_.added(self.last):
                if id in older:
                    del older[id]
            self.last = list_
        if self.newer:
            for ids in self.newer:
                for id in ids:
                    if id not in known:
                        if id in older:
                            del older[id]
                        older[id] = None
            self.newer = []
            self.mentions = 0

    def forget(self) -> list[Id]:
        """Drop what is beyond the limit, and say what that was."""
        if len(self.older) + len(self.last.ids) + self.mentions <= self.limit:
            return []
        older = self.older
        known = self.last.known()
        newer = self._newer_once()
        twice = 0
        for id in newer:
            older.pop(id, None)
            if id in known:
                twice += 1
        beyond = len(older) + len(known) + len(newer) - twice - self.limit
        if beyond > len(older):
            older = dict.fromkeys(self.in_order())
            self.older = older
            self.last = NO_IDS
            self.newer = []
            self.mentions = 0
        forgotten = list(islice(older, max(0, beyond)))
        for id in forgotten:
            del older[id]
        return forgotten


@final
class Interest:
    """Subscriptions of one or more neighbours, whether they share topics with this node, and the valid rows matched."""

    __slots__ = ("ids", "list", "members", "rows", "shares", "subscriptions")

    def __init__(self, subscriptions: list[Filter], shares: bool) -> None:
        self.subscriptions = subscriptions
        self.shares = shares
        self.members: dict[int, Neighbor] = {}
        self.rows: dict[Id, StoredEvent] = {}
        self.ids: dict[Id, None] = {}  # of those: copied, a table costs less than made anew
        self.list: EventsIds | None = None  # of the ids, as it was sent; None when they have changed since

    def wants(self, event: Event) -> bool:
        return matches_any(self.subscriptions, event)

    def wanted(self, events: list[Event], ids: dict[Id, None]) -> dict[Id, None]:
        """The ids of those it wants; `ids` are those of all."""
        wanted: list[Id] = [event.id for event in events if matches_any(self.subscriptions, event)]
        return ids if len(wanted) == len(events) else each_once(wanted)

    def add(self, row: StoredEvent) -> None:
        self.rows[row.id] = row
        self.ids[row.id] = None
        self.list = None

    def remove(self, row: StoredEvent) -> None:
        if row.id in self.rows:
            del self.rows[row.id]
            del self.ids[row.id]
            self.list = None


@final
class Neighbor:
    """A row of the neighbourhood table (Fig. 2)."""

    __slots__ = ("events_ids", "interest", "introduced", "lacks", "size", "speed_mps", "store_time_us")

    def __init__(self, interest: Interest, ids_limit: int) -> None:
        self.interest = interest
        self.events_ids = Presumed(ids_limit)
        self.speed_mps = nan
        self.store_time_us = 0
        self.introduced = False  # has been sent ids for the subscriptions as they are
        self.size = 0  # of its heartbeat
        self.lacks: dict[Id, StoredEvent] = {}

    def asks(self, subscriptions: list[Filter]) -> bool:
        own = self.interest.subscriptions
        return own is subscriptions or own == subscriptions

    @property
    def subscriptions(self) -> list[Filter]:
        return self.interest.subscriptions


# ------------------------------------------------------------------------------------------------------------ the table


@final
class NeighborhoodTable:
    """Neighbours in the order they came, and the rows of `events` that they need."""

    def __init__(self, limit: int, ids_limit: int, events: EventTable) -> None:
        self.limit = limit
        self.ids_limit = ids_limit
        self.events = events
        self.rows: dict[int, Neighbor] = {}
        self.interests: dict[tuple[Filter, ...], Interest] = {}
        self.strangers: dict[int, tuple[list[Filter], int]] = {}
        self.needed: dict[Id, StoredEvent] = {}
        self.fresh: dict[Id, None] = {}  # what was not needed when `take_fresh` was called last
        self.topics: list[Filter] = []  # this node's own
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
            for row in self.events.rows.values():
                if not row.expired and interest.wants(row.event):
                    interest.add(row)
        return interest

    def concerns(self, interest: Interest) -> bool:
        """Whether its members are kept: they share topics, or want a valid event that this node published (R11)."""
        if interest.shares:
            return True
        for id in self.events.own:  # noqa: SIM110 (a generator costs more than the loop)
            if id in interest.rows:
                return True
        return False

    def join(self, j: int, interest: Interest) -> Neighbor:
        neighbor = Neighbor(interest, self.ids_limit)
        self.rows[j] = neighbor
        self._enter(j, neighbor, interest)
        return neighbor

    def leave(self, j: int) -> None:
        neighbor = self.rows.pop(j, None)
        if neighbor is not None:
            self._leave_interest(j, neighbor)
            self.speed_known = False

    def ask(self, j: int, neighbor: Neighbor, interest: Interest) -> None:
        if neighbor.interest is not interest:
            self._leave_interest(j, neighbor)
            self._enter(j, neighbor, interest)

    def _enter(self, j: int, neighbor: Neighbor, interest: Interest) -> None:
        if not interest.members:
            self.interests[tuple(interest.subscriptions)] = interest
        interest.members[j] = neighbor
        neighbor.interest = interest
        self._look_through(neighbor)

    def _leave_interest(self, j: int, neighbor: Neighbor) -> None:
        for id in list(neighbor.lacks):
            self._has(neighbor, id)
        interest = neighbor.interest
        del interest.members[j]
        if not interest.members:
            del self.interests[tuple(interest.subscriptions)]

    def share_again(self, topics: list[Filter]) -> None:
        """This node asks for these topics now."""
        self.topics = topics
        self.strangers = {}
        for interest in self.interests.values():
            interest.shares = share_topics(topics, interest.subscriptions)
            for neighbor in interest.members.values():
                for id in list(neighbor.lacks):
                    self._has(neighbor, id)
                self._look_through(neighbor)

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

    def mention(self, neighbor: Neighbor, ids: dict[Id, None]) -> None:
        neighbor.events_ids.mention(ids)
        self._mentioned(neighbor, ids)

    def presume_received(self, neighbors: list[int], events: list[Event], ids: dict[Id, None]) -> list[int]:
        """These were in range of the events; gives those of them that are interested in any (R9)."""
        interested: list[int] = []
        wanted: dict[Interest, dict[Id, None]] = {}
        for j in neighbors:
            neighbor = self.rows.get(j)
            if neighbor is None:
                continue
            theirs = wanted.get(neighbor.interest)
            if theirs is None:
                theirs = neighbor.interest.wanted(events, ids)
                wanted[neighbor.interest] = theirs
            if theirs:
                interested.append(j)
                self.mention(neighbor, theirs)
        return interested

    def mention_list(self, neighbor: Neighbor, list_: EventsIds) -> None:
        neighbor.events_ids.mention_list(list_)
        self._mentioned(neighbor, list_.known())

    def _mentioned(self, neighbor: Neighbor, ids: dict[Id, None]) -> None:
        if neighbor.lacks:
            for id in list(neighbor.lacks):
                if id in ids:
                    self._has(neighbor, id)
        for id in neighbor.events_ids.forget():
            row = neighbor.interest.rows.get(id)
            if row is not None and (neighbor.interest.shares or row.own):
                self._lacks(neighbor, row)

    # ---- events

    def interested(self, event: Event) -> int:
        """How many want it."""
        count = 0
        for interest in self.interests.values():
            if interest.wants(event):
                count += len(interest.members)
        return count

    def wanting(self, row: StoredEvent) -> list[Interest]:
        """Of a valid row of the event table."""
        return [interest for interest in self.interests.values() if row.id in interest.rows]

    def stored(self, row: StoredEvent) -> None:
        id = row.id
        for interest in self.interests.values():
            if interest.wants(row.event):
                interest.add(row)
                if interest.shares or row.own:
                    for neighbor in interest.members.values():
                        if id not in neighbor.events_ids:
                            self._lacks(neighbor, row)

    def collected(self, row: StoredEvent) -> None:
        for interest in self.interests.values():
            interest.remove(row)
        if row.lacking:
            for neighbor in self.rows.values():
                self._has(neighbor, row.id)

    def expired(self, row: StoredEvent) -> None:
        self.collected(row)

    # ---- what is needed

    def _look_through(self, neighbor: Neighbor) -> None:
        interest = neighbor.interest
        for id, row in interest.rows.items():
            if (interest.shares or row.own) and id not in neighbor.events_ids:
                self._lacks(neighbor, row)

    def _lacks(self, neighbor: Neighbor, row: StoredEvent) -> None:
        id = row.id
        if id not in neighbor.lacks:
            neighbor.lacks[id] = row
            row.lacking += 1
            if row.lacking == 1:
                self.needed[id] = row
                self.fresh[id] = None

    def _has(self, neighbor: Neighbor, id: Id) -> None:
        row = neighbor.lacks.get(id)
        if row is not None:
            del neighbor.lacks[id]
            row.lacking -= 1
            if not row.lacking:
                del self.needed[id]
                self.fresh.pop(id, None)

    def in_need(self) -> dict[Id, int]:
        """Each needed event, and the first neighbour that needs it: by neighbours and then by events, as in Fig. 7."""
        order: dict[int, int] = {}
        for j, neighbor in self.rows.items():
            if neighbor.lacks:
                for _, id in sorted([(row.serial, id) for id, row in neighbor.lacks.items()]):
                    if id not in order:
                        order[id] = j
        return order

    def first_in_need(self) -> tuple[Id, int]:
        """The first entry of `in_need`."""
        for j, neighbor in self.rows.items():
            if neighbor.lacks:
                return min([(row.serial, id) for id, row in neighbor.lacks.items()])[1], j
        return 0, NOBODY

    def take_fresh(self) -> list[Id]:
        """What has come to be needed since the last call, in the order of `in_need`."""
        fresh = self.fresh
        if not fresh:
            return []
        self.fresh = {}
        if len(fresh) == 1:
            return list(fresh)
        turns: list[tuple[int, int, Id]] = []
        for id in fresh:
            turn = 0
            for neighbor in self.rows.values():
                if id in neighbor.lacks:
                    break
                turn += 1
            turns.append((turn, self.needed[id].serial, id))
        turns.sort()
        return [id for _, _, id in turns]

    def all_fresh(self) -> None:
        """As if `take_fresh` had never been called."""
        self.fresh = dict.fromkeys(self.needed)

    def bytes(self) -> int:
        """Rows, subscriptions as they came, and 8 bytes for each id."""
        size = 0
        for neighbor in self.rows.values():
            size += NEIGHBOR_BYTES + neighbor.size + 8 * len(neighbor.events_ids)
        return size
