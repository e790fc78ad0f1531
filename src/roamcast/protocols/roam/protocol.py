"""Roam: events flood thinly, all nodes carry them while they are valid, and summaries find what is missing.

Ours, made of known parts, for networks that nobody knows beforehand: nothing is presumed about who subscribes, who
moves, how dense the network is, how fast its radio is, or which frames arrive. Real nodes run it unless another
protocol is named. `docs/explanation/roam.md` has the rules, their reasons and the evidence.

  flood    a node that gets a new event forwards it after a random delay, unless it has heard `copies` copies meanwhile
           (counter-based flooding, Ni et al. 1999). Few copies are enough, because losses are repaired
  carry    every node keeps every valid event, whether it subscribes or not, as in epidemic routing (Vahdat and Becker
           2000), within `store` and `store_kib` (held.py)
  compare  nodes send a summary of the ids that they know, seldom while all neighbours agree, and soon after a summary
           that differs (Trickle, Levis et al. 2004; trickle.py)
  repair   a node that hears a summary that differs from its own sends the list of its ids. Whoever hears that list,
           and holds events that are not on it, sends them after a random delay, unless another node does so first

There is no table of routes or interests: a list says what its sender lacks, and everybody in range may help.

Rules, one test each:
  M1  times are multiples of airtimes, and not below some milliseconds: a slow radio gets long delays, rare summaries
      and long pauses, and nobody has to set them (Pace)
  M2  a summary is about events that are neither so young that the flood may still bring them nor about to expire, and
      its sender puts the edges where it knows of no event (held.py)
  M3  a node that knows no event sends no summary of its own accord: it has nothing to offer, and answers those who have
  M4  an event that came late, but is younger than `fresh_s`, is flooded on like a new one: those farther away probably
      lack it, too. An older one spreads by summaries: a node has come back or has just joined, and the others have it
  M5  pauses between two sendings of one missing event to the same neighbours double, and so do pauses between two lists
      about the same difference: a neighbour that cannot take an event, because its clock says that the event has
      expired, or because nobody holds it any more, costs little. A neighbour that has just come is served at once
  M6  an application that subscribes late gets the valid events that its node carries already
  M7  local events are flooded for `local_hops` hops, with more copies: they are neither carried nor repaired
  M8  an own event that is published again after a restart is carried and not flooded: neighbours that lack it find out
  M9  `effort` trades air for time and certainty. Below 1, delays of the flood grow as its inverse, so that more nodes
      hear another copy first, and intervals of summaries as the square of that, so that less is repaired; below 0.1
      the flood itself gets thinner. Above 1, intervals shrink and more copies are sent
  M10 comparing takes time. Beyond `compared` ids a second, an eighth of that for one neighbour, summaries and lists are
      ignored: those of honest neighbours come again, and no other node can keep this one busy
  M11 the exclusive or of two digests is the digest of what differs, so a node that knows exactly one event more than
      its neighbour finds it without a list, and sends it. A node that knows one less sends its summary, which is
      short, and a list only if that did not help
  M12 where the medium itself orders relays by their signals, as in LoRa meshes (`Host.relay`), the flood is left to it,
      and a node takes its relay back when it has heard enough copies. While such a medium is in use for more than
      `busy` of the time, nodes neither send summaries nor answer them: what is left of it belongs to the flood
"""

from __future__ import annotations

from collections import OrderedDict
from typing import ClassVar, Final, final

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Host, Params, no_room, reason
from roamcast.protocols.kit.relay import EXHAUSTED, EXPIRED, SOURCE, Relay
from roamcast.protocols.roam.frames import IdList, Missing, Summary, id_lists, missing_bytes
from roamcast.protocols.roam.held import NONE, HeldEvents, KnownEvent, Window
from roamcast.protocols.roam.neighbours import Neighbours
from roamcast.protocols.roam.pace import Pace, RoamParams
from roamcast.protocols.roam.trickle import Trickle
from roamcast.pubsub.event import LOCAL, Event
from roamcast.pubsub.filters import Filter

