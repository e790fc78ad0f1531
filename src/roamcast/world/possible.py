"""What could have been delivered: an ideal flood after the run, over the same contacts (log/oracle.py).

It goes through a copy of the contacts: streams are named, so the same nodes meet at the same times. Only links over
which frames can be decoded count, whatever the carrier-sense range. The result may be too high, never too low: it uses
the longest range that a frame can draw and the best shadowing (except between LoRa nodes that stand, where each link is
known), and leaves out random losses and partitions. It is about events while they are valid. A run can deliver a few
later than that: a frame says how old its event was when the MAC took it, and the frame of a node that falls asleep
waits there until the node wakes.
"""

from __future__ import annotations

from roamcast.log.oracle import Journeys
from roamcast.world.contacts.neighbourhood import LinkObserver, Neighbourhood


class _Links(LinkObserver):
    def __init__(self, journeys: Journeys) -> None:
        self.journeys = journeys

    def link(self, t: float, i: int, j: int, up: bool) -> None:
        self.journeys.link(t, i, j, up)


def possible_pairs(
    motion: Neighbourhood,
    nodes: int,
    publications: list[tuple[int, int, int, list[int]]],
    switches: list[tuple[int, int, bool]],
    until: int,
) -> int:
    """The number of (event, interested node) pairs that could have been delivered up to `until`.

    `publications` has (t, publisher, expiry, interested nodes) of each event, `switches` (t, node, up) of each fault,
    both in order of time, in microseconds.
    """
    flood = Journeys(nodes)
    for i in range(nodes):
        for j in motion.hearers[i]:
            flood.link(0.0, i, j, True)
    motion.observer = _Links(flood)
    faults = iter(switches)
    fault = next(faults, None)
    for event, (t, node, expires, _) in enumerate(publications):
        while fault is not None and fault[0] <= t:
            _switch(motion, flood, fault)
            fault = next(faults, None)
        _advance(motion, t)
        flood.publish(t, node, event, expires)
    while fault is not None:
        _switch(motion, flood, fault)
        fault = next(faults, None)
    _advance(motion, until)
    # an interested publisher has its own event; that is not a delivery
    own = [publisher for _, publisher, _, interested in publications if publisher in interested]
    return flood.count([interested for _, _, _, interested in publications]) - len(own)


def _switch(motion: Neighbourhood, flood: Journeys, fault: tuple[int, int, bool]) -> None:
    t, node, up = fault
    _advance(motion, t)
    if up:
        flood.up(t / 1e6, node)
    else:
        flood.down(t / 1e6, node)


def _advance(motion: Neighbourhood, t: int) -> None:
    if t / 1e6 >= motion.next:
        motion.advance(t / 1e6)
