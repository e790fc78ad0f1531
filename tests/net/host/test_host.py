"""The host has what the interface promises, and nothing else."""

from __future__ import annotations

from typing import Any

from roamcast.net.host.host import NetHost
from roamcast.protocols.kit.interface import Host
from tests.conformance.driver import Ping


def methods(kind: type) -> set[str]:
    return {name for name, value in vars(kind).items() if callable(value) and not name.startswith("__")}


OF_MEDIA_THAT_ORDER_RELAYS = {"relay", "withdraw", "echo_us", "busy", "role"}


def test_it_has_the_methods_of_the_interface_and_no_others() -> None:
    """Real media leave the order of relays to the protocol; what the interface itself does then is right."""
    assert methods(NetHost) == methods(Host) - OF_MEDIA_THAT_ORDER_RELAYS


def test_a_protocol_whose_node_was_stopped_has_no_effects_any_more(real: Any) -> None:
    driver = real()

    def stop_and_go_on(probe: Any, *_: Any) -> None:
        driver.runners[0].stop()
        probe.host.broadcast(Ping(1))
        probe.host.send(1, Ping(2))
        probe.host.set_timer(1, 1000)

    driver.do(0, stop_and_go_on)
    driver.run(1.0)
    runner = driver.runners[0]
    assert (len(runner.outbox), len(runner.timers), runner.status().timers) == (0, 0, 0)
    assert driver.probe(1).numbers() == []
