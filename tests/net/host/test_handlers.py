"""Handlers run one after the other, and errors stay inside."""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.net.host.handlers import Handlers
from roamcast.net.refusal import Tally


def handlers(on_error: Any = None) -> Handlers:
    made = Handlers(Tally(), on_error)
    made.protocol = "the protocol"  # type: ignore[assignment]
    return made


def test_a_handler_that_is_called_inside_another_waits_for_its_end() -> None:
    calls: list[str] = []
    made = handlers()

    def outer(protocol: Any) -> None:
        assert protocol == "the protocol"
        made.call(lambda _: calls.append("inner"))
        made.call(lambda _: calls.append("last"))
        calls.append("end of the outer one")

    made.call(outer)
    assert calls == ["end of the outer one", "inner", "last"]


def test_after_clear_handlers_that_waited_do_not_run() -> None:
    calls: list[str] = []
    made = handlers()

    def outer(_: Any) -> None:
        made.call(lambda _: calls.append("inner"))
        made.clear()

    made.call(outer)
    made.call(lambda _: calls.append("next"))
    assert calls == ["next"]


def test_an_error_is_counted_and_reported_and_the_next_handler_runs() -> None:
    calls: list[str] = []
    errors: list[Exception] = []
    made = handlers(errors.append)
    made.call(lambda _: calls.append(str(1 // 0)))
    made.call(lambda _: calls.append("next"))
    assert (calls, [type(error) for error in errors]) == (["next"], [ZeroDivisionError])
    assert made._tally.drops() == {"protocol error": 1}


def test_without_a_receiver_each_type_of_error_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    made = handlers()
    for _ in range(3):
        made.call(lambda _: 1 // 0)  # type: ignore[arg-type, return-value]
        made.call(lambda _: {}[1])
    assert len(caplog.records) == 2
    assert made._tally.drops() == {"protocol error": 6}
