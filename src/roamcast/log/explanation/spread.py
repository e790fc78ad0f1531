"""How one event went from node to node, from the rows about it and about the frames that carried it."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from roamcast.log.explanation.select import DECISION_KINDS
from roamcast.log.interest import PublishedEvent
from roamcast.log.reader import LogRow
from roamcast.pubsub.event import FOREVER

AT_SENDER: Final = ("queue", "no-ack")
"""Reasons of `lose` rows that are about the sender's own frame."""
NEVER_US: Final = 1 << 62


class Spread:
    def __init__(
        self, event: int, published: PublishedEvent | None, rows: list[LogRow], has_hearers: bool = True
    ) -> None:
        """`has_hearers` is False for the log of a single node, which cannot know where its frames arrived."""
        self.event = event
        self.published = published
        self.has_hearers = has_hearers
        self.rows_at: dict[int, list[LogRow]] = {}
        self.had_us: dict[int, int] = {}
        """When each node had it first: it published, received or delivered it."""
        self.came_from: dict[int, int] = {}
        """The sender of the first copy that a node received."""
        self.delivered_us: dict[int, int] = {}
        self.addressees: dict[int, int] = {}
        """By frame: the node it was sent to, or -1 for all in range."""
        self.hearers: dict[int, list[int]] = {}
        """By frame: the nodes that received it."""
        self.losers: dict[int, list[tuple[int, str]]] = {}
        """By frame: the nodes that lost it, and why."""
        self.colliding: dict[int, list[int]] = {}
        """By frame that the node in question lost in a collision: senders of frames that were on the air then."""
        for row in rows:
            self._take(row)

    def _take(self, row: LogRow) -> None:
        if row.kind == "receive" and row.event != self.event:  # another event in the same frame
            return
        self.rows_at.setdefault(row.node, []).append(row)
        if row.kind == "publish":
            self.had_us.setdefault(row.node, row.t)
        elif row.kind == "send":
            self.addressees[row.frame] = row.peer
        elif row.kind == "receive":
            if row.node not in self.had_us:
                self.had_us[row.node] = row.t
                self.came_from[row.node] = row.peer
            self.hearers.setdefault(row.frame, []).append(row.node)
        elif row.kind == "deliver":
            self.had_us.setdefault(row.node, row.t)
            self.delivered_us.setdefault(row.node, row.t)
        elif row.kind == "lose" and row.reason not in AT_SENDER:
            self.losers.setdefault(row.frame, []).append((row.node, row.reason))

    @property
    def publisher(self) -> int:
        return self.event >> 32

    @cached_property
    def begins_us(self) -> int:
        """Its publication, or the first row about it if the log has no publish row."""
        if self.published is not None:
            return self.published.t_us
        return min((rows[0].t for rows in self.rows_at.values()), default=0)

    @property
    def expires_us(self) -> int:
        if self.published is None or self.published.event.validity_us >= FOREVER:
            return NEVER_US
        return self.published.t_us + self.published.event.validity_us

    @cached_property
    def busy_until_us(self) -> int:
        """The last row about it."""
        return max((rows[-1].t for rows in self.rows_at.values()), default=self.begins_us)

    def at(self, node: int, *kinds: str) -> list[LogRow]:
        return [row for row in self.rows_at.get(node, []) if row.kind in kinds]

    def sends(self, node: int) -> list[LogRow]:
        return self.at(node, "send")

    def decisions(self, node: int) -> list[LogRow]:
        return self.at(node, *DECISION_KINDS)

    def given_up(self, node: int) -> list[LogRow]:
        """Frames that `node` did not get rid of."""
        return [row for row in self.at(node, "lose") if row.reason in AT_SENDER]

    def lost(self, node: int) -> list[LogRow]:
        """Frames for `node`, or for all in range, that its radio lost."""
        return [
            row
            for row in self.at(node, "lose")
            if row.reason not in AT_SENDER and self.addressees.get(row.frame, -1) in (-1, node)
        ]

    def way_to(self, node: int) -> list[int]:
        """The nodes that brought the first copy here, from the publisher, or as far back as the log knows."""
        way = [node]
        while way[-1] in self.came_from and self.came_from[way[-1]] not in way:
            way.append(self.came_from[way[-1]])
        return way[::-1]
