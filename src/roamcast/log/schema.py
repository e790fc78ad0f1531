"""The schema of a log: one table, one row for each thing that happened, the same for simulated and real nodes.

    run     the run's id
    t       when, in microseconds of the run's clock; never decreases down the file
    node    the node to which it happened
    kind    what happened: the table below
    event   the event's id (publisher << 32 | sequence); 0 = none
    frame   serial of the transmission, 1, 2, … in a run; every row about one transmission has it; 0 = none
    peer    the other node; -1 = none
    bytes   a size
    value   a number whose meaning the kind decides
    reason  a text whose meaning the kind decides

A column that a kind does not mention below is 0 (`peer`: -1, `reason`: empty).

    kind         event            frame   peer         bytes                  value               reason
    publish      its id                                event size             validity us         content as JSON
    subscribe    subscription no.                                                                 the filter's text
    unsubscribe  subscription no.                                                                 the filter's text
    send         its id           serial  addressee    on the air (1)         airtime us          kind of frame
    receive      its id           serial  sender       on the air (1)         airtime us          kind of frame
    lose         its id           serial  sender (2)   on the air (1)         time spent us (4)   why (2)
    overhear     its id           serial  sender       on the air (1)         airtime us          why (6)
    repeat       its id           serial  addressee
    acknowledge                           addressee    on the air             airtime us
    deliver      its id
    forward      its id                   as declared                         as declared         label (3)
    suppress     its id                   as declared                         as declared         label (3)
    drop         its id                   as declared                         as declared         label (3)
    delay        its id                   as declared                         as declared         label (3)
    note         its id                   as declared                         as declared         label (3)
    move                                                                      end of the leg us   "x y vx vy"
    sleep, wake, crash
    recover                                                                                       "" or "anew" (5)
    state                                              of routing state       entries of it       (sampled)

  (1) The MAC header included. A frame without events has event = 0. A frame that carries k > 1 events has one send row
      and one lose row where it is lost (with its first event), but k receive rows at a hearer, one for each event. Only
      the first of these has bytes > 0, so bytes can be added up; receptions are counted by distinct (frame, node).
  (2) `collision`, `half-duplex`, `loss` at a hearer (peer = the sender); `queue`, `no-ack` at the sender (peer
      = the addressee, or -1; a frame that never left the queue has no serial: frame = 0).
  (3) The reason that a protocol gave for its decision by `Host.note`; `protocols.kit.interface.explain` turns such a
      row into a sentence.
  (4) By the receiver's radio: the frame's airtime, or 0 if it did not decode the frame (as at the sender), or gave it
      up in order to send.
  (5) `anew`: a new boot of a real node. Subscriptions of earlier boots have ended, even without a row about it; those
      that continue have a new row.
  (6) Frames that a radio decoded without passing them to the protocol: a frame `for another`, a `repetition` of a frame
      that the node has (its acknowledgement was lost), an `acknowledgement` (intact or garbled, also at its addressee;
      event and frame are 0). Only the first of these is counted as overheard; all of them cost energy.

A `repeat` row follows the send row of a transmission that repeats a frame because it was not acknowledged.

The content of a publish row is {"topic": "…", "scope": "global" | "local", "attrs": {…}}, and for a local event also
"near": [nodes in range when it was published, ascending]: only these can count as interested in it.

A node sleeps from `sleep` to `wake` and is down from `crash` to `recover`, each independently of the other; it is up
when it does neither, and so are all nodes at the beginning.

A higher level has more rows: each of `LEVELS` has the kinds of the one before it and some more. At every level, even
`summary`, which has no rows, the file's metadata have the run's tally as JSON under "roamcast.summary". The log
of a simulation also has what was run, under "roamcast.run": {"version", "preset", "protocol", "params", "seed",
"scenario"}.
"""

from __future__ import annotations

from typing import Any, Final

from roamcast.errors import unknown

VERSION: Final = "3"
VERSION_KEY: Final = "roamcast.schema"
SUMMARY_KEY: Final = "roamcast.summary"
RUN_KEY: Final = "roamcast.run"

PUBLISH: Final = 0
SUBSCRIBE: Final = 1
UNSUBSCRIBE: Final = 2
SEND: Final = 3
RECEIVE: Final = 4
LOSE: Final = 5
DELIVER: Final = 6
FORWARD: Final = 7
SUPPRESS: Final = 8
DROP: Final = 9
DELAY: Final = 10
NOTE: Final = 11
MOVE: Final = 12
SLEEP: Final = 13
WAKE: Final = 14
CRASH: Final = 15
RECOVER: Final = 16
ANEW: Final = "anew"
STATE: Final = 17
OVERHEAR: Final = 18
ACKNOWLEDGE: Final = 19
REPEAT: Final = 20

KINDS: Final = (
    "publish",
    "subscribe",
    "unsubscribe",
    "send",
    "receive",
    "lose",
    "deliver",
    "forward",
    "suppress",
    "drop",
    "delay",
    "note",
    "move",
    "sleep",
    "wake",
    "crash",
    "recover",
    "state",
    "overhear",
    "acknowledge",
    "repeat",
)
"""Names of the kinds; the position is the code."""

DECISIONS: Final = (FORWARD, SUPPRESS, DROP, DELAY, NOTE)
"""The kinds that `Host.note` writes."""

LOSSES: Final = ("collision", "half-duplex", "loss", "queue", "no-ack")
"""Reasons of `lose` rows; the position is the code."""
COLLISION: Final = 0
HALF_DUPLEX: Final = 1
LOSS: Final = 2
QUEUE: Final = 3
NO_ACK: Final = 4

OVERHEARD: Final = ("for another", "repetition", "acknowledgement")
"""Reasons of `overhear` rows; the position is the code."""
FOR_ANOTHER: Final = 0
REPETITION: Final = 1
ACKNOWLEDGEMENT: Final = 2

LEVELS: Final = ("summary", "deliveries", "frames", "full")

_DELIVERIES: Final = (PUBLISH, SUBSCRIBE, UNSUBSCRIBE, DELIVER, SLEEP, WAKE, CRASH, RECOVER, STATE)
_FRAMES: Final = (*_DELIVERIES, SEND, REPEAT, RECEIVE, LOSE, OVERHEAR, ACKNOWLEDGE, *DECISIONS)
_HELD: Final = ((), _DELIVERIES, _FRAMES, (*_FRAMES, MOVE))


def kinds_at(level: str) -> tuple[int, ...]:
    """Codes of the kinds in a log of this level, ascending; none at `summary`."""
    if level not in LEVELS:
        raise unknown("log level", level, LEVELS)
    return tuple(sorted(_HELD[LEVELS.index(level)]))


def kind_code(name: str) -> int:
    if name not in KINDS:
        raise unknown("kind of log row", name, KINDS)
    return KINDS.index(name)


def arrow_schema() -> Any:
    """The table's `pyarrow.Schema`, with its version in the metadata."""
    import pyarrow as pa  # here, because a run that writes no log need not load Arrow

    text = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            pa.field("run", pa.string(), nullable=False),
            pa.field("t", pa.int64(), nullable=False),
            pa.field("node", pa.int32(), nullable=False),
            pa.field("kind", text, nullable=False),
            pa.field("event", pa.int64(), nullable=False),
            pa.field("frame", pa.int64(), nullable=False),
            pa.field("peer", pa.int32(), nullable=False),
            pa.field("bytes", pa.int32(), nullable=False),
            pa.field("value", pa.int64(), nullable=False),
            pa.field("reason", text, nullable=False),
        ],
        metadata={VERSION_KEY: VERSION},
    )
