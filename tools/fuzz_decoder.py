"""Search for bytes that break the decoder, guided by coverage.

    pip install atheris
    python tools/fuzz_decoder.py tests/net/corpus -max_total_time=300

The first byte chooses what the rest is: a datagram from a stranger, the inner part of a genuine one, or a frame of one
of the protocols inside a genuine one, which the protocol then receives. Nothing may raise an exception, and no frame
may be accepted that would be encoded differently. The files that atheris writes (crash-…) belong into tests/net/corpus,
where tests/net/test_corpus.py tries every file without atheris.
"""

from __future__ import annotations

import logging
import random
import sys
from typing import Any

from roamcast.net.durable import MemoryValues
from roamcast.net.limits import Limits
from roamcast.net.refusal import Tally
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.net.wire.codec import FrameCodec, protocol_tag
from roamcast.net.wire.packet import ACK, FRAME, FramePart
from roamcast.protocols import registry
from roamcast.protocols.kit import wire
from roamcast.protocols.kit.interface import Frame, Host, Protocol
from roamcast.pubsub.event import Event

RING = KeyRing.parse(
    'group = "0000000000000000"\nsending = "cbb5"\nkeys = ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]'
)
PROTOCOLS = [registry.get(name) for name in registry.BUILT_IN]
HERE = ("192.0.2.1", 1)
PLENTY = Limits(
    strangers_per_s=1e12, address_per_s=1e12, sender_frames_per_s=1e12, sender_bytes_per_s=1e12, newcomers_per_s=1e12
)


class Deaf(Host):
    """A host whose effects go nowhere."""

    def __init__(self) -> None:
        super().__init__(1)
        self.dice = random.Random(1)
        self.time_us = 0

    def now(self) -> int:
        self.time_us += 1000
        return self.time_us

    def random(self) -> float:
        return self.dice.random()

    def broadcast(self, frame: Frame) -> None: ...
    def send(self, to: int, frame: Frame) -> None: ...
    def set_timer(self, key: int, delay_us: int) -> None: ...
    def cancel_timer(self, key: int) -> None: ...
    def deliver(self, event: Event) -> None: ...
    def note(self, reason: int, event: int = 0, peer: int = -1, value: int = 0) -> None: ...
    def mute(self, id: int) -> None: ...
    def unmute(self, id: int) -> None: ...

    def heard(self, id: int) -> int:
        return 0

    def signal(self) -> float:
        return float("nan")

    def speed(self) -> float:
        return 0.0

    def airtime(self, size: int) -> int:
        return size

    def battery(self) -> float:
        return 1.0


def link(protocol: type[Protocol], secure: bool = True) -> FrameCodec:
    member = Membership.secure(MemoryValues(), RING) if secure else Membership.insecure()
    return FrameCodec(protocol, member, PLENTY, Tally(), 1372)


def try_bytes(data: bytes) -> None:
    """One test case; an exception is a finding."""
    if not data:
        return
    choice, rest = data[0], data[1:]
    protocol = PROTOCOLS[choice % len(PROTOCOLS)]
    if choice < 32:
        heard(link(protocol), rest, protocol)
    elif choice < 64:
        kind = ACK if choice & 1 else FRAME
        heard(link(protocol), link(protocol).envelope.wrap(kind, rest), protocol)
    else:
        part = FramePart(protocol_tag(protocol), -1, 0, 0, 1, rest or b"\0")
        secure = choice < 128  # unsecured, so that publications need no signature to be handed up
        heard(link(protocol, secure), link(protocol, secure).envelope.wrap(FRAME, part.packed()), protocol)


def heard(receiver: FrameCodec, datagram: bytes, protocol: type[Protocol]) -> None:
    arrival = receiver.incoming(datagram, HERE, 0)
    if receiver.tally.dropped["protocol error"]:
        raise AssertionError(f"{protocol.__name__}: the decoder raised something else than Malformed")
    if arrival is None or arrival.frame is None:
        return
    encoded = wire.encode(protocol, arrival.frame)
    if wire.encode(protocol, wire.decode(protocol, encoded)) != encoded:
        raise AssertionError(f"{protocol.__name__}: a frame is not what it was")
    node = protocol(Deaf(), protocol.params_class())
    node.on_start()
    for _ in range(2):
        node.on_frame(arrival.frame, arrival.sender)


def main() -> None:
    try:
        import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise SystemExit("this needs atheris: pip install atheris") from None
    logging.disable()
    fuzzer: Any = atheris
    fuzzer.instrument_all()
    fuzzer.Setup(sys.argv, try_bytes)
    fuzzer.Fuzz()


if __name__ == "__main__":
    main()
