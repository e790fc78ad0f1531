"""Semi-probabilistic routing over links: the ancestor that Costa, Picco, Rossetto 2005 cite as their reference [11].

Links are those between neighbours that hear each other's beacons. τ is a fraction of links: an event goes to every
neighbour behind which a matching subscription is known within φ hops. If these are fewer than the fraction τ of the
links, it also goes to others, chosen at random, until the fraction is reached. Subscriptions travel along links up to φ
hops. There is one table for each distance, whose rows are a filter and the link it came from. Subscriptions have no
leases: an unsubscription, and a link that appears or vanishes, is advertised to the neighbours.

How tables are advertised (link_tables.py): a node advertises its own filters at distance 1, and the rows of its table
for distance d at d + 1 while that is within φ. A row is not meant for a neighbour if it came from that neighbour alone.
All changes within `SYNC_US` are advertised by one broadcast. A beacon lists the nodes that its sender hears and the
versions that it advertises, and requests what its sender lacks. So one rule repairs lost, repeated and overtaken
frames, crashes and partitions. A link exists while both ends hear each other; a beacon that lists this node proves the
other direction.

Every link that an event goes along is a `forward` in the log, to one peer: "deterministic" if a row led there,
"probabilistic" if it was drawn.

Readings, one test each in tests/paper/test_costa.py:
  R1  the links "available" to an event (§II-B) are all except the one it came by, and τ of them is rounded up: with
      τ > 0 an event is always forwarded (§II-B says this about [11], in contrast to broadcasting)
  R2  if more links than that have matching rows, the event goes along all of them ("this is used first")
  R3  [11]'s time-to-live (§II-D) is `ttl`, in hops; its value is not given, so there is none by default
  R4  a link vanishes when the other end falls silent or no longer lists this node in its beacons (§II-A: it is then
      treated as if that end unsubscribed)
  R5  one broadcast goes along several links, which it names, and other nodes that hear it ignore it: in [11] an overlay
      hid what goes on below it (§I), and a frame for each link would overload a radio. It is not acknowledged; the
      nodes that it names wait for a random time before they send, so that they do not collide
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
    AdvertisedTable,
    BeaconFrame,
    LinkEventFrame,
    Row,
    TableFrame,
    TableRow,
)
from roamcast.protocols.semiprob.protocol import DETERMINISTIC, EXPIRED, PROBABILISTIC
from roamcast.pubsub.event import FOREVER, Event
from roamcast.pubsub.filters import Filter

BEACON: Final = -1
SYNC: Final = -2
"""Keys of timers; for an event that waits to be sent the key is its id."""

NO_LINK: Final = -2
SECOND_US: Final = 1_000_000
SYNC_US: Final = 50_000
"""Ours: changes within this time are advertised together."""

NOWHERE: Final = reason("suppress", "no link left", "{event}: no link is left, or tau is 0")
TTL: Final = reason("suppress", "ttl", "{event} has gone as far as its time-to-live lets it")
LINK_UP: Final = reason("note", "link up", "{peer} and this node hear each other")
LINK_DOWN: Final = reason("note", "link down", "{peer} is no longer linked")
CROWDED: Final = reason("note", "neighbours full", "no room for {peer} in the neighbourhood table")
LEFT_OUT: Final = reason("note", "rows left out", "no room to advertise {value} subscriptions, the farthest ones")


@dataclass(frozen=True)
class SemiProbLinksParams(Params):
    phi: int = param(
        2, "horizon: how many links a subscription travels", "ours: §IV runs 0, 1 and 2", low=0, high=HORIZON_MAX
    )
    tau: float = param(0.5, "least fraction of the links that an event goes along", "§II-B's example", low=0, high=1)
    ttl: int = param(0, "hops that an event may go; 0 means any number", "ours: [11] has one (§II-D)", low=0, high=255)
    jitter_ms: float = param(10.0, "longest delay before an event is forwarded", "ours (R5)", unit="ms", low=0)
    beacon_s: float = param(1.0, "period of beacons", "ours", unit="s", low=0.01)
    patience: float = param(2.5, "beacons that may be missed before a neighbour is gone", "ours", low=1)
    neighbours: int = param(64, "most neighbours kept", "ours", low=1, high=HEARD_MAX)
    recent: int = param(4096, "events remembered to recognise duplicates", "ours", low=1)


@final
class Neighbour:
    """A node that is heard: the pages received from it, and the versions listed in its beacons."""

    __slots__ = ("boot", "complete", "heard_us", "linked", "pages", "versions")

    def __init__(self, boot: int) -> None:
        self.boot = boot
        self.heard_us = 0
        self.linked = False
        self.versions: list[int] = []
        self.complete = True  # all pages of these versions are received
        self.pages: dict[int, TableFrame] = {}

    def set_versions(self, versions: list[int]) -> None:
        if versions != self.versions:
            self.versions = versions
            self.complete = False

    def missing_pages(self) -> list[int]:
        """The pages that have a newer version than the one received."""
        if self.complete:
            return []
        missing: list[int] = []
        for index, version in enumerate(self.versions):
            page = self.pages.get(index)
            if version > (page.version if page is not None else 0):
                missing.append(index)
        self.complete = not missing
        return missing


@final
class FilterRows:
    """The rows of one filter."""

    __slots__ = ("filter", "links", "size", "tables")

    def __init__(self, filter: Filter, phi: int) -> None:
        self.filter = filter
        self.size = measure(filter.fields())
        self.links: dict[int, int] = {}  # link -> number of tables that have it
        # for each distance: link -> number of pages that have the row, two while it moves between pages
        self.tables: list[dict[int, int]] = [{} for _ in range(phi)]


@final
class WaitingEvent:
    """An event that waits to be forwarded. `source` is the link it came by."""

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
        self.links: list[int] = []  # the neighbours that are linked, in order
        self.filters: dict[Filter, FilterRows] = {}  # the tables, by filter
        self.filter_rows: list[FilterRows] = []  # the same, as a list for the loop over them
        self.rows = 0
        self.dirty: dict[Row, None] = {}  # rows that may have to be advertised again
        self.advertised = AdvertisedTable()
        self.requested_pages: dict[int, None] = {}  # pages that a neighbour lacks
        self.left_out = 0
        self.will_sync = False
        self.waiting: dict[int, WaitingEvent] = {}
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
            self.advertise()
        elif key in self.waiting:
            self.forward(self.waiting.pop(key))

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, LinkEventFrame):
            neighbour = self.neighbours.get(sender)
            if neighbour is not None:
                neighbour.heard_us = self.host.now()
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
            pages = self.neighbours[node].missing_pages()[:room]
            if pages:
                lacks[node] = pages
                room -= len(pages)
        self.host.broadcast(BeaconFrame(self.boot, self.advertised.versions(), sorted(self.neighbours), lacks))

    def receive_beacon(self, frame: BeaconFrame, sender: int) -> None:
        neighbour = self.update_neighbour(sender, frame.boot)
        if neighbour is None:
            return
        neighbour.set_versions(frame.versions)
        if neighbour.linked != (self.host.id in frame.heard):
            if neighbour.linked:
                self.unlink(sender, neighbour)  # R4
            else:
                self.link(sender, neighbour)
        if self.host.id in frame.lacks:
            for page in frame.lacks[self.host.id]:
                if page < len(self.advertised.pages):
                    self.requested_pages[page] = None
                    self.plan_sync()

    def update_neighbour(self, sender: int, boot: int) -> Neighbour | None:
        neighbour = self.neighbours.get(sender)
        if neighbour is None:
            if len(self.neighbours) >= self.params.neighbours:
                self.host.note(CROWDED, peer=sender)
                return None
            neighbour = self.neighbours[sender] = Neighbour(boot)
        elif neighbour.boot != boot:
            self.unlink(sender, neighbour)
            neighbour.boot = boot
            neighbour.versions = []
            neighbour.complete = True
            neighbour.pages = {}
        neighbour.heard_us = self.host.now()
        return neighbour

    def link(self, node: int, neighbour: Neighbour) -> None:
        neighbour.linked = True
        self.links = sorted([*self.links, node])
        self.host.note(LINK_UP, peer=node)
        for page in neighbour.pages.values():
            self.replace(node, [], page.rows)

    def unlink(self, node: int, neighbour: Neighbour) -> None:
        """From now on the other end counts as unsubscribed."""
        if neighbour.linked:
            neighbour.linked = False
            self.links.remove(node)
            self.host.note(LINK_DOWN, peer=node)
            for page in neighbour.pages.values():
                self.replace(node, page.rows, [])

    def forget_silent(self) -> None:
        latest_us = self.host.now() - self.patience_us
        for node in [node for node, neighbour in self.neighbours.items() if neighbour.heard_us < latest_us]:
            self.unlink(node, self.neighbours.pop(node))  # R4

    # ---- subscriptions

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.on_unsubscribe(subscription)
        self.local.add(subscription, filter)
        self.mark_dirty(1, filter)

    def on_unsubscribe(self, subscription: int) -> None:
        filter = self.local.get(subscription)
        if filter is not None:
            self.mark_dirty(1, filter)
            self.local.remove(subscription)

    def receive_table(self, frame: TableFrame, sender: int) -> None:
        neighbour = self.update_neighbour(sender, frame.boot)
        if neighbour is None:
            return
        old = neighbour.pages.get(frame.page)
        if old is not None and old.version >= frame.version:
            return
        neighbour.pages[frame.page] = frame
        if neighbour.linked:
            self.replace(sender, old.rows if old is not None else [], frame.rows)

    def replace(self, node: int, old: list[TableRow], new: list[TableRow]) -> None:
        """Rows of a page keep their order and new ones come last, so one pass finds the rows that stayed."""
        same = 0
        for row in old:
            if same < len(new) and row == new[same]:
                same += 1
            else:
                self.remove_row(node, row)
        for row in new[same:]:
            self.add_row(node, row)

    def add_row(self, node: int, row: TableRow) -> None:
        distance, link, filter = row
        if distance > self.params.phi or link == self.host.id:
            return
        filter_rows = self.filters.get(filter)
        if filter_rows is None:
            filter_rows = self.filters[filter] = FilterRows(filter, self.params.phi)
            self.filter_rows.append(filter_rows)
        table = filter_rows.tables[distance - 1]
        if node in table:
            table[node] += 1
            return
        table[node] = 1
        filter_rows.links[node] = filter_rows.links.get(node, 0) + 1
        self.rows += 1
        self.mark_dirty(distance + 1, filter)

    def remove_row(self, node: int, row: TableRow) -> None:
        distance, link, filter = row
        if distance > self.params.phi or link == self.host.id:
            return
        filter_rows = self.filters[filter]
        table = filter_rows.tables[distance - 1]
        table[node] -= 1
        if table[node]:
            return
        del table[node]
        filter_rows.links[node] -= 1
        if not filter_rows.links[node]:
            del filter_rows.links[node]
            if not filter_rows.links:
                del self.filters[filter]
                self.filter_rows.remove(filter_rows)
        self.rows -= 1
        self.mark_dirty(distance + 1, filter)

    def mark_dirty(self, distance: int, filter: Filter) -> None:
        if distance <= self.params.phi:
            self.dirty[(distance, filter)] = None
            self.plan_sync()

    def plan_sync(self) -> None:
        if not self.will_sync:
            self.will_sync = True
            self.host.set_timer(SYNC, int((0.5 + 0.5 * self.host.random()) * SYNC_US))

    def advertise(self) -> None:
        for row in self.dirty:
            link = self.only_link(row)
            if link == NO_LINK:
                self.advertised.remove(row)
            else:
                self.advertised.put(row, link)
        self.dirty = {}
        for index in self.advertised.update_pages():
            self.requested_pages[index] = None
        if len(self.advertised.unplaced) > self.left_out:
            self.host.note(LEFT_OUT, value=len(self.advertised.unplaced))
        self.left_out = len(self.advertised.unplaced)
        requested, self.requested_pages = self.requested_pages, {}
        for index in sorted(requested):
            page = self.advertised.pages[index]
            self.host.broadcast(TableFrame(self.boot, index, page.version, page.listed()))

    def only_link(self, row: Row) -> int:
        """The only link that a row came by; ANY_LINK for several or for a filter of this node; NO_LINK for none."""
        distance, filter = row
        if distance == 1:
            return ANY_LINK if filter in self.local.all else NO_LINK
        if filter not in self.filters:
            return NO_LINK
        table = self.filters[filter].tables[distance - 2]
        if len(table) == 1:
            return next(iter(table))
        return ANY_LINK if table else NO_LINK

    # ---- events

    def on_publish(self, event: Event) -> None:
        self.remember(event.id)
        self.forward(WaitingEvent(event, self.host.now(), self.params.ttl, self.host.id))

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
        self.waiting[event.id] = WaitingEvent(event, self.host.now() - frame.age_us, ttl, sender)
        self.host.set_timer(event.id, int(self.host.random() * self.jitter_us))  # R5

    def forward(self, waiting: WaitingEvent) -> None:
        event, id = waiting.event, waiting.event.id
        age_us = min(self.host.now() - waiting.born_us, FOREVER)
        if age_us >= event.validity_us:  # R6
            self.host.note(EXPIRED, id)
            return
        source = waiting.source
        chosen: list[int] = []
        for node in self.links_to_subscribers(event):
            if node != source:  # R2
                chosen.append(node)
                self.host.note(DETERMINISTIC, id, node)
        back = self.neighbours.get(source)
        fewest = self.fewest_links(len(self.links) - (back is not None and back.linked))
        if len(chosen) < fewest:
            candidates = [node for node in self.links if node != source and node not in chosen]
            while len(chosen) < fewest:
                node = candidates.pop(int(self.host.random() * len(candidates)))
                chosen.append(node)
                self.host.note(PROBABILISTIC, id, node, self.percent)
        if chosen:
            self.host.broadcast(LinkEventFrame(event, waiting.ttl, age_us, chosen))
        else:
            self.host.note(NOWHERE, id)

    def fewest_links(self, links: int) -> int:
        """τ of the links, rounded up (R1). The product may be a little above a whole number, such as 0.28 * 25."""
        fraction = self.params.tau * links - 1e-9
        return int(fraction) + 1 if fraction > 0.0 else 0

    def links_to_subscribers(self, event: Event) -> dict[int, int]:
        links: dict[int, int] = {}
        for filter_rows in self.filter_rows:
            if filter_rows.filter.matches(event):
                links = {**links, **filter_rows.links} if links else filter_rows.links
        return links

    def remember(self, id: int) -> bool:
        """Returns False for an id that is remembered already."""
        if not self.recent.add(id):
            return False
        if len(self.recent) > self.params.recent:
            self.host.unmute(self.recent.take_oldest())
        self.host.mute(id)
        return True

    def memory(self) -> tuple[int, int]:
        """The rows of the tables (a filter and a link) and the neighbours."""
        size = sum([filter_rows.size for filter_rows in self.filter_rows]) + 4 * self.rows + 16 * len(self.neighbours)
        return (self.rows + len(self.neighbours), size)
