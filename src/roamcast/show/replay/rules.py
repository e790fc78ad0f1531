"""Rules of the log that the page's programs follow, too: they are written in Python alone, and sent as one JSON."""

from __future__ import annotations

import json
from typing import Any, Final

from roamcast.log import schema
from roamcast.log.explanation import words
from roamcast.log.explanation.holders import LATELY_US
from roamcast.log.explanation.select import DECISION_KINDS
from roamcast.log.explanation.spread import AT_SENDER
from roamcast.protocols.kit.echo import EAGER
from roamcast.show.replay.events import STATUSES

HUES: Final = ("blue", "sky", "pink", "orange")
"""Of frames by kind, as replay.css names them; the other colours are for deliveries and losses."""
DASHES: Final = ((), (6, 4), (2, 3))
"""Of lines, so that twelve kinds of frames differ."""


STATES: Final = ("asleep", "down")
"""Of nodes that are absent."""


def look(k: int) -> dict[str, Any]:
    """Of the k-th kind of frames: a name of a colour, and lengths of dashes."""
    return {"hue": HUES[k % len(HUES)], "dash": DASHES[k // len(HUES) % len(DASHES)]}


def rules() -> str:
    content = {
        "kinds": schema.KINDS,
        "decisions": DECISION_KINDS,
        "statuses": STATUSES,
        "states": STATES,
        "collision": schema.LOSSES[schema.COLLISION],
        "losses": {reason: words.loss(reason) for reason in schema.LOSSES},
        "at_sender": AT_SENDER,
        "lately_us": LATELY_US,
        "relays": EAGER,
        "looks": [look(k) for k in range(len(HUES) * len(DASHES))],
    }
    return json.dumps(content, separators=(",", ":"))
