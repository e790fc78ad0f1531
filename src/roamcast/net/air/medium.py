"""What carries datagrams: the interface that every medium fulfils (docs/how-to/write-a-medium.md).

A node has one medium or several, each with a name. UDP (udp.py), UDP to named peers (unicast.py) and a serial line
(serial.py) are here; other classes come from installed packages (entry point group `roamcast.media`) or are named
`module:Class`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Annotated, ClassVar, Final

import msgspec

from roamcast.net.wire.addresses import Address
from roamcast.plugins import Registry


class MediumSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings of every medium. A medium of its own kind extends this class and adds others."""

    bps: Annotated[float, msgspec.Meta(ge=0)] = 0.0  # the rate on this medium, for computing airtime; 0: as in limits
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0  # of all time, for own transmissions; 0: as in limits


class Network(MediumSettings, frozen=True):
    """The address that the nodes of a group share: a multicast address, or a broadcast address of IPv4."""

    group: str = "239.255.77.67"
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] = 7667
    interface: str = ""  # its name; empty: the system chooses
    mtu: Annotated[int, msgspec.Meta(ge=256, le=65535)] = 1400  # of the packets, IP header included
    receive_buffer: Annotated[int, msgspec.Meta(ge=4096)] = 1 << 22  # bytes, as far as the system allows


class Sent(Enum):
    """What happened to a datagram."""

    SENT = "sent"
    FULL = "full"  # the system's buffer is full: try again in a moment
    DOWN = "down"  # there is no network
    TOO_LARGE = "too large"


class Medium(ABC):
    """`datagram_max` bytes fit into a datagram, and the network adds `header_bytes` to it.

    A medium is made with its settings when the node starts. All methods are called in the node's asyncio loop.
    """

    settings_class: ClassVar[type[MediumSettings]] = MediumSettings
    datagram_max: int
    header_bytes: int

    def __init__(self, settings: MediumSettings) -> None:
        self.settings = settings

    @abstractmethod
    def open(self, receive: Callable[[bytes, Address], None]) -> None:
        """Begin to receive. If there is no network yet, the medium waits for it.

        `receive` gets every datagram, and the address to which an answer goes: a tuple that this medium understands.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop receiving, and release everything. `open` may follow."""

    @abstractmethod
    def send(self, datagram: bytes, to: Address | None = None) -> Sent:
        """Send to one address, or to every node in range. Never raises, never waits."""

    @abstractmethod
    def up(self) -> bool:
        """Whether datagrams can be sent now."""

    def delay_s(self, size: int) -> float:
        """How long this many bytes are on their way, if that is more than a moment. Acknowledgements are awaited as
        much longer."""
        return 0.0

    def place(self) -> str:
        """Where it sends and receives, for people."""
        return ""

    def shown(self, address: Address) -> str:
        """An address for people."""
        return str(address[0]) if address else ""

    def prefer(self, known: Callable[[], list[Address]]) -> None:  # noqa: B027 - a medium need not be able to choose
        """`known` returns the addresses of nodes that proved to be members; the one heard last comes first. They are
        preferred when more datagrams arrive than can be read."""

    def unread(self) -> int:
        """How many datagrams were dropped because more arrived than could be read."""
        return 0


BUILT_IN: Final[dict[str, str]] = {
    "udp": "roamcast.net.air.udp:UdpMedium",
    "unicast": "roamcast.net.air.unicast:UnicastMedium",
    "serial": "roamcast.net.air.serial:SerialMedium",
}
MEDIA: Final = Registry("medium", "roamcast.media", "roamcast.net.air.medium:Medium", BUILT_IN, "roamcast.parts.Medium")


def medium_class(name: str) -> type[Medium]:
    """The class behind a name, or behind `module:Class`."""
    kind: type[Medium] = MEDIA.get(name)
    return kind
