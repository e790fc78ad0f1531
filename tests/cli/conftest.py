"""Typing commands in tests."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from roamcast.cli.main import main

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def roamcast(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Type a command: (exit status, standard output, standard error)."""

    def type_(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["roamcast", *words])
        monkeypatch.setenv("COLUMNS", "100")
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return type_
