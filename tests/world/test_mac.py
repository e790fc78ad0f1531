"""Airtimes and spaces, compared with the figures in the standards."""

from __future__ import annotations

import pytest

from roamcast.world import mac
from roamcast.world.mac import Mac
from roamcast.world.specs import MacSpec


def build(name: str, rate_bps: float, queue: int = 50, retries: int = 7, overhead_bytes: int = 0) -> Mac:
    spec = MacSpec(name=name, rate_bps=rate_bps, queue=queue, retries=retries, overhead_bytes=overhead_bytes)
    return mac.build(spec)


def test_a_payload_of_400_bytes_takes_3680_us_at_1_mbit() -> None:
    """192 us of preamble and PLCP header, then 400 + 36 bytes of 8 us each."""
    dcf = build("dcf", 1e6)
    assert dcf.bytes_on_air(400) == 436
    assert dcf.airtime(436) == 3680


@pytest.mark.parametrize(("rate_bps", "airtime_us"), [(2e6, 192 + 1744), (5.5e6, 192 + 635), (11e6, 192 + 318)])
def test_faster_rates_shorten_the_payload_and_not_the_preamble(rate_bps: float, airtime_us: int) -> None:
    """Rounded up to a microsecond: 436 bytes take 634.2 us at 5.5 and 317.1 us at 11 Mbit/s."""
    assert build("dcf", rate_bps).airtime(436) == airtime_us


def test_dcf_spaces_are_those_of_the_dsss_phy() -> None:
    dcf = build("dcf", 1e6)
    assert (dcf.slot, dcf.sifs, dcf.ifs) == (20, 10, 50)
    assert (dcf.window, dcf.window_max) == (32, 1024)
    assert dcf.ack_airtime == 192 + 14 * 8 == 304
    assert dcf.eifs == 10 + 304 + 50 == 364


def test_acknowledgements_go_at_1_mbit_whatever_the_rate() -> None:
    fast = build("dcf", 11e6)
    assert (fast.ack_airtime, fast.eifs) == (304, 364)


def test_a_tinyos_packet_of_36_bytes_takes_46_byte_times() -> None:
    tinyos = build("tinyos", 19_200.0)
    byte_us = 8e6 / 19_200
    for size in (0, 2, 29):  # with 7 bytes of header, all fit into the smallest packet
        assert tinyos.bytes_on_air(size) == 36
    assert tinyos.airtime(36) == pytest.approx(46 * byte_us, abs=5)
    assert tinyos.bytes_on_air(30) == 37
    assert tinyos.airtime(37) - tinyos.airtime(36) == pytest.approx(byte_us, abs=1)


def test_tinyos_waits_in_byte_times_and_never_doubles() -> None:
    tinyos = build("tinyos", 19_200.0)
    assert tinyos.slot == round(8e6 / 19_200) == 417
    assert (tinyos.window, tinyos.window_max, tinyos.turnaround) == (32, 32, 417)
    assert tinyos.ifs == tinyos.eifs == 0


def test_an_acknowledgement_of_tinyos_goes_at_the_radio_s_own_rate() -> None:
    """Seven bytes behind a preamble of ten."""
    tinyos = build("tinyos", 19_200.0)
    assert tinyos.ack_airtime == pytest.approx(17 * 8e6 / 19_200, abs=10)


def test_on_ideal_a_frame_costs_only_the_time_of_its_bytes() -> None:
    ideal = build("ideal", 1e6)
    assert not ideal.contends
    assert ideal.airtime(ideal.bytes_on_air(400)) == 8 * 436
    assert (ideal.slot, ideal.sifs, ideal.ifs) == (0, 0, 0)


def test_queue_and_retries_are_those_of_the_specification() -> None:
    dcf = build("dcf", 1e6, 3, 5)
    assert (dcf.queue, dcf.retries) == (3, 5)


@pytest.mark.parametrize(("name", "rate_bps"), [("dcf", 1e6), ("tinyos", 19_200.0), ("ideal", 1e6)])
def test_overhead_lengthens_every_frame_and_no_acknowledgement(name: str, rate_bps: float) -> None:
    bare, secured = build(name, rate_bps), build(name, rate_bps, overhead_bytes=38)
    assert secured.bytes_on_air(400) == bare.bytes_on_air(400) + 38
    longer_us = secured.airtime(secured.bytes_on_air(400)) - bare.airtime(bare.bytes_on_air(400))
    assert longer_us == pytest.approx(38 * 8e6 / rate_bps, abs=1)
    assert secured.ack_airtime == bare.ack_airtime
    assert secured.eifs == bare.eifs


def test_overhead_goes_into_the_padding_of_a_short_tinyos_packet_first() -> None:
    assert build("tinyos", 19_200.0, overhead_bytes=20).bytes_on_air(9) == 36
    assert build("tinyos", 19_200.0, overhead_bytes=20).bytes_on_air(10) == 37
