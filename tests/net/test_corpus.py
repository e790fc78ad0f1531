"""Every case in corpus/ goes through the decoder and the protocols: seeds of frames, and whatever a fuzzer found."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = sorted((Path(__file__).parent / "corpus").iterdir())

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
