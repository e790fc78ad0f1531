"""Questions to a log: which answer they get, and one line for those that have none."""

from __future__ import annotations

import pytest

from roamcast.errors import InputError
from roamcast.log.explanation.lists import EventAtNodes, Events, EventsAtNode
from roamcast.log.explanation.pair import Explanation
from roamcast.pubsub.event import event_id
from tests.log.explanation.logs import Hand, pair


def log() -> Hand:
    return (
        Hand().subscribe(0, 9).publish(1000).publish(2000, event=event_id(1, 2)).send(1000, 1, 1).receive(1001, 2, 1, 1)
    )


def test_the_answer_is_as_narrow_as_the_question() -> None:
    answers = log().answers()
    assert isinstance(answers.answer(None, None), Events)
    assert isinstance(answers.answer(9, None), EventsAtNode)
    assert isinstance(answers.answer(None, "1:1"), EventAtNodes)
    assert isinstance(answers.answer("n9", "1:1"), Explanation)


@pytest.mark.parametrize(
    ("node", "event", "line"),
    [
        (5, None, "node 5: the log by-hand.parquet has no row about it; it has n1, n2 and n9"),
        ("x", None, "node 'x': must be a node's number, such as 7"),
        (9, "1:3", "event 1:3: the log by-hand.parquet has no row about it; n1 published 1:1 to 1:2"),
        (None, "4:1", "event 4:1: the log by-hand.parquet has no row about it; n4 published no event in it"),
        (None, "abc", "event 'abc': must be PUBLISHER:NUMBER, such as 3:12, or an event's id"),
    ],
)
def test_a_question_about_something_else_is_one_line(node: int | str | None, event: str | None, line: str) -> None:
    with pytest.raises(InputError) as error:
        log().answers().answer(node, event)
    assert str(error.value) == line


def test_many_nodes_are_named_as_a_range() -> None:
    hand = log().beacon(0, 3, 4, 5, 6)
    with pytest.raises(InputError, match=r"; it has n1 to n9$"):
        hand.answers().answer(77, None)


def test_a_node_that_only_others_have_seen_is_known() -> None:
    only_sender = Hand().receive(5, 9, 1, 77)
    assert pair(only_sender.answers(), 77, "1:1").status == "missed"


def test_the_log_of_one_node_says_that_it_is_alone() -> None:
    with pytest.raises(InputError, match=r"event 4:1: .* has no row about it; it is the log of n9 alone$"):
        Hand().receive(5, 9, 1, 1).answers().answer(None, "4:1")


def test_the_number_of_a_subscription_is_no_event() -> None:
    with pytest.raises(InputError, match=r"event 0:1: .* n0 published no event in it$"):
        log().answers().answer(None, event_id(0, 1))


def test_a_log_without_rows_says_which_level_is_needed() -> None:
    with pytest.raises(InputError) as error:
        Hand().answers().answer(None, None)
    assert str(error.value) == (
        "by-hand.parquet has no rows, because its level is summary: write it with --level frames or full "
        "(in a campaign file and in Python: level)"
    )


def test_a_remark_says_that_clocks_differ_if_files_were_merged() -> None:
    own = "Times are each node's own; `roamcast lab field` makes one log with one clock."
    assert pair(log().answers(merged=True), 9, "1:1").remarks == [own]
    assert pair(log().answers(), 9, "1:1").remarks == []
    assert pair(Hand().receive(5, 9, 1, 9).answers(merged=True), 9, "1:1").remarks == []


def test_the_sentences_of_all_built_in_protocols_are_known() -> None:
    answer = log().decide(1002, 2, "suppress", "many copies").answers()
    assert any(entry.text == "suppress: 1:1 was heard 0 times" for entry in pair(answer, 2, "1:1").timeline)
