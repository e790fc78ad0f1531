from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.net.trust.keys import KeyRing
from tests.cli.conftest import OneLine, Typed


def test_a_rotation_has_three_steps(roamcast: Typed, tmp_path: Path) -> None:
    file = str(tmp_path / "group.key")
    roamcast("key", "new", file)
    first = KeyRing.load(file)
    assert roamcast("key", "next", file)[0] == 0
    assert (len(KeyRing.load(file).keys), KeyRing.load(file).sending) == (2, first.sending)
    assert roamcast("key", "promote", file)[0] == 0
    assert KeyRing.load(file).sending == KeyRing.load(file).keys[1] != first.sending
    assert roamcast("key", "retire", file)[0] == 0
    assert len(KeyRing.load(file).keys) == 1
    assert KeyRing.load(file).group == first.group


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["key", "new", "there"], "there exists; a group key is not overwritten"),
        (["key", "promote", "none"], "there is no group key none"),
    ],
)
def test_wrong_input_is_one_line(one_line: OneLine, words: list[str], message: str) -> None:
    one_line(words, message)
