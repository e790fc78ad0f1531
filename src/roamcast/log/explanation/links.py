"""Which nodes heard each other, and when, as far as the log knows: frames that one received, lost or overheard.

A link counts in both directions, because a node that sends nothing can still hear. Two nodes without any frame between
them have no link, however close they were.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from roamcast.log.explanation.select import of_kinds


class Meeting(NamedTuple):
    """The frames between two nodes that are next to a point in time; None if there is none."""

    before_us: int | None
    after_us: int | None


class Links:
    def __init__(self, table: Any) -> None:
        import numpy as np

        heard = of_kinds(table, ("receive", "lose", "overhear"))
        node, peer, t = (heard[name].to_numpy() for name in ("node", "peer", "t"))
        known = peer >= 0
        ends = np.concatenate([node[known], peer[known]])
        order = np.argsort(ends, kind="stable")
        self._nodes = ends[order]
        self._peers = np.concatenate([peer[known], node[known]])[order]
        self._times = np.concatenate([t[known], t[known]])[order]
        self._of: dict[int, dict[int, Any]] = {}

    def of(self, node: int) -> dict[int, Any]:
        """For each node that `node` has a link with: the times of frames between them, ascending."""
        import numpy as np

        if node not in self._of:
            first, last = np.searchsorted(self._nodes, [node, node + 1])
            peers, times = self._peers[first:last], self._times[first:last]
            by_peer = np.lexsort((times, peers))
            peers, times = peers[by_peer], times[by_peer]
            places = np.flatnonzero(np.diff(peers)) + 1
            starts = [0, *places.tolist()] if len(peers) else []
            pieces = np.split(times, places) if len(peers) else []
            self._of[node] = {int(peers[k]): piece for k, piece in zip(starts, pieces, strict=True)}
        return self._of[node]

    def meeting(self, node: int, peer: int, t_us: int) -> Meeting:
        times = self.of(node).get(peer)
        if times is None:
            return Meeting(None, None)
        place = int(times.searchsorted(t_us))
        before = int(times[place - 1]) if place else None
        return Meeting(before, int(times[place]) if place < len(times) else None)

    def neighbours(self, node: int, from_us: int, until_us: int) -> list[int]:
        """The nodes with a frame between them and `node` in this time."""
        return [
            peer
            for peer, times in self.of(node).items()
            if int(times.searchsorted(until_us, "right")) > int(times.searchsorted(from_us))
        ]

    def path_to_nearest(self, node: int, targets: set[int], from_us: int, until_us: int) -> list[int]:
        """The shortest path over the links of this time to one of `targets`, both ends included; empty without one."""
        came_from = {node: node}
        waiting = deque([node])
        while waiting:
            current = waiting.popleft()
            if current in targets:
                path = [current]
                while path[-1] != node:
                    path.append(came_from[path[-1]])
                return path[::-1]
            for peer in self.neighbours(current, from_us, until_us):
                if peer not in came_from:
                    came_from[peer] = current
                    waiting.append(peer)
        return []
