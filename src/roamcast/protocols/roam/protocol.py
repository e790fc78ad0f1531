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

There is no table of routes or interests: a list says what its sender lacks, and everybody in range may help. Who wants
to spend little sets `effort` below 0.2: then nodes ask for what they want, and the rest need not have it (wants.py).

Rules, one test each:
  M1  times are multiples of airtimes, and not below some milliseconds: a slow radio gets long delays, rare summaries
      and long pauses, and nobody has to set them (Pace)
  M2  a summary is about events that are neither so young that the flood may still bring them nor about to expire, and
      says where these edges are (held.py)
  M3  a node that knows no event sends no summary of its own accord: it has nothing to offer, and answers those who have
  M4  an event that came late, but is younger than `fresh_s`, is flooded on like a new one: those farther away probably
      lack it, too. An older one spreads by summaries: a node has come back or has just joined, and the others have it
      (but M18)
  M5  pauses between two sendings of one missing event to the same neighbours double, and there is a pause between two
      lists about the same difference: a neighbour that cannot take an event, because its clock says that the event has
      expired, or because nobody holds it any more, costs little. A neighbour that has just come is served at once
  M6  an application that subscribes late gets the valid events that its node carries already
  M7  local events are flooded for `local_hops` hops, with more copies: they are neither carried nor repaired
  M8  an own event that is published again after a restart is carried and not flooded: neighbours that lack it find out
  M9  `effort` trades air for time and certainty. Below 1, delays of the flood grow as its inverse, so that more nodes
      hear another copy first, and intervals of summaries as the square of that, so that less is repaired. Above 1,
      intervals shrink and more copies are sent. Below 0.2, M15 holds
  M10 comparing takes time. Beyond `compared` ids a second, an eighth of that for one neighbour, summaries and lists are
      ignored: those of honest neighbours come again, and no other node can keep this one busy
  M11 the exclusive or of two digests is the digest of what differs, so a node that knows exactly one event more than
      its neighbour finds it without a list, and sends it. A node that knows one less sends its summary, which is
      short, and a list only if that did not help
  M12 where the medium itself orders relays by their signals, as in LoRa meshes (`Host.relay`), the flood is left to it,
      and a node takes its relay back when it has heard enough copies. While such a medium is in use for more than
      `busy` of the time, nodes neither send summaries nor answer them: what is left of it belongs to the flood
  M13 the number of neighbours matters: among many, delays of the flood are longer, which makes the first of them no
      later, and nodes stay silent in more intervals. Among few, intervals of summaries are shorter (Trickle)
  M14 where the radio measures signals, half of a delay depends on them: who hears the sender least forwards first, and
      covers most new ground (nearness.py)
  M15 with little effort, the flood is thin, and less so where a neighbour wants the event. Nodes do not compare all
      that they know: who has subscriptions says what it wants and has of it, and neighbours send the rest (wants.py)
  M16 where the medium orders relays, a publisher that hears no relay of its event sends it again (kit/echo.py), routers
      relay first and stop for one copy more, and nodes that are mute do not relay
  M17 repairs take turns: a node that has sent a list lately sends no other one while events are being sent that
      somebody lacked, and leaves it out when it hears one of another node, unless that one has news. Lists that follow
      one another faster than they are answered would take all of the medium, and most of what is sent for one neighbour
      was missing at others as well (lists.py)
  M18 what is worth seconds must not wait for seconds: an event that came late and expires soon is flooded on whatever
      its age, because summaries would not bring it far. And while a node knows an event of short validity, its
      intervals are a part of that at most, but not below the shortest (haste.py). With less effort that part is larger,
      and below 0.2 there is no haste
