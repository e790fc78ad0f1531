"""The status of a runner is plain data with every counter."""

from __future__ import annotations

from typing import Any

import msgspec

from roamcast.net.host.status import RunnerStatus
from roamcast.net.refusal import Tally
from tests.conformance.driver import Ping


def test_every_counter_is_a_field() -> None:
    fields = {field.name for field in msgspec.structs.fields(RunnerStatus)}
    assert set(Tally().as_dict()) <= fields


def test_it_can_be_written_as_json_and_read_again(real: Any) -> None:
    driver = real()
    driver.do(0, lambda probe, _: probe.host.broadcast(Ping(1)))
    status = driver.runners[1].status()
    assert msgspec.json.decode(msgspec.json.encode(status), type=RunnerStatus) == status
    assert [(peer.node, peer.frames) for peer in status.neighbours] == [(0, 1)]