FEW: Final = reason("forward", "few copies", "{event} was heard only {value} times")
MANY: Final = reason("suppress", "many copies", "{event} was heard {value} times")
THIN: Final = reason("suppress", "little effort", "{event} is left to others and to summaries")
TURN: Final = reason("forward", "relay", "{event} from {peer} waits for its turn among the relays")
LACKED: Final = reason("forward", "neighbour lacks it", "{event} is not on the list of {peer}")
SENT_BY_OTHER: Final = reason("suppress", "sent by another", "{event} was sent by {peer}")
OLD: Final = reason("suppress", "old", "{event} came late from {peer}: summaries will show who else lacks it")
NOT_DRAWN: Final = reason("suppress", "not drawn", "the draw was against {event}")
FULL: Final = no_room("no room", "{event} made room: its publisher has most events here, and this is the oldest")

SUMMARY: Final = -1
LIST: Final = -2
PUSH: Final = -3
"""Timers; those that are not negative belong to events that wait to be forwarded."""
NOT_DUE: Final = 1 << 62

RELAYING: Final = 1024
"""How many relays a node remembers."""
DIFFERENCES: Final = 64
"""How many differences a node remembers."""
DOUBLINGS: Final = 3
"""How often a pause doubles at most: a list or an event that is lost costs a pause."""
GONE: Final = 6
"""After a silence of so many of the longest intervals, a neighbour is gone: one that agrees is silent in several."""
LOOKED_AT: Final = 1024


@final
class Difference:
    """Lists about the same difference: how long the pause after the last one is, and when the next one may be sent."""

    __slots__ = ("again_us", "pause_us")

    def __init__(self, again_us: int, pause_us: int) -> None:
        self.again_us = again_us
        self.pause_us = pause_us


@final
class Copies:
    """Of an event that waits for the medium: how many were heard, and how many make another one useless."""

    __slots__ = ("enough", "heard")

    def __init__(self, enough: float) -> None:
        self.heard = 1
        self.enough = enough


