"""Write the seeds in corpus/: a frame of every kind that the protocols send in three and a half minutes on five nodes.

    python -m tests.net.seeds

Run it again whenever a protocol's frames change on the wire.
"""

from __future__ import annotations

import logging
from pathlib import Path
from unittest.mock import patch

from roamcast.net.wire.codec import FrameCodec
from roamcast.protocols import registry
from roamcast.protocols.kit.interface import Frame
from roamcast.pubsub.filters import topic
from tests.conformance.real import MULTICAST, Real

CORPUS = Path(__file__).parent / "corpus"
ROW = [0.0, 0.4, 0.8, 1.2, 1.6]
LONGEST = 260
UNSECURED = 128
"""Choices of tools/fuzz_decoder.py from here on: a frame, handed up without a signature."""


ALSO: dict[str, dict[str, float]] = {"roam": {"effort": 0.15}}
"""Parameters with which a protocol sends frames that it does not send by default."""


def frames(name: str, params: dict[str, float]) -> dict[str, bytes]:
    """The longest frame of each kind that is not too long."""
    protocol = registry.get(name)
    longest: dict[str, bytes] = {}
    genuine = FrameCodec.encode

    def encode(self: FrameCodec, frame: Frame) -> bytes:
        encoded, kind = genuine(self, frame), type(frame).__name__
        if kind not in longest or len(longest[kind]) < len(encoded) < LONGEST:
            longest[kind] = encoded
        return encoded

    with patch.object(FrameCodec, "encode", encode):
        driver = Real(
            MULTICAST,
            ROW,
            [(i, topic("news")) for i in (1, 3, 4)],
            protocol=protocol,
            params=protocol.params_class(**params),
            secure=False,
        )
        driver.run(60)
        driver.publish_event(0, "news", {"t": 1.5, "n": 3, "ok": True, "s": "x"}, payload=b"x")
        driver.run(60)
        driver.crash(0)
        driver.run(30)
        driver.publish_event(1, "news", payload=b"x")
        driver.run(30)
        driver.recover(0, keep_tables=False)
        driver.run(30)
        driver.check()
    return longest


def main() -> None:
    logging.disable()
    names = list(registry.BUILT_IN)
    for old in CORPUS.glob("frame-*"):
        old.unlink()
    for at, name in enumerate(names):
        choice = next(c for c in range(UNSECURED, 256) if c % len(names) == at)
        for kind, encoded in {**frames(name, ALSO.get(name, {})), **frames(name, {})}.items():
            (CORPUS / f"frame-{name}-{kind}").write_bytes(bytes([choice]) + encoded)


if __name__ == "__main__":
    main()
