"""Epidemic dissemination: events flood at once, all nodes carry them while they are valid, and summaries repair losses.

Ours, made of known parts, for networks of strangers: nothing is presumed about who subscribes, who moves, or which
frames arrive. Real nodes run it unless another protocol is named.

  flood    a node that gets a new event forwards it after a random delay, unless it has heard `copies` copies meanwhile
           (counter-based flooding, Ni et al. 1999)
  carry    every node keeps every valid event, whether it subscribes or not, as in epidemic routing (Vahdat and Becker
           2000), within `store` and `store_kib` (held.py)
  compare  nodes send a summary of the ids that they know, seldom while all neighbours agree, and soon after news or
           after a summary that differs (Trickle, Levis et al. 2004; trickle.py)
  repair   a node that hears a summary that differs from its own sends the list of its ids. Whoever hears that list,
           and holds events that are not on it, sends them after a random delay, unless another node does so first

There is no table of neighbours: a list says what its sender lacks, and everybody in range may help.

Choices, one test each:
  C1  an event is summarised when it is older than `settle_s`: before that, the flood itself may still bring it
  C2  an event that came late, but is younger than `fresh_s`, is flooded on like a new one: those farther away probably
      lack it, too. An older one spreads by summaries: somebody has come back or has just joined, and the others have it
  C3  pauses between two sendings of one missing event to a neighbourhood double, and so do pauses between two equal
      lists: a neighbour that cannot take an event, because its clock says that the event has expired, costs little
  C4  an application that subscribes late gets the valid events that its node carries already
  C5  local events are sent once, by their publisher: they are neither carried nor repaired
  C6  an own event that is published again after a restart is carried and not flooded: neighbours that lack it find out
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, final

from roamcast.protocols.epidemic.frames import IdList, Missing, Summary, id_lists, missing_bytes
from roamcast.protocols.epidemic.held import HeldEvents, KnownEvent
from roamcast.protocols.epidemic.trickle import Trickle
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Host, Params, no_room, param, reason
from roamcast.protocols.kit.relay import EXPIRED, SOURCE, Relay
from roamcast.pubsub.event import LOCAL, Event
from roamcast.pubsub.filters import Filter

FEW: Final = reason("forward", "few copies", "{event} was heard only {value} times")
MANY: Final = reason("suppress", "many copies", "{event} was heard {value} times")
LACKED: Final = reason("forward", "neighbour lacks it", "{event} is not on the list of {peer}")
SENT_BY_OTHER: Final = reason("suppress", "sent by another", "{event} was sent by {peer}")
OLD: Final = reason("suppress", "old", "{event} came late from {peer}: summaries will show who else lacks it")
FULL: Final = no_room("store full", "{event} was held longest and made room")

SUMMARY: Final = -1
LIST: Final = -2
PUSH: Final = -3
SETTLE: Final = -4
"""Timers; those that are not negative belong to events that wait to be forwarded."""

LONG_AGO: Final = -(1 << 50)
DOUBLINGS: Final = 6
"""How often a pause doubles at most."""


@dataclass(frozen=True)
class EpidemicParams(Params):
    copies: int = param(3, "copies received that make another one useless", "Ni et al. 1999, C = 3", low=1, high=100)
    delay_ms: float = param(30.0, "longest delay before an event is forwarded", "ours", unit="ms", low=0.0)
    summary_min_s: float = param(0.25, "shortest interval of summaries", "ours", unit="s", low=0.01)
    summary_max_s: float = param(4.0, "longest interval of summaries", "ours", unit="s", low=0.01)
    enough: int = param(2, "equal summaries heard that make another one useless", "RFC 6206, k", low=1, high=100)
    settle_s: float = param(0.25, "age at which an event is summarised", "ours (C1)", unit="s", low=0.0)
    fresh_s: float = param(10.0, "age up to which a late event is flooded", "ours (C2)", unit="s", low=0.0)
    answer_ms: float = param(50.0, "longest delay before lists and missing events", "ours", unit="ms", low=0.0)
    burst: int = param(4, "frames of missing events at a time", "ours", low=1, high=100)
    pause_ms: float = param(200.0, "pause between two bursts", "ours", unit="ms", low=1.0)
    frame_limit: int = param(1200, "events or ids in a frame", "ours: a datagram", unit="B", low=64, high=32_000)
    store: int = param(10_000, "most events that a node holds", "ours", low=1, high=1_000_000)
    store_kib: int = param(16_384, "most content that a node holds", "ours", unit="KiB", low=1)
    seen_limit: int = param(65_536, "ids of events that are not delivered again", "ours", low=1)

    def __post_init__(self) -> None:
        if self.summary_min_s > self.summary_max_s:
            raise ValueError(
                f"summary_min_s ({self.summary_min_s:g}) must not be above summary_max_s ({self.summary_max_s:g})"
            )


@final
class Epidemic(Relay):
    params_class: ClassVar[type[Params]] = EpidemicParams
    frames: ClassVar[tuple[type[Frame], ...]] = (EventFrame, Summary, IdList, Missing)

    def __init__(self, host: Host, params: EpidemicParams) -> None:
        super().__init__(host, params, 0)
        self.params = params
        self.delay_us = params.delay_ms * 1000.0
        self.answer_us = params.answer_ms * 1000.0
        self.pause_us = round(params.pause_ms * 1000)
        self.fresh_us = round(params.fresh_s * 1e6)
        self.shortest_us = round(params.summary_min_s * 1e6)
        self.longest_us = round(params.summary_max_s * 1e6)
        self.settle_us = round(params.settle_s * 1e6)
        self.table = HeldEvents(params.store, params.store_kib << 10, params.seen_limit, self.settle_us)
        self.trickle = Trickle(host, SUMMARY, self.shortest_us, self.longest_us, params.enough)
        self.lists: list[IdList] = []  # the last ones that were made; empty if the table has changed since
        self.list_due = False
        self.other = 0  # the digest that was heard and makes a list due
        self.listed_us = LONG_AGO  # when lists were sent last
        self.gap_us = self.shortest_us  # twice the time until equal ones may be sent again
        self.missing: dict[int, int] = {}  # events to send, and the first neighbour that lacks each
        self.neighbours: dict[int, int] = {}  # when they were heard last

    # ---- what the host calls

    def on_start(self) -> None:
        """Timers do not survive a crash; tables may."""
        super().on_start()
        self.list_due = False
        self.missing = {}
        self.neighbours = {}
        self.gap_us = self.shortest_us
        self.trickle.start()
        self.await_settling()

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        super().on_subscribe(subscription, filter)
        self.catch_up()
        for known in list(self.table.known.values()):  # C4
            event = known.event
            if event is not None and not known.own and not known.delivered and filter.matches(event):
                known.delivered = True
                self.host.deliver(event)

    def on_publish(self, event: Event) -> None:
        self.host.mute(event.id)
        if event.scope == LOCAL:  # C5
            self.remember(event.id)
        elif self.table.is_held(event.id):
            return
        else:
            self.hold(event, 0, True)
        self.host.note(SOURCE, event.id)
        self.host.broadcast(EventFrame(event, 0, 0))

    def on_publish_again(self, event: Event) -> None:
        """C6"""
        if event.scope != LOCAL and not self.table.is_held(event.id):
            self.host.mute(event.id)
            self.hold(event, 0, True)

    def on_frame(self, frame: Frame, sender: int) -> None:
        self.catch_up()
        self.meet(sender)
        if isinstance(frame, EventFrame):
            self.receive(frame, sender, False)
        elif isinstance(frame, Summary):
            self.compare(frame.count, frame.digest)
        elif isinstance(frame, IdList):
            self.receive_list(frame, sender)
        elif isinstance(frame, Missing):
            for each in frame.carried:
                self.receive(each, sender, True)

    def on_timer(self, key: int) -> None:
        self.catch_up()
        if key == SUMMARY:
            if self.trickle.fired():
                self.host.broadcast(Summary(self.table.settled, self.table.digest))
        elif key == LIST:
            self.send_lists()
        elif key == PUSH:
            self.send_missing()
        elif key == SETTLE:
            self.await_settling()
        else:
            self.forward(key)

    # ---- flood

    def receive(self, frame: EventFrame, sender: int, late: bool) -> None:
        event = frame.event
        if event.id in self.missing:
            del self.missing[event.id]
            self.host.note(SENT_BY_OTHER, event.id, sender)
        if self.table.has_seen(event.id):
            return
        self.host.mute(event.id)
        if frame.age_us >= event.validity_us:
            self.remember(event.id)
            self.host.note(EXPIRED, event.id, sender)
            return
        wanted = self.subscriptions.match(event)
        if event.scope == LOCAL:  # C5
            self.remember(event.id)
        else:
            self.hold(event, frame.age_us, False).delivered = wanted
        if wanted:
            self.host.deliver(event)
        if event.scope == LOCAL:
            return
        if late and frame.age_us >= self.fresh_us:  # C2
            self.host.note(OLD, event.id, sender)
        else:
            self.wait(frame, int(self.host.random() * self.delay_us))

    def forward(self, key: int) -> None:
        frame = self.next_hop(key)
        if frame is None:
            return
        heard = 1 + self.host.heard(key)
        if heard < self.params.copies:
            self.host.note(FEW, key, value=heard)
            self.host.broadcast(frame)
        else:
            self.host.note(MANY, key, value=heard)

    # ---- carry

    def hold(self, event: Event, age_us: int, own: bool) -> KnownEvent:
        known = self.table.add(event, self.host.now() - age_us, own)
        for id in self.table.make_room():
            self.host.note(FULL, id)
        if self.table.drop_given_up():
            self.lists = []
        self.unmute_forgotten()
        self.await_settling()
        return known

    def remember(self, id: int) -> None:
        self.table.remember(id)
        self.unmute_forgotten()

    def unmute_forgotten(self) -> None:
        for id in self.table.take_forgotten():
            self.host.unmute(id)

    def catch_up(self) -> None:
        """Before anything else: which events have expired, and which are summarised by now?"""
        now_us = self.host.now()
        before = self.table.digest
        self.table.expire(now_us)
        self.unmute_forgotten()
        if self.table.settle(now_us):
            self.trickle.differ()
        if self.table.digest != before:
            self.lists = []
            self.gap_us = self.shortest_us

    def await_settling(self) -> None:
        if self.table.settling:
            self.host.set_timer(SETTLE, max(0, self.table.settling[0][0] - self.host.now()))

    # ---- compare

    def meet(self, sender: int) -> None:
        now_us = self.host.now()
        if sender not in self.neighbours:
            self.gap_us = self.shortest_us
            self.cancel_list()  # if it differs, it gets one soon
            oldest_us = now_us - 2 * self.longest_us
            for node in [node for node, heard_us in self.neighbours.items() if heard_us < oldest_us]:
                del self.neighbours[node]
        self.neighbours[sender] = now_us

    def compare(self, count: int, digest: int) -> bool:
        """Whether a neighbour's summary is the same as one's own; if not, a list is due."""
        if digest == self.table.digest and count == self.table.settled:
            self.trickle.agree()
            return True
        if self.gap_us == self.shortest_us:  # C3
            self.trickle.differ()
        self.other = digest
        if not self.list_due:
            self.list_due = True
            self.host.set_timer(LIST, max(self.answer_delay(), self.listed_us + self.gap_us // 2 - self.host.now()))
        return False

    def answer_delay(self) -> int:
        """Longer where many may answer, so that few do."""
        return int(self.host.random() * self.answer_us * (1.0 + len(self.neighbours) / 4))

    def send_lists(self) -> None:
        self.list_due = False
        if self.other == self.table.digest:
            return
        if not self.lists:
            self.lists = id_lists(self.table.settled_ids(), self.table.digest, self.params.frame_limit)
        for frame in self.lists:
            self.host.broadcast(frame)
        self.listed_us = self.host.now()
        self.gap_us = min(2 * self.gap_us, 2 * self.longest_us)

    def cancel_list(self) -> None:
        if self.list_due:
            self.list_due = False
            self.host.cancel_timer(LIST)

    # ---- repair

    def receive_list(self, frame: IdList, sender: int) -> None:
        if frame.digest == self.table.digest and frame.count == self.table.settled:
            self.trickle.agree()
            self.cancel_list()  # it says what this node's own list would say
            return
        if self.is_news(frame):
            self.compare(frame.count, frame.digest)
        waiting = bool(self.missing)
        now_us = self.host.now()
        for id, known in self.table.known.items():
            if frame.low <= id <= frame.high and not frame.has(id) and self.may_push(known, now_us):
                self.missing.setdefault(id, sender)
        if self.missing and not waiting:
            self.host.set_timer(PUSH, self.answer_delay())

    def is_news(self, frame: IdList) -> bool:
        """Whether a list has ids that were never seen here; the first one decides."""
        for first, end in frame.spans():
            for id in range(first, end):
                if not self.table.has_seen(id):
                    return True
        return False

    def send_missing(self) -> None:
        """Send some of the events that neighbours lack, oldest id first."""
        batch: list[EventFrame] = []
        size = 0
        frames = 0
        for id in list(self.missing):
            known = self.table.known.get(id)
            if known is None or known.event is None:
                del self.missing[id]
                continue
            each = EventFrame(known.event, 0, max(0, self.host.now() - known.born_us))
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
            self.host.set_timer(PUSH, self.pause_us)

    def may_push(self, known: KnownEvent, now_us: int) -> bool:
        """Whether this node holds the event, and should send it if a neighbour lacks it."""
        if not known.settled or known.event is None:
            return False
        return known.pushed_us <= now_us and known.expiry_us - now_us > self.settle_us

    def pushed(self, known: KnownEvent) -> None:
        """When it may be sent to this neighbourhood again (C3)."""
        now_us = self.host.now()
        if now_us > known.pushed_us + (self.shortest_us << DOUBLINGS):
            known.pushes = 0
        known.pushed_us = now_us + (self.shortest_us << min(known.pushes, DOUBLINGS))
        known.pushes += 1

    def memory(self) -> tuple[int, int]:
        """Known events with 16 bytes each, their contents, and 8 bytes for each neighbour."""
        return (
            len(self.table.known) + len(self.neighbours),
            self.table.bytes + 16 * len(self.table.known) + 8 * len(self.neighbours),
        )
