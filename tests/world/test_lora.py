"""LoRa modems: airtimes worked by hand, what can be decoded, slots."""

from __future__ import annotations

import pytest

from roamcast.world.lora import MODEMS, airtime_us, grace_us, noise_dbm, sensitivity_dbm, slot_us, symbols
from roamcast.world.mac.lora import HEADER_BYTES
from roamcast.world.scenario import Scenario
from roamcast.world.specs import LoraSpec


def modem(name: str, coding: str = "standard") -> LoraSpec:
    bandwidth_khz, spreading_factor, coding_rate = MODEMS[name]
    return LoraSpec(
        bandwidth_khz=bandwidth_khz, spreading_factor=spreading_factor, coding_rate=coding_rate, coding=coding
    )


BY_HAND = [
    ("short-turbo", (8, 17, 63), (17_472, 28_992, 87_872)),
    ("short-fast", (8, 17, 63), (34_944, 57_984, 175_744)),
    ("short-slow", (7, 15, 55), (64_768, 105_728, 310_528)),
    ("medium-fast", (6, 13, 49), (119_296, 190_976, 559_616)),
    ("medium-slow", (6, 12, 44), (238_592, 361_472, 1_016_832)),
    ("long-turbo", (5, 11, 40), (279_552, 476_160, 1_426_432)),
    ("long-fast", (5, 11, 40), (436_224, 681_984, 1_869_824)),
    ("long-moderate", (6, 13, 48), (1_249_280, 2_166_784, 6_754_304)),
    ("long-slow", (6, 12, 44), (2_498_560, 4_071_424, 12_460_032)),
]
"""Blocks and microseconds for 10, 40 and 200 bytes behind a header of 16.

For example long-fast and 40 bytes: 8 · 56 - 4 · 11 + 28 + 16 = 448 bits, 44 to a block: 11 blocks of 5 symbols, and
20.25 + 8 symbols before them: 83.25 of 8.192 ms.
"""


@pytest.mark.parametrize("name, blocks, times_us", BY_HAND)
def test_the_airtime_of_every_modem_is_that_of_the_formula(
    name: str, blocks: tuple[int, ...], times_us: tuple[int, ...]
) -> None:
    m = modem(name)
    for size, count, us in zip((10, 40, 200), blocks, times_us, strict=True):
        assert symbols(m, size + HEADER_BYTES) == 28.25 + count * m.coding_rate
        assert airtime_us(m, size + HEADER_BYTES) == us


def test_all_nine_modems_have_names_that_a_scenario_takes() -> None:
    assert [name for name, _, _ in BY_HAND] == list(MODEMS)
    assert [Scenario(modem=name).modem for name in MODEMS] == list(MODEMS)


def test_another_reading_counts_four_symbols_more_for_a_block() -> None:
    """L1: 127.25 symbols of 8.192 ms, where the standard has 83.25."""
    assert airtime_us(modem("long-fast", "plus-four"), 40 + HEADER_BYTES) == 1_042_432


def test_without_the_modems_header_frames_are_shorter() -> None:
    m = LoraSpec(explicit_header=False)
    assert symbols(m, 56) == 28.25 + 5 * 10  # 428 bits


def test_a_frame_without_content_has_a_preamble_and_eight_symbols() -> None:
    assert symbols(LoraSpec(spreading_factor=12), 0) == 28.25


@pytest.mark.parametrize(
    "name, dbm",
    [
        ("short-turbo", -118.5),
        ("short-fast", -121.5),
        ("short-slow", -124.0),
        ("medium-fast", -126.5),
        ("medium-slow", -129.0),
        ("long-turbo", -128.5),
        ("long-fast", -131.5),
        ("long-moderate", -134.5),
        ("long-slow", -137.0),
    ],
)
def test_slower_modems_hear_weaker_signals(name: str, dbm: float) -> None:
    assert sensitivity_dbm(modem(name)) == pytest.approx(dbm, abs=0.05)


def test_a_noisier_receiver_hears_less() -> None:
    assert sensitivity_dbm(LoraSpec(noise_figure_db=9.0)) == pytest.approx(sensitivity_dbm(LoraSpec()) + 3.0)
    assert noise_dbm(LoraSpec()) == pytest.approx(-114.02, abs=0.01)


def test_a_slot_is_eight_and_a_half_symbols_and_some_time_to_switch() -> None:
    assert slot_us(modem("long-fast")) == 77_232
    assert slot_us(modem("short-turbo")) == 9_776


def test_all_symbols_of_a_preamble_except_five_can_be_lost() -> None:
    assert grace_us(LoraSpec()) == 11 * 8192
    assert grace_us(LoraSpec(preamble_symbols=3)) == 0
