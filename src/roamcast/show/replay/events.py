"""How each event spread, which nodes wanted it, and why some of them never got it, as tables for the page.

events   one entry each: name, publisher, publication, content, how many nodes of the log wanted it and got
         it, and how many of these the page does not have
copies   a row for each node that had an event: when, from which node, when it was delivered
pairs    a row for each node that was interested in an event or delivered it: status, cause, summary
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from roamcast.log.explanation import words
from roamcast.log.explanation.answers import Answers
from roamcast.log.explanation.pair import about, network
from roamcast.log.explanation.spread import Spread
from roamcast.show.replay.packed import Column

STATUSES: Final = ("missed", "got", "published", "not counted", "received", "not interested")
MOST_REASONS: Final = 2_000
"""Ours: each takes some milliseconds to find out."""
ASK: Final = "not worked out on this page"


class Texts:
    """Every text once."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {"": 0}

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))

    def listed(self) -> list[str]:
        return list(self.places)


class EventTables(NamedTuple):
    events: list[dict[str, Any]]
    copies: list[Column]
    pairs: list[Column]


def event_tables(
    answers: Answers, spreads: Sequence[Spread], index: dict[int, int], begin_us: int, texts: Texts
) -> EventTables:
    """`index` has the place of each node in the page's list."""
    copies: list[tuple[int, ...]] = []
    pairs: list[tuple[int, ...]] = []
    reasons = 0
    for k, spread in enumerate(spreads):
        copies += [(k, *copy) for copy in _copies(spread, index, begin_us)]
        for node in _concerned(spread, index):
            is_missed = spread.published is not None and node not in spread.delivered_us
            if is_missed and reasons >= MOST_REASONS:
                status, cause, summary = "missed", ASK, ""
            else:
                status, cause, summary = answers.in_short(spread, node)
            reasons += is_missed
            line = texts.place(cause), texts.place(summary if status == "missed" else "")
            pairs.append((k, index[node], STATUSES.index(status), *line))
    names = ("event", "node", "t", "source", "delivered"), ("event", "node", "status", "cause", "summary")
    return EventTables(
        [_event(spread, index, begin_us) for spread in spreads], _table(names[0], copies), _table(names[1], pairs)
    )


def _event(spread: Spread, index: dict[int, int], begin_us: int) -> dict[str, Any]:
    published = spread.published
    return {
        "name": words.event_name(spread.event),
        "publisher": spread.publisher,
        "t": spread.begins_us - begin_us,
        "is_published": published is not None,
        "content": words.content(published.event) if published else "not in the log",
        "interested": len(published.interested) if published else -1,
        "got": len(published.interested & set(spread.delivered_us)) if published else len(spread.delivered_us),
        "elsewhere": len(_all_concerned(spread) - index.keys()),
        "about": about(spread),
        "network": network(spread),
    }


def _copies(spread: Spread, index: dict[int, int], begin_us: int) -> list[tuple[int, ...]]:
    """Node, time, source and delivery, in order of time; of the last two, 0 is none."""
    return [
        (index[node], t - begin_us, _source(spread, node, index), _delivered(spread, node, begin_us))
        for node, t in sorted(spread.had_us.items(), key=lambda entry: (entry[1], entry[0]))
        if node in index
    ]


def _source(spread: Spread, node: int, index: dict[int, int]) -> int:
    return index.get(spread.came_from.get(node, -1), -1) + 1


def _delivered(spread: Spread, node: int, begin_us: int) -> int:
    t = spread.delivered_us.get(node)
    return 0 if t is None else t - begin_us + 1


def _concerned(spread: Spread, index: dict[int, int]) -> list[int]:
    return sorted(_all_concerned(spread) & index.keys())


def _all_concerned(spread: Spread) -> set[int]:
    interested = spread.published.interested if spread.published else set()
    return interested | set(spread.delivered_us)


def _table(names: Sequence[str], rows: list[tuple[int, ...]]) -> list[Column]:
    import numpy as np

    values = np.array(rows, np.int64).reshape(-1, len(names))
    return [Column(name, values[:, k], name == "event") for k, name in enumerate(names)]
