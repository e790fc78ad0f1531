"""Why something was dropped. Nothing that is received raises outside of `net`: it is dropped and counted here."""

from __future__ import annotations

from typing import Final

# before any cryptography
UNREAD: Final = "unread"
TOO_SHORT: Final = "too short"
NOT_OURS: Final = "not ours"
NEWER_VERSION: Final = "newer version"
OLDER_VERSION: Final = "older version"
UNKNOWN_KIND: Final = "unknown kind"
UNKNOWN_KEY: Final = "unknown key"
UNSECURED: Final = "unsecured"
STRANGERS: Final = "too many strangers"
ADDRESS_RATE: Final = "address rate"
STALE: Final = "stale"
REPLAYED: Final = "replayed"
# about the datagram
FORGED: Final = "forged"
OWN_NUMBER: Final = "own number"
NEWCOMERS: Final = "too many newcomers"
TABLE_FULL: Final = "table full"
SENDER_RATE: Final = "sender rate"
MALFORMED: Final = "malformed"
OTHER_PROTOCOL: Final = "other protocol"
NOT_FOR_US: Final = "not for us"
FRAGMENT: Final = "bad fragment"
FRAGMENT_BUDGET: Final = "fragment budget"
FRAGMENT_TIMEOUT: Final = "incomplete"
# about events
UNSIGNED: Final = "unsigned"
BAD_SIGNATURE: Final = "bad signature"
NOT_ITS_NUMBER: Final = "not its number"
IDENTITY_CONFLICT: Final = "identity conflict"
NOT_ON_ROSTER: Final = "not on the roster"
EXPIRED: Final = "expired"
SIGNATURE_RATE: Final = "signature rate"
# on this node itself
QUEUE_FULL: Final = "queue full"
TOO_LARGE: Final = "too large"
NO_NETWORK: Final = "no network"
NO_ACK: Final = "no ack"
ACK_AIRTIME: Final = "ack airtime"
APPLICATION: Final = "application full"
PUBLICATIONS_FULL: Final = "publications full"
PROTOCOL_FULL: Final = "protocol full"
PROTOCOL_ERROR: Final = "protocol error"

REASONS: Final[dict[str, str]] = {
    UNREAD: "a datagram that the system dropped: more arrived than this node could read",
    TOO_SHORT: "a datagram shorter than its header says",
    NOT_OURS: "a datagram that does not begin with the magic byte",
    NEWER_VERSION: "a datagram of a newer version of the wire format than this program knows",
    OLDER_VERSION: "a datagram of an older version of the wire format than this program supports",
    UNKNOWN_KIND: "a datagram of a kind that this version does not have",
    UNKNOWN_KEY: "a datagram under a group key that this node does not have",
    UNSECURED: "a datagram without any protection, while this node requires it",
    STRANGERS: "more datagrams from addresses that never sent anything genuine than are checked",
    ADDRESS_RATE: "more datagrams from one address than are checked",
    STALE: "a datagram of an earlier boot of its sender, or too far behind its latest one",
    REPLAYED: "a datagram that was received before",
    FORGED: "a datagram that was not made with the group key, or changed on its way",
    OWN_NUMBER: "a datagram of another node with this node's number, or an old one of its own",
    NEWCOMERS: "more new senders in a short time than are accepted",
    TABLE_FULL: "a new sender while the table is full of active ones",
    SENDER_RATE: "more frames or bytes than one sender may send",
    MALFORMED: "a genuine datagram whose content is not a frame",
    OTHER_PROTOCOL: "a frame of another protocol than this node runs",
    NOT_FOR_US: "a frame for another node",
    FRAGMENT: "a fragment that does not fit the others",
    FRAGMENT_BUDGET: "an unfinished frame given up for a newer one: no room for more",
    FRAGMENT_TIMEOUT: "an unfinished frame: some of its fragments never came",
    UNSIGNED: "a frame with an event without a seal",
    BAD_SIGNATURE: "a frame with an event, or a position, whose signature is wrong",
    NOT_ITS_NUMBER: "a frame with an event, or a position, whose node number does not belong to its key",
    IDENTITY_CONFLICT: "a frame with an event, or a position, by a second key for a known number",
    NOT_ON_ROSTER: "a frame with an event, or a position, of a node that the roster does not list with this key",
    EXPIRED: "a frame with an event that expired long ago, by clocks that this node trusts",
    SIGNATURE_RATE: "more new events or positions from one sender than are verified",
    QUEUE_FULL: "an own frame for which the queue had no room",
    TOO_LARGE: "an own frame that is too long even for fragments",
    NO_NETWORK: "an own datagram while there was no network",
    NO_ACK: "an own frame that its addressee never acknowledged",
    ACK_AIRTIME: "an own acknowledgement for which no airtime was left",
    APPLICATION: "a delivery for which the application had no room",
    PUBLICATIONS_FULL: "an own event that is still valid and is no longer stored: there was no room for more",
    PROTOCOL_FULL: "a valid event that the protocol dropped because its table was full; own ones are offered again",
    PROTOCOL_ERROR: "an error inside the protocol",
}
"""Every reason and its meaning."""


class Refused(Exception):
    """A datagram or its contents are dropped. Never leaves `net`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Tally:
    """How often each thing happened. It cannot grow: the reasons are those above."""

    def __init__(self) -> None:
        self.dropped: dict[str, int] = dict.fromkeys(REASONS, 0)
        self.datagrams_in = 0
        self.datagrams_out = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.frames_in = 0
        self.frames_out = 0
        self.copies = 0  # frames that had come over another medium before
        self.echoes = 0  # own datagrams that came back from the network
        self.acks_in = 0
        self.acks_out = 0
        self.positions_in = 0
        self.positions_out = 0
        self.retries = 0
        self.muted = 0
        self.delivered = 0
        self.published = 0
        self.own = 0  # own events that an application on this node wanted, and got without the protocol

    def drop(self, reason: str) -> None:
        self.dropped[reason] += 1

    def drops(self) -> dict[str, int]:
        """The reasons that occurred, with their counts."""
        return {reason: n for reason, n in self.dropped.items() if n}

    def as_dict(self) -> dict[str, object]:
        counts: dict[str, object] = {name: n for name, n in vars(self).items() if name != "dropped"}
        return {**counts, "dropped": self.drops()}
