"""What happened to an event at a node, in order."""

from __future__ import annotations

from roamcast.log.explanation.holders import absences, holders
from roamcast.log.explanation.links import Links
from roamcast.log.explanation.timeline import Entry, folded, holder_timeline, timeline
from roamcast.log.interest import FAULTS
from tests.log.explanation.logs import Hand
from tests.log.explanation.test_spread import spread


def texts(log: Hand, node: int) -> list[tuple[int, str]]:
    absent = absences(log.columns().rows_of_kinds(FAULTS)).get(node, [])
    return [(entry.t_us // 1000, entry.text) for entry in timeline(spread(log), node, absent)]


def test_published_sent_and_received_again() -> None:
    log = Hand().publish(0).decide(0, 1, "forward", "mine").send(1, 1, 1).receive(2, 2, 1, 1).receive(2, 3, 1, 1)
    log.lose(2, 4, 1, 1).lose(2, 5, 1, 1, "loss").lose(2, 6, 1, 1)
    log.send(3, 2, 2).receive(4, 1, 2, 2).send(5, 1, 3)
    assert texts(log, 1) == [
        (0, "published it"),
        (0, "forward: mine"),
        (1, "sent it to all in range: received by n2 and n3; lost at n4 and n6 (collision); lost at n5 (loss)"),
        (4, "received it again from n2"),
        (5, "sent it to all in range: received by no node"),
    ]


def test_received_delayed_and_delivered() -> None:
    log = Hand().publish(0).send(1, 1, 1).lose(2, 5, 1, 1, "half-duplex").send(3, 1, 2).receive(4, 5, 2, 1)
    log.deliver(4, 5).decide(4, 5, "delay", "later")
    assert texts(log, 5) == [
        (2, "lost a frame from n1 with it: half-duplex (it was sending itself)"),
        (4, "received it from n1"),
        (4, "delivered it to the application"),
        (4, "delay: later"),
    ]


def test_frames_for_one_neighbour() -> None:
    log = Hand().publish(0).send(1, 1, 1, to=2).receive(2, 2, 1, 1).overhear(2, 3, 1, 1).lose(2, 4, 1, 1)
    log.send(3, 1, 2, to=3).lose(4, 3, 2, 1).send(5, 1, 3, to=3).row(5, 1, "repeat", frame=3, peer=3)
    log.lose(6, 1, 3, 3, "no-ack").lose(7, 1, 0, 4, "queue")
    assert texts(log, 1)[1:] == [
        (1, "sent it to n2: received"),
        (3, "sent it to n3: lost there (collision)"),
        (5, "sent it again to n3: not received"),
        (6, "gave up sending it to n3: no acknowledgement came"),
        (7, "gave up sending it to n4: the queue was full"),
    ]
    assert texts(log, 3) == [(2, "overheard it from n1 to n2"), (4, "lost a frame from n1 with it: collision")]
    assert texts(log, 4) == [(2, "lost a frame from n1 to n2 with it: collision")]


def test_a_collision_names_the_other_senders() -> None:
    event = spread(Hand().publish(0).send(1, 1, 1).lose(2, 5, 1, 1).send(3, 1, 2).lose(4, 5, 2, 1))
    event.colliding = {1: [7], 2: [7, 8]}
    assert [entry.text for entry in timeline(event, 5, [])] == [
        "lost a frame from n1 with it: collision with one from n7",
        "lost a frame from n1 with it: collision with frames from n7 and n8",
    ]


def test_absences_and_expiry_are_part_of_it() -> None:
    log = Hand().row(0, 5, "sleep").row(50, 5, "wake").row(60, 5, "crash").publish(10, validity_us=90_000)
    log.send(10, 1, 1).receive(200, 5, 1, 1).row(500, 5, "sleep")
    assert texts(log, 5) == [
        (0, "asleep until +0.0400"),
        (60, "down until the end of the log"),
        (100, "the event expires"),
        (200, "received it from n1"),
    ]


def test_the_log_of_one_node_does_not_say_where_frames_arrived() -> None:
    event = spread(Hand().publish(0).send(1, 1, 1))
    event.has_hearers = False
    assert [entry.text for entry in timeline(event, 1, [])][1:] == ["sent it to all in range"]


def test_equal_things_in_a_row_become_one() -> None:
    log = Hand().publish(0).send(0, 1, 9).receive(1, 5, 9, 1)
    for frame, sender in ((1, 2), (2, 3), (3, 2)):
        log.send(frame, sender, frame).receive(frame + 1, 5, frame, sender)
    log.decide(9, 5, "drop", "tired").decide(10, 5, "drop", "tired").decide(11, 5, "drop", "bored")
    assert texts(log, 5) == [
        (1, "received it from n1"),
        (2, "received it again 3 times, from n2 and n3"),
        (9, "drop: tired (twice)"),
        (11, "drop: bored"),
    ]
    (again,) = [entry for entry in timeline(spread(log), 5, []) if entry.kind == "received again"]
    assert (again.t_us, again.until_us, again.frames, again.peers) == (2000, 4000, [1, 2, 3], [2, 3])


def test_folding_puts_entries_in_order() -> None:
    assert [entry.text for entry in folded([Entry(2, 2, "a", "b"), Entry(1, 1, "a", "a")])] == ["a", "b"]


def of_holder(log: Hand, is_far: bool = False) -> list[tuple[int, str]]:
    event = spread(log)
    absent = absences(log.columns().rows_of_kinds(FAULTS)).get(9, [])
    (holder,) = holders(event, 9, Links(log.columns()), absent)
    return [(entry.t_us // 1000, entry.text) for entry in holder_timeline(event, holder, 9, is_far)]


def test_the_timeline_of_a_neighbour_has_its_reception_decisions_and_frames() -> None:
    log = Hand().publish(0).send(0, 1, 1).receive(1, 3, 1, 1).send(2, 3, 2).receive(3, 2, 2, 3).beacon(1, 2, 9)
    log.decide(3, 2, "forward", "by hand").send(4, 2, 4).lose(5, 9, 4, 2).send(6, 2, 5, to=7).overhear(7, 9, 5, 2)
    log.send(8, 2, 6, to=7).send(9, 2, 8).row(10, 9, "sleep").send(11, 2, 10).lose(12, 2, 0, 9, "queue")
    assert of_holder(log) == [
        (1, "a frame between n2 and n9"),
        (3, "received it from n3, 2 hops from n1"),
        (3, "forward: by hand"),
        (4, "sent it to all in range: n9 lost it (collision)"),
        (6, "sent it to n7: n9 overheard it"),
        (8, "sent it to n7"),
        (9, "sent it to all in range: n9 did not hear it"),
        (11, "sent it to all in range: n9 was asleep"),
        (12, "gave up sending it to n9: the queue was full"),
    ]


def test_a_publisher_that_was_met_later() -> None:
    log = Hand().publish(0).send(0, 1, 1).beacon(90_000, 1, 9)
    assert of_holder(log, is_far=True) == [
        (0, "published it"),
        (0, "sent it to all in range"),
        (90_000, "a frame between n1 and n9"),
    ]
