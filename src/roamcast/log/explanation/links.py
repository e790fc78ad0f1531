"""Which nodes heard each other, and when, as far as the log knows: frames that one received, lost or overheard.

A link counts in both directions, because a node that sends nothing can still hear. Two nodes without any frame between
them have no link, however close they were.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Any, Final, NamedTuple

from roamcast.log.explanation.select import Columns
from roamcast.log.explanation.spread import AT_SENDER

SMALL: Final = 1 << 16
"""numpy sorts numbers below this one several times faster."""


class Meeting(NamedTuple):
    """The frames between two nodes that are next to a point in time; None if there is none."""

    before_us: int | None
    after_us: int | None


class Links:
    def __init__(self, columns: Columns) -> None:
        import numpy as np

        at_radio = columns.are(("receive", "lose", "overhear")) & (columns["peer"] >= 0)
        at_sender = columns.are(("lose",)) & columns.have_reason(AT_SENDER)
        heard = np.flatnonzero(at_radio & ~at_sender)
        node, peer, t = (columns[name][heard] for name in ("node", "peer", "t"))
        ends = np.stack([node, peer], axis=1).ravel()
        others = np.stack([peer, node], axis=1).ravel()
        is_small = not len(ends) or ends.max() < SMALL
        order = np.argsort(ends.astype(np.uint16) if is_small else ends, kind="stable")  # stable: by time at each node
        nodes, starts = np.unique(ends[order], return_index=True)
        pieces = zip(np.split(others[order], starts[1:]), np.split(np.repeat(t, 2)[order], starts[1:]), strict=True)
        self._frames: dict[int, tuple[Any, Any]] = dict(zip(nodes.tolist(), pieces, strict=False))
        """Of each node, for each frame between it and another: the other node, and when, ascending."""
        self._none = others[:0], t[:0]

    def neighbours(self, node: int, from_us: int, until_us: int) -> list[int]:
        """The nodes with a frame between them and `node` in this time, ascending."""
        others, times = self._frames_of(node)
        first, last = times.searchsorted(from_us), times.searchsorted(until_us, "right")
        return sorted(set(others[first:last].tolist()))

    def all_neighbours(self, node: int) -> list[int]:
        return sorted(set(self._frames_of(node)[0].tolist()))

    def meeting(self, node: int, other: int, t_us: int) -> Meeting:
        others, times = self._frames_of(node)
        shared = times[others == other]
        place = int(shared.searchsorted(t_us))
        before = int(shared[place - 1]) if place else None
        return Meeting(before, int(shared[place]) if place < len(shared) else None)

    def path(
        self, node: int, targets: Container[int], avoided: Container[int], from_us: int, until_us: int
    ) -> tuple[list[int], int]:
        """The shortest path over the links of this time to one of `targets`, both ends included; empty without one.

        It does not go over `avoided` nodes. Second, how many nodes were looked at: without a path, those that are
        connected with `node`.
        """
        came_from = {node: node}
        waiting = deque([node])
        while waiting:
            current = waiting.popleft()
            if current in targets:
                path = [current]
                while path[-1] != node:
                    path.append(came_from[path[-1]])
                return path[::-1], len(came_from)
            for other in self.neighbours(current, from_us, until_us):
                if other not in came_from and other not in avoided:
                    came_from[other] = current
                    waiting.append(other)
        return [], len(came_from)

    def _frames_of(self, node: int) -> tuple[Any, Any]:
        return self._frames.get(node, self._none)
