"""One event at one node: status, summary, interest."""

from __future__ import annotations

from roamcast.pubsub.event import event_id
from tests.log.explanation.logs import EVENT, Hand


def start() -> Hand:
    return Hand().subscribe(0, 9).publish(1000).send(1000, 1, 1)


def test_published() -> None:
    log = start().receive(1001, 2, 1, 1).receive(1001, 3, 1, 1)
    answer = log.explain(1)
    assert (answer.status, answer.cause) == ("published", "")
    assert answer.summary == "n1 published event 1:1 and sent it once; 2 other nodes had it."
    silent = Hand().publish(0).decide(0, 1, "suppress", "unwanted").explain(1)
    assert silent.summary == "n1 published event 1:1 and suppressed it; 0 other nodes had it."


def test_got() -> None:
    log = start().receive(1001, 2, 1, 1).send(1002, 2, 2).receive(1003, 9, 2, 2).deliver(1003, 9)
    answer = log.explain(9)
    assert (answer.status, answer.cause, answer.latency_us, answer.way) == ("got", "", 3000, [1, 2, 9])
    assert answer.summary == "n9 got event 1:1 from n2 3 ms after its publication, over 2 hops (n1 → n2 → n9)."
    assert answer.interest == "n9 was interested: topic news"
    direct = start().receive(1001, 9, 1, 1).deliver(1001, 9).explain(9)
    assert direct.summary == "n9 got event 1:1 from n1 1 ms after its publication."


def test_missed() -> None:
    answer = start().receive(1001, 2, 1, 1).lose(1001, 9, 1, 1).explain(9)
    assert (answer.status, answer.cause, answer.latency_us, answer.way) == ("missed", "collision", None, [])
    assert answer.summary == ("n9 never received event 1:1: n9 lost the frame with it from n1 (collision).")


def test_received_and_not_delivered() -> None:
    answer = start().receive(1001, 9, 1, 1).explain(9)
    assert (answer.status, answer.cause) == ("missed", "undelivered")
    assert answer.summary.startswith("n9 never delivered event 1:1: n9 received it from n1")


def test_without_a_matching_subscription() -> None:
    log = start().subscribe(0, 8, "topic sport").receive(1001, 7, 1, 1).receive(1001, 8, 1, 1).lose(1001, 6, 1, 1)
    received = log.explain(8)
    assert (received.status, received.cause) == ("received", "")
    assert received.summary == "n8 was not interested in event 1:1 and received it once."
    assert received.interest == "n8 was not interested: its subscription does not match (topic sport)"
    assert log.explain(7).interest == "n7 was not interested: it had no subscription at the publication"
    missed = log.explain(6)
    assert (missed.status, missed.cause) == ("not interested", "collision")
    assert missed.summary.startswith("n6 was not interested in event 1:1 and never received it: n6 lost")


def test_several_subscriptions() -> None:
    log = Hand().publish(1000).row(0, 9, "subscribe", 1, reason="topic a").row(0, 9, "subscribe", 2, reason="topic b")
    assert log.explain(9).interest == "n9 was not interested: none of its 2 matches (topic a; topic b)"


def test_a_subscription_that_came_after_the_publication() -> None:
    log = Hand().publish(1000).subscribe(1001, 9).send(1002, 1, 1).receive(1003, 9, 1, 1).deliver(1003, 9)
    answer = log.explain(9)
    assert answer.status == "got"
    assert answer.interest == "n9 was not interested: it had no subscription at the publication"


def test_asleep_or_down_at_the_publication() -> None:
    log = Hand().subscribe(0, 9).row(500, 9, "sleep").publish(1000).send(1000, 1, 1).receive(1001, 2, 1, 1)
    answer = log.explain(9)
    assert (answer.status, answer.cause) == ("not counted", "asleep")
    assert answer.interest == (
        "n9 had the subscription topic news; it does not count, because it was asleep at the publication"
    )
    assert answer.summary.startswith("n9 never received event 1:1: n9 was asleep from 500 ms before its publication")


