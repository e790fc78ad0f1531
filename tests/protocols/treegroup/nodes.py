"""What tests of tree groups share: names of trees, and nodes in given states."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import root_of, tree_name
from roamcast.protocols.treegroup.frames import (
    ACROSS,
    DOWN,
    MAX_GROUPS,
    UP,
    Accept,
    Bitmap,
    Gateway,
    GroupEvent,
    Heartbeat,
    Join,
    Propose,
    Turn,
    Welcome,
)
from roamcast.protocols.treegroup.protocol import TreeGroup
from roamcast.protocols.treegroup.tables import GatewayRecord, GroupNeighbour
from roamcast.pubsub.event import FOREVER, GLOBAL, LOCAL, Event
from roamcast.testing import ScriptHost, make

SECOND = 1_000_000
LEADER = 7
TREE = tree_name(LEADER, 0.5)
OTHER = tree_name(8, 0.5)


ids = st.integers(0, (1 << 31) - 1)
trees = st.integers(1, (1 << 47) - 1)
levels = st.integers(0, 255)
events = st.builds(
    Event,
    st.integers(1, (1 << 63) - 1),
    st.text(max_size=5),
    st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3),
    scope=st.sampled_from([GLOBAL, LOCAL]),
)
frames = st.one_of(
    st.builds(
        Heartbeat,
        trees | st.just(0),
        st.integers(0, (1 << 48) - 1),
        levels,
        ids | st.just(NOBODY),
        st.integers(0, 65_535),
        st.booleans(),
        st.integers(1, 1000),
        levels,
        st.lists(st.tuples(ids, ids, ids), max_size=20).map(lambda rows: [x for row in rows for x in row]),
        st.lists(ids, max_size=32, unique=True).map(sorted),
    ),
    st.builds(Join, st.integers(0, 65_535)),
    st.builds(Welcome, trees | st.just(0), st.integers(0, (1 << 48) - 1), levels),
    st.builds(Bitmap, st.integers(1, 65_535), st.binary(max_size=300)),
    st.builds(
        Gateway,
        st.integers(1, 65_535),
        st.lists(st.tuples(trees, ids, levels, st.booleans()).map(list), max_size=MAX_GROUPS),
    ),
    st.builds(
        Propose,
        trees,
        trees,
        ids,
        st.integers(1, 999),
        levels,
        st.integers(0, 511),
        st.lists(ids, max_size=20),
    ),
    st.builds(Accept, ids, ids, st.lists(ids, max_size=20)),
    st.just(Turn()),
    st.builds(
        GroupEvent,
        events,
        st.sampled_from([UP, DOWN]),
        st.integers(0, FOREVER),
        levels,
        st.lists(trees, max_size=MAX_GROUPS),
        st.lists(trees, max_size=MAX_GROUPS),
    ),
    st.builds(
        GroupEvent,
        events,
        st.just(ACROSS),
        st.integers(0, FOREVER),
        levels,
        st.lists(trees, max_size=MAX_GROUPS),
        st.just([]),
    ),
)


@st.composite
def networks(draw: Any, most: int = 9) -> tuple[int, list[tuple[int, int]]]:
    """Connected networks, with a few links more than a tree needs."""
    n = draw(st.integers(2, most))
    links = [(i, draw(st.integers(0, i - 1))) for i in range(1, n)]
    more = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=n))
    return n, links + [(i, j) for i, j in more if i != j]


def pairs_that_are_linked(neighbours: dict[int, GroupNeighbour]) -> float:
    pairs = list(combinations(sorted(neighbours), 2))
    linked = [p for p in pairs if p[1] in neighbours[p[0]].neighbours or p[0] in neighbours[p[1]].neighbours]
    return len(linked) / len(pairs) if pairs else 0.0


few_trees = st.sampled_from([tree_name(root, 0.5) for root in (7, 8, 9, 10)])
records = st.builds(GatewayRecord, few_trees, st.integers(4, 6), st.integers(0, 3), st.booleans(), st.just(5))


def beat(
    tree: int = TREE, count: int = 1, level: int = 0, parent: int = NOBODY, children: tuple[int, ...] = (), **more: Any
) -> Heartbeat:
    return Heartbeat(
        tree,
        count,
        level,
        parent,
        more.get("weight", 0),
        more.get("open", True),
        more.get("members", 9),
        more.get("depth", 1),
        list(children),
        more.get("neighbours", []),
    )


def hang(protocol: TreeGroup, host: ScriptHost, parent: int, tree: int = TREE, count: int = 1, level: int = 0) -> None:
    """Let the node hear a parent, send it a request, and get a welcome."""
    above = NOBODY if root_of(tree) == parent else 99
    host.hear(protocol, beat(tree, count, level, above), parent)
    assert protocol.membership.requested == parent
    host.hear(protocol, Welcome(tree, count, level), parent)
    assert protocol.place.parent == parent


def hung(**params: Any) -> tuple[TreeGroup, ScriptHost]:
    protocol, host = make(TreeGroup, ScriptHost(3), **params)
    protocol.on_start()
    hang(protocol, host, LEADER)
    host.sent.clear()
    host.take()
    return protocol, host
