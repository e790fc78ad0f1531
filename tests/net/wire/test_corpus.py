"""Every case in corpus/ goes through the decoder and the protocols: seeds of frames, and cases that a fuzzer found.

`python -m tests.net.seeds` makes new seeds when a protocol changes its frames on the wire.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
CASES = sorted((Path(__file__).parents[1] / "corpus").iterdir())

_spec = importlib.util.spec_from_file_location("fuzz_decoder", ROOT / "tools" / "fuzz_decoder.py")
assert _spec is not None and _spec.loader is not None
fuzz_decoder = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fuzz_decoder)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_nothing_raises(case: Path) -> None:
    fuzz_decoder.try_bytes(case.read_bytes())


@pytest.mark.parametrize("case", [case for case in CASES if case.name.startswith("frame-")], ids=lambda path: path.name)
def test_seeds_are_frames_and_pieces_of_them_do_no_harm(case: Path) -> None:
    data = case.read_bytes()
    protocol = fuzz_decoder.PROTOCOLS[data[0] % len(fuzz_decoder.PROTOCOLS)]
    fuzz_decoder.wire.decode(protocol, data[1:])
    for size in range(len(data)):
        fuzz_decoder.try_bytes(data[:size])
    for at in range(1, len(data)):
        for value in (0x00, 0x7F, 0x80, 0xC0, 0xCB, 0xFF):
            fuzz_decoder.try_bytes(data[:at] + bytes([value]) + data[at + 1 :])


def embedded(value: Any) -> list[int]:
    """The ids of everything that looks like an event, anywhere in a frame's fields."""
    if not isinstance(value, list):
        return []
    if [type(v) for v in value] == [int, str, dict, bytes, int, int]:
        return [value[0]]
    return [id for v in value for id in embedded(v)]


@pytest.mark.parametrize("case", [case for case in CASES if case.name.startswith("frame-")], ids=lambda path: path.name)
def test_a_frame_names_every_event_in_it(case: Path) -> None:
    """Only events that `Frame.events` returns have their signatures checked."""
    data = case.read_bytes()
    protocol = fuzz_decoder.PROTOCOLS[data[0] % len(fuzz_decoder.PROTOCOLS)]
    frame = fuzz_decoder.wire.decode(protocol, data[1:])
    assert [event.id for event in frame.events()] == embedded(frame.fields())


def test_the_seeds_have_events_of_every_protocol() -> None:
    with_events = {
        protocol.__name__
        for protocol, frame in (
            (p, fuzz_decoder.wire.decode(p, data[1:]))
            for data in (case.read_bytes() for case in CASES if case.name.startswith("frame-"))
            for p in [fuzz_decoder.PROTOCOLS[data[0] % len(fuzz_decoder.PROTOCOLS)]]
        )
        if frame.events()
    }
    assert with_events == {protocol.__name__ for protocol in fuzz_decoder.PROTOCOLS}
