"""Requests and replies as lines of JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.net.control import messages
from roamcast.net.control.messages import (
    Done,
    Failure,
    Forget,
    Publish,
    Published,
    ReceivedEvent,
    Status,
    Subscribe,
    Subscribed,
    line,
    plain,
    read_reply,
    read_request,
)
from roamcast.pubsub.event import FOREVER, Event

REQUESTS = [
    (Publish("news", {"n": 1, "x": 1.5, "ok": True, "s": "ü"}, b"\x00\xff", 60.0, True), "publish"),
    (Publish(), "publish"),
    (Subscribe("n > 0", "alarm", 1 << 70), "subscribe"),
    (Forget("alarm"), "forget"),
    (Status(), "status"),
]


@pytest.mark.parametrize(("request_", "kind"), REQUESTS)
def test_a_request_is_one_line_that_names_what_to_do(request_: messages.Request, kind: str) -> None:
    text = line(request_)
    assert (text.count(b"\n"), json.loads(text)["do"]) == (1, kind)
    assert read_request(text) == request_


def test_requests_with_spaces_or_unknown_fields_can_be_read() -> None:
    assert read_request(b'{"do": "publish", "topic": "x", "validity_s": 60, "colour": "red"}\r\n') == Publish(
        "x", validity_s=60.0
    )


@pytest.mark.parametrize("reply", [Published(7), Subscribed("n > 0"), Done(), Failure("wrong")])
def test_a_reply_is_one_line_and_printed_without_its_kind(reply: messages.Reply) -> None:
    text = line(reply)
    assert text.count(b"\n") == 1
    assert read_reply(text) == reply
    assert "reply" not in plain(reply)


def test_an_event_is_printed_in_its_fixed_form() -> None:
    event = Event(7 << 32 | 1, "news", {"n": 1}, b"ab", FOREVER)
    assert plain(messages.received_event(event, 3)) == {
        "id": 7 << 32 | 1,
        "publisher": 7,
        "topic": "news",
        "attrs": {"n": 1},
        "payload": "YWI=",
        "validity_s": None,
        "position": 3,
    }


def test_a_number_that_json_does_not_have_arrives_as_none() -> None:
    event = Event(7 << 32 | 1, attrs={"n": float("nan"), "m": float("inf"), "k": 1}, validity_us=1_500_000)
    reply = read_reply(line(messages.received_event(event, 3)))
    assert isinstance(reply, ReceivedEvent)
    assert (reply.attrs, reply.validity_s) == ({"n": None, "m": None, "k": 1}, 1.5)


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda s: b'{"do":"publish","topic":' + s.encode()))
def test_any_bytes_are_a_message_or_give_one_line(data: bytes) -> None:
    for read in (read_request, read_reply):
        try:
            read(data)
        except InputError as error:
            assert "\n" not in str(error)
