"""Muted ids: frames with these ids are only counted, and not handed to the protocol."""

from __future__ import annotations

from collections import OrderedDict


class MutedIds:
    """At most `most` ids. When there are more, the one that was silent for longest is handed up again."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: OrderedDict[int, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counts)

    def __contains__(self, id: int) -> bool:
        return id in self._counts

    def mute(self, id: int) -> None:
        """0 is the id of frames that are never muted."""
        if id != 0 and id not in self._counts:
            self._counts[id] = 0
            if len(self._counts) > self._most:
                self._counts.popitem(last=False)

    def unmute(self, id: int) -> None:
        self._counts.pop(id, None)

    def count(self, id: int) -> bool:
        """Count one more frame with this id; False if the id is not muted."""
        if id not in self._counts:
            return False
        self._counts[id] += 1
        self._counts.move_to_end(id)
        return True

    def heard(self, id: int) -> int:
        """How many frames with this id were counted."""
        return self._counts.get(id, 0)

    def clear(self) -> None:
        self._counts.clear()
