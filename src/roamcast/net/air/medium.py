"""The interface for sending and receiving datagrams. UDP (udp.py) is one medium; tests have others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Annotated

import msgspec

from roamcast.net.wire.addresses import Address


class Network(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
    """`datagram_max` bytes fit into a datagram, and the network adds `header_bytes` to it."""

    datagram_max: int
    header_bytes: int

    @abstractmethod
    def open(self, receive: Callable[[bytes, Address], None]) -> None:
        """Begin to receive. If there is no network yet, the medium waits for it."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def send(self, datagram: bytes, to: Address | None = None) -> Sent:
        """Send to one address, or to every node in range. Never raises, never waits."""

    @abstractmethod
    def up(self) -> bool: ...

    def prefer(self, known: Callable[[], list[Address]]) -> None:  # noqa: B027 - a medium need not be able to choose
        """`known` returns the addresses to prefer when more datagrams arrive than can be read."""

    def unread(self) -> int:
        """How many datagrams were dropped because more arrived than could be read."""
        return 0
