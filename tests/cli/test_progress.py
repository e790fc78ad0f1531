"""What people see of a campaign's progress where there is no terminal."""

from __future__ import annotations

import pytest

from roamcast.cli import screen as screens
from roamcast.cli.screen import SAY_EVERY_S, Screen


def test_without_a_terminal_a_line_is_printed_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(screens, "monotonic", lambda: now[0])
    with Screen("forty") as screen:
        screen.runs(40, 10)
        screen.progress(11, 1.0, 29.0)
        now[0] += SAY_EVERY_S
        screen.progress(20, 10.0, 20.0)
        screen.progress(21, 11.0, 19.0)
        now[0] += SAY_EVERY_S
        screen.progress(40, 30.0, 0.0)
    assert capsys.readouterr().err.splitlines() == [
        "forty: 30 of 40 runs to do",
        "forty: 20 of 40 runs, 0.2 runs/s, about 2 min left",
        "forty: 40 of 40 runs, 0.2 runs/s, nearly done",
    ]