"""

from __future__ import annotations

from collections import OrderedDict
from math import isnan
from typing import ClassVar, Final, final

from mypy_extensions import i64

from roamcast.protocols.kit.echo import EAGER, NO_AGE, RETRY_S, Echoes
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Host, Params, no_room, reason
from roamcast.protocols.kit.relay import EXHAUSTED, EXPIRED, SOURCE, Relay
from roamcast.protocols.roam.frames import IdList, Missing, Summary, Wanted, conditions
from roamcast.protocols.roam.haste import Haste
from roamcast.protocols.roam.held import HeldEvents
from roamcast.protocols.roam.known import DELIVERED, NONE, OWN
from roamcast.protocols.roam.lists import Lists
from roamcast.protocols.roam.nearness import Nearness
from roamcast.protocols.roam.neighbours import Neighbours
from roamcast.protocols.roam.offers import Offers
from roamcast.protocols.roam.pace import CHANCES, Pace, RoamParams
from roamcast.protocols.roam.trickle import MODERATE, Trickle
from roamcast.protocols.roam.wants import Wants
from roamcast.pubsub.event import LOCAL, Event
from roamcast.pubsub.filters import Filter

FEW: Final = reason("forward", "few copies", "{event} was heard only {value} times")
MANY: Final = reason("suppress", "many copies", "{event} was heard {value} times")
THIN: Final = reason("suppress", "little effort", "{event} is left to others")
TURN: Final = reason("forward", "relay", "{event} from {peer} waits for its turn among the relays")
OLD: Final = reason("suppress", "old", "{event} came late from {peer}: summaries will show who else lacks it")
MUTE: Final = reason("suppress", "mute", "this node relays nothing")
NOT_DRAWN: Final = reason("suppress", "not drawn", "the draw was against {event}")
FULL: Final = no_room("no room", "{event} made room: its publisher has most events here, and this is the oldest")

SUMMARY: Final = -1
LIST: Final = -2
PUSH: Final = -3
"""Timers; those that are not negative belong to events that wait to be forwarded."""

RELAYING: Final = 1024
"""How many relays a node remembers."""
LOOKED_AT: Final = 1024


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
    frames: ClassVar[tuple[type[Frame], ...]] = (EventFrame, Summary, IdList, Missing, Wanted)

    def __init__(self, host: Host, params: RoamParams) -> None:
        super().__init__(host, params, 0)
        self.params = params
        self.pace = Pace(host, params)
        self.table = HeldEvents(
            params.store, params.store_kib << 10, params.seen_limit, self.pace.young_us, self.pace.left_us
        )
        self.trickle = Trickle(host, SUMMARY, self.pace.shortest_us, self.pace.longest_us, params.enough)
        urgent_us = CHANCES * self.pace.usual_us if params.urgent and not self.pace.choosy else 0
        self.haste = Haste(self.pace.young_us + self.pace.left_us, urgent_us)
        self.ordered = host.echo_us(0) > 0  # whether the medium orders relays (M12)
        self.relaying: OrderedDict[int, Copies] = OrderedDict()  # events that wait for the medium, or did lately
        self.role = host.role()
        self.echoes = Echoes(host, params.retries)
        self.nearness = Nearness(host)
        self.neighbours = Neighbours(self.pace.gone_us, params.compared)
        self.lists = Lists(host, LIST, params, self.pace, self.table, self.neighbours)
        self.offers = Offers(host, PUSH, params, self.pace, self.table, self.neighbours)
        self.wants = Wants(host, SUMMARY, params, self.pace, self.table, self.subscriptions)

    # ---- what the host calls

    def on_start(self) -> None:
        """Timers do not survive a crash; tables may."""
        super().on_start()
        self.lists.clear()
        self.lists.differences.clear()
        self.offers.clear()
        self.neighbours.clear()
        for own in self.echoes.own.values():
            self.host.set_timer(own.event.id, self.echo_us(own.event))
        if self.pace.choosy:
            self.wants.start()
        else:
            self.trickle.start()

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        super().on_subscribe(subscription, filter)
        self.catch_up()
        if self.pace.choosy:
            self.wants.start()
        known = self.table.known
        for place in known.oldest_first():  # M6
            event = known.events[place]
            if event is not None and not known.has(place, OWN | DELIVERED) and filter.matches(event):
                known.mark(place, DELIVERED, True)
                self.host.deliver(event)

    def on_unsubscribe(self, subscription: int) -> None:
        super().on_unsubscribe(subscription)
        if self.pace.choosy:
            self.wants.start()

    def on_publish(self, event: Event) -> None:
        if self.table.is_held(event.id):
            return
        hops = self.hops(event)
        if self.ordered and self.params.retries and hops != 1:  # M16
            self.echoes.publish(event, self.echo_us(event))
        else:
            self.host.mute(event.id)
        if event.scope == LOCAL:  # M7
            self.remember(event.id)
        else:
            self.hold(event, 0, OWN)
        self.host.note(SOURCE, event.id)
        self.host.broadcast(EventFrame(event, hops, 0))

    def on_publish_again(self, event: Event) -> None:
        """M8"""
        if event.scope != LOCAL and not self.table.is_held(event.id):
            self.host.mute(event.id)
            self.hold(event, 0, OWN)

    def on_frame(self, frame: Frame, sender: int) -> None:
        self.meet(sender)
        if isinstance(frame, EventFrame):
            self.receive(frame, sender, False)
            return
        self.catch_up()
        if isinstance(frame, Summary):
            self.compare(frame, sender)
        elif isinstance(frame, IdList):
            self.receive_list(frame, sender)
        elif isinstance(frame, Wanted):
            self.serve(frame, sender)
        elif isinstance(frame, Missing):
            self.lists.repaired()
            for each in frame.carried:
                self.receive(each, sender, True)

    def on_timer(self, key: int) -> None:
        if key >= 0:
            if self.ordered and key in self.echoes.own:
                self.send_again(self.echoes.own[key].event)
            else:
                self.forward(key)
            return
        self.catch_up()
        if key == SUMMARY:
            self.speak()
        elif self.is_busy():  # M12
            self.lists.clear()
            self.offers.clear()
        elif key == LIST:
            self.lists.send()
        else:
            self.offers.send()

    # ---- flood

    def receive(self, frame: EventFrame, sender: int, late: bool) -> None:
        event = frame.event
        self.offers.heard(event.id, sender)
        if self.table.has_seen(event.id):
            self.heard_again(event.id, sender)
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
            self.hold(event, frame.age_us, OWN if own else DELIVERED if wanted else 0)
        if wanted:
            self.host.deliver(event)
            self.wants.served = self.wants.served or late
        self.pass_on(frame, sender, late)

    def pass_on(self, frame: EventFrame, sender: int, late: bool) -> None:
        """Forward a new event after a delay, unless it has gone far enough or is too old."""
        if frame.event.scope == LOCAL and not 0 < frame.ttl <= self.params.local_hops:
            frame = EventFrame(frame.event, self.params.local_hops, frame.age_us)
        if frame.ttl == 1:
            self.host.note(EXHAUSTED, frame.id, sender)
        elif late and not self.pace.floods(frame.age_us, frame.event.validity_us):  # M4, M18
            self.host.note(OLD, frame.event.id, sender)
        elif self.params.p < 1.0 and self.host.random() >= self.params.p:
            self.host.note(NOT_DRAWN, frame.event.id, sender)
        elif not self.ordered:
            self.wait(frame, self.delay(frame))
        elif self.is_left_out(frame.event):  # M15
            self.host.note(THIN, frame.event.id, sender)
        else:  # M12
            self.relay(frame, sender)

    def delay(self, frame: EventFrame) -> int:
        """Random, and shorter for who is far from the sender and covers more new ground (M14)."""
        share = self.host.random()
        near = self.nearness.of_sender()
        if not isnan(near):
            share += self.params.signal * (near - share)
        return int(share * self.pace.delay_us(frame.size, self.neighbours.count(self.host.now())))

    def relay(self, frame: EventFrame, sender: int) -> None:
        """Leave it to the medium which of the neighbours is first, and take it back if others were (M12, M16)."""
        if self.role == "mute":
            self.host.note(MUTE, frame.event.id, sender)
            return
        eager = self.role in EAGER
        self.relaying[frame.event.id] = Copies(self.pace.copies(frame.event) + (1 if eager else 0))
        if len(self.relaying) > RELAYING:
            self.relaying.popitem(last=False)
        self.host.note(TURN, frame.event.id, sender)
        self.host.relay(EventFrame(frame.event, max(0, frame.ttl - 1), frame.age_us), eager)

    def hops(self, event: Event) -> int:
        """How far an event may go; 0 means any number of hops (M7)."""
        return self.params.local_hops if event.scope == LOCAL else 0

    def echo_us(self, event: Event) -> int:
        """How long a publisher waits for a relay, and a little longer for a medium in use."""
        return self.host.echo_us(EventFrame(event, 0, 0).size) + round(RETRY_S * 1e6)

    def send_again(self, event: Event) -> None:
        age_us = self.echoes.age_us(event.id)
        if age_us != NO_AGE:
            self.host.broadcast(EventFrame(event, self.hops(event), age_us))
            self.host.set_timer(event.id, self.echo_us(event))

    def heard_again(self, id: int, sender: int) -> None:
        """A copy comes while a relay waits for the medium, or after it was sent."""
        if not self.ordered:
            return
        if id in self.echoes.own:
            self.echoes.relayed(id, sender)
            return
        copies = self.relaying.get(id)
        if copies is None:
            return
        copies.heard += 1
        if copies.heard >= copies.enough:
            del self.relaying[id]
            if self.host.withdraw(id):
                self.host.note(MANY, id, value=copies.heard)

    def forward(self, key: int) -> None:
        waited, since_us = self.take(key)
        heard = 1 + self.host.heard(key)
        if heard >= self.pace.copies(waited.event):
            self.host.note(MANY, key, value=heard)
            return
        frame = self.aged(waited, since_us)
        if frame is None:
            return
        if self.is_left_out(frame.event):  # M15
            self.host.note(THIN, key)
        else:
            self.host.note(FEW, key, value=heard)
            self.host.broadcast(frame)

    def is_left_out(self, event: Event) -> bool:
        """Whether the draw is against an event; there are two draws if a neighbour wants it (M15)."""
        likely = self.pace.likely
        if likely == 1.0 or self.host.random() < likely:
            return False
        return not (self.neighbours.want(event, self.host.now()) and self.host.random() < likely)

    # ---- carry

    def hold(self, event: Event, age_us: int, marks: i64) -> None:
        if self.table.is_full():
            self.catch_up()
        born_us = self.host.now() - age_us
        place = self.table.add(event, born_us, marks)
        now_us = self.host.now()
        if self.haste.add(event.validity_us, born_us + event.validity_us, now_us):
            self.trickle.hurry(self.pace.limit_us(self.haste.shortest_us(now_us)))
        if self.pace.choosy:
            self.wants.judge(place)
        if self.table.lacks_room():
            for id in self.table.make_room():
                self.host.note(FULL, id)
            self.unmute_forgotten()

    def remember(self, id: int) -> None:
        self.table.remember(id)
        self.unmute_forgotten()

    def unmute_forgotten(self) -> None:
        if not self.table.forgotten:
            return
        for id in self.table.take_forgotten():
            self.host.unmute(id)

    def catch_up(self) -> None:
        """Before events are compared, or make room: which of them have expired by now?"""
        self.table.advance(self.host.now())
        self.unmute_forgotten()

    # ---- compare

    def meet(self, sender: int) -> None:
        if self.neighbours.meet(sender, self.host.now()):
            self.lists.differences.clear()  # it may be what a list was about

    def speak(self) -> None:
        """If it is time to, send a summary of what is known (M3), or what this node wants (M15)."""
        now_us = self.host.now()
        neighbours = self.neighbours.count(now_us) if self.params.crowd else MODERATE
        self.trickle.follow(neighbours, self.pace.limit_us(self.haste.shortest_us(now_us)))
        due = self.wants.is_due() if self.pace.choosy else self.trickle.fired() and len(self.table.known) > 0
        if not due or self.is_busy():
            return
        window = self.table.window(now_us)
        summary = self.lists.summary(window)
        if self.pace.choosy:
            for frame in self.wants.ask(window, summary):
                self.host.broadcast(frame)
        else:
            self.host.broadcast(summary)

    def compare(self, summary: Summary, sender: int) -> None:
        """If a neighbour's summary differs from one's own, the event that it lacks is sent, or a list is due."""
        window = self.lists.window_of(summary)
        if self.is_busy() or not self.has_time(sender, self.table.looked_at(window)):
            return
        count, digest = self.table.summary(window)
        digest ^= summary.digest  # of the ids that one of the two nodes knows and the other one does not
        if count == summary.count and digest == 0:
            self.trickle.agree()
            return
        single = self.table.held_by_digest(digest, window) if count == summary.count + 1 else NONE
        if self.params.singles and single != NONE:  # M11
            self.offers.add([int(single)], sender)
            return
        if self.pace.choosy and count <= summary.count:
            self.ask_soon()
            return
        if digest not in self.lists.differences:
            self.trickle.differ()
        else:
            self.trickle.agree()  # it has been listed
        if not self.lists.is_paused(digest):
            self.lists.answer(summary, window)

    # ---- repair

    def receive_list(self, frame: IdList, sender: int) -> None:
        window = self.lists.window_of(frame.summary)
        ids = self.table.looked_at(window) + self.table.known.count(frame.low, frame.high) + len(frame.runs)
        if self.is_busy() or not self.has_time(sender, ids):
            return
        if self.lists.agrees(frame.summary, window):
            self.trickle.agree()
            self.lists.leave_out()
            return
        self.lists.give_way()
        lacked, all_known = self.table.known.lacking(frame.ranges(), frame.low, frame.high, window)
        if not all_known and self.is_news(frame):
            self.compare(frame.summary, sender)
        self.offers.add(lacked, sender)

    def serve(self, frame: Wanted, sender: int) -> None:
        """Send a neighbour what it wants and does not know (M15)."""
        has, known = frame.list, self.table.known
        window = self.lists.window_of(has.summary)
        ids = self.table.looked_at(window) + len(has.runs) + known.count(has.low, has.high)
        if self.is_busy() or not self.has_time(sender, ids):
            return
        lacked, all_known = known.lacking(has.ranges(), has.low, has.high, window)
        each = conditions(frame.predicate)
        lacked = lacked[: self.neighbours.share // each]
        self.neighbours.charge(sender, each * len(lacked))
        self.offers.add(self.wants.wanted_by(frame.predicate, lacked), sender)
        if self.pace.choosy:
            self.neighbours.wants(sender, frame.predicate, frame.size, self.host.now())
        if all_known or not self.is_news(has):
            return
        if self.pace.choosy:
            self.ask_soon()
        elif not self.lists.is_paused(self.table.summary(window)[1]):
            self.lists.answer(has.summary, window)

    def ask_soon(self) -> None:
        self.wants.soon(self.pace.answer_delay(self.neighbours.count(self.host.now())))

    def is_busy(self) -> bool:
        """Whether the medium is needed for the flood (M12)."""
        return self.host.busy() > self.params.busy

    def has_time(self, sender: int, ids: int) -> bool:
        return self.neighbours.has_time(sender, ids, self.host.now())

    def is_news(self, frame: IdList) -> bool:
        """Whether a list has ids that were never seen here; the first one decides. After `LOOKED_AT` ids that are known
        no longer, it may have."""
        looked_at = 0
        ranges = self.table.known.incomplete(frame.ranges())
        for at in range(0, len(ranges), 2):
            for id in range(int(ranges[at]), int(ranges[at + 1]) + 1):
                looked_at += 1
                if not self.table.has_seen(id) or looked_at > LOOKED_AT:
                    return True
        return False

    def memory(self) -> tuple[int, int]:
        """Known events with 24 bytes each, their contents, and neighbours."""
        return (
            len(self.table.known) + len(self.neighbours.here),
            self.table.bytes + 24 * len(self.table.known) + self.neighbours.memory_bytes(),
        )
