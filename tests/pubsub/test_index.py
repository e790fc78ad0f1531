"""The matching index, compared with calling `matches` of every filter."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, NOTHING, And, Filter, Topic, attr, topic
from roamcast.pubsub.index import MAX_PENDING, MatchingIndex
from roamcast.world.streams import Stream
from tests.pubsub.strategies import events, filters


class BruteForce:
    def __init__(self) -> None:
        self.filters: dict[int, Filter] = {}

    def add(self, key: int, filter: Filter) -> None:
        self.filters[key] = filter

    def remove(self, key: int) -> None:
        self.filters.pop(key, None)

    def match(self, event: Event) -> list[int]:
        return sorted(key for key, filter in self.filters.items() if filter.matches(event))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(-1, 12), filters),
        st.tuples(st.just("remove"), st.integers(-1, 12), st.none()),
        st.tuples(st.just("match"), st.just(0), events),
    ),
    max_size=25,
)


@settings(max_examples=150)
@given(steps, st.lists(events, max_size=5))
def test_the_index_finds_the_same_filters_as_checking_each(
    steps: list[tuple[str, int, object]], sampled: list[Event]
) -> None:
    index, twin = MatchingIndex(), BruteForce()
    for verb, key, item in steps:
        if isinstance(item, Filter):
            index.add(key, item)
            twin.add(key, item)
        elif isinstance(item, Event):
            assert index.match(item) == twin.match(item)
        else:
            assert verb == "remove"
            index.remove(key)
            twin.remove(key)
        assert len(index) == len(twin.filters)
    for event in sampled:
        assert index.match(event) == twin.match(event)


def random_filter(stream: Stream) -> Filter:
    low = int(stream.below(100))
    choices: list[Filter] = [
        attr(f"n{stream.below(3)}").between(low, low + int(stream.below(20))),
        attr(f"n{stream.below(3)}") > low,
        attr(f"n{stream.below(3)}") <= low + 0.5,
        attr(f"n{stream.below(3)}") != low,
        attr(f"s{stream.below(2)}") == f"v{stream.below(30)}",
        attr(f"s{stream.below(2)}").startswith(f"v{stream.below(4)}"),
        topic(f"t.{stream.below(5)}"),
        topic(f"t.{stream.below(5)}.{stream.below(5)}"),
    ]
    parts = [choices[int(stream.below(len(choices)))] for _ in range(1 + int(stream.below(3)))]
    return And(parts) if stream.random() < 0.8 else parts[0] | parts[-1]


def random_event(stream: Stream) -> Event:
    attrs = {f"n{i}": int(stream.below(120)) for i in range(3)}
    texts = {f"s{i}": f"v{stream.below(40)}" for i in range(2)}
    return Event(1, f"t.{stream.below(6)}.{stream.below(6)}", {**attrs, **texts})


def test_many_filters_come_and_go() -> None:
    """Enough filters for trees to be built, become outdated and be built again."""
    stream = Stream(1, 0, "index")
    index, twin = MatchingIndex(), BruteForce()
    for step in range(1500):
        key = int(stream.below(400))
        if stream.random() < (0.8 if step % 500 < 300 else 0.1):
            filter = random_filter(stream)
            index.add(key, filter)
            twin.add(key, filter)
        else:
            index.remove(key)
            twin.remove(key)
        if step % 7 == 0:
            event = random_event(stream)
            assert index.match(event) == twin.match(event)


def test_intervals_are_found_at_both_their_ends_in_the_tree_and_before_it() -> None:
    index, twin = MatchingIndex(), BruteForce()
    for i in range(2 * MAX_PENDING):
        for k, filter in enumerate(
            [
                attr("x").between(i, i + 3),
                (attr("x") > i) & (attr("x") < i + 3),
                (attr("x") >= i) & (attr("x") < i + 1),
                attr("x") > i,
                attr("x") <= i,
                attr("x").startswith(chr(97 + i % 26)),
            ]
        ):
            index.add(i * 6 + k, filter)
            twin.add(i * 6 + k, filter)
        for value in (i - 0.5, i, i + 0.5, i + 1, i + 3, "a", "b\0", True, float("inf"), float("-inf"), float("nan")):
            event = Event(1, "", {"x": value})
            assert index.match(event) == twin.match(event)


def test_an_alternative_is_reported_once_and_a_key_can_be_replaced() -> None:
    index = MatchingIndex()
    index.add(7, (attr("x") > 1) | (attr("x") > 2) | (attr("y") == 1) | topic("t"))
    assert index.match(Event(1, "t", {"x": 5, "y": 1})) == [7]
    index.add(7, attr("z") == 1)
    assert index.match(Event(1, "t", {"x": 5, "y": 1})) == []
    assert index.match(Event(1, "", {"z": 1})) == [7]
    index.remove(7)
    index.remove(7)
    assert index.match(Event(1, "", {"z": 1})) == [] and len(index) == 0


def test_a_certain_alternative_stays_certain_beside_an_uncertain_one() -> None:
    index = MatchingIndex()
    index.add(1, (attr("x") == 1) | ((attr("x") == 1) & (attr("y") == 2)))
    index.add(2, ((attr("x") == 1) & (attr("y") == 2)) | (attr("x") == 1))
    index.add(3, (attr("x") > 0) | ((attr("x") > -1) & (attr("x") != 1)))
    index.add(4, topic("a") | (topic("a") & (attr("y") == 2)))
    assert index.match(Event(1, "a", {"x": 1})) == [1, 2, 3, 4]


def test_everything_nothing_the_root_and_a_filter_of_an_unknown_class() -> None:
    class Even(Filter):
        def matches(self, event: Event) -> bool:
            return event.id % 2 == 0

    index = MatchingIndex()
    for key, filter in enumerate([EVERYTHING, NOTHING, Topic(""), Even(), Even() & topic("a"), Even() | topic("a")]):
        index.add(key, filter)
    assert index.match(Event(2, "b")) == [0, 2, 3, 5]
    assert index.match(Event(3, "a.b")) == [0, 2, 5]
    index.remove(0)
    index.remove(5)
    assert index.match(Event(2, "a.b")) == [2, 3, 4]


def test_topics_are_found_by_all_their_ancestors() -> None:
    index = MatchingIndex()
    for key, name in enumerate(["a", "a.b", "a.b.c", "a.bc", "b", "a.", "a..b"]):
        index.add(key, Topic(name))
    assert index.match(Event(1, "a.b.c.d")) == [0, 1, 2]
    assert index.match(Event(1, "a..b")) == [0, 5, 6]
    assert index.match(Event(1, "")) == []


def test_few_filters_are_checked() -> None:
    """A measure of speed without a clock: filters are not filed under the condition that all of them share."""
    stream = Stream(2, 0, "index")
    checked: list[int] = []

    class Counted(Filter):
        def __init__(self, key: int) -> None:
            self.key = key

        def matches(self, event: Event) -> bool:
            checked.append(self.key)
            return True

    for narrow in (lambda i: attr("value").between(i, i + 20), lambda i: attr("value") == i, lambda i: topic(f"t.{i}")):
        index = MatchingIndex()
        for key in range(3000):
            conditions = [attr("kind") == "temperature", narrow(int(stream.below(10_000))), attr("room") > "a"]
            index.add(key, And(conditions))
            index._filters[key] = Counted(key)
        checked.clear()
        index.match(Event(1, "t.5000", {"kind": "temperature", "value": 5000, "room": "lab"}))
        assert 0 < len(checked) < 50
