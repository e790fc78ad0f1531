"""One campaign at a time, also in a store that has no locks."""

from __future__ import annotations

import json

import pytest

from roamcast import storage
from roamcast.errors import InputError, Interrupted
from roamcast.lab.tables import claims
from roamcast.storage import Storage


@pytest.fixture
def place(bucket: str, monkeypatch: pytest.MonkeyPatch) -> Storage:
    monkeypatch.setattr(claims, "BEAT_S", 0.5)
    return storage.at(f"{bucket}/out")


def test_a_second_one_is_refused_and_named_while_the_first_shows_signs_of_life(place: Storage) -> None:
    with claims.held(place) as first:
        assert place.exists(first)
        refused = pytest.raises(InputError, match=r"another campaign is writing here right now \(process \d+ on ")
        with refused, claims.held(place):
            pass
        claims.check(place, first)
    assert place.names(claims.CLAIMS) == {}
    with claims.held(place):
        pass


def test_a_process_of_this_machine_that_is_gone_holds_up_nobody(place: Storage) -> None:
    dead = {**claims._own(), "process": 2**22 + 1}
    place.put(f"{claims.CLAIMS}/0", json.dumps(dead).encode())
    lines: list[str] = []
    with claims.held(place, lines.append) as claim:
        assert set(place.names(claims.CLAIMS)) == {name.partition("/")[2] for name in (claim, f"{claim}.beat")}
    assert lines == []


def test_a_claim_from_elsewhere_ends_after_a_while_and_that_is_said(
    place: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "STALE_S", 3.0)
    place.put(f"{claims.CLAIMS}/0", json.dumps({**claims._own(), "machine": "another"}).encode())
    lines: list[str] = []
    with claims.held(place, lines.append):
        assert not place.exists(f"{claims.CLAIMS}/0")
    assert [line.startswith("waiting up to 3 s: ") for line in lines] == [True]


def test_of_two_that_begin_together_the_first_by_the_stores_clock_has_it(place: Storage) -> None:
    place.put(f"{claims.CLAIMS}/0", json.dumps({**claims._own(), "machine": "another"}).encode())
    place.put(f"{claims.CLAIMS}/1", json.dumps({**claims._own(), "machine": "yet another"}).encode())
    assert set(claims._older(place, f"{claims.CLAIMS}/1")) == {"0"}
    assert claims._older(place, f"{claims.CLAIMS}/0") == {}


def test_a_claim_that_was_taken_for_dead_is_noticed(place: Storage) -> None:
    with claims.held(place) as claim:
        place.delete(claim)
        with pytest.raises(Interrupted, match="lost to another campaign"):
            claims.check(place, claim)


def test_a_claim_that_was_put_too_slowly_is_taken_back(place: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who claimed the place meanwhile may have looked before it was there."""
    monkeypatch.setattr(claims, "SETTLE_S", 0.0)
    with pytest.raises(Interrupted, match=r"takes too long to answer, .*; try again"), claims.held(place):
        pass
    assert place.names(claims.CLAIMS) == {}
