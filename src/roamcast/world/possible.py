"""What was possible: an ideal flood beside the run, over the same contacts (log/oracle.py).

It walks through its own copy of the contacts: the streams are named, so the same nodes meet at the same instants, and
here only decodable links count, whatever the carrier-sense range. Ranges drawn per frame, shadowing, chance losses and
partitions are not in it: it is what geometry allows.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from roamcast.log.oracle import Journeys
from roamcast.pubsub.event import Event
from roamcast.world.contacts import LinkObserver, Neighbourhood


class _Links(LinkObserver):
    def __init__(self, journeys: Journeys) -> None:
        self.journeys = journeys

    def link(self, t: float, i: int, j: int, up: bool) -> None:
        self.journeys.link(t, i, j, up)


@final
class Possible:
    def __init__(self, motion: Neighbourhood, nodes: int) -> None:
        self.motion = motion
        self.journeys = Journeys(nodes)
        self.interested: list[list[int]] = []
        for i in range(nodes):
            for j in motion.near[i]:
                self.journeys.link(0.0, i, j, True)
        motion.observer = _Links(self.journeys)

    def publish(self, t: i64, node: int, event: Event, interested: list[int]) -> None:
        self.settle(t)
        self.journeys.publish(t, node, len(self.interested), t + event.validity_us)
        self.interested.append(interested)

    def switch(self, t: i64, node: int, up: bool) -> None:
        self.settle(t)
        if up:
            self.journeys.up(float(t) * 1e-6, node)
        else:
            self.journeys.down(float(t) * 1e-6, node)

    def settle(self, t: i64) -> None:
        now = float(t) * 1e-6
        if now >= self.motion.next:
            self.motion.advance(now)

    def pairs(self, until: i64) -> int:
        """How many (event, interested subscriber) pairs could have been served up to `until`."""
        self.settle(until)
        return self.journeys.count(self.interested)
