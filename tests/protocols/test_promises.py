"""What every protocol promises (kit/interface.py): frames do not change, and modules do not either.

In these networks all receivers of a frame get the same object, as in the simulator.
"""

from __future__ import annotations

import heapq
import sys
from typing import Any

import pytest
from hypothesis import given, settings

from roamcast.protocols import registry
from roamcast.protocols.frugal.event_table import COLLECTED
from roamcast.protocols.frugal.frames import EventsIds
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.wire import encode
from roamcast.testing import ScriptHost
from roamcast.world.streams import Stream
from tests.support.net import TinyNet
from tests.support.storm import DOINGS, Plan, planned, plans, steps, weather

MEMORIES = {
    ("roamcast.protocols.subtree.cover_table", "SHARED"),
    ("roamcast.protocols.subtree.filter_table", "SHARED"),
}
"""The one object at module level that changes, by both of its names: which filters cover which."""

LIVELY = (*DOINGS, "publish", "publish", "publish", "publish", "recover", "recover", "join", "join", "subscribe")

Content = tuple[str, int, int, object, bytes]


class SharedNet(TinyNet):
    """Frames are passed as objects, and their content at the time of sending is recorded."""

    def __init__(self, *args: Any, **more: Any) -> None:
        self.handed: list[tuple[Frame, Content]] = []
        super().__init__(*args, **more)

    def transmit(self, sender: int, to: int, frame: Frame) -> None:
        self.handed.append((frame, self.content(frame)))
        super().transmit(sender, to, frame)

    def content(self, frame: Frame) -> Content:
        return frame.kind, frame.id, frame.size, frame.cargo, encode(self.protocol, frame)

    def _arrive(self) -> None:
        _, _, receiver, sender, _, frame = self.air[0]
        if receiver < 0:
            super()._arrive()
            return
        heapq.heappop(self.air)
        if self.up[receiver]:
            self.hosts[receiver].hear(self.nodes[receiver], frame, sender)


def lively(seed: int, count: int = 120) -> Plan:
    """Six well linked nodes and many steps."""
    draw = Stream(seed, 0, "plan")
    links = [(i, (i + 1) % 6) for i in range(6)] + [(0, 3), (1, 4)]
    begin = [("subscribe", i, i % 6, 0) for i in range(6)] + [("walk", 0, 1, 4000)]
    then = [
        (LIVELY[int(draw.random() * len(LIVELY))], int(draw.random() * 6), int(draw.random() * 6), 100)
        for _ in range(count)
    ]
    return Plan(6, links, False, seed, 0.1, 0.1, 2000, 7_000_000, begin + then)


def effects(net: TinyNet) -> list[list[str]]:
    """All effects that the nodes requested from their hosts."""
    return [host.effects for host in net.hosts]


# ---------------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize("name", registry.names())
def test_a_protocol_holds_the_parameters_it_was_given(name: str) -> None:
    protocol = registry.get(name)
    params = protocol.params_class()
    made: Any = protocol(ScriptHost(), params)
    assert made.params is params


# -------------------------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize("name", registry.names())
def test_frames_do_not_change_after_they_were_sent(name: str) -> None:
    for seed in range(3):
        net: Any = weather(registry.get(name), lively(seed), SharedNet)
        assert len(net.handed) > 50
        for frame, content in net.handed:
            assert net.content(frame) == content


@settings(max_examples=10)
@pytest.mark.parametrize("name", registry.names())
@given(plans())
def test_frames_do_not_change_under_faults(name: str, plan: Plan) -> None:
    net: Any = weather(registry.get(name), plan, SharedNet)
    for frame, content in net.handed:
        assert net.content(frame) == content


@pytest.mark.parametrize("name", registry.names())
def test_results_stored_in_shared_frames_change_no_effects(name: str) -> None:
    """Over sockets each receiver has its own frame, without stored results."""
    plan = lively(1)
    assert effects(weather(registry.get(name), plan, SharedNet)) == effects(weather(registry.get(name), plan))


# ------------------------------------------------------------------------------------------------------------- modules


def state_of_modules() -> dict[tuple[str, str], object]:
    """All values at module level, with the contents of containers and of the protocols' own objects."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith("roamcast.protocols.")}
    return {
        (name, variable): frozen(value)
        for name, module in modules.items()
        for variable, value in vars(module).items()
        if not variable.startswith("__") and (name, variable) not in MEMORIES
    }


def frozen(value: Any) -> object:
    if isinstance(value, dict):
        return {key: frozen(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [frozen(entry) for entry in value]
    if not isinstance(value, type) and type(value).__module__.startswith("roamcast.protocols."):
        names = [name for name in dir(value) if not name.startswith("__") and not callable(getattr(value, name))]
        return {name: frozen(getattr(value, name)) for name in names}
    return value


def test_nothing_at_module_level_changes() -> None:
    for name in registry.names():
        registry.get(name)
    before = state_of_modules()
    for name in registry.names():
        weather(registry.get(name), lively(2), SharedNet)
    assert state_of_modules() == before


def test_a_change_at_module_level_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.get("frugal")
    before = state_of_modules()
    monkeypatch.setattr(COLLECTED, "fwd", COLLECTED.fwd + 1)
    assert state_of_modules() != before


@pytest.mark.parametrize("name", registry.names())
def test_worlds_in_one_process_do_not_affect_each_other(name: str) -> None:
    """The effects are the same alone, after another world, and step by step in turns with another world."""
    protocol = registry.get(name)
    one, other = lively(3), lively(4)
    alone = [effects(weather(protocol, plan, SharedNet)) for plan in (one, other)]
    nets = [planned(protocol, plan, SharedNet) for plan in (one, other)]
    for _ in zip(steps(nets[0], one), steps(nets[1], other), strict=True):
        pass
    assert [effects(net) for net in nets] == alone
    assert effects(weather(protocol, one, SharedNet)) == alone[0]


def test_a_changed_frame_would_be_noticed() -> None:
    net = SharedNet(registry.get("frugal"), 2)
    frame = EventsIds([1, 2])
    net.transmit(0, -1, frame)
    frame.ids.append(3)
    ((handed, content),) = net.handed
    assert net.content(handed) != content
