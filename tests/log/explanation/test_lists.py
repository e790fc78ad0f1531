"""The short answers: all events; one event at all nodes; all events at one node."""

from __future__ import annotations

from roamcast.log.explanation.lists import MOST_ROWS
from roamcast.pubsub.event import event_id
from tests.log.explanation.logs import EVENT, Hand, all_events, at_node, at_nodes

SECOND = event_id(1, 2)


def log() -> Hand:
    """Node 9 misses both events, node 8 the second; node 1 publishes them."""
    hand = Hand().subscribe(0, 8).subscribe(0, 9)
    hand.publish(1000).send(1000, 1, 1).receive(1001, 8, 1, 1).deliver(1001, 8).lose(1001, 9, 1, 1)
    return hand.publish(2000, event=SECOND, t=3).decide(2000, 1, "suppress", "tired", SECOND).beacon(2000, 1, 8, 9)


def test_all_events_those_first_that_the_most_nodes_missed() -> None:
    assert str(all_events(log().answers())).splitlines() == [
        "2 events; 1 of 4 (event, interested node) pairs were delivered. The events that",
        "the most nodes missed come first.",
        "",
        "event  published  got it  content",
        "1:2    2.000 s    0 of 2  topic news, t=3",
        "1:1    1.000 s    1 of 2  topic news",
    ]
    assert all_events(log().answers()).next_question() == {"event": "1:2"}


def test_one_event_at_all_nodes_those_first_that_missed_it() -> None:
    assert str(at_nodes(log().answers(), EVENT)).splitlines() == [
        "Event 1:1, published by n1 at 1.000 s: topic news; valid for ever.",
        "1 of 2 interested nodes got it; 2 nodes had it: 1 sent it, 1 did not send it.",
        "1 node missed it: collision 1.",
        "",
        "node  result  after  from  cause",
        "n9    missed               collision",
        "n8    got     1 ms   n1",
    ]
    assert at_nodes(log().answers(), EVENT).next_question() == {"event": "1:1", "node": "9"}


def test_all_events_at_one_node_those_first_that_it_missed() -> None:
    assert str(at_node(log().answers(), 8)).splitlines() == [
        "n8 published no events. Of the events of other nodes that interested it, it got",
        "1 and missed 1: suppressed 1.",
        "",
        "event  published  result  after  from  cause",
        "1:2    2.000 s    missed               suppressed",
        "1:1    1.000 s    got     1 ms   n1",
    ]
    assert at_node(log().answers(), 8).next_question() == {"event": "1:2", "node": "8"}


def test_a_node_that_published_and_one_that_did_nothing() -> None:
    published = at_node(log().answers(), 1)
    assert str(published).splitlines()[0] == "n1 published 2 events, and no event of other nodes interested it."
    assert [outcome.status for outcome in published.events] == ["published", "published"]
    nothing = at_node(log().beacon(0, 7, 1).answers(), 7)
    assert str(nothing) == "n7 published no events, and no event of other nodes interested it."
    assert nothing.next_question() == {}


def test_a_delivery_to_a_node_that_does_not_count_is_listed_and_not_counted() -> None:
    hand = Hand().publish(1000).subscribe(1001, 7).send(1002, 1, 1).receive(1003, 7, 1, 1).deliver(1003, 7)
    (line,) = all_events(hand.answers()).events
    assert (line.interested, line.got) == (0, 0)
    assert [outcome.node for outcome in at_nodes(hand.answers(), EVENT).nodes] == [7]
    assert [outcome.status for outcome in at_node(hand.answers(), 7).events] == ["got"]


def test_two_deliveries_at_one_node_count_once() -> None:
    (line,) = all_events(Hand().subscribe(0, 7).publish(1).deliver(2, 7).deliver(3, 7).answers()).events
    assert (line.interested, line.got) == (1, 1)


def test_events_whose_publication_the_log_does_not_have() -> None:
    hand = Hand().receive(5, 9, 1, 1).receive(6, 9, 2, 1).deliver(6, 9).receive(7, 9, 3, 1, SECOND)
    assert str(all_events(hand.answers())).splitlines() == [
        "2 events; the log does not have their publications.",
        "",
        "event  published  got it  content",
        "1:1    0.005 s    1       not in the log",
        "1:2    0.007 s    0       not in the log",
    ]
    assert [outcome.name for outcome in at_node(hand.answers(), 9).events] == ["1:1"]


def test_of_many_only_the_first_are_shown_and_all_are_in_the_data() -> None:
    hand = Hand().subscribe(0, 9)
    for number in range(1, MOST_ROWS + 3):
        hand.publish(number, event=event_id(1, number))
    every = all_events(hand.answers())
    assert "… and 2 more; --json has them all" in str(every)
    assert len(every.as_dict()["events"]) == MOST_ROWS + 2
    assert len(at_node(hand.answers(), 9).as_dict()["events"]) == MOST_ROWS + 2


def test_long_contents_are_cut_to_the_width() -> None:
    hand = Hand().publish(0, text="x" * 200)
    (row,) = [line for line in str(all_events(hand.answers())).splitlines() if line.startswith("1:1")]
    assert len(row) == 80 and row.endswith("x…")
