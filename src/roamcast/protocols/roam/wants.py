"""Little effort: who wants events asks for them (M15).

A node that spends little does not bring every event to every node. The flood reaches some of them, and at long
intervals each node with subscriptions says what it wants, and which of these events it knows. Neighbours that hold
others send them. If that brought nothing, the next interval is twice as long. A node that knows no event asks once when
it starts or subscribes, and then when it hears of an event.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from roamcast.protocols.kit.interface import Host
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.protocols.kit.wire import measure
from roamcast.protocols.roam.frames import CONDITIONS, Summary, Wanted, conditions, id_lists
from roamcast.protocols.roam.held import HeldEvents
from roamcast.protocols.roam.known import WANTED, Window
from roamcast.protocols.roam.pace import Pace, RoamParams
from roamcast.pubsub.covering import summarise
from roamcast.pubsub.filters import EVERYTHING, Filter

ALTERNATIVES: Final = (8, 4, 2, 1)
"""How many of them a predicate may have, if the ones before make it too long."""
DOUBLINGS: Final = 2
"""How often an interval doubles at most."""
NEVER: Final = -(1 << 60)


@final
class Wants:
    """Uses the host's timer `key`; whoever owns it calls `is_due` when that one expires."""

    def __init__(
        self, host: Host, key: int, params: RoamParams, pace: Pace, table: HeldEvents, subscriptions: Subscriptions
    ) -> None:
        self.host = host
        self.key = key
        self.params = params
        self.pace = pace
        self.table = table
        self.subscriptions = subscriptions
        self.predicate: Filter | None = None  # all subscriptions in one; None: they have changed since
        self.interval_us = pace.want_us
        self.served = True  # whether it was worth asking the last time
        self.news = True  # whether there is a reason to ask even if no event is known
        self.asked_us = NEVER
        self.turn = 0  # of frames that do not fit into one burst

    def start(self) -> None:
        """The node starts, or its subscriptions have changed."""
        self.predicate = None
        self.interval_us = self.pace.want_us
        self.served = self.news = True
        self.host.set_timer(self.key, int(self.host.random() * self.pace.want_us))

    def judge(self, place: i64) -> None:
        """An event whose content is gone counts as wanted, so that nobody sends it again."""
        event, predicate = self.table.known.events[place], self.predicate
        if predicate is not None:
            self.table.known.mark(place, WANTED, event is None or predicate.matches(event))

    def soon(self, delay_us: int) -> None:
        """A neighbour knows an event that is not known here: ask for it, unless that was done lately."""
        now_us = self.host.now()
        lately_us = self.interval_us if len(self.table.known) else self.pace.want_us
        if self.subscriptions.all and now_us >= self.asked_us + lately_us:
            self.asked_us = now_us
            self.news = True
            self.host.set_timer(self.key, delay_us)

    def is_due(self) -> bool:
        """The timer has expired; returns whether to ask now."""
        self._wait()
        return bool(self.subscriptions.all) and (self.news or len(self.table.known) > 0)

    def ask(self, window: Window, summary: Summary) -> list[Wanted]:
        """What this node wants, and which of it it knows; of many frames a burst, and the others in their turn."""
        longest_us = self.pace.want_us << DOUBLINGS
        self.interval_us = self.pace.want_us if self.served else min(2 * self.interval_us, longest_us)
        self.served = self.news = False
        self.asked_us = self.host.now()
        self._wait()
        predicate = self._predicate()
        ids = self.table.known.within(window, WANTED)
        lists = id_lists(ids, summary, self.params.frame_limit - measure(predicate.fields()))
        burst = min(self.params.burst, len(lists))
        frames = [Wanted(predicate, lists[(self.turn + k) % len(lists)]) for k in range(burst)]
        self.turn = (self.turn + burst) % len(lists)
        return frames

    def wanted_by(self, predicate: Filter, ids: list[int]) -> list[int]:
        """Those of the events held here that a neighbour wants."""
        known = self.table.known
        wanted: list[int] = []
        for id in ids:
            event = known.events[known.place(id)]
            if event is not None and predicate.matches(event):
                wanted.append(id)
        return wanted

    def _wait(self) -> None:
        self.host.set_timer(self.key, int((0.5 + self.host.random()) * self.interval_us))

    def _predicate(self) -> Filter:
        predicate = self.predicate
        if predicate is None:
            predicate = self.predicate = fitting(self.subscriptions.all, self.params.frame_limit // 2)
            for place in range(len(self.table.known)):
                self.judge(place)
        return predicate


def fitting(filters: list[Filter], most_bytes: int) -> Filter:
    """One filter that matches at least what these match, is no longer than this, and has few conditions."""
    for alternatives in ALTERNATIVES:
        predicate = summarise(filters, alternatives)
        if conditions(predicate) <= CONDITIONS and measure(predicate.fields()) <= most_bytes:
            return predicate
    return EVERYTHING
