"""The connection to a broker: what MQTT cannot carry gets a reason, and stops nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roamcast.net.bridge.broker import EXPIRY_MAX_S, Broker, read_url


@pytest.mark.parametrize("length, refused", [(65_536, True), (65_535, False)])
def test_what_mqtt_cannot_carry_is_refused_with_a_reason(length: int, refused: bool) -> None:
    async def go() -> list[str]:
        broker, reasons = Broker(read_url("mqtt://127.0.0.1:1"), "test"), []
        broker.publish(length * "a", b"", reasons.append)
        await asyncio.sleep(0)
        return reasons

    reasons = asyncio.run(go())
    assert len(reasons) == refused
    assert all(reason.startswith("MQTT cannot carry it: ") for reason in reasons)


@pytest.mark.parametrize("expiry_s, written", [(EXPIRY_MAX_S, EXPIRY_MAX_S), (EXPIRY_MAX_S + 1, None)])
def test_a_validity_that_is_longer_than_any_expiry_is_left_out(
    expiry_s: int, written: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    async def go() -> None:
        broker = Broker(read_url("mqtt://127.0.0.1:1"), "test")
        publish = broker._client.publish

        def look(*arguments: Any, properties: Any, **more: Any) -> Any:
            seen.append(getattr(properties, "MessageExpiryInterval", None))
            return publish(*arguments, properties=properties, **more)

        monkeypatch.setattr(broker._client, "publish", look)
        broker.publish("a", b"", expiry_s=expiry_s)

    asyncio.run(go())
    assert seen == [written]
