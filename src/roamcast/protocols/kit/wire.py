"""The encoding of frames: msgpack arrays `[tag, field, …]`, where the tag is the frame's position in `Protocol.frames`.

msgpack by msgspec: compact, specified, and one library for frames and for configuration. Protocols that make many
frames count sizes instead of encoding (`uint_size`); a property test compares every count with the real encoding.
"""

from __future__ import annotations

from typing import Any

import msgspec

from roamcast.errors import Malformed
from roamcast.protocols.kit.interface import Frame, Protocol

MAX_FRAME = 65_535

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


def uint_size(n: int) -> int:
    """Bytes of a non-negative int in msgpack."""
    if n < 0x80:
        return 1
    if n < 0x100:
        return 2
    if n < 0x10000:
        return 3
    return 5 if n < 0x100000000 else 9


def measure(fields: list[Any]) -> int:
    """Bytes of a frame with these fields (for frames that are sent so seldom that counting is not worth it)."""
    return 1 + len(_encode(fields)) + (2 if len(fields) == 15 else 0)


def encode(protocol: type[Protocol], frame: Frame) -> bytes:
    return _encode([protocol.frames.index(type(frame)), *frame.fields()])


def decode(protocol: type[Protocol], data: bytes) -> Frame:
    """The frame in these bytes; raises only `Malformed`, whatever the bytes are."""
    if len(data) > MAX_FRAME:
        raise Malformed("longer than a frame can be")
    try:
        fields = _decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise Malformed("no msgpack") from error
    if not isinstance(fields, list) or not fields or type(fields[0]) is not int:
        raise Malformed("no frame")
    if not 0 <= fields[0] < len(protocol.frames):
        raise Malformed(f"frame tag {fields[0]}")
    return protocol.frames[fields[0]].from_fields(fields[1:])


# Checks for `from_fields`: a received value is used only after it was checked.


def counted(fields: list[Any], n: int) -> list[Any]:
    if len(fields) != n:
        raise Malformed(f"{len(fields)} fields, not {n}")
    return fields


def as_int(value: object, low: int = 0, high: int = (1 << 63) - 1) -> int:
    if type(value) is not int or not low <= value <= high:
        raise Malformed("not an int in its range")
    return value


def as_float(value: object) -> float:
    if type(value) is not float and type(value) is not int:
        raise Malformed("not a number")
    return float(value)


def as_bytes(value: object) -> bytes:
    if type(value) is not bytes:
        raise Malformed("not bytes")
    return value


def as_list(value: object, most: int = 4096) -> list[Any]:
    if type(value) is not list or len(value) > most:
        raise Malformed("not a list, or too long")
    return value
