"""Nodes that had an event and met the node in question: which are neighbours, and what they did."""

from __future__ import annotations

import pytest

from roamcast.log.explanation.holders import CONDUCT, LATELY_US, Absence, Holder, absences, holders
from roamcast.log.explanation.links import Links
from roamcast.log.explanation.spread import NEVER_US
from roamcast.log.interest import FAULTS
from tests.log.explanation.logs import Hand
from tests.log.explanation.test_spread import spread

LATELY_MS = LATELY_US / 1000
NODE = 9
"""The node in question. Node 1 publishes at 10 s; node 2 has the event from 10.1 s on."""


def met(log: Hand) -> list[Holder]:
    absent = absences(log.columns().rows_of_kinds(FAULTS)).get(NODE, [])
    return holders(spread(log), NODE, Links(log.columns()), absent)


def start() -> Hand:
    return Hand().publish(10_000).send(10_000, 1, 1).receive(10_100, 2, 1, 1)


def holder(log: Hand) -> Holder:
    (one,) = met(log)
    return one


@pytest.mark.parametrize(
    ("contact_ms", "is_neighbour"),
    [
        (10_100 - LATELY_MS, True),
        (10_100 - LATELY_MS - 0.001, None),  # before, and never again
        (10_100, True),
        (10_500 + LATELY_MS, True),
        (10_500 + LATELY_MS + 0.001, False),  # met later
    ],
)
def test_a_neighbour_was_in_contact_while_it_was_busy_with_the_event_or_shortly_around(
    contact_ms: float, is_neighbour: bool | None
) -> None:
    log = start().decide(10_500, 2, "drop", "tired").beacon(contact_ms, 2, NODE)
    assert [one.is_neighbour for one in met(log)] == ([] if is_neighbour is None else [is_neighbour])


def test_after_the_event_has_expired_no_node_is_a_neighbour() -> None:
    log = Hand().publish(10_000, validity_us=1_000_000).send(10_000, 1, 1).receive(10_100, 2, 1, 1)
    assert met(log.beacon(11_000.001, 2, NODE)) == []
    assert holder(log.beacon(11_000, 2, NODE)).is_neighbour


def test_contacts_are_the_frames_next_to_having_it() -> None:
    log = start().beacon(9_000, 2, NODE).beacon(9_500, NODE, 2).beacon(12_000, 2, NODE).beacon(13_000, 2, NODE)
    one = holder(log)
    assert (one.contact_before_us, one.contact_after_us, one.gap_us) == (9_500_000, 12_000_000, 600_000)
    assert (one.had_us, one.way) == (10_100_000, [1, 2])


def test_nodes_without_the_event_or_without_contact_are_no_holders() -> None:
    log = start().beacon(10_000, 3, NODE).receive(10_100, 4, 1, 1)
    assert met(log) == []


def test_the_conduct_of_a_holder_is_its_last_decision() -> None:
    log = start().beacon(10_000, 2, NODE)
    assert (holder(log).conduct, holder(log).label) == ("silent", "")
    log.decide(10_200, 2, "delay", "back-off")
    assert (holder(log).conduct, holder(log).label) == ("waiting", "back-off")
    log.decide(10_300, 2, "suppress", "heard again").decide(10_400, 2, "note", "unrelated")
    assert (holder(log).conduct, holder(log).label) == ("suppressed", "heard again")
    log.decide(10_500, 2, "drop", "expired")
    assert (holder(log).conduct, holder(log).label) == ("dropped", "expired")
    log.decide(10_600, 2, "forward", "drawn")
    assert (holder(log).conduct, holder(log).label) == ("forwarded", "")


def test_frames_have_a_fate_at_the_node() -> None:
    log = start().beacon(10_000, 2, NODE).row(10_350, NODE, "sleep").row(10_450, NODE, "wake")
    log.send(10_200, 2, 2).lose(10_210, NODE, 2, 2).send(10_300, 2, 3, to=7).overhear(10_310, NODE, 3, 2)
    log.send(10_400, 2, 4).send(10_500, 2, 5)
    assert [(s.frame, s.to, s.fate) for s in holder(log).sendings] == [
        (2, -1, "collision"),
        (3, 7, "overheard"),
        (4, -1, "asleep"),
        (5, -1, ""),
    ]
    assert holder(log).conduct == "sent"


def test_a_frame_that_left_no_trace_was_out_of_range() -> None:
    assert holder(start().beacon(10_000, 2, NODE).send(10_200, 2, 2)).conduct == "out of range"
    assert holder(start().beacon(10_000, 2, NODE).send(10_200, 2, 2, to=NODE)).conduct == "out of range"


def test_a_frame_for_another_node_is_not_for_this_one() -> None:
    assert holder(start().beacon(10_000, 2, NODE).send(10_200, 2, 2, to=7)).conduct == "sent to others"


@pytest.mark.parametrize("why", ["queue", "no-ack"])
def test_a_frame_that_its_sender_gave_up(why: str) -> None:
    for peer in (-1, NODE):
        assert holder(start().beacon(10_000, 2, NODE).lose(10_200, 2, 0, peer, why)).conduct == why
    assert holder(start().beacon(10_000, 2, NODE).lose(10_200, 2, 0, 7, why)).conduct == "silent"


def test_a_decision_as_a_neighbour_counts_more_than_a_frame_sent_elsewhere() -> None:
    log = start().beacon(10_200, 2, NODE).decide(10_100, 2, "suppress", "unwanted")
    log.decide(60_000, 2, "forward", "asked").send(60_001, 2, 2)
    assert (holder(log).conduct, holder(log).label) == ("suppressed", "unwanted")
    left = start().beacon(9_000, 2, NODE).decide(10_100, 2, "suppress", "unwanted").send(60_001, 2, 2)
    assert holder(left).conduct == "suppressed"  # a little later than the last contact
    waited = start().beacon(10_200, 2, NODE).decide(10_100, 2, "delay", "tick").send(60_001, 2, 2)
    assert holder(waited).conduct == "out of range"


def test_neighbours_come_first_and_those_whose_frames_were_lost_before_the_others() -> None:
    log = start().receive(10_100, 3, 1, 1).receive(10_100, 4, 1, 1).receive(10_100, 5, 1, 1)
    log.beacon(30_000, 5, NODE).beacon(20_000, 4, NODE).beacon(10_000, 3, NODE).beacon(10_000, 2, NODE)
    log.send(10_200, 3, 2).lose(10_200, NODE, 2, 3)
    assert [one.node for one in met(log)] == [3, 2, 4, 5]


def test_absences_are_from_sleep_to_wake_and_from_crash_to_recovery() -> None:
    log = Hand().row(1, 4, "sleep").row(2, 4, "crash").row(3, 4, "wake").row(4, 4, "sleep").row(5, 5, "recover")
    assert absences(log.log_rows()) == {
        4: [Absence("asleep", 1000, 3000), Absence("down", 2000, NEVER_US), Absence("asleep", 4000, NEVER_US)]
    }


def test_every_conduct_has_words() -> None:
    assert all(
        deed.split()[0] in ("sent", "had", "suppressed", "dropped", "still", "decided", "did")
        for deed in CONDUCT.values()
    )
