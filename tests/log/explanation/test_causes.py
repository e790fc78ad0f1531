"""Why an event did not come to a node: one log by hand for each cause."""

from __future__ import annotations

import pytest

from roamcast.log.explanation.causes import Cause, cause
from roamcast.log.explanation.holders import absences
from roamcast.log.explanation.links import Links
from roamcast.log.interest import FAULTS
from tests.log.explanation.logs import Hand
from tests.log.explanation.test_spread import spread

NODE = 9


def why(log: Hand, node: int = NODE) -> Cause:
    columns = log.columns()
    return cause(spread(log), node, Links(columns), absences(columns.rows_of_kinds(FAULTS)))


def start() -> Hand:
    """Node 1 publishes; node 2, a neighbour of node 9, gets the event."""
    return Hand().publish(10_000).send(10_000, 1, 1).receive(10_100, 2, 1, 1).beacon(10_050, NODE, 2)


def test_received_and_not_delivered() -> None:
    log = start().send(10_200, 2, 2).receive(10_210, NODE, 2, 2)
    assert (why(log).word, why(log).clauses) == (
        "undelivered",
        ["n9 received it from n2 and did not deliver it; the log has no decision about it"],
    )
    log.decide(10_220, NODE, "forward", "first").decide(10_220, NODE, "drop", "expired")
    assert why(log).clauses == ["n9 received it from n2 and did not deliver it: drop (expired)"]


@pytest.mark.parametrize("reason", ["collision", "half-duplex", "loss"])
def test_a_lost_frame(reason: str) -> None:
    log = start().send(10_200, 2, 2).lose(10_210, NODE, 2, 2, reason)
    assert (why(log).word, why(log).clauses) == (reason, [f"n9 lost the frame with it from n2 ({reason})"])


def test_several_lost_frames() -> None:
    log = start().send(10_200, 2, 2).lose(10_210, NODE, 2, 2, "loss")
    log.send(10_300, 2, 3).lose(10_310, NODE, 3, 2).send(10_400, 1, 4).lose(10_410, NODE, 4, 1)
    assert (why(log).word, why(log).clauses) == (
        "collision",
        ["n9 lost 3 frames with it from n2 and n1 (collision 2, loss 1)"],
    )


def test_a_lost_frame_for_another_node_is_no_cause() -> None:
    log = start().send(10_200, 2, 2, to=7).lose(10_210, NODE, 2, 2)
    assert (why(log).word, why(log).clauses) == ("sent to others", ["n9's neighbour n2 sent it only to other nodes"])


def test_a_frame_that_was_not_acknowledged() -> None:
    log = start().send(10_200, 2, 2, to=NODE).lose(10_300, 2, 2, NODE, "no-ack")
    assert (why(log).word, why(log).clauses) == ("no-ack", ["n2 sent it to n9 and got no acknowledgement"])


def test_a_full_queue() -> None:
    for peer in (-1, NODE):
        log = start().lose(10_300, 2, 0, peer, "queue")
        assert (why(log).word, why(log).clauses) == ("queue", ["n2 had no room for it in the queue"])


def test_a_full_queue_far_away_is_no_cause() -> None:
    log = start().decide(10_200, 2, "drop", "tired").receive(10_100, 3, 1, 1).lose(10_300, 3, 0, -1, "queue")
    assert (why(log).word, why(log).clauses) == ("dropped", ["n9's neighbour n2 dropped it (tired)"])


@pytest.mark.parametrize(("leave", "come", "state"), [("sleep", "wake", "asleep"), ("crash", "recover", "down")])
def test_absent_when_it_was_sent(leave: str, come: str, state: str) -> None:
    log = start().row(10_150, NODE, leave).row(10_250, NODE, come).send(10_200, 2, 2)
    assert (why(log).word, why(log).clauses) == (state, [f"n9 was {state} when n2 sent it"])


def test_absent_all_the_time_and_no_neighbour_had_it() -> None:
    log = Hand().row(4_000, NODE, "sleep").row(14_000, NODE, "wake").publish(10_000).send(10_000, 1, 1)
    log.receive(10_100, 2, 1, 1)
    assert (why(log).word, why(log).clauses) == (
        "asleep",
        ["n9 was asleep from 6 s before its publication until 4 s after it"],
    )
    down = Hand().row(4_000, NODE, "crash").publish(10_000).send(10_000, 1, 1)
    assert why(down).clauses == ["n9 was down from 6 s before its publication until the end of the log"]


def test_neighbours_that_kept_it() -> None:
    log = start().decide(10_200, 2, "suppress", "heard again")
    for neighbour in (3, 4, 5):
        log.receive(10_100, neighbour, 1, 1).beacon(10_060, neighbour, NODE)
    log.decide(10_200, 3, "drop", "tired").decide(10_200, 4, "drop", "tired").send(10_300, 5, 7)
    assert (why(log).word, why(log).clauses) == (
        "dropped",
        [
            "n9's neighbours n3 and n4 dropped it (tired), and n2 suppressed it (heard again)",
            "n9's neighbour n5 sent it, and n9 did not hear it",
        ],
    )


