"""What real nodes lose on the air comes later: over UDP, with the parameters that nodes use unless told otherwise.

All nodes are on one loop whose clock does not wait (tests/conformance/real.py).
"""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.net.live import DEFAULT_PROTOCOL, live_params
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.pubsub.filters import topic

NEWS = topic("news")
REPAIRING = ["roam", "frugal", "gossip", "mpl"]
VALIDITY_US = 600_000_000


def live(real: Any, name: str, places: list[float], subscribers: list[int], **more: Any) -> Any:
    protocol = registry.get(name)
    params = parameters.build(protocol, live_params(name), name)
    return real(places, subscriptions=[(i, NEWS) for i in subscribers], protocol=protocol, params=params, **more)


def publish(driver: Any, count: int, pause_s: float = 0.0) -> list[int]:
    ids = []
    for _ in range(count):
        ids.append(driver.publish_event(0, "news", validity_us=VALIDITY_US))
        if pause_s:
            driver.run(pause_s)
    return ids


@pytest.mark.parametrize("name", REPAIRING)
def test_events_sent_while_the_link_was_cut_for_half_a_second_come_afterwards(real: Any, name: str) -> None:
    driver = live(real, name, [0.0, 0.5], [1])
    driver.run(5)
    first = publish(driver, 1, 3.0)
    assert driver.delivered(1) == first
    driver.places[1] = 9.0
    missed = publish(driver, 2)
    driver.run(0.5)
    driver.places[1] = 0.5
    driver.run(15)
    assert sorted(driver.delivered(1)) == first + missed


@pytest.mark.parametrize("name", REPAIRING)
def test_over_a_hop_that_loses_one_frame_in_ten_every_event_comes_once(real: Any, name: str) -> None:
    driver = live(real, name, [0.0, 0.5], [1], loss=0.1)
    driver.run(5)
    sent = publish(driver, 200, 0.1)
    driver.run(30)
    assert sorted(driver.delivered(1)) == sent


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_the_default_crosses_relays_that_do_not_subscribe(real: Any, loss: float) -> None:
    driver = live(real, DEFAULT_PROTOCOL, [0.0, 1.0, 2.0, 3.0, 4.0], [4], loss=loss)
    driver.run(2)
    sent = publish(driver, 40, 0.25)
    driver.run(30)
    assert sorted(driver.delivered(4)) == sent


def test_with_the_default_a_node_that_starts_last_gets_what_is_valid(real: Any) -> None:
    driver = live(real, DEFAULT_PROTOCOL, [0.0, 1.0, 2.0], [2])
    driver.crash(2)
    sent = publish(driver, 150, 0.05)
    driver.recover(2, keep_tables=False)
    driver.run(30)
    assert sorted(driver.delivered(2)) == sent
