"""Semi-probabilistic routing over links: the ancestor that 002_2d3b1eb2355408d2 (Costa, Picco, Rossetto) describes as
its reference [11], here over the neighbour graph that beacons teach.

τ is a fraction of links: an event goes to every neighbour behind which, within φ hops, somebody is known to want it,
and if these are fewer than the fraction τ of the links, to others chosen at random until it is reached. Subscriptions
travel along links up to φ hops; there is one table for each distance, whose rows are a filter and the link it came
from. They have no leases: a subscription taken back, and a link that appears or vanishes, is told to the neighbours.

How tables are told (link_tables.py). What a node has to tell is a function of its own tables: own filters at distance 1
and the rows of the table for distance d at d + 1 while that is within φ; nobody is told what came from itself alone.
Whatever changes within `SYNC_US` is told by one broadcast. Beacons list whom a node hears and the versions of what it
tells, and ask for what their sender lacks. So a lost, repeated or overtaken frame, a crash and a partition all mend by
one rule. A link exists while both ends hear each other; a beacon that lists me proves the other direction.

Every link that an event goes along is a `forward` in the log, to one peer: "deterministic" when a row led there,
"probabilistic" when it was drawn.

Readings, one test each in tests/paper/test_costa.py:
  R1  the links "available" to an event (§II-B) are all but the one it came by, and τ of them is rounded up: with τ > 0
      an event always goes on (§II-B says so of [11], in contrast to broadcasting)
  R2  where more links than that have matching rows, it goes along all of them ("this is used first")
  R3  [11]'s time-to-live (§II-D) is `ttl`, in hops; its value is not given, so there is none by default
  R4  a link vanishes when the other end falls silent or no longer lists this node in its beacons (§II-A: it is then
      treated as if that end unsubscribed)
  R5  one broadcast goes along several links, those it names, and others that hear it pass it over: in [11] an overlay
      hid what goes on below it (§I), and a frame for each link would swamp a radio. Nobody acknowledges it; the nodes
      it names wait for a random time before they send, not to collide
  R6  an event older than its validity is neither delivered nor sent; the paper's events have no lifetime
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from roamcast.protocols.kit.interface import Frame, Host, Params, Protocol, param, reason
from roamcast.protocols.kit.seen import Seen
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.protocols.kit.wire import measure
from roamcast.protocols.semiprob.link_tables import (
    ANY_LINK,
    HEARD_MAX,
    HORIZON_MAX,
    NUMBER_MAX,
    WANTED_MAX,
    BeaconFrame,
    LinkEventFrame,
    Row,
    TableFrame,
    TableRow,
    Told,
)
from roamcast.protocols.semiprob.protocol import DETERMINISTIC, EXPIRED, PROBABILISTIC
from roamcast.pubsub.event import FOREVER, Event
from roamcast.pubsub.filters import Filter

BEACON: Final = -1
SYNC: Final = -2
"""Keys of timers; that of an event which waits to be sent is its id."""

NO_LINK: Final = -2
SECOND_US: Final = 1_000_000
SYNC_US: Final = 50_000
"""Ours: what becomes known within this time is told at once."""

NOWHERE: Final = reason("suppress", "no link left", "{event}: nobody left to send it to, or tau asks for none")
TTL: Final = reason("suppress", "ttl", "{event} has gone as far as its time-to-live lets it")
LINK_UP: Final = reason("note", "link up", "{peer} and this node hear each other")
LINK_DOWN: Final = reason("note", "link down", "{peer} is no longer linked")
CROWDED: Final = reason("note", "neighbours full", "{peer} finds no room in the neighbourhood table")
LEFT_OUT: Final = reason("note", "rows left out", "{value} subscriptions, the farthest, find no room in what is told")


@dataclass(frozen=True)
class SemiProbLinksParams(Params):
    phi: int = param(
        2, "horizon: how many links a subscription travels", "ours: §IV runs 0, 1 and 2", low=0, high=HORIZON_MAX
    )
    tau: float = param(0.5, "fraction of the links that an event goes along at least", "§II-B's example", low=0, high=1)
    ttl: int = param(0, "hops that an event may go; 0 means any number", "ours: [11] has one (§II-D)", low=0, high=255)
    jitter_ms: float = param(10.0, "longest delay before an event is sent on", "ours (R5)", unit="ms", low=0)
    beacon_s: float = param(1.0, "period of beacons", "ours", unit="s", low=0.01)
    patience: float = param(2.5, "beacons that may be missed before a neighbour is gone", "ours", low=1)
    neighbours: int = param(64, "neighbours kept at most", "ours", low=1, high=HEARD_MAX)
    recent: int = param(4096, "events remembered to know duplicates", "ours", low=1)


@final
class Neighbour:
    """A node that is heard: the pages it has told, and the versions it says it has."""

    __slots__ = ("boot", "complete", "heard_us", "linked", "pages", "versions")

    def __init__(self, boot: int) -> None:
        self.boot = boot
        self.heard_us = 0
        self.linked = False
        self.versions: list[int] = []
        self.complete = True  # no page of these versions is lacking
        self.pages: dict[int, TableFrame] = {}

    def claims(self, versions: list[int]) -> None:
        if versions != self.versions:
            self.versions = versions
            self.complete = False

    def lacking(self) -> list[int]:
        """Pages that it has told in vain so far."""
        if self.complete:
            return []
        lacking: list[int] = []
        for at, version in enumerate(self.versions):
            page = self.pages.get(at)
            if version > (page.version if page is not None else 0):
                lacking.append(at)
        self.complete = not lacking
        return lacking


@final
class Interest:
    """The rows of one filter."""

    __slots__ = ("filter", "links", "size", "tables")

    def __init__(self, filter: Filter, phi: int) -> None:
        self.filter = filter
        self.size = measure(filter.fields())
        self.links: dict[int, int] = {}  # link -> number of tables that have it
        # for each distance: link -> pages that have the row; more than one while it is moved between pages
        self.tables: list[dict[int, int]] = [{} for _ in range(phi)]


@final
class Waiting:
    """An event to be sent on. `source` is the link it came by."""

    __slots__ = ("born_us", "event", "source", "ttl")

    def __init__(self, event: Event, born_us: int, ttl: int, source: int) -> None:
        self.event = event
        self.born_us = born_us
        self.ttl = ttl
        self.source = source


@final
class SemiProbLinks(Protocol):
    params_class = SemiProbLinksParams
    frames = (BeaconFrame, TableFrame, LinkEventFrame)

    def __init__(self, host: Host, params: SemiProbLinksParams) -> None:
        super().__init__(host, params)
        self.params = params
        self.percent = round(params.tau * 100)
        self.jitter_us = params.jitter_ms * 1000.0
        self.beacon_us = round(params.beacon_s * SECOND_US)
        self.patience_us = round(params.beacon_s * params.patience * SECOND_US)
        self.boot = 0
        self.local = Subscriptions()
        self.neighbours: dict[int, Neighbour] = {}
        self.links: list[int] = []  # those of them that are linked, in order
        self.interests: dict[Filter, Interest] = {}  # the tables, by filter and then by distance
        self.known: list[Interest] = []  # the same, to be gone through for every event
        self.rows = 0
        self.dirty: dict[Row, None] = {}  # rows that may have to be told anew
        self.told = Told()
        self.owed: dict[int, None] = {}  # pages that somebody lacks
        self.left_out = 0
        self.will_sync = False
        self.waiting: dict[int, Waiting] = {}
        self.recent = Seen()

    def on_start(self) -> None:
        if not self.boot:
            self.boot = 1 + int(self.host.random() * (NUMBER_MAX - 1))
        self.host.set_timer(BEACON, int(self.host.random() * self.beacon_us))
        if self.will_sync:
            self.host.set_timer(SYNC, SYNC_US)
        for id in self.waiting:
            self.host.set_timer(id, 0)

    def on_timer(self, key: int) -> None:
        if key == BEACON:
            self.forget_silent()
            self.send_beacon()
            self.host.set_timer(BEACON, self.beacon_us)
        elif key == SYNC:
            self.will_sync = False
            self.tell()
        elif key in self.waiting:
            self.forward(self.waiting.pop(key))

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, LinkEventFrame):
            n = self.neighbours.get(sender)
            if n is not None:
                n.heard_us = self.host.now()
            if self.host.id in frame.to:  # R5
                self.receive_event(frame, sender)
        elif isinstance(frame, BeaconFrame):
            self.receive_beacon(frame, sender)
        elif isinstance(frame, TableFrame):
            self.receive_table(frame, sender)

    # ---- links

    def send_beacon(self) -> None:
        lacks: dict[int, list[int]] = {}
        room = WANTED_MAX
        for node in self.links:
            pages = self.neighbours[node].lacking()[:room]
            if pages:
                lacks[node] = pages
                room -= len(pages)
        self.host.broadcast(BeaconFrame(self.boot, self.told.versions(), sorted(self.neighbours), lacks))

    def receive_beacon(self, frame: BeaconFrame, sender: int) -> None:
        n = self.meet(sender, frame.boot)
        if n is None:
            return
        n.claims(frame.versions)
        if n.linked != (self.host.id in frame.heard):
            if n.linked:
                self.unlink(sender, n)  # R4
            else:
                self.link(sender, n)
        if self.host.id in frame.lacks:
            for page in frame.lacks[self.host.id]:
                if page < len(self.told.pages):
                    self.owed[page] = None
                    self.plan_sync()

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
            n.versions = []
            n.complete = True
            n.pages = {}
        n.heard_us = self.host.now()
        return n

    def link(self, node: int, n: Neighbour) -> None:
        n.linked = True
        self.links = sorted([*self.links, node])
        self.host.note(LINK_UP, peer=node)
        for page in n.pages.values():
            self.replace(node, [], page.rows)

    def unlink(self, node: int, n: Neighbour) -> None:
        """The other end counts as if it had unsubscribed."""
        if n.linked:
            n.linked = False
            self.links.remove(node)
            self.host.note(LINK_DOWN, peer=node)
            for page in n.pages.values():
                self.replace(node, page.rows, [])

    def forget_silent(self) -> None:
        latest_us = self.host.now() - self.patience_us
        for node in [node for node, n in self.neighbours.items() if n.heard_us < latest_us]:
            self.unlink(node, self.neighbours.pop(node))  # R4

    # ---- subscriptions

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.on_unsubscribe(subscription)
        self.local.add(subscription, filter)
        self.touch(1, filter)

    def on_unsubscribe(self, subscription: int) -> None:
        if subscription in self.local.filters:
            self.touch(1, self.local.filters[subscription])
            self.local.remove(subscription)

    def receive_table(self, frame: TableFrame, sender: int) -> None:
        n = self.meet(sender, frame.boot)
        if n is None:
            return
        old = n.pages.get(frame.page)
        if old is not None and old.version >= frame.version:
            return
        n.pages[frame.page] = frame
        if n.linked:
            self.replace(sender, old.rows if old is not None else [], frame.rows)

    def replace(self, node: int, old: list[TableRow], new: list[TableRow]) -> None:
        """Rows of a page keep their order and new ones come last: what is the same is soon found."""
        same = 0
        for row in old:
            if same < len(new) and row == new[same]:
                same += 1
            else:
                self.unlearn(node, row)
        for row in new[same:]:
            self.learn(node, row)

    def learn(self, node: int, row: TableRow) -> None:
        distance, link, filter = row
        if distance > self.params.phi or link == self.host.id:
            return
        interest = self.interests.get(filter)
        if interest is None:
            interest = self.interests[filter] = Interest(filter, self.params.phi)
            self.known.append(interest)
        table = interest.tables[distance - 1]
        if node in table:
            table[node] += 1
            return
        table[node] = 1
        interest.links[node] = interest.links.get(node, 0) + 1
        self.rows += 1
        self.touch(distance + 1, filter)

    def unlearn(self, node: int, row: TableRow) -> None:
        distance, link, filter = row
        if distance > self.params.phi or link == self.host.id:
            return
        interest = self.interests[filter]
        table = interest.tables[distance - 1]
        table[node] -= 1
        if table[node]:
            return
        del table[node]
        interest.links[node] -= 1
        if not interest.links[node]:
            del interest.links[node]
            if not interest.links:
                del self.interests[filter]
                self.known.remove(interest)
        self.rows -= 1
        self.touch(distance + 1, filter)

    def touch(self, distance: int, filter: Filter) -> None:
        if distance <= self.params.phi:
            self.dirty[(distance, filter)] = None
            self.plan_sync()

    def plan_sync(self) -> None:
        if not self.will_sync:
            self.will_sync = True
            self.host.set_timer(SYNC, int((0.5 + 0.5 * self.host.random()) * SYNC_US))

    def tell(self) -> None:
        for row in self.dirty:
            link = self.came_by(row)
            if link == NO_LINK:
                self.told.drop(row)
            else:
                self.told.tell(row, link)
        self.dirty = {}
        for at in self.told.settle():
            self.owed[at] = None
        if len(self.told.waiting) > self.left_out:
            self.host.note(LEFT_OUT, value=len(self.told.waiting))
        self.left_out = len(self.told.waiting)
        owed, self.owed = self.owed, {}
        for at in sorted(owed):
            page = self.told.pages[at]
            self.host.broadcast(TableFrame(self.boot, at, page.version, page.listed()))

    def came_by(self, row: Row) -> int:
        """The only link that a row to be told came by; ANY_LINK if it was told by several or is this node's own."""
        distance, filter = row
        if distance == 1:
            return ANY_LINK if filter in self.local.all else NO_LINK
        if filter not in self.interests:
            return NO_LINK
        table = self.interests[filter].tables[distance - 2]
        if len(table) == 1:
            return next(iter(table))
        return ANY_LINK if table else NO_LINK

    # ---- events

    def on_publish(self, event: Event) -> None:
        self.remember(event.id)
        self.forward(Waiting(event, self.host.now(), self.params.ttl, self.host.id))

    def receive_event(self, frame: LinkEventFrame, sender: int) -> None:
        event = frame.event
        if frame.age_us >= event.validity_us:  # R6
            if event.id not in self.recent:
                self.host.note(EXPIRED, event.id)
            return
        if not self.remember(event.id):
            return
        if self.local.match(event):
            self.host.deliver(event)
        if frame.ttl == 1:  # R3
            self.host.note(TTL, event.id)
            return
        ttl = frame.ttl - 1 if frame.ttl else 0
        self.waiting[event.id] = Waiting(event, self.host.now() - frame.age_us, ttl, sender)
        self.host.set_timer(event.id, int(self.host.random() * self.jitter_us))  # R5

    def forward(self, waited: Waiting) -> None:
        event, id = waited.event, waited.event.id
        age_us = min(self.host.now() - waited.born_us, FOREVER)
        if age_us >= event.validity_us:  # R6
            self.host.note(EXPIRED, id)
            return
        source = waited.source
        chosen: list[int] = []
        for node in self.leading_to_interest(event):
            if node != source:  # R2
                chosen.append(node)
                self.host.note(DETERMINISTIC, id, node)
        back = self.neighbours.get(source)
        least = self.least(len(self.links) - (back is not None and back.linked))
        if len(chosen) < least:
            others = [node for node in self.links if node != source and node not in chosen]
            while len(chosen) < least:
                node = others.pop(int(self.host.random() * len(others)))
                chosen.append(node)
                self.host.note(PROBABILISTIC, id, node, self.percent)
        if chosen:
            self.host.broadcast(LinkEventFrame(event, waited.ttl, age_us, chosen))
        else:
            self.host.note(NOWHERE, id)

    def least(self, links: int) -> int:
        """Of so many links: R1. The product may be a little above a whole number: 0.28 * 25 is."""
        mandated = self.params.tau * links - 1e-9
        return int(mandated) + 1 if mandated > 0.0 else 0

    def leading_to_interest(self, event: Event) -> dict[int, int]:
        leading: dict[int, int] = {}
        for interest in self.known:
            if interest.filter.matches(event):
                leading = {**leading, **interest.links} if leading else interest.links
        return leading

    def remember(self, id: int) -> bool:
        """False for an id that is remembered already."""
        if not self.recent.add(id):
            return False
        if len(self.recent) > self.params.recent:
            self.host.unmute(self.recent.take_oldest())
        self.host.mute(id)
        return True

    def memory(self) -> tuple[int, int]:
        """Rows of the tables (a filter and a link) and neighbours."""
        size = sum([interest.size for interest in self.known]) + 4 * self.rows + 16 * len(self.neighbours)
        return (self.rows + len(self.neighbours), size)
