"""When a node waits for its disk: what each choice promises, and what it gives up.

each    An event is on disk before `publish` returns, and a received event before an application gets it. So is the
        cursor of a subscription with a name, for each event: none is handed over twice, whatever happens.
group   The same for events. Cursors of subscriptions with a name are stored in groups, soon after their events were
        handed over. Given up: if the node is killed or the power fails, such a subscription may get up to
        `CURSOR_GROUP` of its last events again. An application that needs each event once compares `position`.
none    As `group`, and nothing waits for the disk, except the numbers that must never be used twice. Given up: if
        the power fails, events of the last seconds are lost, also acknowledged ones. A node that is killed (or
        whose program crashes) loses nothing, because the system has the data.
"""

from __future__ import annotations

from typing import Final, Literal

Durability = Literal["each", "group", "none"]
CURSOR_GROUP: Final = 256


def cursor_each(durability: Durability) -> int:
    """Every how many events a subscription waits until its cursor is on disk."""
    return 1 if durability == "each" else CURSOR_GROUP


def waits(durability: Durability) -> bool:
    """Whether commits wait for the disk."""
    return durability != "none"
