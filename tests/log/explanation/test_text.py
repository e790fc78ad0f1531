"""The text of an explanation."""

from __future__ import annotations

from roamcast.log.explanation import text
from roamcast.pubsub.event import event_id
from tests.log.explanation.logs import EVENT, Hand, pair


def test_an_explanation_of_an_event_that_came() -> None:
    log = Hand().subscribe(0, 9).publish(1000).send(1000, 1, 131).receive(1004.5, 9, 131, 1).deliver(1004.5, 9)
    assert str(log.decide(1004.5, 9, "drop", "tired").explain(9)).splitlines() == [
        "n9 got event 1:1 from n1 4.5 ms after its publication.",
        "",
        "event     1:1, published by n1 at 1.000 s: topic news; valid for ever",
        "interest  n9 was interested: topic news",
        "network   1 of 1 interested node got it; 2 nodes had it: 1 dropped it (tired), 1",
        "          sent it",
        "",
        "At n9, in seconds after the publication:",
        "   +0.0045  received it from n1 [frame 131]",
        "   +0.0045  delivered it to the application",
        "   +0.0045  drop: tired",
    ]


def test_an_explanation_of_an_event_that_did_not_come() -> None:
    log = Hand().subscribe(0, 9).publish(1000).send(1000, 1, 1).receive(1001, 2, 1, 1).beacon(500, 2, 9)
    log.decide(1001, 2, "suppress", "too late")
    assert str(log.explain(9)).splitlines() == [
        "n9 never received event 1:1: n9's neighbour n2 suppressed it (too late).",
        "",
        "event     1:1, published by n1 at 1.000 s: topic news; valid for ever",
        "interest  n9 was interested: topic news",
        "network   0 of 1 interested node got it; 2 nodes had it: 1 sent it, 1 suppressed",
        "          it (too late)",
        "",
        "At n9 nothing happened: no frame with it was received, lost or overheard.",
        "",
        "Neighbours of n9 that had it:",
        "  n2: suppressed it (too late)",
        "     -0.5000  a frame between n2 and n9",
        "     +0.0010  received it from n1",
        "     +0.0010  suppress: too late",
    ]


def test_where_an_event_stopped() -> None:
    log = Hand().publish(1000).send(1000, 1, 1).receive(1001, 2, 1, 1).beacon(1000, 9, 8).beacon(1000, 8, 2)
    lines = str(log.explain(9)).splitlines()
    assert "The way to the nearest node that had it: n9 – n8 – n2." in lines
    assert "It stopped before n8. Neighbours of n8 that had it:" in lines


def test_nodes_that_were_met_later() -> None:
    log = Hand().publish(1000).send(1000, 1, 1).receive(1001, 2, 1, 1)
    for k in range(6):
        log.receive(1001, 3 + k, 1, 1).beacon(50_000 + k, 3 + k, 20)
    lines = str(log.explain(20)).splitlines()
    assert "Nodes that had it and met n20 later:" in lines
    assert lines[-1] == "  … and 3 more: 3 did not send it"


def test_of_a_long_timeline_the_beginning_and_the_end_are_shown() -> None:
    log = Hand().publish(0)
    for k in range(40):
        log.decide(k, 1, "delay", f"turn {k}")
    lines = str(log.explain(1)).splitlines()
    story = [line.split("  ")[-1] for line in lines if "delay:" in line]
    assert len(story) == text.MOST_ENTRIES - 1
    assert (story[0], story[-1]) == ("delay: turn 0", "delay: turn 39")
    assert " … 23 more left out; --json has everything …" in lines
    assert len(log.explain(1).timeline) == 41


def test_serials_of_real_nodes_are_left_out() -> None:
    log = Hand().publish(0).send(1, 1, 1 << 60).receive(2, 9, 1 << 60, 1)
    assert "received it from n1" in str(log.explain(9)).splitlines()[-1]
    assert "frame " not in str(log.explain(9)).splitlines()[-1]


def test_times_of_real_nodes_are_dates() -> None:
    log = Hand().publish(1_794_855_563_364)
    assert "published by n1 at 2026-11-16 18:59:23.364 UTC: topic news" in str(log.explain(1))


def test_without_the_publication_times_count_from_the_first_row() -> None:
    assert "At n9, in seconds after the first row about it:" in str(Hand().receive(5, 9, 1, 2).explain(9))


def test_a_frame_and_its_number_stay_on_one_line() -> None:
    assert text.wrapped("x" * 70 + f" [frame{text.TIED}131]") == ["x" * 70, "[frame 131]"]


def test_remarks_come_last() -> None:
    log = Hand().subscribe(0, 9).publish(0, event=event_id(1, 2)).publish(0)
    assert str(pair(log.answers(), 9, EVENT)).splitlines()[-4:-1] == [
        "",
        "The log has no frames: no node sent any, or its level is deliveries. To see",
        "more, write it with --level frames or full (in a campaign file and in Python:",
    ]
