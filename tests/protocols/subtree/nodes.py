"""What tests of the subscription tree share: nodes in given states."""

from __future__ import annotations

from hypothesis import strategies as st

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import tree_name
from roamcast.protocols.subtree.frames import PER_FRAME, Heartbeat, Join, Subscribe
from roamcast.protocols.subtree.protocol import SubTree
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter, Range, attr, topic
from roamcast.testing import ScriptHost, make

ME, ROOT = 9, 2
TREE = tree_name(ROOT, 0.5)
MODES = st.sampled_from(["subscription", "message"])


def hung() -> tuple[SubTree, ScriptHost]:
    protocol, host = make(SubTree, ScriptHost(ME))
    protocol.on_start()
    host.hear(protocol, Heartbeat(TREE, 1, 0, NOBODY, []), ROOT)
    assert protocol.place.parent == ROOT and host.sent[-1][0] == ROOT
    host.sent.clear()
    host.notes.clear()
    return protocol, host


def child(protocol: SubTree, host: ScriptHost, id: int, *filters: Filter) -> None:
    host.hear(protocol, Join(), id)
    host.hear(protocol, Subscribe(0, 1, list(enumerate(filters)), []), id)


ids = st.integers(0, (1 << 31) - 1)
trees = st.integers(0, (1 << 47) - 1)
filters = st.sampled_from([topic("hot"), Range("v", 1, 2.5), attr("x") == "y", EVERYTHING, topic("a") & topic("b")])
frames = st.one_of(
    st.builds(
        Heartbeat,
        trees,
        st.integers(0, (1 << 48) - 1),
        st.integers(0, 255),
        ids | st.just(NOBODY),
        st.lists(st.tuples(ids, ids), max_size=20).map(lambda rows: [x for row in rows for x in row]),
    ),
    st.just(Join()),
    st.builds(
        Subscribe,
        st.integers(0, 65_535),
        st.integers(1, 65_535),
        st.lists(st.tuples(st.integers(0, 99), filters), max_size=PER_FRAME),
        st.lists(st.integers(0, 99), max_size=40),
    ),
    st.builds(EventFrame, st.builds(Event, st.integers(1, 9)), st.just(0), st.integers(0, 9)),
)