@final
class Roam(Relay):
    params_class: ClassVar[type[Params]] = RoamParams
    frames: ClassVar[tuple[type[Frame], ...]] = (EventFrame, Summary, IdList, Missing)

    def __init__(self, host: Host, params: RoamParams) -> None:
        super().__init__(host, params, 0)
        self.params = params
        self.pace = Pace(host, params)
        self.fresh_us = self.pace.fresh_us
        self.shortest_us = self.pace.shortest_us
        self.table = HeldEvents(
            params.store,
            params.store_kib << 10,
            params.seen_limit,
            self.pace.young_us,
            self.pace.left_us,
            params.gaps,
        )
        self.trickle = Trickle(host, SUMMARY, self.shortest_us, self.pace.longest_us, params.enough)
        self.list_due_us = NOT_DUE
        self.other: Summary | None = None  # the one that was heard and makes a list due
        self.other_window = Window(0, 0)
        self.lists: list[IdList] = []  # those that wait for the next burst …
        self.listed_us = 0  # … and when they were made
        self.differences: OrderedDict[int, Difference] = OrderedDict()  # by the digest of the ids that differ
        self.ordered = host.echo_us(0) > 0  # whether the medium orders relays (M12)
        self.relaying: OrderedDict[int, Copies] = OrderedDict()  # events that wait for the medium, or did lately
        self.missing: dict[int, int] = {}  # events to send, and the first neighbour that lacks each
        self.neighbours = Neighbours(GONE * self.pace.longest_us, params.compared)

    # ---- what the host calls

    def on_start(self) -> None:
        """Timers do not survive a crash; tables may."""
        super().on_start()
        self.list_due_us = NOT_DUE
        self.lists = []
        self.differences.clear()
        self.missing = {}
        self.neighbours.here.clear()
        self.trickle.start()

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        super().on_subscribe(subscription, filter)
        self.catch_up()
        for known in list(self.table.known.values()):  # M6
            event = known.event
            if event is not None and not known.own and not known.delivered and filter.matches(event):
                known.delivered = True
                self.host.deliver(event)

    def on_publish(self, event: Event) -> None:
        self.host.mute(event.id)
        if event.scope == LOCAL:  # M7
            self.remember(event.id)
        elif self.table.is_held(event.id):
            return
        else:
            self.hold(event, 0, True)
        self.host.note(SOURCE, event.id)
        self.host.broadcast(EventFrame(event, self.params.local_hops if event.scope == LOCAL else 0, 0))

    def on_publish_again(self, event: Event) -> None:
        """M8"""
        if event.scope != LOCAL and not self.table.is_held(event.id):
            self.host.mute(event.id)
            self.hold(event, 0, True)

    def on_frame(self, frame: Frame, sender: int) -> None:
        self.catch_up()
        self.meet(sender)
        if isinstance(frame, EventFrame):
            self.receive(frame, sender, False)
        elif isinstance(frame, Summary):
            self.compare(frame, sender)
        elif isinstance(frame, IdList):
            self.receive_list(frame, sender)
        elif isinstance(frame, Missing):
            for each in frame.carried:
                self.receive(each, sender, True)

    def on_timer(self, key: int) -> None:
        self.catch_up()
        if key == SUMMARY:
            if self.trickle.fired() and self.table.known and not self.is_busy():  # M3
                self.host.broadcast(self.summary(self.table.window(self.host.now())))
        elif key >= 0:
            self.forward(key)
        elif self.is_busy():  # M12
            self.list_due_us = NOT_DUE
            self.lists = []
            self.missing = {}
        elif key == LIST:
            self.send_lists()
        else:
            self.send_missing()

    # ---- flood

    def receive(self, frame: EventFrame, sender: int, late: bool) -> None:
        event = frame.event
        if event.id in self.missing:
            del self.missing[event.id]
            self.host.note(SENT_BY_OTHER, event.id, sender)
        if self.table.has_seen(event.id):
            self.heard_again(event.id)
            return
        if frame.age_us >= event.validity_us:  # it stays unknown: a wrong age must not keep the event away
            self.host.note(EXPIRED, event.id, sender)
            return
        if not self.ordered:
            self.host.mute(event.id)
        own = event.publisher == self.host.id  # it comes back after a crash
        wanted = not own and self.subscriptions.match(event)
        if event.scope == LOCAL:  # M7
            self.remember(event.id)
        else:
            self.hold(event, frame.age_us, own).delivered = wanted
        if wanted:
            self.host.deliver(event)
        self.pass_on(frame, sender, late)

    def pass_on(self, frame: EventFrame, sender: int, late: bool) -> None:
        """Forward a new event after a delay, unless it has gone far enough or is too old."""
        if frame.event.scope == LOCAL and not 0 < frame.ttl <= self.params.local_hops:
            frame = EventFrame(frame.event, self.params.local_hops, frame.age_us)
        if frame.ttl == 1:
            self.host.note(EXHAUSTED, frame.id, sender)
        elif late and frame.age_us >= self.fresh_us:  # M4
            self.host.note(OLD, frame.event.id, sender)
        elif self.params.p < 1.0 and self.host.random() >= self.params.p:
            self.host.note(NOT_DRAWN, frame.event.id, sender)
        elif self.ordered:  # M12
            self.relay(frame, sender)
        else:
            self.wait(frame, int(self.host.random() * self.pace.delay_us(frame.size)))

    def relay(self, frame: EventFrame, sender: int) -> None:
        """Leave it to the medium which of the neighbours is first, and take it back if others were (M12)."""
        self.relaying[frame.event.id] = Copies(self.pace.copies(frame.event))
        if len(self.relaying) > RELAYING:
            self.relaying.popitem(last=False)
        self.host.note(TURN, frame.event.id, sender)
        self.host.relay(EventFrame(frame.event, max(0, frame.ttl - 1), frame.age_us))

    def heard_again(self, id: int) -> None:
        """A copy comes while a relay waits for the medium, or after it was sent."""
        copies = self.relaying.get(id)
        if copies is None:
            return
        copies.heard += 1
        if copies.heard >= copies.enough:
            del self.relaying[id]
            if self.host.withdraw(id):
                self.host.note(MANY, id, value=copies.heard)

    def forward(self, key: int) -> None:
        frame = self.next_hop(key)
        if frame is None:
            return
        heard = 1 + self.host.heard(key)
        if heard >= self.pace.copies(frame.event):
            self.host.note(MANY, key, value=heard)
        elif self.pace.likely < 1.0 and self.host.random() >= self.pace.likely:  # M9
            self.host.note(THIN, key)
        else:
            self.host.note(FEW, key, value=heard)
            self.host.broadcast(frame)

    # ---- carry

    def hold(self, event: Event, age_us: int, own: bool) -> KnownEvent:
        known = self.table.add(event, self.host.now() - age_us, own)
        for id in self.table.make_room():
            self.host.note(FULL, id)
        self.unmute_forgotten()
        return known

    def remember(self, id: int) -> None:
        self.table.remember(id)
        self.unmute_forgotten()

    def unmute_forgotten(self) -> None:
        for id in self.table.take_forgotten():
            self.host.unmute(id)

    def catch_up(self) -> None:
        """Before anything else: which events have expired by now?"""
        self.table.advance(self.host.now())
        self.unmute_forgotten()

    # ---- compare

    def meet(self, sender: int) -> None:
        if self.neighbours.meet(sender, self.host.now()):
            self.differences.clear()  # it may be what a list was about

    def summary(self, window: Window) -> Summary:
        count, digest = self.table.summary(window)
        now_us = self.host.now()
        return Summary(count, digest, (now_us - window.born_us) // 1000, (window.expiry_us - now_us) // 1000)

    def window_of(self, summary: Summary) -> Window:
        """The window of a neighbour's summary that has just come, by this node's clock."""
        now_us = self.host.now()
        return Window(now_us - 1000 * summary.age_ms, now_us + 1000 * summary.left_ms)

    def agrees(self, summary: Summary, window: Window) -> bool:
        return self.table.summary(window) == (summary.count, summary.digest)

    def compare(self, summary: Summary, sender: int) -> None:
        """If a neighbour's summary differs from one's own, the event that it lacks is sent, or a list is due."""
        window = self.window_of(summary)
        if self.is_busy() or not self.has_time(sender, self.table.looked_at(window)):
            return
        count, digest = self.table.summary(window)
        digest ^= summary.digest  # of the ids that one of the two nodes knows and the other one does not
        if count == summary.count and digest == 0:
            self.trickle.agree()
            return
        single = self.table.held_by_digest(digest, window) if count == summary.count + 1 else NONE
        if self.params.singles and single != NONE:  # M11
            self.offer([single], sender)
            return
        now_us = self.host.now()
        difference = self.differences.get(digest)
        if difference is None:
            self.trickle.differ()
        else:
            self.trickle.agree()  # it has been listed
            if now_us < difference.again_us:  # M5
                return
        due_us = now_us + self.answer_delay()
        if due_us < self.list_due_us:
            self.other, self.other_window = summary, window
            self.list_due_us = due_us
            self.host.set_timer(LIST, due_us - now_us)

    def answer_delay(self) -> int:
        """Longer where many may answer, so that few do."""
        self.neighbours.forget(self.host.now())
        return int(self.host.random() * self.pace.answer_us * (1.0 + len(self.neighbours.here) / 4))

    def send_lists(self) -> None:
        """Send a burst of lists: the rest of the last ones, or all ids of a window."""
        self.list_due_us = NOT_DUE
        if not self.lists:
            other = self.other
            if other is None or self.agrees(other, self.other_window):
                return
            count, digest = self.table.summary(self.other_window)
            first = self.listed(digest ^ other.digest)
            window = self.table.window(self.host.now())
            summary = self.summary(window)
            if self.params.singles and first and other.count == count + 1:  # M11
                self.host.broadcast(summary)
                return
            self.lists = id_lists(self.table.order.within(window), summary, self.params.frame_limit)
            self.listed_us = self.host.now()
        waited_ms = (self.host.now() - self.listed_us) // 1000
        for frame in self.lists[: self.params.burst]:
            self.host.broadcast(frame.later(waited_ms))
        self.lists = self.lists[self.params.burst :]
        if self.lists:
            self.list_due_us = self.host.now() + self.pace.pause_us
            self.host.set_timer(LIST, self.pace.pause_us)

    def listed(self, digest: int) -> bool:
        """The pause before the next list about this difference is twice as long as the one before it (M5). Returns
        whether this is the first one."""
        before = self.differences.pop(digest, None)
        pause_us = self.shortest_us
        if before is not None and self.params.pauses:
            pause_us = min(2 * before.pause_us, self.shortest_us << DOUBLINGS)
        self.differences[digest] = Difference(self.host.now() + pause_us, pause_us)
        if len(self.differences) > DIFFERENCES:
            self.differences.popitem(last=False)
        return before is None

    def cancel_list(self) -> None:
        if self.list_due_us != NOT_DUE and not self.lists:
            self.list_due_us = NOT_DUE
            self.host.cancel_timer(LIST)

    # ---- repair

    def receive_list(self, frame: IdList, sender: int) -> None:
        window = self.window_of(frame.summary)
        ids = self.table.looked_at(window) + self.table.order.count(frame.low, frame.high) + len(frame.runs)
        if self.is_busy() or not self.has_time(sender, ids):
            return
        if self.agrees(frame.summary, window):
            self.trickle.agree()
            self.cancel_list()  # it says what this node's own list would say
            return
        if self.is_news(frame):
            self.compare(frame.summary, sender)
        lacked: list[int] = []
        for low, high in frame.gaps():
            lacked += self.table.order.held(low, high, window)
        self.offer(lacked, sender)

    def offer(self, lacked: list[int], sender: int) -> None:
        """Send these events, which a neighbour lacks, after a random delay, unless another node does so first."""
        waiting = bool(self.missing)
        met_us = self.neighbours.met_us(sender)
        for id in lacked:
            known = self.table.known[id]
            if known.pushed_us < met_us:
                known.pushes = 0  # pauses are between sendings to the same neighbours (M5)
            if self.may_push(known, met_us):
                self.missing.setdefault(id, sender)
        if self.missing and not waiting:
            self.host.set_timer(PUSH, self.answer_delay())

    def is_busy(self) -> bool:
        """Whether the medium is needed for the flood (M12)."""
        return self.host.busy() > self.params.busy

    def has_time(self, sender: int, ids: int) -> bool:
        return self.neighbours.has_time(sender, ids, self.host.now())

    def may_push(self, known: KnownEvent, met_us: int) -> bool:
        """Whether an event may be sent to a neighbour that came at this time: it was not there at the last sending, or
        the pause after it is over (M5)."""
        return known.pushed_us < met_us or known.again_us <= self.host.now()

    def is_news(self, frame: IdList) -> bool:
        """Whether a list has ids that were never seen here; the first one decides. After `LOOKED_AT` ids that are known
        no longer, it may have."""
        looked_at = 0
        for first, end in frame.spans():
            if self.table.order.count(first, end - 1) < end - first:
                for id in range(first, end):
                    looked_at += 1
                    if not self.table.has_seen(id) or looked_at > LOOKED_AT:
                        return True
        return False

    def send_missing(self) -> None:
        """Send some of the events that neighbours lack, unless the neighbour has gone."""
        self.neighbours.forget(self.host.now())
        batch: list[EventFrame] = []
        size = 0
        frames = 0
        for id in list(self.missing):
            known = self.table.known.get(id)
            if known is None or known.event is None or self.missing[id] not in self.neighbours.here:
                del self.missing[id]
                continue
            each = EventFrame(known.event, 0, max(0, self.host.now() - known.since_us))
            if batch and size + missing_bytes(each) > self.params.frame_limit:
                self.host.broadcast(Missing(batch))
                batch, size, frames = [], 0, frames + 1
                if frames == self.params.burst:
                    break
            self.host.note(LACKED, id, self.missing.pop(id))
            self.pushed(known)
            batch.append(each)
            size += missing_bytes(each)
        if batch:
            self.host.broadcast(Missing(batch))
        if self.missing:
            self.host.set_timer(PUSH, self.pace.pause_us)

    def pushed(self, known: KnownEvent) -> None:
        now_us = self.host.now()
        if now_us > known.again_us + (self.shortest_us << DOUBLINGS):
            known.pushes = 0
        known.pushed_us = now_us
        known.again_us = now_us + (self.shortest_us << min(known.pushes, DOUBLINGS if self.params.pauses else 0))
        known.pushes += 1

    def memory(self) -> tuple[int, int]:
        """Known events with 24 bytes each, their contents, and 8 bytes for each neighbour."""
        return (
            len(self.table.known) + len(self.neighbours.here),
            self.table.bytes + 24 * len(self.table.known) + 8 * len(self.neighbours.here),
        )
