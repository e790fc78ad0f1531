"""`roamcast lab field`: wrong input is one line, before any Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Typed


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["none"], "none: there is no such folder of logs"),
        ([".", "--every", "0"], "--every 0: must be above 0"),
        ([], "Missing argument 'DIR'."),
    ],
)
def test_wrong_input_is_one_line(
    roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = roamcast("lab", "field", *words)
    assert (status, out, err) == (2, "", f"roamcast: {line}\n")
    assert not list(tmp_path.iterdir())
