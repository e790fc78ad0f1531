"""What could have been delivered: an ideal flood after the run, over the same contacts (journeys.py).

It goes through a copy of the contacts: streams are named, so the same nodes meet at the same times. Only links over
which frames can be decoded count, whatever the carrier-sense range. The result may be too high, never too low: it uses
the longest range that a frame can draw and the best shadowing (except between LoRa nodes that stand, where each link is
known), and leaves out random losses and partitions. It is about events while they are valid. A run can deliver a few
later than that: a frame says how old its event was when the MAC took it, and the frame of a node that falls asleep
waits there until the node wakes.

There are two ways, with the same results: over all contacts (journeys.py), or, where that is less work, by looking who
is in reach when an event is published (outlook.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mypy_extensions import i64

from roamcast.world.contacts.neighbourhood import Neighbourhood
from roamcast.world.journeys import Journeys
from roamcast.world.outlook import GIVEN_UP, Outlook

AHEAD: Final = 0.05  # the share of its work that may be done before its time
ENDLESS: Final = 1e18  # more work than anybody can do, and no more than an i64 can hold


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
    flood = Journeys(motion)
    faults = iter(switches)
    fault = next(faults, None)
    for event, (t, node, expires, _) in enumerate(publications):
        while fault is not None and fault[0] <= t:
            _switch(motion, flood, fault)
            fault = next(faults, None)
        _advance(motion, t)
        flood.publish(t, node, event, expires)
    while fault is not None and not flood.is_over():
        _switch(motion, flood, fault)
        fault = next(faults, None)
    while motion.next <= until / 1e6 and not flood.is_over():
        motion.advance(motion.next)
    motion.observer = None
    return _count(flood, nodes, publications)


def possible_pairs_at_once(
    outlook: Outlook,
    work: float,
    contacts: Callable[[float], Neighbourhood],
    nodes: int,
    publications: list[tuple[int, int, int, list[int]]],
    until: int,
) -> int:
    """The same for nodes that walk and never go off. If events turn out to need more `work` (nodes looked at) than
    foreseeing all contacts would, the remaining ones go through `contacts` from a time on."""
    count = 0
    outlook.most = i64(min((1.0 + AHEAD) * work, ENDLESS))
    for event, (t, publisher, expires, interested) in enumerate(publications):
        delivered = GIVEN_UP
        if float(outlook.looked) <= work * (AHEAD + event / len(publications)):
            delivered = outlook.delivered(t, publisher, min(expires, until), interested)
        if delivered == GIVEN_UP:
            outlook.forget()
            return count + possible_pairs(contacts(t / 1e6), nodes, publications[event:], [], until)
        count += delivered
    return count


def _count(flood: Journeys, nodes: int, publications: list[tuple[int, int, int, list[int]]]) -> int:
    """A publisher has its own event; that is not a delivery."""
    width = len(publications) // 8 + 1
    reached = [flood.reached(node).to_bytes(width, "little") for node in range(nodes)]
    count: i64 = 0
    for event, (_, publisher, _, interested) in enumerate(publications):
        place = event >> 3
        bit = 1 << (event & 7)
        for node in interested:
            if reached[node][place] & bit and node != publisher:
                count += 1
    return count


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
