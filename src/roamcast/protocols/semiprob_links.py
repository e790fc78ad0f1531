"""Semi-probabilistic routing over links: the ancestor that 002_2d3b1eb2355408d2 (Costa, Picco, Rossetto) describes as
its reference [11], here over the neighbour graph that beacons teach.

τ is a fraction of links: an event goes to every neighbour behind which, within φ hops, somebody is known to want it,
and if these are fewer than the fraction τ of the links, to others chosen at random until it is reached. Subscriptions
travel along links up to φ hops; there is one table for each distance, whose rows are a filter and the link it came
from. They have no leases: a subscription taken back, and a link that appears or vanishes, is told to the neighbours.

How tables are told. What a node has to tell a neighbour is a function of its own tables: own filters at distance 1, and
those of the table for distance d, rows of that neighbour left out, at d + 1 while that is within φ. Whenever this set
changes it is sent whole, with a number. Beacons list whom a node hears and which number it has of each; a neighbour
that sees an old number there sends again. So a lost, repeated or overtaken frame, a crash and a partition all mend by
one rule. A link exists while both ends hear each other; a beacon that lists me proves the other direction.

Every copy of an event is a `forward` in the log, to one peer: "deterministic" when a row led there, "probabilistic"
when it was drawn.

Readings, one test each in tests/paper/test_costa.py:
  R1  the links "available" to an event (§II-B) are all but the one it came by, and τ of them is rounded up: with τ > 0
      an event always goes on ("always got routed along the fraction of links mandated by τ")
  R2  where more links than that have matching rows, it goes along all of them ("this is used first")
  R3  [11]'s time-to-live (§II-D) is `ttl`, in hops; its value is not given, so there is none by default
  R4  a frame that the MAC could not deliver means that the link has vanished, until the next beacon (§II-A: links that
      vanish are treated as if the other end unsubscribed)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, Final, final

from roamcast.errors import Malformed
from roamcast.protocols.frames import EventFrame
from roamcast.protocols.interface import Frame, Host, Params, Protocol, param, reason
from roamcast.protocols.semiprob import DETERMINISTIC, EXPIRED, PROBABILISTIC
from roamcast.protocols.wire import as_int, as_list, counted, measure
from roamcast.pubsub.event import FOREVER, Event
from roamcast.pubsub.filters import Filter, filter_from_fields

BEACON: Final = 1

SECOND_US: Final = 1_000_000
HORIZON_MAX: Final = 255
NODE_MAX: Final = (1 << 31) - 1
NUMBER_MAX: Final = (1 << 32) - 1
ROWS_MAX: Final = 1024
HEARD_MAX: Final = 256

NO_LINK: Final = reason("suppress", "no link left", "{event}: nobody left to send it to, or tau asks for none")
TTL: Final = reason("suppress", "ttl", "{event} has gone as far as its time-to-live lets it")
UNDELIVERED: Final = reason("drop", "undelivered", "{event}: {peer} did not acknowledge, the link has vanished")
LINK_UP: Final = reason("note", "link up", "{peer} and this node hear each other")
LINK_DOWN: Final = reason("note", "link down", "{peer} is no longer linked")
CROWDED: Final = reason("note", "neighbours full", "{peer} finds no room in the neighbourhood table")

Row = tuple[int, Filter]  # (hops to the subscriber, what it wants)


@dataclass(frozen=True)
class SemiProbLinksParams(Params):
    phi: int = param(
        2, "horizon: how many links a subscription travels", "ours: §IV runs 0, 1 and 2", low=0, high=HORIZON_MAX
    )
    tau: float = param(0.5, "fraction of the links that an event goes along at least", "§II-B's example", low=0, high=1)
    ttl: int = param(0, "hops that an event may go; 0 means any number", "ours: [11] has one (§II-D)", low=0, high=255)
    beacon_s: float = param(1.0, "period of beacons", "ours", unit="s", low=0.01)
    patience: float = param(2.5, "beacons that may be missed before a neighbour is gone", "ours", low=1)
    neighbours: int = param(64, "neighbours kept at most", "ours", low=1, high=HEARD_MAX)
    recent: int = param(4096, "events remembered to know duplicates", "ours", low=1)


# ---------------------------------------------------------------------------------------------------------- frames


@final
class BeaconFrame(Frame):
    """I am here (since boot `boot`), and I hear these: node -> (its boot, number of the table I have from it)."""

    __slots__ = ("boot", "heard")

    def __init__(self, boot: int, heard: dict[int, tuple[int, int]]) -> None:
        self.boot = boot
        self.heard = heard
        super().__init__("beacon", 0, measure(self.fields()))

    def fields(self) -> list[Any]:
        flat: list[int] = []
        for node, (boot, number) in self.heard.items():
            flat += [node, boot, number]
        return [self.boot, flat]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> BeaconFrame:
        boot, flat = counted(fields, 2)
        numbers = [as_int(n, 0, NUMBER_MAX) for n in as_list(flat, 3 * HEARD_MAX)]
        if len(numbers) % 3:
            raise Malformed("neighbours come in threes")
        heard: dict[int, tuple[int, int]] = {}
        for i in range(0, len(numbers), 3):
            heard[as_int(numbers[i], 0, NODE_MAX)] = (numbers[i + 1], numbers[i + 2])
        return BeaconFrame(as_int(boot, 1, NUMBER_MAX), heard)


@final
class TableFrame(Frame):
    """All that the sender has to tell the addressee about subscriptions; a higher number replaces a lower one."""

    __slots__ = ("boot", "number", "rows")

    def __init__(self, boot: int, number: int, rows: list[Row]) -> None:
        self.boot = boot
        self.number = number
        self.rows = rows
        super().__init__("subscription", 0, measure(self.fields()))

    def fields(self) -> list[Any]:
        return [self.boot, self.number, [[distance, filter.fields()] for distance, filter in self.rows]]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> TableFrame:
        boot, number, listed = counted(fields, 3)
        rows: list[Row] = []
        for row in as_list(listed, ROWS_MAX):
            distance, filter = counted(as_list(row), 2)
            rows.append((as_int(distance, 1, HORIZON_MAX), filter_from_fields(filter)))
        return TableFrame(as_int(boot, 1, NUMBER_MAX), as_int(number, 1, NUMBER_MAX), rows)


@final
class Neighbour:
    """What is known of a node that is heard, and what it was told."""

    __slots__ = ("boot", "heard_us", "linked", "number", "table", "told")

    def __init__(self, boot: int) -> None:
        self.boot = boot
        self.heard_us = 0
        self.linked = False
        self.table = 0  # number of the last table received from it
        self.number = 0  # number of the last table sent to it
        self.told: dict[Row, None] = {}


# -------------------------------------------------------------------------------------------------------- protocol


@final
class SemiProbLinks(Protocol):
    params_class = SemiProbLinksParams
    frames = (BeaconFrame, TableFrame, EventFrame)

    def __init__(self, host: Host, params: SemiProbLinksParams) -> None:
        super().__init__(host, params)
        self.params = params
        self.beacon_us = round(params.beacon_s * SECOND_US)
        self.patience_us = round(params.beacon_s * params.patience * SECOND_US)
        self.boot = 0
        self.local: dict[int, Filter] = {}
        self.neighbours: dict[int, Neighbour] = {}
        # one table for each distance; its rows by link
        self.tables: list[dict[int, list[Filter]]] = [{} for _ in range(params.phi)]
        self.recent: dict[int, None] = {}

    def on_start(self) -> None:
        if not self.boot:
            self.boot = 1 + int(self.host.random() * (NUMBER_MAX - 1))
        self.host.set_timer(BEACON, int(self.host.random() * self.beacon_us))

    def on_timer(self, key: int) -> None:
        if key == BEACON:
            self.forget_silent()
            heard = {node: (n.boot, n.table) for node, n in sorted(self.neighbours.items(), key=_first)}
            self.host.broadcast(BeaconFrame(self.boot, heard))
            self.host.set_timer(BEACON, self.beacon_us)

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, EventFrame):
            self.receive_event(frame, sender)
        elif isinstance(frame, BeaconFrame):
            self.receive_beacon(frame, sender)
        elif isinstance(frame, TableFrame):
            self.receive_table(frame, sender)

    # ---- links

    def receive_beacon(self, frame: BeaconFrame, sender: int) -> None:
        n = self.meet(sender, frame.boot)
        if n is None:
            return
        if self.host.id not in frame.heard:
            if n.linked or n.table:
                self.unlink(sender, n)
            return
        if not n.linked:
            n.linked = True
            self.host.note(LINK_UP, peer=sender)
            n.told = self.rows_for(sender)
            n.number += 1 if n.told or n.number else 0
        if frame.heard[self.host.id] != (self.boot, n.number):
            self.tell(sender, n)

    def meet(self, sender: int, boot: int) -> Neighbour | None:
        n = self.neighbours.get(sender)
        if n is None:
            if len(self.neighbours) >= self.params.neighbours:
                self.host.note(CROWDED, peer=sender)
                return None
            n = self.neighbours[sender] = Neighbour(boot)
        elif n.boot != boot:
            self.unlink(sender, n)
            n.boot = boot
        n.heard_us = self.host.now()
        return n

    def unlink(self, sender: int, n: Neighbour) -> None:
        """The other end counts as if it had unsubscribed."""
        n.table = 0
        if n.linked:
            n.linked = False
            self.host.note(LINK_DOWN, peer=sender)
        for table in self.tables:
            table.pop(sender, None)
        self.tell_changes()

    def forget_silent(self) -> None:
        silent = [node for node, n in self.neighbours.items() if self.host.now() - n.heard_us > self.patience_us]
        for node in silent:
            self.unlink(node, self.neighbours.pop(node))

    def on_undelivered(self, frame: Frame, to: int) -> None:
        self.host.note(UNDELIVERED, frame.id, to)
        n = self.neighbours.get(to)
        if n is not None:
            self.unlink(to, n)  # R4

    # ---- subscriptions

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.local[subscription] = filter
        self.tell_changes()

    def on_unsubscribe(self, subscription: int) -> None:
        self.local.pop(subscription, None)
        self.tell_changes()

    def rows_for(self, node: int) -> dict[Row, None]:
        """What this node has to tell a neighbour."""
        rows: dict[Row, None] = {}
        if self.params.phi:
            for filter in self.local.values():
                rows[(1, filter)] = None
        for distance in range(1, self.params.phi):
            table = self.tables[distance - 1]
            for link in sorted(table):
                if link != node:
                    for filter in table[link]:
                        rows[(distance + 1, filter)] = None
        return rows if len(rows) <= ROWS_MAX else dict.fromkeys(list(rows)[:ROWS_MAX])

    def tell_changes(self) -> None:
        for node in sorted(self.neighbours):
            n = self.neighbours[node]
            if n.linked:
                rows = self.rows_for(node)
                if rows != n.told:
                    n.told = rows
                    n.number += 1
                    self.tell(node, n)

    def tell(self, node: int, n: Neighbour) -> None:
        if n.number:
            self.host.send(node, TableFrame(self.boot, n.number, list(n.told)))

    def receive_table(self, frame: TableFrame, sender: int) -> None:
        n = self.meet(sender, frame.boot)
        if n is None or frame.number <= n.table:
            return
        n.table = frame.number
        for distance in range(1, self.params.phi + 1):
            filters = [filter for d, filter in frame.rows if d == distance]
            if filters:
                self.tables[distance - 1][sender] = filters
            else:
                self.tables[distance - 1].pop(sender, None)
        self.tell_changes()

    # ---- events

    def on_publish(self, event: Event) -> None:
        self.remember(event.id)
        self.forward(event, self.host.now(), self.params.ttl, self.host.id)

    def receive_event(self, frame: EventFrame, sender: int) -> None:
        event = frame.event
        if event.id in self.recent:
            return
        if frame.age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id)
            return
        self.remember(event.id)
        for filter in self.local.values():
            if filter.matches(event):
                self.host.deliver(event)
                break
        if frame.ttl == 1:  # R3
            self.host.note(TTL, event.id)
            return
        self.forward(event, self.host.now() - frame.age_us, max(0, frame.ttl - 1), sender)

    def forward(self, event: Event, born_us: int, ttl: int, source: int) -> None:
        links = [node for node in sorted(self.neighbours) if node != source and self.neighbours[node].linked]
        least = ceil(round(self.params.tau * len(links), 9))  # R1; rounded: 0.28 * 25 is a little above 7
        chosen = [node for node in links if self.leads_to_interest(node, event)]  # R2
        certain = len(chosen)
        others = [node for node in links if node not in chosen]
        while len(chosen) < least:
            chosen.append(others.pop(int(self.host.random() * len(others))))
        if not chosen:
            self.host.note(NO_LINK, event.id)
            return
        frame = EventFrame(event, ttl, min(self.host.now() - born_us, FOREVER))
        percent = round(self.params.tau * 100)
        for i, node in enumerate(chosen):
            if i < certain:
                self.host.note(DETERMINISTIC, event.id, node)
            else:
                self.host.note(PROBABILISTIC, event.id, node, percent)
            self.host.send(node, frame)

    def leads_to_interest(self, node: int, event: Event) -> bool:
        for table in self.tables:
            for filter in table.get(node, ()):
                if filter.matches(event):
                    return True
        return False

    def remember(self, id: int) -> None:
        if len(self.recent) >= self.params.recent:
            del self.recent[next(iter(self.recent))]
        self.recent[id] = None
        self.host.mute(id)

    def memory(self) -> tuple[int, int]:
        """Rows of the tables (filter and link) and neighbours."""
        filters = [filter for table in self.tables for rows in table.values() for filter in rows]
        size = sum([measure(filter.fields()) + 4 for filter in filters])
        return (len(filters) + len(self.neighbours), size + 16 * len(self.neighbours))


def _first(entry: tuple[int, Neighbour]) -> int:
    return entry[0]
