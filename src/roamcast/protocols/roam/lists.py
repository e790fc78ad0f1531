"""Summaries, and the lists of ids that follow where they differ.

A node that hears a summary that differs from its own sends the list of its ids, after a random delay. Long lists leave
in bursts, so that others get the medium in between. There is a pause between lists about the same difference (M5): the
exclusive or of two digests is the digest of what differs, so a node knows a difference again that it could not mend.

Lists take turns (M17). Many neighbours of a node may answer one list, each with many events, and most of these are news
to others as well. So a node that has sent a list lately sends no other one while such answers are on the air; it gives
way to a list of another node, unless that one has events that are not known here.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, final

from mypy_extensions import i64

from roamcast.protocols.kit.interface import Host
from roamcast.protocols.roam.frames import IdList, Summary, id_lists
from roamcast.protocols.roam.held import HeldEvents
from roamcast.protocols.roam.known import Window
from roamcast.protocols.roam.neighbours import Neighbours
from roamcast.protocols.roam.pace import BURST_SHARE, Pace, RoamParams

NOT_DUE: Final = 1 << 60
NEVER: Final = -(1 << 60)
FAR_MS: Final = 1 << 50
"""Longer than any event is valid: an edge of a window is nowhere farther away."""
AGAIN: Final = 2
"""The pause between two lists about the same difference, in shortest intervals. It does not grow: a list or its answer
may just have been lost."""
LEFT_OUT: Final = 32
"""After so many lists in a row that a node left out because another one said the same, it sends the next one, if it has
sent none for long: there may be somebody who does not hear the other node."""
DIFFERENCES: Final = 64
"""How many differences a node remembers."""


@final
class Lists:
    """Uses the host's timer `key`; whoever owns it calls `send` when that one expires."""

    def __init__(
        self, host: Host, key: int, params: RoamParams, pace: Pace, table: HeldEvents, neighbours: Neighbours
    ) -> None:
        self.host = host
        self.key = key
        self.params = params
        self.pace = pace
        self.table = table
        self.neighbours = neighbours
        self.due_us = NOT_DUE
        self.other: Summary | None = None  # the one that was heard and makes a list due
        self.other_window = Window(0, 0)
        self.left_out = 0  # lists in a row that were left out
        self.free_us = NEVER  # from when on others have had the medium for long enough
        self.left: list[IdList] = []  # lists that wait for the next burst …
        self.made_us = NEVER  # … and when they were made
        self.repaired_us = NEVER  # when a neighbour last sent events that somebody lacked
        self.differences: OrderedDict[int, int] = (
            OrderedDict()
        )  # what differed, by its digest, and when it may be listed again

    def summary(self, window: Window) -> Summary:
        count, digest = self.table.summary(window)
        now_us: i64 = self.host.now()
        return Summary(count, digest, (now_us - window.born_us) // 1000, (window.expiry_us - now_us) // 1000)

    def window_of(self, summary: Summary) -> Window:
        """The window of a neighbour's summary that has just come, by this node's clock."""
        now_us: i64 = self.host.now()
        return Window(now_us - 1000 * min(summary.age_ms, FAR_MS), now_us + 1000 * min(summary.left_ms, FAR_MS))

    def agrees(self, summary: Summary, window: Window) -> bool:
        count, digest = self.table.summary(window)
        return count == summary.count and digest == summary.digest

    def is_paused(self, digest: int) -> bool:
        """Whether the pause after the last list about this difference is not over (M5)."""
        return self.host.now() < self.differences.get(digest, NEVER)

    def answer(self, summary: Summary, window: Window) -> None:
        """Send a list after a random delay, because this summary differs. The rest of a list that is being sent is as
        good."""
        if self.left:
            return
        now_us = self.host.now()
        due_us = max(now_us + self.pace.answer_delay(self.neighbours.count(now_us)), self.free_us)
        if due_us < self.due_us:
            self.other, self.other_window = summary, window
            self.due_us = due_us
            self.host.set_timer(self.key, due_us - now_us)

    def send(self) -> None:
        """Send a burst of lists: the rest of the last ones, or all ids of a window."""
        self.due_us = NOT_DUE
        if not self.left:
            if self.is_repairing():
                return
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
            self.left_out = 0
            self.left = id_lists(self.table.known.within(window), summary, self.params.frame_limit)
            self.made_us = self.host.now()
        waited_ms = (self.host.now() - self.made_us) // 1000
        burst_us = 0
        for frame in self.left[: self.params.burst]:
            self.host.broadcast(frame.later(waited_ms))
            burst_us += self.host.airtime(frame.size)
        self.free_us = self.host.now() + BURST_SHARE * burst_us
        self.left = self.left[self.params.burst :]
        if self.left:
            self.due_us = self.host.now() + self.pace.pause_us
            self.host.set_timer(self.key, self.pace.pause_us)

    def listed(self, digest: int) -> bool:
        """Returns whether this is the first list about this difference. There is a pause before the next one (M5)."""
        is_first = self.differences.pop(digest, None) is None
        self.differences[digest] = self.host.now() + AGAIN * self.pace.shortest_us
        if len(self.differences) > DIFFERENCES:
            self.differences.popitem(last=False)
        return is_first

    def repaired(self) -> None:
        """A neighbour sends events that somebody lacked."""
        self.repaired_us = self.host.now()

    def is_repairing(self) -> bool:
        """Whether more of these may come, so that it is too soon to ask for others (M17)."""
        return self.takes_turns() and self.host.now() < self.repaired_us + self.pace.pause_us

    def give_way(self) -> None:
        """The list of a neighbour that knows other events is answered first (M17)."""
        if self.takes_turns():
            self.cancel()

    def takes_turns(self) -> bool:
        """A node that has sent no list for long does not wait."""
        return self.params.turns and self.sent_lately()

    def sent_lately(self) -> bool:
        return self.host.now() < self.made_us + self.pace.gone_us

    def leave_out(self) -> None:
        """A neighbour's list says what this node's would say."""
        if self.due_us != NOT_DUE and (self.left_out < LEFT_OUT or self.sent_lately()):
            self.left_out += 1
            self.cancel()

    def cancel(self) -> None:
        """Send no list after all, except the rest of one."""
        if self.due_us != NOT_DUE and not self.left:
            self.due_us = NOT_DUE
            self.host.cancel_timer(self.key)

    def clear(self) -> None:
        self.due_us = NOT_DUE
        self.left = []