def test_too_far_from_a_local_event() -> None:
    log = Hand().subscribe(0, 9).subscribe(0, 2).publish(1000, near=[2]).send(1000, 1, 1).receive(1001, 2, 1, 1)
    answer = log.explain(9)
    assert answer.status == "not counted"
    assert answer.interest == (
        "n9 had the subscription topic news; it does not count, because it was too far from its publisher for a local "
        "event at the publication"
    )
    assert answer.about.endswith("; local: for the 1 node near its publisher")
    assert log.explain(2).status == "missed"


def test_a_log_without_the_publication() -> None:
    answer = Hand().receive(5, 9, 1, 2).deliver(6, 9).explain(9)
    assert (answer.status, answer.latency_us, answer.is_published, answer.begins_us) == ("got", None, False, 5000)
    assert answer.summary == "n9 got event 1:1 from n2."
    assert answer.about == "published by n1; the log does not have its publication"
    assert answer.interest == "not known, because the log does not have the publication"


def test_without_the_publication_a_node_that_only_received_it_may_not_have_wanted_it() -> None:
    answer = Hand().receive(5, 9, 1, 2).receive(6, 9, 2, 3).explain(9)
    assert (answer.status, answer.cause) == ("received", "")
    assert answer.summary == "n9 received event 1:1 twice and did not deliver it."


def test_a_log_without_frames() -> None:
    log = Hand().subscribe(0, 9).publish(1000).subscribe(0, 8).deliver(1001, 8).deliver(1001, 7, event_id(1, 2))
    answer = log.explain(9)
    assert (answer.status, answer.cause) == ("missed", "not in the log")
    assert answer.summary == "n9 never delivered event 1:1; the log has no frames that could say why."
    assert log.explain(7).summary == "n7 was not interested in event 1:1; the log has no frames that could say why."
    assert "To see more, write it with --level frames or full" in answer.remarks[0]


def test_the_network_in_one_sentence() -> None:
    log = start().subscribe(0, 3).receive(1001, 2, 1, 1).receive(1001, 3, 1, 1).deliver(1001, 3)
    log.decide(1001, 2, "suppress", "heard again").decide(1001, 3, "suppress", "heard again").receive(1001, 4, 1, 1)
    assert log.explain(9).network == (
        "1 of 2 interested nodes got it; 4 nodes had it: 2 suppressed it (heard again), 1 sent it, 1 did not send it"
    )
    assert Hand().publish(0).explain(1).network == "no node was interested"


def test_the_nearest_place_is_named_if_no_neighbour_had_it() -> None:
    log = start().receive(1001, 2, 1, 1).row(0, 2, "move", value=10**9, reason="0 0 0 0")
    log.row(0, 9, "move", value=10**9, reason="30 40 0 0").row(0, 1, "move", value=10**9, reason="300 400 0 0")
    assert log.explain(9).remarks == [
        "By the places of nodes, n2 was the nearest that had it: 50 m away when it got it."
    ]
    neighbour = log.beacon(1001, 2, 9).explain(9)
    assert neighbour.remarks == []
    assert [(holder.node, holder.distance_m) for holder in neighbour.neighbours] == [(2, 50.0)]


def test_the_neighbours_where_it_stopped() -> None:
    log = start().receive(1001, 2, 1, 1).beacon(1000, 9, 8).beacon(1000, 8, 7).beacon(1000, 7, 2)
    for node in (2, 7, 8, 9):
        log.row(0, node, "move", value=10**9, reason=f"{node} 0 0 0")
    answer = log.decide(1001, 2, "drop", "tired").explain(9)
    assert answer.neighbours[0].distance_m is None  # it would be the distance from node 9
    assert (answer.cause, answer.path) == ("not reached", [9, 8, 7, 2])
    assert [(holder.node, holder.conduct, holder.reason) for holder in answer.neighbours] == [(2, "dropped", "tired")]
    assert "a frame between n2 and n7" in [entry.text for entry in answer.neighbours[0].timeline]


def test_as_a_dictionary_it_has_everything() -> None:
    answer = start().lose(1001, 9, 1, 1).beacon(1000, 1, 9).explain(9)
    data = answer.as_dict()
    assert data["event"] == EVENT and data["name"] == "1:1"
    assert data["timeline"][0]["frames"] == [1] and data["timeline"][0]["reason"] == "collision"
    assert data["neighbours"][0]["node"] == 1 and data["neighbours"][0]["timeline"][0]["kind"] == "had"
