"""A serial line: datagrams pass between two modems, and a modem that is unplugged comes back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.net.air import serial
from roamcast.net.air.medium import Sent
from roamcast.net.air.serial import Line, SerialMedium
from tests.support.modems import Modems

PATIENCE_S = 20.0


@pytest.fixture
def modems(tmp_path: Path) -> Iterator[Modems]:
    with Modems(tmp_path) as made:
        yield made


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


def pair(modems: Modems, **more: Any) -> tuple[SerialMedium, SerialMedium]:
    one, other = (SerialMedium(Line(device=device, **more)) for device in modems.devices)
    return one, other


def test_datagrams_of_any_content_pass(modems: Modems) -> None:
    async def go() -> None:
        one, other = pair(modems)
        heard: list[tuple[bytes, Any]] = []
        one.open(lambda *_: None)
        other.open(lambda *what: heard.append(what))
        sent = [bytes([0xC0, 0xDB, 0xDC, n]) + os.urandom(200) for n in range(30)]
        for datagram in sent:
            await until(lambda d=datagram: one.send(d) is Sent.SENT)  # type: ignore[misc]
        await until(lambda: len(heard) == len(sent))
        assert heard == [(datagram, (modems.devices[1],)) for datagram in sent]
        one.close()
        other.close()
        assert (one.send(b"x"), one.up()) == (Sent.DOWN, False)

    asyncio.run(go())


def test_a_modem_that_is_unplugged_comes_back(
    modems: Modems, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(serial, "REOPEN_MAX_S", 0.05)

    async def go() -> None:
        one, other = pair(modems)
        one._pause_s = 0.05
        heard: list[bytes] = []
        one.open(lambda *_: None)
        other.open(lambda data, _: heard.append(data))
        modems.unplug(0)
        await until(lambda: not one.up())
        assert one.send(b"while it is away") is Sent.DOWN
        modems.plug_in(0)
        await until(one.up)
        await until(lambda: one.send(b"after") is Sent.SENT)
        await until(lambda: heard)
        assert heard == [b"after"]
        one.close()
        other.close()

    asyncio.run(go())
    messages = [record.message for record in caplog.records]
    assert len(messages) == 2, "one line when it goes and one when it is back"
    assert messages[0].startswith(f"no device {modems.devices[0]}: ")
    assert messages[1] == f"the device {modems.devices[0]} is available now"


def test_a_device_that_another_node_has_is_not_shared(modems: Modems, caplog: pytest.LogCaptureFixture) -> None:
    async def go() -> None:
        first, second = (SerialMedium(Line(device=modems.devices[0])) for _ in range(2))
        first.open(lambda *_: None)
        second.open(lambda *_: None)
        assert (first.up(), second.up()) == (True, False)
        first.close()
        second.close()

    asyncio.run(go())
    assert [r.message for r in caplog.records] == [
        f"the device {modems.devices[0]} is used by another program; waiting"
    ]


def test_a_file_is_not_a_serial_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")

    async def go() -> None:
        medium = SerialMedium(Line(device=str(tmp_path / "file")))
        medium.open(lambda *_: None)
        assert not medium.up()
        medium.close()

    asyncio.run(go())
    assert [r.message for r in caplog.records] == [f"no device {tmp_path / 'file'}: not a serial line; waiting"]


def test_stations_with_callsigns_hear_each_other_and_nobody_else(modems: Modems) -> None:
    async def go() -> None:
        one, other = pair(modems, callsign="OE3XYZ-7", tx_delay_ms=100)
        heard: list[bytes] = []
        one.open(lambda *_: None)
        other.open(lambda data, _: heard.append(data))
        assert one.datagram_max == 255 - 16
        await until(lambda: one.send(bytes(one.datagram_max)) is Sent.SENT)
        await until(lambda: heard)
        assert heard == [bytes(one.datagram_max)]
        one.close()
        plain = SerialMedium(Line(device=modems.devices[0]))
        plain.open(lambda *_: None)
        await until(lambda: plain.send(b"without a callsign, but long enough for one") is Sent.SENT)
        plain.close()
        again = SerialMedium(Line(device=modems.devices[0], callsign="OE3XYZ"))
        again.open(lambda *_: None)
        await until(lambda: again.send(b"last") is Sent.SENT)
        await until(lambda: len(heard) > 1)
        assert heard[1:] == [b"last"]
        again.close()
        other.close()

    asyncio.run(go())


def test_what_does_not_fit_into_a_frame_of_the_modem_is_refused(modems: Modems) -> None:
    async def go() -> None:
        medium = SerialMedium(Line(device=modems.devices[0], mtu=100))
        medium.open(lambda *_: None)
        assert medium.send(bytes(101)) is Sent.TOO_LARGE
        assert medium.send(bytes(100)) is Sent.SENT
        medium.close()

    asyncio.run(go())


def test_an_acknowledgement_is_awaited_as_long_as_it_takes_on_the_air() -> None:
    medium = SerialMedium(Line(device="x", bps=1200.0))
    assert medium.delay_s(150) == serial.TURN_S + 1.0


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({}, "a serial medium needs a device"),
        ({"device": "x", "baud": 12345}, "baud 12345: must be one of 1200, "),
        ({"device": "x", "callsign": "?"}, "callsign '?': must be like"),
    ],
)
def test_wrong_settings_get_one_line(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as error:
        SerialMedium(Line(**settings))
    assert str(error.value).startswith(line)
