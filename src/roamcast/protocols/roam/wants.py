"""Little effort: who wants events asks for them (M15).

A node that spends little does not bring every event to every node. The flood reaches some of them, and at long
intervals each node with subscriptions says what it wants, and which of these events it knows. Neighbours that hold
others send them. If that brought nothing, the next interval is twice as long. A node that knows no event asks for none;
it does when it hears of one.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import Host
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.protocols.roam.frames import Summary, Wanted, id_lists
from roamcast.protocols.roam.held import HeldEvents, KnownEvent, Window
from roamcast.protocols.roam.pace import Pace
from roamcast.pubsub.covering import summarise
from roamcast.pubsub.filters import Expression, Filter

ALTERNATIVES: Final = 8
"""Of a predicate: what a node wants must fit into a frame."""
DOUBLINGS: Final = 2
"""How often an interval doubles at most."""
NEVER: Final = -(1 << 60)


@final
class Wants:
    """Uses the host's timer `key`; whoever owns it calls `frames` when that one expires."""

    def __init__(self, host: Host, key: int, pace: Pace, table: HeldEvents, frame_limit: int) -> None:
        self.host = host
        self.key = key
        self.pace = pace
        self.table = table
        self.frame_limit = frame_limit
        self.predicate: Filter | None = None  # all subscriptions here in one, or a little more than they want
        self.interval_us = pace.want_us
        self.served = False  # whether something came since this node asked
        self.heard = False  # whether a neighbour knows an event that is not known here
        self.asked_us = NEVER

    def start(self) -> None:
        self.host.set_timer(self.key, int(self.host.random() * self.pace.want_us))

    def follow(self, subscriptions: Subscriptions) -> None:
        """Subscriptions have changed."""
        self.predicate = summarise(subscriptions.all, ALTERNATIVES) if subscriptions.all else None
        for known in self.table.known.events:
            self.judge(known)

    def judge(self, known: KnownEvent) -> None:
        event = known.event
        if event is not None:
            known.wanted = self.predicate is not None and self.predicate.matches(event)

    def soon(self, delay_us: int) -> None:
        """A neighbour knows an event that is not known here: ask for it, unless that was done lately."""
        now_us = self.host.now()
        if self.predicate is not None and now_us >= self.asked_us + self.pace.want_us:
            self.asked_us = now_us
            self.heard = True
            self.host.set_timer(self.key, delay_us)

    def fired(self) -> bool:
        """The timer has expired; returns whether to ask now."""
        longest_us = self.pace.want_us << DOUBLINGS
        self.interval_us = self.pace.want_us if self.served else min(2 * self.interval_us, longest_us)
        self.served = False
        self.host.set_timer(self.key, int((0.5 + self.host.random()) * self.interval_us))
        heard, self.heard = self.heard, False
        return self.predicate is not None and (heard or bool(self.table.known))

    def frames(self, window: Window, of_window: Summary) -> list[Wanted]:
        """What this node wants, and which of it it knows."""
        predicate = self.predicate
        assert predicate is not None
        self.asked_us = self.host.now()
        known = self.table.known
        ids = [id for id in self.table.known.within(window) if known[id].wanted]
        return [Wanted(predicate, each) for each in id_lists(ids, of_window, self.frame_limit)]

    def lacked(self, frame: Wanted, window: Window) -> list[int]:
        """The events held here that a neighbour wants and does not know."""
        lacked: list[int] = []
        for low, high in frame.list.gaps():
            for id in self.table.known.held(low, high, window):
                event = self.table.known[id].event
                if event is not None and frame.predicate.matches(event):
                    lacked.append(id)
        return lacked


def conditions(filter: Filter) -> int:
    """How many conditions a match may look at."""
    return filter.leaves if isinstance(filter, Expression) else 1
