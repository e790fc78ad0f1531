"""How one event went from node to node."""

from __future__ import annotations

from roamcast.log.explanation.spread import NEVER_US, Spread
from roamcast.log.interest import KINDS, published_events
from roamcast.pubsub.event import event_id
from tests.log.explanation.logs import EVENT, Hand

OTHER = event_id(1, 2)


def spread(log: Hand, event: int = EVENT) -> Spread:
    published = published_events(log.columns().rows_of_kinds(KINDS)).get(event)
    return Spread(event, published, log.columns().rows_about(event))


def test_a_node_has_it_from_the_first_copy_on_and_owes_it_to_its_sender() -> None:
    log = Hand().publish(0).send(1, 1, 1).receive(2, 2, 1, 1).send(3, 2, 2).receive(4, 3, 2, 2).receive(4, 1, 2, 2)
    log.send(5, 3, 3).receive(6, 2, 3, 3).deliver(7, 3).deliver(8, 3)
    event = spread(log)
    assert event.had_us == {1: 0, 2: 2000, 3: 4000}
    assert event.came_from == {2: 1, 3: 2}
    assert event.way_to(3) == [1, 2, 3]
    assert event.way_to(1) == [1]
    assert event.delivered_us == {3: 7000}
    assert event.hearers == {1: [2], 2: [3, 1], 3: [2]}


def test_other_events_of_the_same_frame_are_not_copies_of_it() -> None:
    log = Hand().publish(0).publish(0, event=OTHER).send(1, 1, 7)
    log.receive(2, 2, 7, 1).receive(2, 2, 7, 1, OTHER).receive(2, 3, 7, 1)
    assert set(spread(log, OTHER).had_us) == {1, 2}
    assert [row.event for row in spread(log, OTHER).at(2, "receive")] == [OTHER]


def test_only_frames_for_the_node_or_for_all_are_lost_to_it() -> None:
    log = Hand().publish(0).send(1, 1, 1).send(1, 1, 2, to=5).send(1, 1, 3, to=6)
    log.lose(2, 5, 1, 1).lose(2, 5, 2, 1, "half-duplex").lose(2, 5, 3, 1).lose(2, 1, 2, 5, "no-ack")
    event = spread(log)
    assert [(row.frame, row.reason) for row in event.lost(5)] == [(1, "collision"), (2, "half-duplex")]
    assert [row.reason for row in event.given_up(1)] == ["no-ack"]
    assert event.lost(1) == event.given_up(5) == []
    assert event.losers == {1: [(5, "collision")], 2: [(5, "half-duplex")], 3: [(5, "collision")]}


def test_when_it_begins_ends_and_expires() -> None:
    event = spread(Hand().publish(3, validity_us=9000).send(4, 1, 1).receive(20, 2, 1, 1))
    assert (event.begins_us, event.busy_until_us, event.expires_us) == (3000, 20_000, 12_000)
    assert spread(Hand().publish(3)).expires_us == NEVER_US


def test_without_its_publication_it_begins_with_the_first_row() -> None:
    event = spread(Hand().receive(5, 2, 1, 1).receive(4, 3, 1, 1))
    assert (event.begins_us, event.expires_us, event.publisher) == (4000, NEVER_US, 1)
    assert event.way_to(2) == [1, 2]
    assert spread(Hand()).begins_us == spread(Hand()).busy_until_us == 0
