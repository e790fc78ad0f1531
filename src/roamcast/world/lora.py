"""LoRa modems as arithmetic: how long a frame is on the air, how weak it may be, how long a slot lasts.

A symbol lasts 2^SF / BW. By the data sheet of the SX1276 (Semtech, 4.1.1.7) a frame has its preamble and 4.25 symbols,
8 symbols, and as many blocks of CR symbols as its bytes need. The nine modems are the presets of Meshtastic's firmware.
A receiver needs a signal-to-noise ratio of -7.5 dB at SF 7 and 2.5 dB less for each step (the same data sheet, table
13), above a noise of -174 dBm/Hz and its noise figure.

Reading L1: a coding rate of 4/5 makes blocks of 5 symbols (coding="standard"). A simulator that people of such meshes
use counts 4 more, and its figures can only be met in the same way (coding="plus-four").
"""

from __future__ import annotations

from math import ceil, log10
from typing import Final

from roamcast.world.specs import LoraSpec

MODEMS: Final[dict[str, tuple[float, int, int]]] = {
    "short-turbo": (500.0, 7, 5),
    "short-fast": (250.0, 7, 5),
    "short-slow": (250.0, 8, 5),
    "medium-fast": (250.0, 9, 5),
    "medium-slow": (250.0, 10, 5),
    "long-turbo": (500.0, 11, 8),
    "long-fast": (250.0, 11, 5),
    "long-moderate": (125.0, 11, 8),
    "long-slow": (125.0, 12, 8),
}
"""Bandwidth in kHz, spreading factor, and the coding rate's denominator."""

THERMAL_DBM_PER_HZ: Final = -174.0
PREAMBLE_LOCK: Final = 5
"""Symbols at the end of a preamble that a receiver needs to lock on to a frame (Bor et al. 2016)."""
SLOT_SYMBOLS: Final = 8.5
SLOT_EXTRA_US: Final = 7600.0
"""A slot is what detecting activity takes and 7.6 ms to switch and process (Meshtastic's firmware)."""


def symbol_us(m: LoraSpec) -> float:
    return float(2**m.spreading_factor) * 1000.0 / m.bandwidth_khz


def symbols(m: LoraSpec, size: int) -> float:
    """The symbols of a frame of `size` bytes, header included."""
    slow = 1 if m.spreading_factor >= 11 and m.bandwidth_khz <= 125.0 else 0  # low data rate optimisation
    header = 0 if m.explicit_header else 20
    bits = 8 * size - 4 * m.spreading_factor + 28 + 16 - header
    blocks = max(0, ceil(bits / (4 * (m.spreading_factor - 2 * slow))))
    return m.preamble_symbols + 4.25 + 8 + blocks * (m.coding_rate + (4 if m.coding == "plus-four" else 0))


def airtime_us(m: LoraSpec, size: int) -> int:
    """How long a frame of `size` bytes, header included, is on the air."""
    return round(symbols(m, size) * symbol_us(m))


def slot_us(m: LoraSpec) -> int:
    return round(SLOT_SYMBOLS * symbol_us(m) + SLOT_EXTRA_US)


def grace_us(m: LoraSpec) -> int:
    """A frame that ends so soon after another one began harms neither: the rest of the preamble is enough."""
    return round(max(0, m.preamble_symbols - PREAMBLE_LOCK) * symbol_us(m))


def noise_dbm(m: LoraSpec) -> float:
    return THERMAL_DBM_PER_HZ + 10.0 * log10(1000.0 * m.bandwidth_khz) + m.noise_figure_db


def sensitivity_dbm(m: LoraSpec) -> float:
    """The weakest signal that can be decoded."""
    return noise_dbm(m) - 7.5 - 2.5 * (m.spreading_factor - 7)
