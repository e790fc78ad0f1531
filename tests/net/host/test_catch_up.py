"""A protocol object that begins after a restart receives the frames that earlier boots stored."""

from __future__ import annotations

import asyncio
import time

import pytest

from roamcast.log import schema
from roamcast.net.durable import MemoryValues
from roamcast.net.host.runner import Runner
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.seals import SEAL_BYTES
from roamcast.protocols.kit import wire
from roamcast.protocols.kit.interface import Frame, Host, Params
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic
from tests.conformance.driver import WHY, Parcel, Ping, Probe
from tests.conformance.real import RING, Walled, network
from tests.net.members import member, publication
from tests.support.sinks import MemorySink
from tests.support.warp import WarpLoop

S = 1_000_000


class Active(Probe):
    """Uses everything that a protocol can do when a frame arrives."""

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        self.react = {"start": lambda probe: probe.host.set_timer(1, 10 * S), "frame": Active.heard}
        self.react["timer"] = lambda probe, key: probe.host.broadcast(Ping(key))

    def heard(self, frame: Frame, sender: int) -> None:
        self.host.note(WHY, frame.id)
        self.host.broadcast(frame)
        self.host.send(sender, frame)
        self.host.set_timer(2, 30 * S)
        self.host.mute(frame.id)
        for event in frame.events():
            self.host.deliver(event)


def carried(events: list[Event]) -> list[tuple[int, int, bytes]]:
    """Frames with these events from 100, 95 and 50 s ago, and some that must not matter."""
    past = [
        (ago_s * S, 7, wire.encode(Probe, Parcel(event))) for ago_s, event in zip([100, 95, 50], events, strict=True)
    ]
    forged = Event(event_id(99, 1), "news", payload=bytes(SEAL_BYTES))
    past.insert(2, (60 * S, 7, b"nonsense"))
    past.insert(2, (70 * S, 7, wire.encode(Probe, Parcel(forged))))
    past.append((40 * S, 7, past[0][2]))  # it is muted at that time
    return past


async def woken(durable: MemoryValues, events: list[Event], sink: MemorySink, got: list[int]) -> Runner:
    """A node that has run before, and starts again far from all others."""
    runner = Runner(
        Active,
        Params(),
        Membership.secure(durable, RING),
        Walled(network(), asyncio.get_running_loop(), lambda _: True),
        sink=sink,
        level="full",
        on_deliver=lambda event, _: got.append(event.id),
        again=True,
        carried=carried(events),
    )
    runner.subscribe(topic("news"))
    runner.start()
    return runner


@pytest.mark.parametrize("alive_ago_s", [None, 90, 30, 5, -100])
def test_a_protocol_gets_carried_frames_alone_and_at_their_times(alive_ago_s: int | None) -> None:
    loop, sink, durable, got = WarpLoop(), MemorySink(), MemoryValues(), list[int]()
    if alive_ago_s is not None:
        durable.store("alive", (time.time_ns() // 1000 - alive_ago_s * S).to_bytes(8, "big"))
    events = [publication(member(), n, topic="news") for n in range(1, 4)]
    runner = loop.run_until_complete(woken(durable, events, sink, got))
    probe = runner.protocol
    assert isinstance(probe, Probe)
    calls = [(what, round(now_us / S - 100)) for what, now_us, _ in probe.inputs]
    ended = {5: -5, -100: 0}.get(alive_ago_s or 0)  # if it is known that the last boot ran until the last timer was due
    assert calls == [
        ("start", -100),
        ("subscribe", -100),
        ("frame", -100),
        ("undelivered", -95),  # no neighbour is in range; the timer for that is late
        ("frame", -95),
        ("undelivered", -50),
        ("timer", -50),
        ("timer", -50),
        ("frame", -50),
        ("undelivered", -40),
        ("timer", 0 if ended is None else ended),
    ]
    assert [call.arguments for call in probe.calls("timer")] == [(1,), (2,), (2,)]
    assert got == [event.id for event in events]
    assert runner.host.heard(events[0].id) == 1
    assert runner.status().up_s < 1
    assert runner.status().decisions == {}
    kinds = [schema.KINDS[row[2]] for row in sink.rows]
    due = ["send"] if ended is None else []  # a frame that was due is sent now
    assert kinds == ["recover", "subscribe", "deliver", "deliver", "deliver", *due]
    assert all(abs(row[0] - time.time() * S) < 60 * S for row in sink.rows)
    assert [row[0] for row in sink.rows] == sorted(row[0] for row in sink.rows)
    loop.run_until_complete(asyncio.sleep(100.0))
    assert runner.tally.frames_out == len(due), "a timer goes off once"
    runner.stop()
    loop.close()