def test_a_neighbour_that_was_not_heard() -> None:
    log = start().send(10_300, 2, 7)
    assert (why(log).word, why(log).clauses) == ("out of range", ["n9's neighbour n2 sent it, and n9 did not hear it"])


def test_a_publisher_that_did_not_send() -> None:
    log = Hand().publish(10_000).beacon(10_000, NODE, 8)
    assert (why(log).word, why(log).clauses) == ("not sent", ["its publisher n1 did not send it"])
    log.decide(10_000, 1, "suppress", "unwanted")
    assert why(log).clauses == ["its publisher n1 suppressed it (unwanted)"]
    log.lose(10_000, 1, 0, -1, "queue")
    assert why(log).clauses == ["its publisher n1 had no room for it in the queue"]


def test_a_publisher_that_no_node_heard() -> None:
    log = Hand().publish(10_000).beacon(10_000, NODE, 8).send(10_000, 1, 1).send(11_000, 1, 2)
    assert (why(log).word, why(log).clauses) == (
        "not heard",
        ["its publisher n1 sent it twice, and no node received it"],
    )


def far() -> Hand:
    return Hand().publish(10_000).send(10_000, 1, 1).receive(10_100, 2, 1, 1)


def test_a_node_without_frames() -> None:
    assert (why(far()).word, why(far()).clauses) == (
        "alone",
        ["no frame went to or from n9 while the event was on its way"],
    )


def test_a_node_that_met_holders_later() -> None:
    log = far().receive(10_100, 3, 1, 1).beacon(40_100, 2, NODE).beacon(60_100, 3, NODE)
    assert (why(log).word, why(log).clauses[1:]) == (
        "alone",
        ["n2 and n3, which had it, met n9 later, the first after 30 s"],
    )
    assert [holder.node for holder in why(log).holders] == [2, 3]
    assert why(far().beacon(40_100, 2, NODE)).clauses[1:] == ["n2, which had it, met n9 30 s later"]


def test_a_part_of_the_network_that_it_did_not_come_to() -> None:
    log = far().beacon(10_000, NODE, 8, 7)
    assert (why(log).word, why(log).clauses) == (
        "cut off",
        [
            "frames connected n9 with 2 other nodes while the event was on its way, "
            "and none of them met a node that had it"
        ],
    )


def test_it_stopped_on_the_way() -> None:
    log = far().beacon(10_000, NODE, 8).beacon(10_000, 8, 7).beacon(10_000, 7, 2)
    log.send(10_300, 2, 5).lose(10_310, 7, 5, 2)
    stopped = why(log)
    assert (stopped.word, stopped.path) == ("not reached", [9, 8, 7, 2])
    assert stopped.clauses == [
        "no neighbour of n9 had it",
        "it came as far as n2, 3 hops away, and no nearer: n7 lost the frame with it from n2 (collision)",
    ]
    assert [holder.node for holder in stopped.holders] == [2]


def test_it_met_a_holder_while_the_event_was_on_its_way_but_too_late_to_be_its_neighbour() -> None:
    log = far().send(10_200, 2, 3).receive(40_000, 3, 3, 2).beacon(30_000, NODE, 2)
    assert (why(log).word, why(log).clauses) == (
        "met later",
        ["no neighbour of n9 had it", "n2, which had it, met n9 19.9 s later"],
    )


def test_it_stopped_at_a_node_that_met_a_holder_later() -> None:
    log = far().send(10_200, 2, 3).receive(40_000, 3, 3, 2)  # so that the event is on its way for half a minute
    log.beacon(30_000, NODE, 8).beacon(30_000, 8, 2)
    stopped = why(log)
    assert (stopped.word, stopped.path) == ("not reached", [9, 8, 2])
    assert stopped.clauses[1] == (
        "it came as far as n2, 2 hops away, and no nearer: n2, which had it, met n8 19.9 s later"
    )
    assert [(holder.node, holder.is_neighbour) for holder in stopped.holders] == [(2, False)]


def test_links_over_a_node_before_it_had_the_event_lead_nowhere() -> None:
    log = far().send(10_200, 2, 3).receive(40_000, 3, 3, 2).beacon(10_000, NODE, 8).beacon(10_000, 8, 3)
    log.beacon(10_000, 3, 7).beacon(10_000, 7, 2)  # to nodes that had it, only over node 3
    assert (why(log).word, why(log).clauses[0]) == (
        "cut off",
        "frames connected n9 with 1 other node while the event was on its way, and none of them met a node that had it",
    )


def test_a_node_that_woke_up_while_it_was_on_its_way_was_not_absent_all_the_time() -> None:
    log = Hand().row(4_000, NODE, "sleep").row(10_050, NODE, "wake").publish(10_000).send(10_000, 1, 1)
    assert why(log.receive(10_100, 2, 1, 1)).word == "alone"


def test_a_log_without_frames_knows_no_cause() -> None:
    log = Hand().publish(0)
    assert cause(spread(log), NODE, None, {}).word == "not in the log"
    assert why(Hand().beacon(0, 1, NODE)).clauses == ["the log has no row about its way"]
